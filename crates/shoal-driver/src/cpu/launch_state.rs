//! What all programs of one launch share: where prints go, and whether and why they are to end early.

use super::launch_options::LaunchOptions;
use crate::bounds::Bounds;
use crate::{
    error::Failure,
    fork,
    interrupt::{GiveUp, HOST_POLL_INTERVAL, Interrupt, Standing},
    launch_group::{GroupMember, Progress},
    lock::lock,
    print_sink::PrintSink,
    rank_view::RankView,
};
use core::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};
use std::{panic::catch_unwind, sync::Mutex, time::Instant};

/// What a thread is to a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The launching thread: it stays to the end, and asks the host whether to stop.
    Owner,
    /// A worker: it leaves when it is of no use.
    Helper,
}

/// Why a launch ends before all its programs have.
#[derive(Debug)]
pub(crate) enum End {
    /// A program has failed.
    Failed(Failure),
    /// The host asked for it.
    Interrupted,
    /// The process was forked meanwhile, and this is the child, which does not have the other threads.
    Forked,
    /// Programs wait, and nothing has moved for so long.
    Stuck(Duration),
    /// The host's interrupt panicked.
    Panicked(Box<dyn Any + Send>),
}

/// State of one launch, which its hooks reach through their programs' contexts.
#[derive(Debug)]
pub(crate) struct LaunchState<'a> {
    sink: &'a PrintSink,
    interrupt: Option<&'a Interrupt>,
    give_up: Option<&'a GiveUp>,
    bounds: Option<&'a Bounds>,
    ranks: Option<&'a RankView>,
    /// How long programs may wait in vain, for launches in which programs wait.
    patience: Option<Duration>,
    /// The process that it belongs to.
    generation: u64,
    end: Mutex<Option<End>>,
    ending: AtomicBool,
    /// The member of a group on whose behalf it is, if any.
    member: Option<&'a GroupMember>,
    /// The progress of a launch without a group.
    own: Progress,
    /// Programs that wait.
    waiting: AtomicUsize,
    /// How often all programs that have begun were found to wait.
    rounds: AtomicU64,
    /// How often a program that waits began to wait for something else.
    turns: AtomicU64,
    watch: Mutex<Watch>,
    /// Words of the programs' own; see [`shoal_abi::Hook::GridWords`].
    grid_words: [AtomicU32; 4],
}

/// What the launching thread remembers between two polls.
#[derive(Debug, Default)]
struct Watch {
    next: Option<Instant>,
    /// The count of moves seen last, and when it was first seen.
    moves: Option<(u64, Instant)>,
}

impl<'a> LaunchState<'a> {
    pub(crate) fn new(options: &'a LaunchOptions, patience: Option<Duration>) -> Self {
        let state = Self {
            sink: &options.print,
            interrupt: options.interrupt.as_ref(),
            give_up: options.give_up.as_ref(),
            bounds: options.bounds.as_deref(),
            ranks: options.ranks.as_deref(),
            patience,
            generation: fork::generation(),
            end: Mutex::new(None),
            ending: AtomicBool::new(false),
            member: options.member.as_ref(),
            own: Progress::of_one_launch(),
            waiting: AtomicUsize::new(0),
            rounds: AtomicU64::new(0),
            turns: AtomicU64::new(0),
            watch: Mutex::new(Watch::default()),
            grid_words: Default::default(),
        };
        if let Some(member) = state.member {
            // In this order, nobody takes the group for one that waits in between.
            member.progress().runs();
            member.enters_launch();
        }
        state
    }

    fn progress(&self) -> &Progress {
        self.member.map_or(&self.own, GroupMember::progress)
    }

    pub(crate) fn sink(&self) -> &PrintSink {
        self.sink
    }

    /// The memory programs may touch, if it is known.
    pub(crate) fn bounds(&self) -> Option<&Bounds> {
        self.bounds
    }

