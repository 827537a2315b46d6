//! Ranks of one process that may wait for each other, and when all of them wait in vain.
//!
//! A program may wait for what a program of another launch does, or for what the host of another rank does. Then a launch
//! alone cannot tell a deadlock from a slow peer. So ranks form a [`LaunchGroup`], which knows who may *act*: the threads of
//! ranks, and work that streams have not done yet. Waits that last for a while, in kernels and elsewhere, are entered in its
//! table. When everybody who may act is there, and each has looked in vain after the last of them came, nothing can change
//! any more: the group is stuck.
//!
//! Waits that end soon never come here, so they cost nothing.

use core::cell::RefCell;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use crate::fork;
use crate::lock::lock;

/// How long a wait lasts before it is entered in the table.
pub const LONG_WAIT: Duration = Duration::from_millis(20);
/// How long those who are stuck wait for each other's reports: all look often.
const COLLECTING: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

thread_local! {
    /// The groups and the ranks that this thread acts for, the innermost last.
    static ACTS_FOR: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Whom this thread acts for now.
fn acts_for() -> Option<(usize, usize)> {
    ACTS_FOR.with_borrow(|parts| parts.last().copied())
}

/// What a group knows.
#[derive(Debug)]
struct Group {
    table: Mutex<Table>,
    /// How long a wait may last.
    limit: Duration,
    /// The process that it belongs to.
    generation: u64,
}

#[derive(Debug, Default)]
struct Table {
    ranks: Vec<Row>,
    waits: Vec<Entry>,
    next_id: u64,
    /// Changes whenever a wait is entered or ends, and when somebody has acted for the last time.
    moves: u64,
}

/// What is known of a rank.
#[derive(Debug, Default)]
struct Row {
    /// Its threads and streams that may act, whether they wait or not.
    actors: usize,
    /// It has joined and not left.
    is_member: bool,
    /// One of its actors is nobody's yet: the thread that will come.
    is_unclaimed: bool,
    /// Its last wait has lasted too long.
    is_late: bool,
    /// Its launches under way.
    launches: Arc<AtomicUsize>,
    /// What its launches that waited in vain came to.
    verdicts: Vec<Arc<Verdict>>,
}

/// A wait that lasts.
#[derive(Debug)]
struct Entry {
    id: u64,
    rank: usize,
    /// The ranks that the thread acts for which waits; one that acts as another rank keeps its own waiting, too.
    acts_for: Vec<usize>,
    kind: WaitKind,
    /// The number of moves after which it was last looked in vain.
    quiet_at: Option<u64>,
    verdict: Option<Arc<Verdict>>,
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// Programs of a launch.
    Launch,
    /// The host, or a stream.
    Host,
}

/// What a rank is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It has not joined, or has left.
    Nothing,
    /// All of its threads have waited for a while, or until now.
    Waits,
    /// It runs a kernel that does not wait.
    RunsKernel,
    /// A thread or a stream of it does not wait, and runs no kernel; its kernels, if there are some, wait.
    RunsHost,
}

/// A group that is stuck: those who wait tell each other what for.
#[derive(Debug)]
pub struct Verdict {
    waits: usize,
    only_launches: bool,
    told: Mutex<Vec<(usize, String)>>,
}

impl Verdict {
    /// Whether there is nobody but one launch of each rank, so that all of them can end and the ranks go on.
    #[must_use]
    pub fn only_launches(&self) -> bool {
        self.only_launches
    }

    /// Tells what a rank waits for, and gives what all tell, in the order of ranks.
    #[must_use]
    pub fn tell(&self, rank: usize, text: String) -> Vec<(usize, String)> {
        let until = Instant::now() + COLLECTING;
        lock(&self.told).push((rank, text));
        while lock(&self.told).len() < self.waits && Instant::now() < until {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        let mut told = lock(&self.told).clone();
        told.sort_by_key(|&(rank, _)| rank);
        told
    }
}

impl Group {
    /// The table; `None` in a forked child, which is no rank and does not have the threads that hold locks.
    fn table(&self) -> Option<MutexGuard<'_, Table>> {
        (self.generation == fork::generation()).then(|| lock(&self.table))
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }
}

impl Table {
    fn row(&mut self, rank: usize) -> &mut Row {
        if self.ranks.len() <= rank {
            self.ranks.resize_with(rank + 1, Row::default);
        }
        &mut self.ranks[rank]
    }

