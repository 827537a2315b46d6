//! Which program runs next, when programs may wait for each other.
//!
//! The schedule promises two things. *Progress*: whatever a program waits for, the program that will bring it about
//! is started and resumed again and again, on any number of threads. *Thrift*: programs are started late, so that a
//! huge grid does not need a huge number of stacks.
//!
//! Both rest on **rounds**. A round ends when every live fiber has been suspended at least once since it began. A
//! round in which nothing ended is *fruitless*: perhaps the live programs wait for one that has not been started.
//! Then half as many again are started, so that all programs of a grid that meet at a barrier are started after a
//! few rounds. A fiber that runs without waiting (it may hold the lock the others want) keeps its round open.
//!
//! This file is a plain state machine without threads or clocks of its own.

use super::context::Course;
use core::time::Duration;
use std::{collections::VecDeque, time::Instant};

/// Beyond the soft limit, fibers are started only when nothing has ended for this long: programs that take a
/// contended lock many times make fruitless rounds, too.
const PATIENCE: Duration = Duration::from_micros(100);
/// Fruitless rounds after which the live programs are taken to wait for something from outside.
const CALM_AFTER: u32 = 64;
/// The same where others need this CPU to bring it about.
const CALM_AFTER_CROWDED: u32 = 4;
/// Rounds when calm between which the thread only lets others go first: sleeping takes the system some 50 µs, and what
/// is waited for mostly comes sooner.
const YIELDS: u32 = 256;
/// Shortest and longest sleep between two rounds when calm.
const SHORTEST_SLEEP: Duration = Duration::from_micros(5);
const LONGEST_SLEEP: Duration = Duration::from_micros(200);

/// Programs `first..last`, to be run by one fiber one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// What a thread should do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<F> {
    /// Make a fiber for these programs and run it.
    Start(Range),
    /// Go on with this fiber. The number is to be handed back with it.
    Resume(F, Round),
    /// Nothing to do until some running fiber is suspended or ends.
    Idle,
    /// All programs have ended.
    Done,
}

/// What to do between two rounds when calm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Let other threads go first.
    Yield,
    /// Sleep for so long.
    Sleep(Duration),
}

/// Whether whoever brings about what the programs wait for has a CPU of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cpus {
    Enough,
    Crowded,
}

/// The last round in which a fiber was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round(u64);

impl Round {
    /// The round of a fiber that was never suspended.
    pub(crate) const NONE: Self = Self(u64::MAX);
}

/// The state of all programs of one launch.
#[derive(Debug)]
pub(crate) struct Schedule<F> {
    /// First program that was never started, number of programs, and how many a fiber takes at once.
    next: u64,
    total: u64,
    grain: u64,
    /// Started in vain, for lack of memory.
    returned: Vec<Range>,
    starts: Starts,
    queue: VecDeque<(F, Round)>,
    live: usize,
    round: u64,
    suspended_in_round: usize,
    fruitful: bool,
    fruitless: u32,
    /// How many more fibers may be started although others wait.
    credit: usize,
    threads: usize,
    soft_limit: usize,
    /// Fruitless rounds until it is calm.
    calm_after: u32,
    /// When the live programs were first seen to make no progress since the last end or start.
    quiet_since: Option<Instant>,
}

/// Whether fibers can be started at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starts {
    Allowed,
    /// There was no memory for one; wait until one ends.
    Blocked,
}

impl<F> Schedule<F> {
    pub(crate) fn new(total: u64, grain: u64, threads: usize, soft_limit: usize, cpus: Cpus) -> Self {
        let calm_after = match cpus {
            Cpus::Enough => CALM_AFTER,
            Cpus::Crowded => CALM_AFTER_CROWDED,
        };
        Self {
            calm_after,
            next: 0,
            total,
            grain: grain.max(1),
            returned: Vec::new(),
            starts: Starts::Allowed,
            queue: VecDeque::new(),
            live: 0,
            round: 0,
            suspended_in_round: 0,
            fruitful: false,
            fruitless: 0,
            credit: 0,
            threads,
            soft_limit: soft_limit.max(threads),
            quiet_since: None,
        }
    }

    /// Decides what the calling thread does.
    pub(crate) fn next(&mut self) -> Next<F> {
        if self.may_start()
            && let Some(range) = self.take_range()
        {
            self.credit = self.credit.saturating_sub(1);
            self.live += 1;
            self.quiet_since = None;
            return Next::Start(range);
        }
        match self.queue.pop_front() {
            Some((fiber, round)) => Next::Resume(fiber, round),
            None if self.live > 0 => Next::Idle,
            None => Next::Done,
        }
    }

