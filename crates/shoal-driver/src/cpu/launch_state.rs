//! What all programs of one launch share: where prints go, and whether and why they are to end early.

use super::launch_options::LaunchOptions;
use crate::bounds::Bounds;
use crate::{
    error::Failure,
    fork,
    interrupt::{GiveUp, HOST_POLL_INTERVAL, Interrupt, Standing},
    launch_group::{GroupMember, InLaunch, LONG_WAIT, LongWait},
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

/// What came of watching for all programs of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// They have to look themselves.
    Unknown,
    /// One of them can go on.
    Moves,
    /// None can.
    InVain,
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
    _launch: Option<InLaunch<'a>>,
    /// Changes whenever a program starts, ends, passes a wait, or looks at memory in a loop that may end by itself.
    moves: AtomicU64,
    /// Programs that wait.
    waiting: AtomicUsize,
    /// How often all programs that have begun were found to wait.
    rounds: AtomicU64,
    /// Not all programs wait for words: some look at memory in a loop.
    loops: AtomicBool,
    /// How long programs may only look at memory in a loop before they count as waiting.
    loop_patience: Duration,
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
    /// The launch in the table of its group, while it waits for long.
    wait: Option<GroupWait>,
    /// What its programs wait for is looked at for them.
    is_looked_for: bool,
}

/// A launch in the table of its group, and where both stood when that was last looked at.
#[derive(Debug)]
struct GroupWait {
    wait: LongWait,
    /// Of the group.
    moves: u64,
    /// Of the launch.
    rounds: u64,
}

impl GroupWait {
    fn new(wait: LongWait, rounds: u64) -> Self {
        Self { moves: wait.moves(), wait, rounds }
    }

    /// Whether nobody is left who could end the wait, as far as the programs have looked after so many rounds.
    fn is_in_vain(&mut self, rounds: u64) -> bool {
        // A round that began before the group moved last may have missed what that brought.
        if rounds <= self.rounds + 1 {
            return false;
        }
        let is_stuck = self.wait.in_vain(self.moves).is_some();
        (self.moves, self.rounds) = (self.wait.moves(), rounds);
        is_stuck
    }
}

impl<'a> LaunchState<'a> {
    pub(crate) fn new(options: &'a LaunchOptions, patience: Option<Duration>, loop_patience: Duration) -> Self {
        Self {
            loop_patience,
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
            _launch: options.member.as_ref().map(GroupMember::launches),
            moves: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            rounds: AtomicU64::new(0),
            loops: AtomicBool::new(true),
            watch: Mutex::new(Watch::default()),
            grid_words: Default::default(),
        }
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

    /// Some program started, ended, passed a wait, or goes round in a loop that may end by itself.
    pub(crate) fn moved(&self) {
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// So many programs wait now, after so many rounds.
    pub(crate) fn set_waiting(&self, programs: usize, rounds: u64) {
        self.rounds.store(rounds, Ordering::Relaxed);
        self.waiting.store(programs, Ordering::Relaxed);
    }

    /// Whether some programs look at memory in a loop.
    pub(crate) fn set_loops(&self, loops: bool) {
        self.loops.store(loops, Ordering::Relaxed);
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
            let moves = self.moves.load(Ordering::Relaxed);
            let rounds = self.rounds.load(Ordering::Relaxed);
            let loops = self.loops.load(Ordering::Relaxed) && self.quiet_for(now) < self.loop_patience;
            let standing = Standing { moves, rounds, loops };
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
        let moves = self.moves.load(Ordering::Relaxed);
        let since = lock(&self.watch).moves.filter(|&(seen, _)| seen == moves);
        since.map_or(Duration::ZERO, |(_, since)| now.saturating_duration_since(since))
    }

    /// Ends the launch if its programs wait in vain: nothing has moved for too long, and nobody is left who could move; or
    /// they have waited for others as long as they may.
    fn give_up_if_stuck(&self, now: Instant) {
        let Some(patience) = self.patience else { return };
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let moves = self.moves.load(Ordering::Relaxed);
        let mut watch = lock(&self.watch);
        let (since, is_judged) = match watch.moves {
            Some((seen, since)) if seen == moves => (since, false),
            Some(_) | None => {
                (watch.moves, watch.is_looked_for) = (Some((moves, now)), false);
                (now, watch.wait.take().is_some_and(|waited| waited.wait.withdraw()))
            }
        };
        let quiet = now.saturating_duration_since(since);
        let rounds = self.rounds.load(Ordering::Relaxed);
        let entered = |member: &GroupMember| GroupWait::new(member.waits_in_launch(), rounds);
        let is_stuck = match self.member {
            _ if is_judged => true,
            None => quiet >= patience,
            Some(member) if quiet >= member.limit() => {
                watch.wait.get_or_insert_with(|| entered(member)).wait.is_too_long();
                true
            }
            Some(member) if quiet >= patience && !watch.is_looked_for => {
                watch.wait.get_or_insert_with(|| entered(member)).is_in_vain(rounds)
            }
            Some(_) => false,
        };
        drop(watch);
        if is_stuck {
            self.end(End::Stuck(quiet));
        }
    }

    /// Whether it is known to others that programs have waited since then.
    pub(crate) fn has_waited_for_long(&self, since: Instant) -> bool {
        self.member.is_some() && since.elapsed() >= LONG_WAIT
    }

    /// All programs [have waited for long](Self::has_waited_for_long). `look` finds out whether what they wait for is not
    /// there, for all of them. If nobody is left who could bring it, the launch ends.
    pub(crate) fn watch_for(&self, since: Instant, now: Instant, look: impl FnOnce() -> bool) -> Watched {
        let Some(member) = self.member else { return Watched::Unknown };
        let mut watch = lock(&self.watch);
        let rounds = self.rounds.load(Ordering::Relaxed);
        let waited = watch.wait.get_or_insert_with(|| GroupWait::new(member.waits_in_launch(), rounds));
        let moves = waited.wait.moves();
        let is_absent = look();
        let is_stuck = match is_absent {
            true => waited.wait.in_vain(moves).is_some(),
            false => watch.wait.take().is_some_and(|waited| waited.wait.withdraw()),
        };
        watch.is_looked_for = is_absent;
        drop(watch);
        if is_stuck {
            self.end(End::Stuck(now.saturating_duration_since(since)));
        } else if !is_absent {
            self.moved();
            return Watched::Moves;
        }
        Watched::InVain
    }

    /// Polls the host if it is time to.
    pub(crate) fn poll_host_if_due(&self, now: Instant) {
        if self.host_poll_is_due(now) {
            self.poll_host(now);
        }
    }
}
