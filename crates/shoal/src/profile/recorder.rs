//! What a host records.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Span, Track};

/// How often another clock is asked for its time.
const CLOCK_READS: usize = 8;

/// Nanoseconds of the host's monotonic clock, which is also the kernels' on a CPU.
#[must_use]
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// How many nanoseconds another clock is ahead of the host's, which `read` asks for its time: the answer that took least
/// counts.
///
/// # Errors
/// What `read` says.
pub fn clock_ahead<E>(mut read: impl FnMut() -> Result<u64, E>) -> Result<i64, E> {
    let mut best: Option<(u64, i64)> = None;
    for _ in 0..CLOCK_READS {
        let asked = now();
        let time = read()?;
        let took = now().saturating_sub(asked);
        let ahead = time.wrapping_sub(asked + took / 2).cast_signed();
        if best.is_none_or(|(least, _)| took < least) {
            best = Some((took, ahead));
        }
    }
    Ok(best.map_or(0, |(_, ahead)| ahead))
}

/// Collects what a thread or a stream does. Clones are the same recorder.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Span>>>);

impl Recorder {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Recorder {
        Recorder::default()
    }

    /// Adds something that ends now.
    pub fn record(&self, task: impl Into<String>, start: u64) {
        let span = Span { task: task.into(), start, end: now() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(span);
    }

    /// All that was recorded since the last call.
    #[must_use]
    pub fn take(&self, name: impl Into<String>) -> Track {
        let spans = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Track { name: name.into(), spans }
    }
}
