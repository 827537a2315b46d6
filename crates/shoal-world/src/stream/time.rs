//! When a stream comes by, for profiles.

use std::sync::{Arc, OnceLock};

use shoal_driver::cuda::{CudaDevice, CudaError, Event, EventKind, Stream, StreamRef};

/// How often the GPU's events are compared with the host's clock.
const COMPARISONS: usize = 8;

/// Nanoseconds of the host's monotonic clock.
#[must_use]
pub fn monotonic_now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// The time at which a stream came by; see [`Stream::note_time`](super::Stream::note_time).
#[derive(Debug, Clone, Default)]
pub struct TimeNote(Arc<OnceLock<Noted>>);

#[derive(Debug)]
enum Noted {
    Host(u64),
    Gpu(Event, Arc<Origin>),
}

impl TimeNote {
    /// Nanoseconds of the host's monotonic clock; `None` if the stream has not been there yet.
    #[must_use]
    pub fn nanoseconds(&self) -> Option<u64> {
        match self.0.get()? {
            Noted::Host(time) => Some(*time),
            Noted::Gpu(event, origin) => {
                let since = event.since(&origin.event).ok()?;
                Some(origin.time + u64::try_from(since.as_nanos()).ok()?)
            }
        }
    }

    /// The host is there now.
    pub(super) fn by_host(&self) {
        let _ = self.0.set(Noted::Host(monotonic_now()));
    }

    /// The GPU's stream comes by when it has done what is in it.
    pub(super) fn by_gpu(&self, stream: StreamRef, origin: &Arc<Origin>) -> Result<(), CudaError> {
        let event = Event::new(stream.device(), EventKind::Timing)?;
        event.record(stream)?;
        let _ = self.0.set(Noted::Gpu(event, Arc::clone(origin)));
        Ok(())
    }
}

/// An event of a GPU whose time by the host's clock is known.
#[derive(Debug)]
pub(super) struct Origin {
    event: Event,
    time: u64,
}

impl Origin {
    /// The event that was waited for the shortest counts: it lies between the asking and the answer.
    pub(super) fn new(device: CudaDevice) -> Result<Origin, CudaError> {
        let stream = Stream::independent(device)?;
        let mut best: Option<(u64, Origin)> = None;
        for _ in 0..COMPARISONS {
            let event = Event::new(device, EventKind::Timing)?;
            let asked = monotonic_now();
            event.record(*stream)?;
            event.synchronize()?;
            let took = monotonic_now() - asked;
            if best.as_ref().is_none_or(|(least, _)| took < *least) {
                best = Some((took, Origin { event, time: asked + took / 2 }));
            }
        }
        best.map(|(_, origin)| origin).ok_or(CudaError::Interrupted)
    }
}
