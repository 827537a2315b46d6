//! Several schedules at once, on several threads.
//!
//! What comes of a schedule does not depend on others, except in the search, where each run decides the next. So one
//! thread searches, and all share the rest. Results come in the order of the schedules' numbers, whoever ran them: an
//! exploration gives the same on any machine.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Explorer, Guide, Plans, Run, Schedule, Search, Watcher, is_searched, ordered_schedule};

/// Threads that explore.
const MOST_THREADS: usize = 16;

/// How often the watcher is asked while others still run.
const PATIENCE: Duration = Duration::from_millis(5);

/// A run and its number.
pub(super) struct Numbered {
    pub(super) number: usize,
    pub(super) schedule: Schedule,
    pub(super) run: Run,
    /// With it the search has seen all there is.
    pub(super) exhausts: bool,
}

/// What the threads of a batch share.
struct Shared {
    /// The schedules that any thread may run.
    numbers: Vec<usize>,
    next: AtomicUsize,
    /// Threads that have nothing left to do.
    done: AtomicUsize,
    stop: AtomicBool,
    results: Mutex<Vec<Numbered>>,
}

impl Shared {
    fn keep(&self, result: Numbered) {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
    }

    /// Runs what nobody has run yet.
    fn help(&self, explorer: &Explorer<'_, '_>, guide: &Guide, watcher: &mut dyn Watcher) {
        while let Some(&number) = self.numbers.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let schedule = ordered_schedule(number, explorer.settings.seed, guide);
            let run = explorer.run(&schedule, watcher);
            let interrupted = run.interrupted;
            self.keep(Numbered { number, schedule, run, exhausts: false });
            if interrupted {
                self.stop.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}

/// Stops when another thread says so.
struct Follower<'a>(&'a AtomicBool);

impl Watcher for Follower<'_> {
    fn is_interrupted(&mut self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts a thread as done when it leaves, also by a panic, which the end of the scope then passes on.
struct Leaving<'a>(&'a AtomicUsize);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// How many threads a batch is worth.
pub(super) fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Runs the schedules with these numbers.
pub(super) fn run(
    explorer: &Explorer<'_, '_>,
    numbers: Range<usize>,
    guide: &Guide,
    search: &mut Search,
    watcher: &mut dyn Watcher,
) -> Vec<Numbered> {
    let searches = |number: &usize| is_searched(*number) && !search.exhausted;
    let (searched, ordered): (Vec<usize>, Vec<usize>) = numbers.partition(searches);
    let helpers = (threads() - 1).min((searched.len() + ordered.len()).saturating_sub(1));
    let shared = Shared {
        numbers: ordered,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        results: Mutex::new(Vec::new()),
    };
    let (scenario, settings) = (explorer.scenario, explorer.settings);
    thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|| {
                let _leaving = Leaving(&shared.done);
                let plans = Plans::new(&scenario.hosts);
                if let Ok(explorer) = Explorer::new(scenario, &plans, settings) {
                    shared.help(&explorer, guide, &mut Follower(&shared.stop));
                }
            });
        }
        for number in searched {
            if shared.stop.load(Ordering::Relaxed) {
                break;
            }
            let is_over = search.exhausted;
            let schedule = match is_over {
                false => Schedule::choosing(search.next.clone()),
                true => ordered_schedule(number, explorer.settings.seed, guide),
            };
            let run = explorer.run(&schedule, watcher);
            if !is_over {
                search.learn(&run.trace);
            }
            if run.interrupted {
                shared.stop.store(true, Ordering::Relaxed);
            }
            shared.keep(Numbered { number, schedule, run, exhausts: search.exhausted && !is_over });
        }
        shared.help(explorer, guide, watcher);
        while shared.done.load(Ordering::Acquire) < helpers {
            if watcher.is_interrupted() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            thread::sleep(PATIENCE);
        }
    });
    let mut results = shared.results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|result| result.number);
    results
}