    fn may_start(&self) -> bool {
        if self.starts == Starts::Blocked {
            return false;
        }
        // Rather than trying the same ones again, fresh work is started within reason.
        self.credit > 0 || self.queue.is_empty() || (self.all_tried() && self.live < self.soft_limit)
    }

    /// Whether all suspended fibers were tried in this round, so that it is others, running now, that keep it open.
    pub(crate) fn all_tried(&self) -> bool {
        // The front was suspended longest ago.
        self.queue.front().is_some_and(|&(_, Round(round))| round == self.round)
    }

    fn take_range(&mut self) -> Option<Range> {
        if let Some(range) = self.returned.pop() {
            return Some(range);
        }
        let first = self.next;
        let last = first.saturating_add(self.grain).min(self.total);
        self.next = last;
        (first < last).then_some(Range { first, last })
    }

    /// More programs for a fiber that has ended its own, was never suspended, and keeps nobody waiting.
    pub(crate) fn take_more(&mut self) -> Option<Range> {
        let more = if self.queue.is_empty() { self.take_range() } else { None };
        if more.is_some() {
            self.made_progress();
        }
        more
    }

    /// A fiber could not be made for `range`.
    pub(crate) fn give_back(&mut self, range: Range) {
        self.returned.push(range);
        self.starts = Starts::Blocked;
        self.live -= 1;
        self.end_round_if_complete(Instant::now);
    }

    /// A fiber was suspended.
    pub(crate) fn suspended(&mut self, fiber: F, Round(round): Round, course: Course, now: impl FnOnce() -> Instant) {
        match course {
            Course::InVain => {}
            // It goes on soon, but lets others go first.
            Course::Stepped => self.fruitless = self.fruitless.min(self.calm_after),
            Course::Moved => (self.fruitless, self.quiet_since) = (0, None),
        }
        if round != self.round {
            self.suspended_in_round += 1;
        }
        self.queue.push_back((fiber, Round(self.round)));
        self.end_round_if_complete(now);
    }

    /// A fiber ended.
    pub(crate) fn ended(&mut self, Round(round): Round) {
        self.live -= 1;
        if round == self.round {
            self.suspended_in_round -= 1;
        }
        self.starts = Starts::Allowed;
        self.made_progress();
        self.end_round_if_complete(Instant::now);
    }

    fn made_progress(&mut self) {
        self.fruitful = true;
        self.fruitless = 0;
        self.quiet_since = None;
    }

    fn end_round_if_complete(&mut self, now: impl FnOnce() -> Instant) {
        if self.live == 0 || self.suspended_in_round < self.live {
            return;
        }
        self.round += 1;
        self.suspended_in_round = 0;
        if !core::mem::take(&mut self.fruitful) {
            self.fruitless = self.fruitless.saturating_add(1);
            let now = now();
            let quiet = now.saturating_duration_since(*self.quiet_since.get_or_insert(now));
            if self.live < self.soft_limit || quiet >= PATIENCE {
                self.credit = self.threads.max(self.live / 2);
            }
        }
    }

    /// Whether there is something to do for another thread.
    pub(crate) fn has_work(&self) -> bool {
        !self.queue.is_empty() || (self.starts == Starts::Allowed && self.unstarted() > 0)
    }

    /// Whether another round right now would be in vain: all programs run or wait, and have done so for a while.
    pub(crate) fn is_calm(&self) -> bool {
        self.fruitless >= self.calm_after && !self.can_start()
    }

    fn can_start(&self) -> bool {
        self.starts == Starts::Allowed && self.unstarted() > 0
    }

    /// What to do before the next round when calm; longer the longer nothing moves.
    pub(crate) fn pause(&self) -> Pause {
        let pauses = self.fruitless.saturating_sub(self.calm_after);
        match pauses.checked_sub(YIELDS) {
            None => Pause::Yield,
            Some(sleeps) => Pause::Sleep(LONGEST_SLEEP.min(SHORTEST_SLEEP * (1 << (sleeps / 16).min(10)))),
        }
    }

    /// Since when nothing has moved, if all programs that can be started wait.
    pub(crate) fn stuck_since(&self) -> Option<Instant> {
        self.quiet_since.filter(|_| self.is_calm())
    }

    /// Programs never started.
    pub(crate) fn unstarted(&self) -> u64 {
        self.returned.iter().map(|r| r.last - r.first).sum::<u64>() + (self.total - self.next)
    }

    /// Rounds that have ended: how often all live fibers were tried.
    pub(crate) fn rounds(&self) -> u64 {
        self.round
    }

