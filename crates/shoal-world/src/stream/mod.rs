//! Streams: work of a rank that runs in order, beside what else the rank does.
//!
//! A stream is a queue with a thread of its own. Copies on it really run while kernels and other streams do, as those of
//! a copy engine would. Order between streams, kernels and ranks is made with [events](Event) and with words of
//! symmetric memory: a write value is a release and a wait value an acquire, for all ranks.

mod event;
mod gpu;
mod place;
mod queue;
mod time;
mod value;

use std::sync::Arc;

pub use event::Event;
pub use place::{HostBuffer, Place};
pub use time::{TimeNote, monotonic_now};
pub use value::{Compare, Value};

use crate::copy::copy;
use crate::error::WorldError;
use crate::rank::Rank;
use event::Purpose;
use gpu::GpuStream;
use queue::Queue;

/// A queue of a rank's work. What is put in runs in order, one after the other, on a thread of its own.
///
/// The first operation that fails ends the stream: those after it do not run, and [`Stream::synchronize`] returns its
/// error. Dropping a stream waits for what is in it; an error that nobody has heard of is then one of the rank's function
/// ([`World::run`](crate::World::run)). A function that does not end within the world's timeout, or within a second of a world
/// that has failed, is left behind on its thread.
///
/// ```
/// use shoal_world::{Compare, HostBuffer, Place, Value, World, WorldError};
///
/// World::threads(2)?.run(|rank| {
///     let inbox = rank.symm_zeros::<f32>(4)?;
///     let flag = rank.symm_zeros::<u32>(1)?;
///     let stream = rank.stream()?;
///     // To the neighbour: the data, then the flag that says so.
///     let peer = 1 - rank.rank();
///     let source = HostBuffer::new(vec![rank.rank() as f32; 4]);
///     stream.copy(Place::symm(&inbox, peer, ..)?, source.place(..)?)?;
///     stream.write_value(Place::symm(&flag, peer, ..)?, Value::U32(1))?;
///     // From the neighbour: wait for the flag, then take the data.
///     let result = HostBuffer::new(vec![0.0f32; 4]);
///     stream.wait_value(Place::symm(&flag, rank.rank(), ..)?, Compare::Equal, Value::U32(1))?;
///     stream.copy(result.place(..)?, Place::symm(&inbox, rank.rank(), ..)?)?;
///     stream.synchronize()?;
///     assert_eq!(result.read(), vec![peer as f32; 4]);
///     Ok::<_, WorldError>(())
/// })?;
/// # Ok::<(), WorldError>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    rank: Rank,
    queue: Queue,
    /// Where work goes, if the rank's memory is a GPU's.
    gpu: Option<Arc<GpuStream>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.queue.is_this_thread() {
            return;
        }
        // Memory of the rank may go next. The others know that this one waits.
        self.finish();
        let has_failed = self.rank.has_failed();
        match self.queue.end().wait(&self.rank) {
            // What ended the stream itself, the queue tells.
            Ok(()) | Err(WorldError::Stream { .. }) => self.queue.join(),
            // The world has failed before: this wait is not at fault.
            Err(_) if has_failed => {}
            Err(error) => self.rank.leave_error(error),
        }
    }
}

impl Stream {
    pub(crate) fn new(rank: &Rank) -> Result<Stream, WorldError> {
        let gpu = rank.gpu().map(GpuStream::new).transpose()?.map(Arc::new);
        Ok(Stream { rank: rank.clone(), queue: Queue::start(rank)?, gpu })
    }

    /// Copies all bytes of one place to another of the same size. The two must not overlap.
    pub fn copy(&self, to: Place, from: Place) -> Result<(), WorldError> {
        if to.bytes() != from.bytes() {
            let (to, from) = (to.bytes(), from.bytes());
            return Err(WorldError::Argument(format!("a copy of {from} bytes to a place of {to}")));
        }
        if to.overlaps(&from) {
            return Err(WorldError::Argument("a copy to a place that overlaps its source".to_owned()));
        }
        if let Some(gpu) = self.gpu.clone() {
            let rank = self.rank.clone();
            self.queue.push(move || gpu.copy(&rank, &to, &from));
            return Ok(());
        }
        if to.pointer().or(from.pointer()).is_none() {
            let (to, from) = (to.name, from.name);
            return Err(WorldError::Argument(format!(
                "a copy from {from} to {to}: load and store reach neither; copy through this rank's memory"
            )));
        }
        self.queue.push(move || {
            // SAFETY: both places are checked, of the same size and apart; they keep their memory alive. All of
            // Rust's accesses to such memory go through `copy` or atomics.
            unsafe { carry(&to, &from) };
            Ok(())
        });
        Ok(())
    }