    /// A wait ends, unless it has.
    fn end(&mut self, id: u64) -> Option<Entry> {
        let at = self.waits.iter().position(|entry| entry.id == id)?;
        self.moves += 1;
        Some(self.waits.swap_remove(at))
    }

    /// Gives all waits a verdict if nobody is left who could end one.
    fn judge(&mut self) {
        let actors: usize = self.ranks.iter().map(|row| row.actors).sum();
        let waiting: usize = self.waits.iter().map(|entry| entry.acts_for.len()).sum();
        let all_wait = actors > 0 && waiting == actors;
        if !all_wait || self.waits.iter().any(|entry| entry.quiet_at != Some(self.moves)) {
            return;
        }
        let each_in_one = (0..self.ranks.len()).all(|rank| {
            let mut waits = self.waits.iter().filter(|entry| entry.rank == rank);
            waits.next().is_some_and(|entry| entry.kind == WaitKind::Launch) && waits.next().is_none()
        });
        let waits = self.waits.len();
        let verdict = Arc::new(Verdict { waits, only_launches: each_in_one, told: Mutex::default() });
        for entry in &mut self.waits {
            entry.verdict = Some(Arc::clone(&verdict));
            if entry.kind == WaitKind::Launch {
                self.ranks[entry.rank].verdicts.push(Arc::clone(&verdict));
            }
        }
    }
}

/// Ranks of one process that may wait for each other.
#[derive(Clone, Debug)]
pub struct LaunchGroup(Arc<Group>);

impl LaunchGroup {
    /// A group without members, in which no wait is longer than `limit`.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        let generation = fork::generation();
        Self(Arc::new(Group { table: Mutex::default(), limit, generation }))
    }

    /// A new member, and the thread that acts for it, which may come later. All members join before one waits.
    #[must_use]
    pub fn join(&self, rank: usize) -> GroupMember {
        let launches = Arc::<AtomicUsize>::default();
        if let Some(mut table) = self.0.table() {
            let row = table.row(rank);
            row.actors += 1;
            (row.is_member, row.is_unclaimed, row.launches) = (true, true, Arc::clone(&launches));
        }
        GroupMember(Arc::new(Member { group: self.clone(), rank, launches }))
    }

    /// Something that will be done for a rank, until this is dropped.
    #[must_use]
    pub fn actor(&self, rank: usize) -> Actor {
        if let Some(mut table) = self.0.table() {
            table.row(rank).actors += 1;
        }
        Actor { group: self.clone(), rank }
    }

    /// This thread does what is done by an [actor](Self::actor) of the rank.
    #[must_use]
    pub fn lend_thread(&self, rank: usize) -> Acting {
        ACTS_FOR.with_borrow_mut(|parts| parts.push((self.0.address(), rank)));
        let part = Part { claim: Claim::None, group: self.clone(), rank };
        Acting { part: Some(part), _of_thread: PhantomData }
    }

    /// This thread has waited for a while.
    #[must_use]
    pub fn waits(&self, rank: usize, kind: WaitKind) -> LongWait {
        let mine = |&(group, _): &(usize, usize)| group == self.0.address();
        let acts_for = ACTS_FOR.with_borrow(|parts| match parts.last() {
            Some(&now) if now == (self.0.address(), rank) => {
                parts.iter().filter(|part| mine(part)).map(|&(_, rank)| rank).collect()
            }
            _ => Vec::new(),
        });
        let mut id = 0;
        if let Some(mut table) = self.0.table() {
            id = table.next_id;
            table.next_id += 1;
            table.moves += 1;
            let row = table.row(rank);
            row.verdicts.clear();
            row.is_late = false;
            table.waits.push(Entry { id, rank, acts_for, kind, quiet_at: None, verdict: None });
        }
        LongWait { group: self.clone(), id }
    }

    /// Why a launch of a rank has ended, if all waited in vain.
    #[must_use]
    pub fn take_verdict(&self, rank: usize) -> Option<Arc<Verdict>> {
        self.0.table().and_then(|mut table| table.row(rank).verdicts.pop())
    }

    /// What a rank is doing.
    #[must_use]
    pub fn doing(&self, rank: usize) -> Doing {
        let Some(mut table) = self.0.table() else { return Doing::Nothing };
        let waits = table.waits.iter().flat_map(|entry| &entry.acts_for).filter(|&&of| of == rank).count();
        let in_launches =
            table.waits.iter().filter(|entry| entry.rank == rank && entry.kind == WaitKind::Launch).count();
        match *table.row(rank) {
            Row { is_member: false, .. } => Doing::Nothing,
            Row { actors, is_late, .. } if waits == actors || is_late => Doing::Waits,
            Row { ref launches, .. } if launches.load(Ordering::Relaxed) > in_launches => Doing::RunsKernel,
            Row { .. } => Doing::RunsHost,
        }
    }
}

