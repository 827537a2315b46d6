//! Streams of ranks whose memory is a GPU's: copies by its copy engines, words by stream operations. Work is put into a
//! stream of the GPU without waiting; where the host must know that it is done (events, functions), it is waited for, and
//! never for longer than the world's timeout.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use shoal_driver::Interrupt;
use shoal_driver::cuda::{CudaError, Event, EventKind, Stream, StreamRef, WaitWord};

use super::place::Place;
use super::time::{Origin, TimeNote};
use super::value::{Compare, Value};
use crate::engine::Awaited;
use crate::engine::cuda::{GpuRank, check_queues};
use crate::error::{Failure, WorldError, spell};
use crate::rank::Rank;

/// How long a stream that is told to go on may take to end.
const LAST_PATIENCE: Duration = Duration::from_secs(10);

/// A stream of a GPU.
#[derive(Debug)]
pub(super) struct GpuStream {
    stream: Stream,
    /// What orders it with the rank's own stream.
    order: Event,
    /// Words that it was told to wait for, and may wait for still.
    waits: Mutex<Vec<Wait>>,
    /// What times are measured from, once one is noted.
    origin: OnceLock<Arc<Origin>>,
}

#[derive(Debug, Clone)]
struct Wait {
    place: Place,
    compare: Compare,
    value: Value,
}

impl Wait {
    /// Equal for waits that end together.
    fn key(&self) -> (u64, Compare, Value) {
        (address_of(&self.place), self.compare, self.value)
    }

    fn condition(&self) -> String {
        let sign = match self.compare {
            Compare::Equal => "==",
            Compare::GreaterOrEqual => ">=",
        };
        format!("the word at {} {sign} {}", self.place.name, self.value)
    }
}

impl GpuStream {
    pub(super) fn new(gpu: &GpuRank) -> Result<GpuStream, WorldError> {
        check_queues(2 * gpu.sharers_in_process())?;
        let stream = Stream::independent(gpu.device()).map_err(WorldError::gpu)?;
        let order = Event::new(gpu.device(), EventKind::Ordering).map_err(WorldError::gpu)?;
        Ok(GpuStream { stream, order, waits: Mutex::default(), origin: OnceLock::new() })
    }

    /// What comes later in this stream waits for what is in the rank's own now.
    pub(super) fn after_rank(&self, rank: &Rank) -> Result<(), WorldError> {
        rank.gpu().map_or(Ok(()), |gpu| self.ordered(gpu.stream(), *self.stream))
    }

    /// What comes later in the rank's own stream waits for what is in this one now.
    pub(super) fn before_rank(&self, rank: &Rank) -> Result<(), WorldError> {
        rank.gpu().map_or(Ok(()), |gpu| self.ordered(*self.stream, gpu.stream()))
    }

    fn ordered(&self, first: StreamRef, second: StreamRef) -> Result<(), WorldError> {
        self.order.record(first).and_then(|()| self.order.hold_back(second)).map_err(WorldError::gpu)
    }

    /// Copies; both places are of the same size and keep their memory.
    pub(super) fn copy(&self, rank: &Rank, to: &Place, from: &Place) -> Result<(), WorldError> {
        let (Some(source), Some(target), bytes) = (from.pointer(), to.pointer(), from.bytes()) else { return Ok(()) };
        if !(to.is_on_gpu() && from.is_on_gpu()) {
            // The host waits for the copy, so for what is ahead of it, too, and not for ever.
            self.finish(rank)?;
        }
        // SAFETY: places are memory of so many bytes that they keep alive: of the GPU, or of the host. Copies from and to
        // the host's are waited for; symmetric memory lives as long as its rank, which the stream does not outlive.
        unsafe {
            match (to.is_on_gpu(), from.is_on_gpu()) {
                (true, true) => self.stream.copy_on_device(target.addr() as u64, source.addr() as u64, bytes),
                (true, false) => {
                    self.stream.copy_to_device(target.addr() as u64, std::slice::from_raw_parts(source, bytes))
                }
                (false, true) => {
                    self.stream.copy_to_host(std::slice::from_raw_parts_mut(target, bytes), source.addr() as u64)
                }
                (false, false) => {
                    crate::copy::copy(source, target, bytes);
                    Ok(())
                }
            }
        }
        .map_err(WorldError::gpu)
    }

    pub(super) fn write_value(&self, to: &Place, value: Value) -> Result<(), WorldError> {
        let address = address_of(to);
        // SAFETY: an aligned word of the place's memory.
        let put = unsafe {
            match value {
                Value::U32(value) => self.stream.write_u32(address, value),
                Value::U64(value) => self.stream.write_u64(address, value),
            }
        };
        put.map_err(WorldError::gpu)
    }