    /// Writes a word of symmetric memory, after all that is in the stream before it, for all ranks to see.
    pub fn write_value(&self, to: Place, value: Value) -> Result<(), WorldError> {
        let word = value::Word::new(to, value)?;
        if let Some(gpu) = self.gpu.clone() {
            self.queue.push(move || gpu.write_value(word.place(), value));
            return Ok(());
        }
        self.queue.push(move || {
            word.store();
            Ok(())
        });
        Ok(())
    }

    /// Holds the stream until a word of symmetric memory compares so; what follows sees what was written before the
    /// word. Bounded by the world's timeout.
    pub fn wait_value(&self, at: Place, compare: Compare, value: Value) -> Result<(), WorldError> {
        if let Some(gpu) = self.gpu.clone() {
            let word = value::Word::new(at, value)?;
            self.queue.push(move || gpu.wait_value(word.place(), compare, value));
            return Ok(());
        }
        let word = value::Word::to_wait_for(at, value)?;
        let rank = self.rank.clone();
        self.queue.push(move || word.wait(&rank, compare));
        Ok(())
    }

    /// Calls a function in the stream's order.
    pub fn call(&self, function: impl FnOnce() -> Result<(), WorldError> + Send + 'static) {
        self.finish();
        self.queue.push(function);
    }

    /// Notes the time at which all that is in the stream now is done. On a GPU the host does not wait for it.
    #[must_use]
    pub fn note_time(&self) -> TimeNote {
        let note = TimeNote::default();
        let (noted, gpu) = (note.clone(), self.gpu.clone());
        self.queue.push(move || match gpu {
            Some(gpu) => gpu.note_time(&noted),
            None => {
                noted.by_host();
                Ok(())
            }
        });
        note
    }

    /// On a GPU, the host waits for what is in the stream before it goes on with it.
    fn finish(&self) {
        if let Some(gpu) = self.gpu.clone() {
            let rank = self.rank.clone();
            self.queue.push(move || gpu.finish(&rank));
        }
    }

    /// An event that happens when all that is in the stream now is done.
    #[must_use]
    pub fn record(&self) -> Event {
        self.until(Purpose::Recorded)
    }

    fn until(&self, purpose: Purpose) -> Event {
        self.finish();
        self.queue.push_event(purpose)
    }

    /// Holds the stream until an event of this or another stream has happened. If that stream failed, so does this one.
    pub fn wait(&self, event: &Event) {
        let (event, rank) = (event.clone(), self.rank.clone());
        self.queue.push(move || event.wait(&rank));
    }

    /// Holds the stream until the launches that the rank has made so far are done. On a CPU they are when they return; on a
    /// GPU the host does not wait for it.
    pub fn wait_for_launches(&self) -> Result<(), WorldError> {
        match &self.gpu {
            None => Ok(()),
            Some(gpu) => {
                self.hand_over()?;
                gpu.after_rank(&self.rank)
            }
        }
    }

    /// Holds the rank's next launches until all that is in the stream now is done. On a GPU the host does not wait for it.
    pub fn hold_launches(&self) -> Result<(), WorldError> {
        match &self.gpu {
            None => self.synchronize(),
            Some(gpu) => {
                self.hand_over()?;
                gpu.before_rank(&self.rank)
            }
        }
    }

    /// Waits until the GPU has all that was put in, done or not.
    fn hand_over(&self) -> Result<(), WorldError> {
        self.queue.push_event(Purpose::Synchronized).wait(&self.rank)
    }

    /// Waits until all that is in the stream is done. Returns the error that ended the stream, if one did.
    pub fn synchronize(&self) -> Result<(), WorldError> {
        self.until(Purpose::Synchronized).wait(&self.rank)
    }

    /// Whether somebody has got the error that ended the stream.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.queue.is_heard()
    }

    /// Whether all that was put in is done, or the stream has ended.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.is_idle()
    }
}

/// Copies; what goes to a rank that load and store do not reach is there on return.
///
/// # Safety
///
/// The places are of the same size and do not overlap; load and store reach one of them.
unsafe fn carry(to: &Place, from: &Place) {
    // SAFETY: by contract; places keep their memory alive.
    unsafe {
        match (to.pointer(), from.pointer()) {
            (Some(to), Some(source)) => copy(source, to, from.bytes()),
            (None, Some(source)) => {
                if let Some((transport, rank, offset)) = to.way() {
                    transport.put(rank, offset, source, from.bytes());
                    transport.quiet();
                }
            }
            (Some(to), None) => {
                if let Some((transport, rank, offset)) = from.way() {
                    transport.get(rank, offset, to, from.bytes());
                }
            }
            (None, None) => {}
        }
    }
}

/// An error of a stream, which may have to be reported to several.
pub(crate) type SharedError = Arc<WorldError>;