/// A member of a group. It leaves the group when the last copy is dropped.
#[derive(Clone, Debug)]
pub struct GroupMember(Arc<Member>);

#[derive(Debug)]
struct Member {
    group: LaunchGroup,
    rank: usize,
    launches: Arc<AtomicUsize>,
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(mut table) = self.group.0.table() {
            let row = table.row(self.rank);
            row.actors -= 1;
            (row.is_member, row.is_unclaimed) = (false, false);
            // What it did last may have ended a wait.
            table.moves += 1;
        }
    }
}

impl GroupMember {
    /// This thread acts for the member, until the result is dropped: the others know whether it waits.
    #[must_use]
    pub fn act(&self) -> Acting {
        let Member { group, rank, .. } = &*self.0;
        let me = (group.0.address(), *rank);
        if acts_for() == Some(me) {
            return Acting { part: None, _of_thread: PhantomData };
        }
        let (group, rank) = (group.clone(), *rank);
        let mut claim = Claim::None;
        if let Some(mut table) = group.0.table() {
            let row = table.row(rank);
            claim = if row.is_unclaimed { Claim::First } else { Claim::Further };
            match claim {
                Claim::First => row.is_unclaimed = false,
                Claim::Further | Claim::None => row.actors += 1,
            }
        }
        ACTS_FOR.with_borrow_mut(|parts| parts.push(me));
        let part = Part { claim, group, rank };
        Acting { part: Some(part), _of_thread: PhantomData }
    }

    /// The member enters a launch that something else than this driver runs.
    #[must_use]
    pub fn launches_elsewhere(&self) -> ForeignLaunch<'_> {
        ForeignLaunch { _launch: self.launches(), _acting: self.act(), member: self, wait: RefCell::new(None) }
    }

    /// It is in a launch, until the result is dropped.
    pub(crate) fn launches(&self) -> InLaunch<'_> {
        self.0.launches.fetch_add(1, Ordering::Relaxed);
        InLaunch(&self.0)
    }

    /// How long programs may wait.
    pub(crate) fn limit(&self) -> Duration {
        self.0.group.0.limit
    }

    /// Programs of a launch have waited for a while.
    pub(crate) fn waits_in_launch(&self) -> LongWait {
        self.0.group.waits(self.0.rank, WaitKind::Launch)
    }
}

/// A member is in a launch.
#[derive(Debug)]
pub(crate) struct InLaunch<'a>(&'a Member);

