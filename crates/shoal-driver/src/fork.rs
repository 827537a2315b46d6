//! Forks of the process: a child never finds a lock that a thread holds which it does not have.
//!
//! A forked child has one thread, the one that forked, and all memory as it was at that moment: with locks of other
//! threads held for ever, and data that they were changing half changed. Two things prevent that:
//!
//! - a [`Section`] is a stretch of code in which a thread holds locks, or calls libraries that do (LLVM). A fork waits
//!   until no thread is in one. Sections end by themselves: whoever calls the host from inside one does so
//!   [`outside`] it, because the host may be waiting with a lock of its own, Python's for instance, for the fork.
//! - a [`PerProcess`] value is made anew in a child: worker threads, and what they and launches share.
//!
//! Launches are in no section. They may take for ever, and what they share is made anew.

use core::{
    cell::Cell,
    marker::PhantomData,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};
use std::thread;

/// How often a thread looks again that waits for a fork, or a fork that waits for threads.
const PAUSE: Duration = Duration::from_micros(50);

/// Threads in sections, counted at several places so that they do not fight for one.
static SHARDS: [Shard; 16] = [const { Shard(AtomicUsize::new(0)) }; 16];

#[repr(align(128))]
struct Shard(AtomicUsize);

/// Whether a fork is waiting for sections to end, so that none may begin.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Whether some thread is forking.
static FORKING: AtomicBool = AtomicBool::new(false);
/// Forks between the first process and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Sections that the thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// The shard that it counts in.
    static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// A number that differs between a process and its forked children.
#[inline]
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// A stretch of code in which forks wait. Sections nest.
#[derive(Debug)]
pub struct Section(PhantomData<*const ()>);

impl Section {
    /// Begins a section, after a fork that is under way.
    #[inline]
    #[must_use]
    pub fn enter() -> Self {
        let depth = DEPTH.get();
        if depth == 0 {
            admit();
        }
        DEPTH.set(depth + 1);
        Self(PhantomData)
    }
}

impl Drop for Section {
    #[inline]
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            shard().fetch_sub(1, Ordering::Release);
        }
    }
}

/// Runs `f` outside the sections that the thread is in: forks do not wait for it.
pub fn outside<R>(f: impl FnOnce() -> R) -> R {
    struct Return(usize);
    impl Drop for Return {
        fn drop(&mut self) {
            if self.0 > 0 {
                admit();
                DEPTH.set(self.0);
            }
        }
    }
    let depth = DEPTH.replace(0);
    if depth > 0 {
        shard().fetch_sub(1, Ordering::Release);
    }
    let _return = Return(depth);
    f()
}

#[inline]
fn shard() -> &'static AtomicUsize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if SHARD.get() == usize::MAX {
        SHARD.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS.len());
    }
    &SHARDS[SHARD.get()].0
}

/// Counts the thread in.
#[inline]
fn admit() {
    if REGISTERED.load(Ordering::Acquire) != DONE {
        register();
    }
    let shard = shard();
    // Either this thread sees that the gate is closed, or the fork sees this thread.
    shard.fetch_add(1, Ordering::SeqCst);
    while CLOSED.load(Ordering::SeqCst) {
        wait_for_fork(shard);
    }
}

#[cold]
fn wait_for_fork(shard: &AtomicUsize) {
    shard.fetch_sub(1, Ordering::SeqCst);
    while CLOSED.load(Ordering::Acquire) {
        thread::sleep(PAUSE);
    }
    shard.fetch_add(1, Ordering::SeqCst);
}

/// 0, the process that is registering the handlers, or `DONE`.
static REGISTERED: AtomicU32 = AtomicU32::new(0);
const DONE: u32 = u32::MAX;

/// Has the C library call this file before and after each fork.
#[cold]
fn register() {
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<unsafe extern "C" fn()>,
            parent: Option<unsafe extern "C" fn()>,
            child: Option<unsafe extern "C" fn()>,
        ) -> i32;
    }
    let me = std::process::id();
    loop {
        let state = REGISTERED.load(Ordering::Acquire);
        if state == DONE {
            return;
        }
        // A child that was forked while its parent was at it starts over: registering twice would be harmless.
        let stale = state != me;
        if stale && REGISTERED.compare_exchange(state, me, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            // SAFETY: the handlers may be called at any time and never unwind.
            let failed = unsafe { pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
            assert_eq!(failed, 0, "there is no memory for a fork handler");
            REGISTERED.store(DONE, Ordering::Release);
            return;
        }
        thread::yield_now();
    }
}

