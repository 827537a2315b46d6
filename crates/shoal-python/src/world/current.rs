//! The rank that this thread acts as: launches run as it, and may reach the others' memory.
//!
//! A thread of `World.run` acts as its rank. A process that is a rank acts as it on every thread that says nothing else.
//! A forked child is no rank.

use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use shoal::world::Rank;

use crate::lock::lock_briefly;

thread_local! {
    static OF_THREAD: RefCell<Vec<Part>> = const { RefCell::new(Vec::new()) };
}

/// What a thread acts as.
struct Part {
    process: u32,
    rank: Rank,
    /// Whether the thread was made for the rank or one of its streams.
    is_made_for_it: bool,
    /// The other ranks know that the thread may end their waits.
    acting: Option<shoal::world::Acting>,
}

static OF_PROCESS: Mutex<Option<(u32, Rank)>> = Mutex::new(None);
/// Whether any thread ever acted as a rank: launches of programs without a world pay for one load.
static EVER: AtomicBool = AtomicBool::new(false);

/// The rank that this thread acts as.
#[inline]
pub(crate) fn rank() -> Option<Rank> {
    if EVER.load(Ordering::Relaxed) { find() } else { None }
}

#[cold]
fn find() -> Option<Rank> {
    let of_thread = OF_THREAD.with_borrow(|ranks| ranks.last().map(|part| (part.process, part.rank.clone())));
    let found = of_thread.or_else(|| lock_briefly(&OF_PROCESS).clone());
    found.filter(|(process, _)| *process == std::process::id()).map(|(_, rank)| rank)
}

/// Whether this thread itself has to wait for other ranks: it was made for a rank, and so does not hear of signals, or the
/// others know it as one that may end their waits.
pub(crate) fn waits_itself() -> bool {
    OF_THREAD.with_borrow(|parts| parts.iter().any(|part| part.is_made_for_it || part.acting.is_some()))
}

/// This process acts as a rank, or as none.
pub(crate) fn set_of_process(rank: Option<Rank>) {
    EVER.store(true, Ordering::Relaxed);
    *lock_briefly(&OF_PROCESS) = rank.map(|rank| (std::process::id(), rank));
}

/// This thread acts as a rank from now on.
pub(crate) fn push(rank: Rank) {
    begin(rank, false);
}

fn begin(rank: Rank, is_made_for_it: bool) {
    EVER.store(true, Ordering::Relaxed);
    let part = Part { process: std::process::id(), is_made_for_it, acting: rank.act(), rank };
    OF_THREAD.with_borrow_mut(|parts| parts.push(part));
}

/// This thread acts as it did before the last `push`.
pub(crate) fn pop() {
    drop(OF_THREAD.with_borrow_mut(Vec::pop));
}

/// A time in which this thread acts as a rank.
pub(crate) struct Acting(());

impl Acting {
    /// Of a thread that was made for the rank or one of its streams.
    pub(crate) fn of_thread(rank: Rank) -> Acting {
        begin(rank, true);
        Acting(())
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        pop();
    }
}