impl Drop for InLaunch<'_> {
    fn drop(&mut self) {
        self.0.launches.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Something that will be done for a rank.
#[derive(Debug)]
pub struct Actor {
    group: LaunchGroup,
    rank: usize,
}

impl Drop for Actor {
    fn drop(&mut self) {
        if let Some(mut table) = self.group.0.table() {
            table.row(self.rank).actors -= 1;
            table.moves += 1;
        }
    }
}

/// What a thread that acts for a rank takes with it.
#[derive(Clone, Copy, Debug)]
enum Claim {
    None,
    /// The member's own place, which others may have later.
    First,
    /// One more.
    Further,
}

/// A time in which a thread acts for a rank.
#[derive(Debug)]
pub struct Acting {
    /// Nothing, if the thread acted for it before.
    part: Option<Part>,
    /// It is the thread's own.
    _of_thread: PhantomData<*const ()>,
}

#[derive(Debug)]
struct Part {
    claim: Claim,
    group: LaunchGroup,
    rank: usize,
}

impl Drop for Acting {
    fn drop(&mut self) {
        let Some(Part { claim, group, rank }) = self.part.take() else { return };
        let me = (group.0.address(), rank);
        ACTS_FOR.with_borrow_mut(|parts| {
            if let Some(at) = parts.iter().rposition(|&part| part == me) {
                parts.remove(at);
            }
        });
        let Some(mut table) = group.0.table() else { return };
        let row = table.row(rank);
        match claim {
            Claim::None => {}
            Claim::First => row.is_unclaimed = row.is_member,
            Claim::Further => {
                row.actors -= 1;
                table.moves += 1;
            }
        }
    }
}

/// A wait in the table of a group, until it is dropped. Whoever waits looks again and again: asks for the
/// [moves](Self::moves), looks, and if that was [in vain](Self::in_vain), says so.
#[derive(Debug)]
pub struct LongWait {
    group: LaunchGroup,
    id: u64,
}

impl LongWait {
    /// Changes when anybody of the group begins or ends a wait.
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.group.0.table().map_or(0, |table| table.moves)
    }

    /// It ends, as far as this one knows. Says whether it has got a verdict meanwhile: then all others that wait in vain
    /// wait for what this one tells.
    #[must_use]
    pub(crate) fn withdraw(self) -> bool {
        self.group.0.table().and_then(|mut table| table.end(self.id)).is_some_and(|entry| entry.verdict.is_some())
    }

    /// It has lasted too long, and ends.
    pub fn is_too_long(&self) {
        if let Some(mut table) = self.group.0.table()
            && let Some(rank) = table.waits.iter().find(|entry| entry.id == self.id).map(|entry| entry.rank)
        {
            table.row(rank).is_late = true;
        }
    }

    /// What is waited for was not there after so many moves. Gives the verdict if it will never be.
    #[must_use]
    pub fn in_vain(&self, moves: u64) -> Option<Arc<Verdict>> {
        let mut table = self.group.0.table()?;
        let now = table.moves;
        let entry = table.waits.iter_mut().find(|entry| entry.id == self.id)?;
        if entry.verdict.is_none() && moves == now {
            entry.quiet_at = Some(now);
            table.judge();
        }
        table.waits.iter().find(|entry| entry.id == self.id)?.verdict.clone()
    }
}

impl Drop for LongWait {
    fn drop(&mut self) {
        if let Some(mut table) = self.group.0.table() {
            table.end(self.id);
        }
    }
}

/// A launch of a member that something else than this driver runs. The member is in it until it is dropped.
#[derive(Debug)]
pub struct ForeignLaunch<'a> {
    _launch: InLaunch<'a>,
    _acting: Acting,
    member: &'a GroupMember,
    wait: RefCell<Option<ForeignWait>>,
}

/// A wait of such a launch.
#[derive(Debug)]
struct ForeignWait {
    wait: LongWait,
    /// The moves of the group before programs looked last.
    moves: u64,
    since: Instant,
}