unsafe extern "C" fn prepare() {
    // A thread that forks inside its own section does not wait for itself.
    if DEPTH.get() > 0 {
        shard().fetch_sub(1, Ordering::SeqCst);
    }
    while FORKING.swap(true, Ordering::AcqRel) {
        thread::sleep(PAUSE);
    }
    CLOSED.store(true, Ordering::SeqCst);
    while SHARDS.iter().any(|Shard(threads)| threads.load(Ordering::SeqCst) > 0) {
        thread::sleep(PAUSE);
    }
}

unsafe extern "C" fn in_parent() {
    if DEPTH.get() > 0 {
        shard().fetch_add(1, Ordering::SeqCst);
    }
    CLOSED.store(false, Ordering::SeqCst);
    FORKING.store(false, Ordering::Release);
}

unsafe extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    // Threads that had counted themselves in only to find the gate closed are not here.
    for Shard(threads) in &SHARDS {
        threads.store(0, Ordering::SeqCst);
    }
    // SAFETY: called where the parent's handler would be, which does the rest.
    unsafe { in_parent() };
}

/// A value that a forked child makes anew when it first uses it. What the parent had is left alone there: threads that
/// were using it do not exist, and would never let go of it.
#[derive(Debug)]
pub struct PerProcess<T> {
    current: AtomicPtr<Made<T>>,
}

#[derive(Debug)]
struct Made<T> {
    generation: u64,
    value: T,
}

impl<T> PerProcess<T> {
    /// The value of this process.
    pub fn new(value: T) -> Self {
        if REGISTERED.load(Ordering::Acquire) != DONE {
            register();
        }
        Self { current: AtomicPtr::new(Self::made(value)) }
    }

    fn made(value: T) -> *mut Made<T> {
        Box::into_raw(Box::new(Made { generation: generation(), value }))
    }

    /// The value, made from the parent's now if this is a child. Whatever the parent's shares with other threads may be
    /// held by them for ever.
    ///
    /// # Errors
    /// Those of `make`.
    #[inline]
    pub fn get<E>(&self, make: impl FnOnce(&T) -> Result<T, E>) -> Result<&T, E> {
        // SAFETY: what was current once is never freed before `self` is.
        let made = unsafe { &*self.current.load(Ordering::Acquire) };
        if made.generation == generation() { Ok(&made.value) } else { self.remake(made, make) }
    }

    #[cold]
    fn remake<E>(&self, parents: &Made<T>, make: impl FnOnce(&T) -> Result<T, E>) -> Result<&T, E> {
        let made = Self::made(make(&parents.value)?);
        let parents = ptr::from_ref(parents).cast_mut();
        match self.current.compare_exchange(parents, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: current now; see `get`.
            Ok(_) => Ok(unsafe { &(*made).value }),
            Err(faster) => {
                // SAFETY: `made` was shown to nobody; `faster` is current.
                unsafe {
                    drop(Box::from_raw(made));
                    Ok(&(*faster).value)
                }
            }
        }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let made = *self.current.get_mut();
        // SAFETY: made by `made`, and `&mut self` says that nobody uses it.
        if unsafe { (*made).generation } == generation() {
            // SAFETY: as above; freed once.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}

// SAFETY: it owns a `T` and gives out shared references to it, also to values made by several threads.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}
// SAFETY: it owns a `T`.
unsafe impl<T: Send> Send for PerProcess<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_nest_and_can_be_left() {
        let inside = || shard().load(Ordering::SeqCst);
        assert_eq!(inside(), 0);
        let outer = Section::enter();
        let inner = Section::enter();
        assert_eq!((inside(), DEPTH.get()), (1, 2));
        outside(|| {
            assert_eq!((inside(), DEPTH.get()), (0, 0));
            let _nested = Section::enter();
            assert_eq!(inside(), 1);
        });
        assert_eq!((inside(), DEPTH.get()), (1, 2));
        drop((outer, inner));
        assert_eq!(inside(), 0);
    }

    #[test]
    fn a_value_is_made_once_in_a_process() {
        let value = PerProcess::new(1);
        assert_eq!(value.get(|_| Err("made again")), Ok(&1));
    }
}