    /// Fibers that exist.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Suspended fibers, which number more than this only if others run.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The suspended fibers, if no other is live and none can be started.
    pub(crate) fn all_suspended(&self) -> Option<impl Iterator<Item = &F>> {
        let all = self.live > 0 && self.queue.len() == self.live && !self.can_start();
        all.then(|| self.queue.iter().map(|(fiber, _)| fiber))
    }

    /// What programs wait for has come: they are tried again without a pause.
    pub(crate) fn wake(&mut self) {
        (self.fruitless, self.quiet_since) = (0, None);
    }

    /// Takes all suspended fibers out, to abandon them.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = F> {
        self.live -= self.queue.len();
        core::mem::take(&mut self.queue).into_iter().map(|(fiber, _)| fiber)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `total` programs on one thread; program `p` is suspended until `done(p, ended)` holds. Returns the
    /// greatest number of live fibers, or `None` when the schedule would go on for ever.
    fn drive(total: u64, soft_limit: usize, done: impl Fn(u64, &[bool], u64) -> bool) -> Option<usize> {
        let mut schedule = Schedule::new(total, 1, 1, soft_limit, Cpus::Enough);
        let mut ended = vec![false; total as usize];
        let (mut most, mut started, mut clock) = (0, 0, Instant::now());
        loop {
            let (program, round) = match schedule.next() {
                Next::Start(range) => {
                    started += 1;
                    (range.first, Round::NONE)
                }
                Next::Resume(program, round) => (program, round),
                Next::Idle => unreachable!("one thread runs everything"),
                Next::Done => return Some(most),
            };
            most = most.max(schedule.live());
            clock += Duration::from_micros(10);
            if done(program, &ended, started) {
                ended[program as usize] = true;
                schedule.ended(round);
            } else {
                schedule.suspended(program, round, Course::InVain, || clock);
            }
            if schedule.stuck_since().is_some_and(|since| clock - since > Duration::from_secs(1)) {
                return None;
            }
        }
    }

    #[test]
    fn independent_programs_need_one_fiber() {
        assert_eq!(drive(1000, 64, |_, _, _| true), Some(1));
    }

    #[test]
    fn a_program_may_wait_for_the_last_one() {
        let last = 9_999;
        let most = drive(last + 1, 64, |p, ended, _| p == last || ended[last as usize]).unwrap();
        assert_eq!(most as u64, last + 1);
    }

    #[test]
    fn a_chain_against_the_order_ends() {
        assert!(drive(300, 8, |p, ended, _| p == 299 || ended[p as usize + 1]).is_some());
    }

    #[test]
    fn a_barrier_over_the_grid_ends() {
        assert_eq!(drive(20_000, 16, |_, _, started| started == 20_000), Some(20_000));
    }

    #[test]
    fn a_chain_along_the_order_stays_small() {
        assert!(drive(5000, 16, |p, ended, _| p == 0 || ended[p as usize - 1]).unwrap() <= 16);
    }

    #[test]
    fn loops_that_count_their_looks_go_on_soon() {
        let pause_after = |course| {
            let mut schedule = Schedule::<u64>::new(1, 1, 1, 8, Cpus::Enough);
            let Next::Start(range) = schedule.next() else { panic!() };
            schedule.suspended(range.first, Round::NONE, course, Instant::now);
            for _ in 0..2 * (CALM_AFTER + YIELDS) {
                let Next::Resume(program, round) = schedule.next() else { panic!() };
                schedule.suspended(program, round, course, Instant::now);
            }
            assert!(schedule.is_calm());
            schedule.pause()
        };
        assert_eq!(pause_after(Course::Stepped), Pause::Yield);
        assert!(matches!(pause_after(Course::InVain), Pause::Sleep(_)));
    }

    #[test]
    fn a_cycle_is_stuck() {
        assert_eq!(drive(10, 64, |p, ended, _| p > 1 || ended[1 - p as usize]), None);
    }

    #[test]
    fn lack_of_memory_waits_for_an_end() {
        let mut schedule = Schedule::<u64>::new(2, 1, 1, 8, Cpus::Enough);
        let Next::Start(first) = schedule.next() else { panic!() };
        let Next::Start(second) = schedule.next() else { panic!() };
        schedule.give_back(second);
        assert_eq!(schedule.unstarted(), 1);
        schedule.suspended(first.first, Round::NONE, Course::InVain, Instant::now);
        let Next::Resume(_, round) = schedule.next() else { panic!("starts must be blocked") };
        schedule.ended(round);
        assert_eq!(schedule.next(), Next::Start(second));
    }
}