    /// The world it belongs to, if any.
    pub(crate) fn ranks(&self) -> Option<&'a RankView> {
        self.ranks
    }

    /// Words that the programs share, zero at first.
    pub(crate) fn grid_words(&self) -> &[AtomicU32; 4] {
        &self.grid_words
    }

    /// Ends the launch; only the first reason is kept.
    pub(crate) fn end(&self, why: End) {
        lock(&self.end).get_or_insert(why);
        self.ending.store(true, Ordering::Release);
    }

    /// Whether no more programs are to be started, and those that run are to end.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// How long nothing had moved, if that is why the launch ends.
    pub(crate) fn stuck_for(&self) -> Option<Duration> {
        match &*lock(&self.end) {
            Some(End::Stuck(after)) => Some(*after),
            Some(End::Failed(_) | End::Forked | End::Interrupted | End::Panicked(_)) | None => None,
        }
    }

    /// Takes out why the launch ends.
    pub(crate) fn take_end(&self) -> Option<End> {
        if self.is_forked() {
            return Some(End::Forked);
        }
        if !self.is_ending() {
            return None;
        }
        lock(&self.end).take()
    }

    /// Whether this is a child of the process that launched, which cannot go on with it.
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != fork::generation()
    }

    /// Some program started, ended, or came to wait after real work.
    pub(crate) fn moved(&self) {
        self.progress().moved();
    }

    /// A program waits for something else than before.
    pub(crate) fn turned(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// So many programs wait now, after so many rounds.
    pub(crate) fn set_waiting(&self, programs: usize, rounds: u64) {
        self.rounds.store(rounds, Ordering::Relaxed);
        match (self.waiting.swap(programs, Ordering::Relaxed), programs) {
            (0, 1..) => self.progress().waits_or_ends(),
            (1.., 0) => self.progress().runs(),
            _ => {}
        }
    }

    /// Whether the launching thread has reasons to poll the host.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.interrupt.is_some() || self.patience.is_some()
    }

    /// Whether it is time for the launching thread to [poll the host](Self::poll_host).
    pub(crate) fn host_poll_is_due(&self, now: Instant) -> bool {
        if self.is_forked() {
            return true;
        }
        if !self.is_watched() || self.is_ending() {
            return false;
        }
        let mut watch = lock(&self.watch);
        let due = *watch.next.get_or_insert(now + HOST_POLL_INTERVAL) <= now;
        if due {
            watch.next = Some(now + HOST_POLL_INTERVAL);
        }
        due
    }

    /// The launching thread finds out whether the launch should end: it asks the host, and counts for how long nothing
    /// has moved. Needs a large stack, because the host may do what it likes.
    pub(crate) fn poll_host(&self, now: Instant) {
        if self.is_forked() {
            // Without the lock, which a thread may have held that is not here.
            self.ending.store(true, Ordering::Release);
            return;
        }
        let waits = self.waiting.load(Ordering::Relaxed) > 0;
        // In this order: programs that wait tell what for.
        if let Some(give_up) = self.give_up.filter(|_| waits) {
            let moves = self.progress().moves().wrapping_add(self.turns.load(Ordering::Relaxed));
            let standing = Standing { moves, rounds: self.rounds.load(Ordering::Relaxed) };
            self.ask(|| give_up.is_requested(standing), || End::Stuck(self.quiet_for(now)));
        }
        if let Some(interrupt) = self.interrupt {
            self.ask(|| interrupt.is_requested(), || End::Interrupted);
        }
        if !self.is_forked() {
            self.give_up_if_stuck(now);
        }
    }

    /// Ends the launch if the host says so.
    fn ask(&self, question: impl FnOnce() -> bool, end: impl FnOnce() -> End) {
        match catch_unwind(AssertUnwindSafe(question)) {
            // Without the lock, see above.
            _ if self.is_forked() => self.ending.store(true, Ordering::Release),
            Ok(false) => {}
            Ok(true) => self.end(end()),
            Err(panic) => self.end(End::Panicked(panic)),
        }
    }

    /// How long nothing has moved, as far as that was looked at.
    fn quiet_for(&self, now: Instant) -> Duration {
        let moves = lock(&self.watch).moves.filter(|&(seen, _)| seen == self.progress().moves());
        moves.map_or(Duration::ZERO, |(_, since)| now.saturating_duration_since(since))
    }

    /// Ends the launch if its programs wait in vain: nothing has moved in the group for too long, and nobody is left who
    /// could move.
    pub(crate) fn give_up_if_stuck(&self, now: Instant) {
        let Some(patience) = self.patience else { return };
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let (progress, moves) = (self.progress(), self.progress().moves());
        let mut watch = lock(&self.watch);
        let since = match watch.moves {
            Some((seen, since)) if seen == moves => since,
            Some(_) | None => {
                watch.moves = Some((moves, now));
                now
            }
        };
        let quiet = now.saturating_duration_since(since);
        if quiet >= patience && progress.all_wait() {
            progress.declare_stuck(moves);
        }
        if progress.is_declared_stuck(moves) {
            self.end(End::Stuck(quiet));
        }
    }

    /// Polls the host if it is time to.
    pub(crate) fn poll_host_if_due(&self, now: Instant) {
        if self.host_poll_is_due(now) {
            self.poll_host(now);
        }
    }
}

impl Drop for LaunchState<'_> {
    fn drop(&mut self) {
        if let Some(member) = self.member {
            member.leaves_launch();
            if *self.waiting.get_mut() == 0 {
                member.progress().waits_or_ends();
            }
        }
    }
}
