//! Worker threads, parked when idle.
//!
//! A launch posts its work and takes part itself; idle workers help. So work posted from any number of threads
//! always moves, even when every worker is busy elsewhere.

use crate::{fork, interrupt::HOST_POLL_INTERVAL, lock::lock};
use core::{
    hint,
    ptr::NonNull,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, JoinHandle, Thread},
};

/// How long a worker that ran out of work looks for more before it parks: launches often come in a row, and waking a
/// thread takes longer than many of them run.
const SPINS_BEFORE_PARKING: usize = 1_000;
/// How long a launching thread spins for its helpers' last chunks before it parks.
const SPINS_FOR_HELPERS: usize = 10_000;

/// Something threads can do together.
pub(crate) trait Work: Sync {
    /// Works along until there is nothing left to do for this thread.
    fn help(&self);
    /// Whether `help` would find something to do.
    fn wants_help(&self) -> bool;
    /// Called by the thread that posted the work, now and then while it waits for its helpers.
    fn poll_host(&self);
}

/// The worker threads of a device.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Changes when work is posted, for workers that spin.
    posts: AtomicUsize,
    parked: AtomicUsize,
    shutdown: AtomicBool,
}

#[derive(Default)]
struct Queue {
    posted: Vec<Arc<Posted>>,
    /// Where the search for work begins, so that several launches all get help.
    turn: usize,
}

struct Posted {
    /// Valid as long as this is in the queue or `helpers` is not zero.
    work: NonNull<dyn Work>,
    helpers: AtomicUsize,
    most_helpers: usize,
    owner: Thread,
    /// The process that posted it.
    generation: u64,
}

// SAFETY: `work` points at a `Sync` value, and is used only while the poster keeps it alive.
unsafe impl Send for Posted {}
// SAFETY: as above.
unsafe impl Sync for Posted {}

impl Pool {
    /// Starts `workers` threads.
    pub(crate) fn new(workers: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            posts: AtomicUsize::new(0),
            parked: AtomicUsize::new(0),
            shutdown: AtomicBool::new(false),
        });
        let mut pool = Self { shared, workers: Vec::with_capacity(workers) };
        for index in 0..workers {
            let shared = Arc::clone(&pool.shared);
            let name = format!("shoal-cpu-{index}");
            pool.workers.push(thread::Builder::new().name(name).spawn(move || shared.work())?);
        }
        Ok(pool)
    }

    /// Offers `work` to at most `helpers` workers while `f` runs; returns when both `f` and they are done with it.
    pub(crate) fn share<'a, R>(&self, work: &'a (dyn Work + 'a), helpers: usize, f: impl FnOnce() -> R) -> R {
        let helpers = helpers.min(self.workers.len());
        if helpers == 0 {
            return f();
        }
        // SAFETY: only the lifetime changes. `Offer` withdraws the work before this function returns or unwinds.
        let work = unsafe { core::mem::transmute::<&'a (dyn Work + 'a), &'static (dyn Work + 'static)>(work) };
        let posted = Arc::new(Posted {
            work: NonNull::from(work),
            helpers: AtomicUsize::new(0),
            most_helpers: helpers,
            owner: thread::current(),
            generation: fork::generation(),
        });
        self.shared.announce(|queue| queue.posted.push(Arc::clone(&posted)));
        let _offer = Offer { shared: &self.shared, posted };
        self.shared.wake(helpers);
        f()
    }

    /// Wakes a worker: posted work that had nothing for it has something now.
    pub(crate) fn nudge(&self) {
        if self.shared.parked.load(Ordering::Relaxed) > 0 {
            self.shared.announce(|_| {});
            self.shared.wake(1);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.announce(|_| self.shared.shutdown.store(true, Ordering::Release));
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

/// Work that is in the queue; dropping it takes it out and waits for its helpers.
struct Offer<'a> {
    shared: &'a Shared,
    posted: Arc<Posted>,
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        // Helpers of a launch that was forked (from a print, say) never come to an end in the child.
        let forked = || self.posted.generation != fork::generation();
        let busy = || self.posted.helpers.load(Ordering::Acquire) > 0 && !forked();
        if forked() {
            return;
        }
        lock(&self.shared.queue).posted.retain(|p| !Arc::ptr_eq(p, &self.posted));
        for _ in 0..SPINS_FOR_HELPERS {
            if !busy() {
                return;
            }
            hint::spin_loop();
        }
        while busy() {
            thread::park_timeout(HOST_POLL_INTERVAL);
            // SAFETY: this is the poster, which keeps the work alive.
            unsafe { self.posted.work.as_ref() }.poll_host();
        }
    }
}