impl ForeignLaunch<'_> {
    /// None of its programs can go on, as far as they have looked since this was last asked. Says whether that is in vain,
    /// or has lasted too long.
    #[must_use]
    pub fn waits_in_vain(&self) -> bool {
        let Some(waited) = self.wait.take() else {
            let wait = self.member.waits_in_launch();
            let (moves, since) = (wait.moves(), Instant::now());
            self.wait.replace(Some(ForeignWait { wait, moves, since }));
            return false;
        };
        let is_too_long = waited.since.elapsed() >= self.member.limit();
        if is_too_long {
            waited.wait.is_too_long();
        }
        let ended = is_too_long || waited.wait.in_vain(waited.moves).is_some();
        let moves = waited.wait.moves();
        self.wait.replace(Some(ForeignWait { moves, ..waited }));
        ended
    }

    /// A program of it has done something.
    pub fn moved(&self) {
        self.wait.replace(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(300);

    /// A look that finds nothing.
    fn looks(wait: &LongWait) -> bool {
        wait.in_vain(wait.moves()).is_some()
    }

    #[test]
    fn a_group_is_stuck_when_all_who_may_act_have_looked_in_vain() {
        let group = LaunchGroup::new(LIMIT);
        let (a, b) = (group.join(0), group.join(1));
        let _on_a = a.act();
        let first = group.waits(0, WaitKind::Host);
        assert!(!looks(&first), "`b` may act");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _on_b = b.act();
                let seen = first.moves();
                let second = b.waits_in_launch();
                assert!(!looks(&second), "the other has to look again");
                assert!(first.in_vain(seen).is_none(), "it looked before this one came");
                assert_eq!((group.doing(0), group.doing(1)), (Doing::Waits, Doing::Waits));
                assert!(looks(&first) && looks(&second));
                assert!(!group.take_verdict(1).unwrap().only_launches());
            });
        });
        assert_eq!(group.doing(1), Doing::RunsHost);
    }

    #[test]
    fn work_of_streams_and_further_threads_may_act() {
        let group = LaunchGroup::new(LIMIT);
        let a = group.join(0);
        let _on_a = a.act();
        let work = group.actor(0);
        let wait = group.waits(0, WaitKind::Host);
        assert!(!looks(&wait), "the stream may act");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _lent = group.lend_thread(0);
                let other = group.waits(0, WaitKind::Host);
                assert!(!looks(&other), "the rank has to look again");
            });
        });
        assert!(!looks(&wait), "it waits no more");
        drop(work);
        assert!(looks(&wait), "it is done");
    }

    #[test]
    fn who_looks_last_judges_all() {
        let group = LaunchGroup::new(LIMIT);
        let (a, b) = (group.join(0), group.join(1));
        let (_on_a, first) = (a.act(), group.waits(0, WaitKind::Host));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (_on_b, second) = (b.act(), b.waits_in_launch());
                assert!(!looks(&second));
                assert!(looks(&first));
                assert!(second.withdraw(), "although it has not looked since");
                let third = b.waits_in_launch();
                assert!(!third.withdraw());
            });
        });
    }

    #[test]
    fn a_member_that_leaves_is_not_waited_for() {
        let group = LaunchGroup::new(LIMIT);
        let (a, b) = (group.join(0), group.join(1));
        let _on_a = a.act();
        let wait = a.waits_in_launch();
        assert!(!looks(&wait));
        drop(b);
        assert!(looks(&wait));
        assert!(!group.take_verdict(0).unwrap().only_launches(), "a rank is missing");
        assert_eq!(group.doing(1), Doing::Nothing);
    }

    #[test]
    fn a_wait_that_lasts_too_long_is_no_work() {
        let group = LaunchGroup::new(Duration::ZERO);
        let (a, _b) = (group.join(0), group.join(1));
        let launch = a.launches_elsewhere();
        assert!(!launch.waits_in_vain());
        assert!(launch.waits_in_vain(), "it has lasted too long");
        drop(launch);
        assert_eq!((group.doing(0), group.doing(1)), (Doing::Waits, Doing::RunsHost), "only `b` kept it waiting");
    }

    #[test]
    fn a_rank_whose_kernels_all_wait_runs_no_kernel() {
        let group = LaunchGroup::new(LIMIT);
        let a = group.join(0);
        let _host = a.act();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let launch = a.launches_elsewhere();
                assert_eq!(group.doing(0), Doing::RunsKernel);
                assert!(!launch.waits_in_vain());
                assert_eq!(group.doing(0), Doing::RunsHost);
            });
        });
    }

    #[test]
    fn launches_of_all_ranks_can_end_and_go_on() {
        let group = LaunchGroup::new(LIMIT);
        let a = group.join(0);
        let launch = a.launches_elsewhere();
        assert!(!launch.waits_in_vain(), "it has not looked since");
        assert!(launch.waits_in_vain());
        let verdict = group.take_verdict(0).unwrap();
        assert!(verdict.only_launches());
        assert_eq!(verdict.tell(0, "for a flag".into()), [(0, "for a flag".to_owned())]);
        launch.moved();
        assert!(!launch.waits_in_vain());
        assert!(group.take_verdict(0).is_none(), "it waits again");
    }

    #[test]
    fn a_thread_that_waits_as_another_rank_keeps_its_own_waiting() {
        let group = LaunchGroup::new(LIMIT);
        let (a, b) = (group.join(0), group.join(1));
        let _on_a = a.act();
        let _as_b = b.act();
        let wait = b.waits_in_launch();
        assert!(looks(&wait), "nobody is left");
        assert_eq!((group.doing(0), group.doing(1)), (Doing::Waits, Doing::Waits));
    }

    #[test]
    fn a_wait_of_another_thread_does_not_count_for_the_rank() {
        let group = LaunchGroup::new(LIMIT);
        let a = group.join(0);
        let stranger = group.waits(0, WaitKind::Host);
        assert!(!looks(&stranger), "the rank itself may act");
        let _on_a = a.act();
        let wait = group.waits(0, WaitKind::Host);
        assert!(!looks(&wait), "the other has to look again");
        assert!(looks(&stranger));
    }
}
