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

/// A point in a stream, see [`Stream::record`](crate::Stream::record). Clones are the same event.
#[derive(Debug, Clone)]
pub struct Event(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    happened: Condvar,
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
    pub(super) fn new(is_heard: &Arc<AtomicBool>) -> Event {
        let (state, is_heard) = (Mutex::new(State::Pending), Arc::clone(is_heard));
        Event(Arc::new(Inner { state, happened: Condvar::new(), is_heard }))
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
        let awaited = || Awaited::Word { condition: "an event of a stream".to_owned() };
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
                let name = rank.name();
                let reason = format!("{name} waited {} for an event of a stream", spell(rank.options().timeout));
                let failure = rank.end_world(Failure { rank: rank.rank(), reason });
                return Err(WorldError::failed(rank.rank(), Some(awaited()), failure));
            }
            if let Some(failure) = rank.failure() {
                return Err(WorldError::failed(rank.rank(), Some(awaited()), failure));
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