    pub(super) fn wait_value(&self, at: &Place, compare: Compare, value: Value) -> Result<(), WorldError> {
        let address = address_of(at);
        let until = match compare {
            Compare::Equal => WaitWord::Equal,
            Compare::GreaterOrEqual => WaitWord::AtLeast,
        };
        self.remember(Wait { place: at.clone(), compare, value });
        // SAFETY: an aligned word of the place's memory. If nobody writes it, `finish` does.
        let put = unsafe {
            match value {
                Value::U32(value) => self.stream.wait_u32(address, value, until),
                Value::U64(value) => self.stream.wait_u64(address, value, until),
            }
        };
        put.map_err(WorldError::gpu)
    }

    /// Notes when the stream comes by.
    pub(super) fn note_time(&self, note: &TimeNote) -> Result<(), WorldError> {
        let origin = match self.origin.get() {
            Some(origin) => Arc::clone(origin),
            None => {
                let made = Arc::new(Origin::new(self.stream.device()).map_err(WorldError::gpu)?);
                Arc::clone(self.origin.get_or_init(|| made))
            }
        };
        note.by_gpu(*self.stream, &origin).map_err(WorldError::gpu)
    }

    /// Waits until all that was put in is done. If that takes too long, or the world has failed, words are written for
    /// which the stream waits in vain, so that it ends.
    pub(super) fn finish(&self, rank: &Rank) -> Result<(), WorldError> {
        let timeout = rank.options().timeout;
        let interrupt = {
            let rank = rank.clone();
            Interrupt::new(move || rank.has_failed())
        };
        let ended = self.stream.synchronize_within(Some(timeout), Some(&interrupt));
        let waits = std::mem::take(&mut *self.lock());
        let Err(error) = ended else { return Ok(()) };
        if !matches!(error, CudaError::TimedOut { .. } | CudaError::Interrupted) {
            return Err(WorldError::gpu(error));
        }
        let Some(gpu) = rank.gpu() else { return Err(WorldError::gpu(error)) };
        let helper = GpuStream::new(gpu)?;
        let condition = waits.iter().find(|wait| !helper.sees(wait)).map_or("the GPU".to_owned(), Wait::condition);
        let failure = rank.failure().unwrap_or_else(|| {
            let reason = format!("{} waited {} for {condition}", rank.name(), spell(timeout));
            Failure { rank: rank.rank(), reason }
        });
        let error = WorldError::failed(rank.rank(), Some(Awaited::Word { condition }), failure);
        let error = rank.give_up_on(error);
        // Only now: what follows in the stream runs then, and other ranks must not take it for more than it is.
        self.release(&helper, &waits)?;
        Err(error)
    }

    /// Whether a word has come that another stream was told to wait for.
    fn sees(&self, wait: &Wait) -> bool {
        let (mut word, bytes) = ([0; 8], wait.value.bytes());
        // SAFETY: a word of the place's memory, which it keeps alive.
        let read = unsafe { self.stream.copy_to_host(&mut word[..bytes], address_of(&wait.place)) };
        let number = u64::from_le_bytes(word);
        let now = match wait.value {
            Value::U32(_) => Value::U32(number as u32),
            Value::U64(_) => Value::U64(number),
        };
        read.is_ok() && wait.compare.holds(now, wait.value)
    }

    /// Adds what the stream will wait for, once: streams that nobody finishes wait for the same again and again.
    fn remember(&self, wait: Wait) {
        let mut waits = self.lock();
        waits.retain(|known| known.key() != wait.key());
        waits.push(wait);
    }

    /// Writes all words that the stream may wait for, one after the other, again and again until it has ended.
    fn release(&self, helper: &GpuStream, waits: &[Wait]) -> Result<(), WorldError> {
        let until = Instant::now() + LAST_PATIENCE;
        for wait in waits.iter().cycle().take_while(|_| Instant::now() < until) {
            helper.write_value(&wait.place, wait.value)?;
            helper.stream.synchronize().map_err(WorldError::gpu)?;
            // Those behind it may have to be written before it goes on; a moment is enough for a stream that can.
            if self.stream.synchronize_within(Some(Duration::from_millis(1)), None).is_ok() {
                return Ok(());
            }
        }
        self.stream.synchronize_within(Some(LAST_PATIENCE), None).map_err(WorldError::gpu)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Wait>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a word of a rank's memory is.
fn address_of(place: &Place) -> u64 {
    place.pointer().map_or(0, |pointer| pointer.addr() as u64)
}
