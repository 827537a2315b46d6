//! Turns between the interpreters of a world's ranks.
//!
//! Each rank of a world of threads interprets its own launch, on its own thread and in the memory of all. One holds the
//! turn at a time, from one scheduling point of its programs to the next, so that what is atomic for a kernel is atomic
//! here. A rank whose programs all wait hands the turn on until another has acted; when all ranks do, they are
//! deadlocked.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How long a rank waits for others before it looks at memory itself: the host program may have written there.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The worlds in which interpreters run, by the address of their first heap.
static WORLDS: LazyLock<Mutex<HashMap<usize, Weak<Turns>>>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct Turns {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Launches under way.
    launches: usize,
    /// Changes whenever programs have run.
    moves: u64,
    /// Launches that found nothing to do since.
    idle: usize,
    /// The number of moves after which the world was found deadlocked.
    deadlocked_at: Option<u64>,
}

/// What waiting for other ranks came to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Memory may have changed.
    Changed,
    /// All ranks wait.
    Deadlock,
}

/// A launch of one rank, which holds the turn or waits for it.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    guard: Option<MutexGuard<'a, State>>,
}

/// Runs a launch of a rank in turns with those of other ranks of the world whose first heap is at `world`.
pub(crate) fn in_turns<T>(world: usize, run: impl FnOnce(&mut Turn<'_>) -> T) -> T {
    let turns = turns_of(world);
    let mut guard = lock(&turns.state);
    guard.launches += 1;
    guard.moves += 1;
    guard.idle = 0;
    run(&mut Turn { turns: &turns, guard: Some(guard) })
}

/// The turns of a world: the same for all who hold them at the same time.
fn turns_of(world: usize) -> Arc<Turns> {
    let mut worlds = lock(&WORLDS);
    if let Some(turns) = worlds.get(&world).and_then(Weak::upgrade) {
        return turns;
    }
    worlds.retain(|_, turns| turns.strong_count() > 0);
    let turns = Arc::default();
    worlds.insert(world, Arc::downgrade(&turns));
    turns
}

impl Turn<'_> {
    /// Lets others have the turn; programs of this rank have run.
    pub(crate) fn pass(&mut self) {
        if let Some(mut state) = self.guard.take() {
            state.moves += 1;
            state.idle = 0;
            // Nobody else wants the turn where there is one launch.
            if state.launches == 1 {
                self.guard = Some(state);
                return;
            }
            drop(state);
            self.turns.moved.notify_all();
            std::thread::yield_now();
        }
        self.guard = Some(lock(&self.turns.state));
    }

    /// Waits until another rank's programs have run. `may_be_last`: no host of a rank can act, only launches.
    pub(crate) fn wait(&mut self, may_be_last: impl Fn() -> bool) -> Waited {
        let mut state = self.guard.take().unwrap_or_else(|| lock(&self.turns.state));
        let seen = state.moves;
        if state.deadlocked_at != Some(seen) {
            state.idle += 1;
            if state.idle == state.launches && may_be_last() {
                state.deadlocked_at = Some(seen);
                self.turns.moved.notify_all();
            } else {
                state = match self.turns.moved.wait_timeout(state, LOOK_INTERVAL) {
                    Ok((state, _)) => state,
                    Err(poisoned) => poisoned.into_inner().0,
                };
                if state.moves == seen && state.deadlocked_at != Some(seen) {
                    state.idle -= 1;
                }
            }
        }
        let deadlock = state.deadlocked_at == Some(state.moves);
        self.guard = Some(state);
        if deadlock { Waited::Deadlock } else { Waited::Changed }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.guard.take().unwrap_or_else(|| lock(&self.turns.state));
        state.launches -= 1;
        // What the other launches find out about a deadlock does not change by this one's end.
        if state.deadlocked_at != Some(state.moves) {
            state.moves += 1;
            state.idle = 0;
        }
        drop(state);
        self.turns.moved.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn launches_that_follow_each_other_share_the_turn() {
        let busy = AtomicBool::new(false);
        let launch = || {
            in_turns(1, |_| {
                assert!(!busy.swap(true, Ordering::SeqCst), "another has the turn");
                std::thread::yield_now();
                busy.store(false, Ordering::SeqCst);
            });
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..2000).for_each(|_| launch()));
            }
        });
    }
}
