//! Streams of a recorded host: copies, events, words, and graphs of them.

use shoal_interp::{Address, Compare};
use shoal_source::Span;

use super::recording::{Contents, HEAP_BYTES, HostBuffer, RankHost, Step, StreamStep, heap};
use crate::{DType, Error};

/// A stream of a rank. What is put in is done in order, beside what is in others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostStream(u32);

impl HostStream {
    /// The one that launches go to if nothing else is said.
    pub const DEFAULT: HostStream = HostStream(0);

    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// A point in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostEvent(u32);

/// A sequence that was recorded to be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostGraph(usize);

/// Elements of a buffer, on this or another rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPlace {
    address: u64,
    count: u64,
    dtype: DType,
}

impl HostPlace {
    fn bytes(&self) -> u64 {
        self.count * u64::from(self.dtype.bytes())
    }
}

/// The streams, events and graphs of a host.
#[derive(Default)]
pub(super) struct Streams {
    streams: u32,
    events: u32,
    graphs: Vec<Vec<(u32, StreamStep, Span)>>,
    /// What was put into streams since the recording of a graph began.
    recorded: Option<Vec<(u32, StreamStep, Span)>>,
}

impl Streams {
    pub(super) fn is_recording(&self) -> bool {
        self.recorded.is_some()
    }

    /// Puts a step into the graph that is being recorded; gives it back if there is none.
    pub(super) fn keep(&mut self, step: Step, span: Span) -> Result<Option<Step>, Error> {
        let Some(graph) = &mut self.recorded else { return Ok(Some(step)) };
        match step {
            Step::On(stream, step) => {
                graph.push((stream, step, span));
                Ok(None)
            }
            Step::Synchronize(_) | Step::Barrier | Step::Write { .. } | Step::Read { .. } => {
                Err(Error::Text("a graph holds what is put into streams; its host cannot wait or copy".into()))
            }
        }
    }

    fn event(&mut self) -> u32 {
        self.events += 1;
        self.events - 1
    }
}

