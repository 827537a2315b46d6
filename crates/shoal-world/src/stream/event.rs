//! Events: points in a stream that others wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::SharedError;
use crate::engine::Awaited;
use crate::error::WorldError;
use crate::giving_up::CONCLUDING;
use crate::rank::Rank;

/// How often a waiting rank looks whether the world has failed.
const LIVENESS_INTERVAL: Duration = Duration::from_millis(20);

/// How long a stream that waits takes to see that the world has ended, at most. With [`CONCLUDING`] less than what launchers
/// leave to a rank that is to blame.
const ENDING: Duration = Duration::from_millis(150);

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
        let look = || self.outcome_in(rank);
        let rest = || drop(self.outcome_within(LIVENESS_INTERVAL));
        let awaited = || Awaited::Stream { work: self.0.purpose.words() };
        // A word that the stream waits for is late before the stream is.
        let patience = rank.options().timeout + ENDING;
        let result = rank.wait_until(patience, awaited, look, rest).flatten();
        if result.is_err() {
            // The error of the stream, or what it comes of.
            self.0.is_heard.store(true, Ordering::Relaxed);
        }
        result
    }

    /// What has come of it. In a world that has ended, the stream has a while to end, too: what it waits for says more than
    /// that it is waited for.
    fn outcome_in(&self, rank: &Rank) -> Option<Result<(), WorldError>> {
        if !rank.has_failed() {
            return self.outcome_within(Duration::ZERO);
        }
        // A stream that gives up asks the other ranks, or waits for the one that does.
        self.outcome_within(ENDING).or_else(|| if rank.gives_up() { self.outcome_within(CONCLUDING) } else { None })
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
