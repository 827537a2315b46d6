//! The queue of a stream and its thread.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use shoal_driver::Actor;

use super::event::Purpose;
use super::{Event, SharedError};
use crate::error::WorldError;
use crate::rank::Rank;
use crate::vigil::BusyStream;

type Work = Box<dyn FnOnce() -> Result<(), WorldError> + Send>;

enum Item {
    /// Runs unless the stream has failed.
    Work(Work),
    /// Happens in any case, with the stream's error.
    Event(Event),
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    /// Something was taken out and is not done.
    is_busy: bool,
    is_closed: bool,
    /// What is in it will be done.
    actor: Option<Actor>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    rank: Rank,
    /// Whether somebody has got the error that ended it.
    is_heard: Arc<AtomicBool>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work in order, done by a thread, which ends when the queue is dropped and what is in it is done.
pub(super) struct Queue {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({} waiting)", self.shared.lock().items.len())
    }
}

impl Queue {
    pub(super) fn start(rank: &Rank) -> Result<Queue, WorldError> {
        let (state, changed, is_heard) = (Mutex::default(), Condvar::new(), Arc::default());
        let shared = Arc::new(Shared { state, changed, rank: rank.clone(), is_heard });
        let worker = Arc::clone(&shared);
        let doing = format!("start a stream of rank {}", rank.rank());
        let thread = thread::Builder::new()
            .name(format!("stream of {}", rank.rank()))
            .spawn(move || run(&worker))
            .map_err(|source| WorldError::System { doing, source })?;
        Ok(Queue { shared, thread: Some(thread) })
    }

    /// Work that is left out when something before it failed.
    pub(super) fn push(&self, work: impl FnOnce() -> Result<(), WorldError> + Send + 'static) {
        self.append(Item::Work(Box::new(work)));
    }

    /// An event, which happens in any case. Who waits for it hears what ended the queue.
    pub(super) fn push_event(&self, purpose: Purpose) -> Event {
        self.append_event(purpose, &self.shared.is_heard)
    }

    /// The same for whoever has nobody to tell that to.
    pub(super) fn end(&self) -> Event {
        self.append_event(Purpose::Dropped, &Arc::default())
    }

    fn append_event(&self, purpose: Purpose, is_heard: &Arc<AtomicBool>) -> Event {
        let event = Event::new(purpose, is_heard);
        self.append(Item::Event(event.clone()));
        event
    }

    /// Whether this is the thread that does the work, which cannot wait for itself.
    pub(super) fn is_this_thread(&self) -> bool {
        self.thread.as_ref().is_some_and(|work| work.thread().id() == thread::current().id())
    }

    fn append(&self, item: Item) {
        let mut state = self.shared.lock();
        if state.actor.is_none() {
            state.actor = self.shared.rank.stream_actor();
        }
        state.items.push_back(item);
        drop(state);
        self.shared.changed.notify_one();
    }

    /// Waits for the end of the thread, which has nothing more to do.
    pub(super) fn join(&mut self) {
        self.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn close(&self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_one();
    }

    pub(super) fn is_heard(&self) -> bool {
        self.shared.is_heard.load(Ordering::Relaxed)
    }

    pub(super) fn is_idle(&self) -> bool {
        let state = self.shared.lock();
        state.items.is_empty() && !state.is_busy
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.close();
    }
}

fn run(shared: &Shared) {
    let _acting = shared.rank.lend_thread();
    let mut failed: Option<SharedError> = None;
    while let Some(item) = next(shared) {
        match item {
            Item::Event(event) => {
                // Whoever waits for it may ask at once whether the stream is idle.
                shared.lock().is_busy = false;
                event.happen(failed.clone());
            }
            Item::Work(work) if failed.is_none() => {
                let _busy = BusyStream::begin();
                failed = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
                    Ok(result) => result.err().map(Arc::new),
                    Err(_) => Some(Arc::new(WorldError::Argument("a function called by a stream panicked".to_owned()))),
                };
            }
            Item::Work(_) => {}
        }
    }
    if let Some(source) = failed
        && !shared.is_heard.load(Ordering::Relaxed)
    {
        shared.rank.leave_error(WorldError::Stream { source });
    }
}

/// The next item; `None` when the queue is closed and empty.
fn next(shared: &Shared) -> Option<Item> {
    let mut state = shared.lock();
    state.is_busy = false;
    loop {
        if let Some(item) = state.items.pop_front() {
            state.is_busy = true;
            return Some(item);
        }
        state.actor = None;
        if state.is_closed {
            return None;
        }
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}
