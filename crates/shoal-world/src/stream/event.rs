//! Events: points in a stream that others wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::SharedError;
use crate::error::WorldError;
use crate::giving_up::COLLECTING;
use crate::rank::Rank;

/// How often a waiting rank looks whether the world has failed.
const LIVENESS_INTERVAL: Duration = Duration::from_millis(20);

/// What those wait for who wait for an event, in words.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    /// A point in a stream that somebody has recorded.
    Recorded,
    /// All that is in a stream.
    Synchronized,
    /// All that is in a stream, before it goes.
    Dropped,
}

impl Purpose {
    fn words(self) -> &'static str {
        match self {
            Purpose::Recorded => "an event of a stream",
            Purpose::Synchronized => "the work of a stream",
            Purpose::Dropped => "the work of a stream that was dropped",
        }
    }
}

/// A point in a stream, see [`Stream::record`](crate::Stream::record). Clones are the same event.
#[derive(Debug, Clone)]
pub struct Event(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    happened: Condvar,
    purpose: Purpose,
    /// Whether somebody has got the error that ended the stream.
    is_heard: Arc<AtomicBool>,
}

#[derive(Debug, Clone)]
enum State {
    Pending,
    Happened,
    /// The stream had failed before it got here.
    Failed(SharedError),
}

impl Event {
    pub(super) fn new(purpose: Purpose, is_heard: &Arc<AtomicBool>) -> Event {
        let (state, is_heard) = (Mutex::new(State::Pending), Arc::clone(is_heard));
        Event(Arc::new(Inner { state, happened: Condvar::new(), purpose, is_heard }))
    }

    pub(super) fn happen(&self, failed: Option<SharedError>) {
        *self.lock() = failed.map_or(State::Happened, State::Failed);
        self.0.happened.notify_all();
    }

    /// Whether the stream has come here, or ended before.
    #[must_use]
    pub fn has_happened(&self) -> bool {
        !matches!(*self.lock(), State::Pending)
    }

    /// Waits until the stream has come here. Returns the error that ended the stream before, if one did.
    pub fn wait(&self, rank: &Rank) -> Result<(), WorldError> {
        let rest = || drop(self.outcome_within(LIVENESS_INTERVAL));
        // In a world that has ended, a stream that waits tells what for: that says more.
        let look = || self.outcome_within(if rank.failure().is_some() { COLLECTING / 4 } else { Duration::ZERO });
        let condition = || self.0.purpose.words().to_owned();
        let result = match rank.wait_until(rank.options().timeout, condition, look, rest) {
            Ok(outcome) => outcome,
            // It may even be the one that has ended it, and collects what all others wait for.
            Err(error @ WorldError::Failed { .. }) => self.outcome_within(COLLECTING * 2).unwrap_or(Err(error)),
            Err(error) => Err(error),
        };
        if result.is_err() {
            // The error of the stream, or what it comes of.
            self.0.is_heard.store(true, Ordering::Relaxed);
        }
        result
    }

    fn outcome_within(&self, time: Duration) -> Option<Result<(), WorldError>> {
        let is_pending = |state: &mut State| matches!(state, State::Pending);
        let waited = self.0.happened.wait_timeout_while(self.lock(), time, is_pending);
        match &*waited.unwrap_or_else(PoisonError::into_inner).0 {
            State::Pending => None,
            State::Happened => Some(Ok(())),
            State::Failed(error) => Some(Err(WorldError::Stream { source: Arc::clone(error) })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