impl RankHost<'_> {
    /// A further stream.
    pub fn stream(&mut self) -> HostStream {
        self.streams.streams += 1;
        HostStream(self.streams.streams)
    }

    /// Elements of a buffer: of this rank, or of a symmetric one on another.
    ///
    /// # Errors
    /// When there are no such elements.
    pub fn place(&self, buffer: HostBuffer, rank: Option<usize>, start: u64, count: u64) -> Result<HostPlace, Error> {
        let wrong = |text: String| Err(Error::Text(text));
        if start.checked_add(count).is_none_or(|end| end > buffer.count) {
            return wrong(format!("{count} elements from {start} on of a buffer of {}", buffer.count));
        }
        let address = match rank {
            None => buffer.address,
            Some(rank) if rank >= self.size() => {
                return wrong(format!("there is no rank {rank}; the world has {}", self.size()));
            }
            Some(rank) => match buffer.address.checked_sub(heap(self.rank())).filter(|&offset| offset < HEAP_BYTES) {
                Some(offset) => heap(rank) + offset,
                None => return wrong("only a symmetric buffer has a place on every rank".into()),
            },
        };
        Ok(HostPlace { address: address + start * u64::from(buffer.dtype.bytes()), count, dtype: buffer.dtype })
    }

    /// All of a buffer.
    #[must_use]
    pub fn whole(&self, buffer: HostBuffer) -> HostPlace {
        HostPlace { address: buffer.address, count: buffer.count, dtype: buffer.dtype }
    }

    /// A stream copies elements.
    ///
    /// # Errors
    /// When the two are not of one size, or overlap.
    pub fn copy(&mut self, stream: HostStream, to: HostPlace, from: HostPlace) -> Result<(), Error> {
        let bytes = from.bytes();
        if to.bytes() != bytes {
            return Err(Error::Text(format!("a copy of {bytes} bytes to a place of {}", to.bytes())));
        }
        if to.address < from.address + bytes && from.address < to.address + bytes {
            return Err(Error::Text("a copy to a place that overlaps its source".into()));
        }
        let (to, from) = (Address(to.address), Address(from.address));
        self.push(Step::On(stream.0, StreamStep::Copy { to, from, bytes }))
    }

    /// A stream writes numbers to a buffer, which the host has given along.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn write_on(&mut self, stream: HostStream, buffer: HostBuffer, contents: &Contents) -> Result<(), Error> {
        let bytes = self.elements(buffer.address, buffer.count, buffer.dtype, contents)?;
        self.push(Step::On(stream.0, StreamStep::Write { address: Address(buffer.address), bytes }))
    }

    /// A stream writes a word: a release, for all ranks.
    ///
    /// # Errors
    /// When the place is not one word of 32 or 64 bits.
    pub fn write_value(&mut self, stream: HostStream, at: HostPlace, value: u64) -> Result<(), Error> {
        let bytes = word(at)?;
        self.push(Step::On(stream.0, StreamStep::WriteValue { address: Address(at.address), bytes, value }))
    }

    /// A stream waits until a word compares so: an acquire.
    ///
    /// # Errors
    /// When the place is not one word of 32 or 64 bits.
    pub fn wait_value(&mut self, stream: HostStream, at: HostPlace, compare: Compare, value: u64) -> Result<(), Error> {
        let bytes = word(at)?;
        self.push(Step::On(stream.0, StreamStep::WaitValue { address: Address(at.address), bytes, compare, value }))
    }

    /// An event that happens when all that is in a stream now is done.
    ///
    /// # Errors
    /// None so far.
    pub fn record(&mut self, stream: HostStream) -> Result<HostEvent, Error> {
        let event = self.streams.event();
        self.push(Step::On(stream.0, StreamStep::Record(event)))?;
        Ok(HostEvent(event))
    }

    /// A stream waits for an event.
    ///
    /// # Errors
    /// None so far.
    pub fn wait_event(&mut self, stream: HostStream, event: HostEvent) -> Result<(), Error> {
        self.push(Step::On(stream.0, StreamStep::Wait(event.0)))
    }

    /// The host waits for a stream.
    ///
    /// # Errors
    /// While a graph is recorded.
    pub fn synchronize(&mut self, stream: HostStream) -> Result<(), Error> {
        self.push(Step::Synchronize(stream.0))
    }

    /// The host waits for all of its streams.
    ///
    /// # Errors
    /// While a graph is recorded.
    pub fn synchronize_all(&mut self) -> Result<(), Error> {
        (0..=self.streams.streams).try_for_each(|stream| self.push(Step::Synchronize(stream)))
    }

    /// From here on, what is put into streams is recorded and not done.
    ///
    /// # Errors
    /// When it is already.
    pub fn begin_graph(&mut self) -> Result<(), Error> {
        if self.streams.is_recording() {
            return Err(Error::Text("a graph is being recorded already".into()));
        }
        self.streams.recorded = Some(Vec::new());
        Ok(())
    }

    /// What was recorded.
    ///
    /// # Errors
    /// When nothing is.
    pub fn end_graph(&mut self) -> Result<HostGraph, Error> {
        let recorded = self.streams.recorded.take();
        let recorded = recorded.ok_or_else(|| Error::Text("no graph is being recorded".into()))?;
        self.streams.graphs.push(recorded);
        Ok(HostGraph(self.streams.graphs.len() - 1))
    }

    /// Puts a graph into the default stream: all of it comes after what is there, and before what comes next there.
    ///
    /// # Errors
    /// While a graph is recorded.
    pub fn replay(&mut self, graph: HostGraph) -> Result<(), Error> {
        let steps = self.streams.graphs.get(graph.0).cloned().unwrap_or_default();
        if self.streams.is_recording() {
            return Err(Error::Text("a graph is replayed while another is recorded".into()));
        }
        let mut streams: Vec<u32> = steps.iter().map(|(stream, ..)| *stream).filter(|&stream| stream != 0).collect();
        streams.sort_unstable();
        streams.dedup();
        for &stream in &streams {
            let event = self.record(HostStream::DEFAULT)?;
            self.wait_event(HostStream(stream), event)?;
        }
        // Each replay has events of its own.
        let mut fresh = std::collections::HashMap::new();
        for (stream, step, span) in steps {
            let step = match step {
                StreamStep::Record(event) => {
                    let now = self.streams.event();
                    fresh.insert(event, now);
                    StreamStep::Record(now)
                }
                StreamStep::Wait(event) => StreamStep::Wait(fresh.get(&event).copied().unwrap_or(event)),
                step => step,
            };
            self.push_at(Step::On(stream, step), span)?;
        }
        for stream in streams {
            let event = self.record(HostStream(stream))?;
            self.wait_event(HostStream::DEFAULT, event)?;
        }
        Ok(())
    }
}

/// The size of a word.
fn word(at: HostPlace) -> Result<u32, Error> {
    match (at.count, at.dtype.bytes()) {
        (1, bytes @ (4 | 8)) => Ok(bytes),
        _ => Err(Error::Text("a stream writes and waits for one word of 32 or 64 bits".into())),
    }
}
