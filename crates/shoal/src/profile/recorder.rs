//! What a host records.

use std::sync::{Arc, Mutex, PoisonError};

use shoal_world::TimeNote;
pub use shoal_world::monotonic_now as now;

use super::{Span, Track};

/// How often another clock is asked for its time.
const CLOCK_READS: usize = 8;

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
pub struct Recorder(Arc<Mutex<Vec<Recorded>>>);

#[derive(Debug)]
enum Recorded {
    Span(Span),
    /// Times that a stream knows when it has come by.
    Noted {
        task: String,
        start: TimeNote,
        end: TimeNote,
    },
}

impl Recorded {
    fn span(self) -> Option<Span> {
        match self {
            Recorded::Span(span) => Some(span),
            Recorded::Noted { task, start, end } => {
                Some(Span { task, start: start.nanoseconds()?, end: end.nanoseconds()? })
            }
        }
    }
}

impl Recorder {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Recorder {
        Recorder::default()
    }

    /// Adds something that ends now.
    pub fn record(&self, task: impl Into<String>, start: u64) {
        self.push(Recorded::Span(Span { task: task.into(), start, end: now() }));
    }

    /// Adds something that a stream does between two notes.
    pub fn record_noted(&self, task: impl Into<String>, start: TimeNote, end: TimeNote) {
        self.push(Recorded::Noted { task: task.into(), start, end });
    }

    fn push(&self, recorded: Recorded) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
    }

    /// All that was recorded since the last call; nothing of streams that have not come by.
    #[must_use]
    pub fn take(&self, name: impl Into<String>) -> Track {
        let recorded = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Track { name: name.into(), spans: recorded.into_iter().filter_map(Recorded::span).collect() }
    }
}