/// A worker signed up for some work; dropping it signs off, also when the work panics.
struct Helping(Arc<Posted>);

impl Drop for Helping {
    fn drop(&mut self) {
        if self.0.helpers.fetch_sub(1, Ordering::Release) == 1 {
            self.0.owner.unpark();
        }
    }
}

impl Queue {
    /// Finds work that wants another helper, and signs the caller up for it.
    fn join(&mut self) -> Option<Arc<Posted>> {
        let count = self.posted.len();
        for step in 0..count {
            let index = (self.turn + step) % count;
            let posted = &self.posted[index];
            // SAFETY: it is in the queue, and we hold the lock, so its poster has not withdrawn it.
            let wants_help = unsafe { posted.work.as_ref() }.wants_help();
            if wants_help && posted.helpers.load(Ordering::Relaxed) < posted.most_helpers {
                posted.helpers.fetch_add(1, Ordering::Relaxed);
                self.turn = index + 1;
                return Some(Arc::clone(posted));
            }
        }
        None
    }
}

impl Shared {
    /// Changes the queue such that no worker parks without having seen it: the number of posts changes under the
    /// lock a worker holds between its last look at it and its parking.
    fn announce(&self, change: impl FnOnce(&mut Queue)) {
        let mut queue = lock(&self.queue);
        change(&mut queue);
        self.posts.fetch_add(1, Ordering::Release);
    }

    fn wake(&self, workers: usize) {
        let parked = self.parked.load(Ordering::Relaxed);
        if workers >= parked && parked > 1 {
            self.wake.notify_all();
        } else {
            for _ in 0..workers.min(parked) {
                self.wake.notify_one();
            }
        }
    }

    /// The life of a worker.
    fn work(&self) {
        while let Some(posted) = self.next() {
            let helping = Helping(posted);
            // SAFETY: we are counted as a helper, so the poster keeps the work alive.
            unsafe { helping.0.work.as_ref() }.help();
        }
    }

    /// Waits for work; `None` when the pool ends.
    fn next(&self) -> Option<Arc<Posted>> {
        loop {
            let seen = self.posts.load(Ordering::Acquire);
            if self.shutdown.load(Ordering::Acquire) {
                return None;
            }
            if let Some(posted) = lock(&self.queue).join() {
                return Some(posted);
            }
            if self.spin(seen) {
                continue;
            }
            let mut queue = lock(&self.queue);
            self.parked.fetch_add(1, Ordering::Relaxed);
            while self.posts.load(Ordering::Acquire) == seen {
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            self.parked.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Spins until something is posted; says whether it was.
    fn spin(&self, seen: usize) -> bool {
        for _ in 0..SPINS_BEFORE_PARKING {
            if self.posts.load(Ordering::Acquire) != seen {
                return true;
            }
            hint::spin_loop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count {
        left: AtomicUsize,
        done: AtomicUsize,
    }

    impl Work for Count {
        fn help(&self) {
            while self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1)).is_ok() {
                self.done.fetch_add(1, Ordering::AcqRel);
            }
        }

        fn wants_help(&self) -> bool {
            self.left.load(Ordering::Acquire) > 0
        }

        fn poll_host(&self) {}
    }

    #[test]
    fn work_from_many_threads_is_done_once() {
        let pool = Pool::new(3).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..500 {
                        let work = Count { left: AtomicUsize::new(round % 40), done: AtomicUsize::new(0) };
                        pool.share(&work, 3, || work.help());
                        assert_eq!(work.done.load(Ordering::Acquire), round % 40);
                    }
                });
            }
        });
    }
}
