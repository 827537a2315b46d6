//! Events: points in a stream that others wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::SharedError;
use crate::engine::Awaited;
use crate::error::{Failure, WorldError, spell};
use crate::giving_up;
use crate::rank::Rank;
use crate::wait_report::Told;

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
        let deadline = Instant::now() + rank.options().timeout;
        let what = self.0.purpose.words();
        let awaited = || Awaited::Word { condition: what.to_owned() };
        let mut wait = rank.begin_wait();
        let mut state = self.lock();
        loop {
            wait.looks();
            match &*state {
                State::Happened => return Ok(()),
                State::Failed(error) => {
                    self.0.is_heard.store(true, Ordering::Relaxed);
                    return Err(WorldError::Stream { source: Arc::clone(error) });
                }
                State::Pending => {}
            }
            if Instant::now() >= deadline {
                let reason = format!("{} waited {} for {what}", rank.name(), spell(rank.options().timeout));
                let failure = rank.end_world(Failure { rank: rank.rank(), reason });
                return Err(giving_up::ended(rank.access(), Some(awaited()), failure));
            }
            if let Some(failure) = rank.failure() {
                // What becomes of the stream comes of that.
                self.0.is_heard.store(true, Ordering::Relaxed);
                return Err(giving_up::ended(rank.access(), Some(awaited()), failure));
            }
            if let Some(verdict) = wait.in_vain() {
                drop(state);
                return Err(giving_up::deadlocked(rank.access(), &verdict, &Told::from(&awaited())));
            }
            let waited = self.0.happened.wait_timeout(state, LIVENESS_INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
