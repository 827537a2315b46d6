//! Launches that may wait for each other, and when all of them wait in vain.
//!
//! A program may wait for what a program of another launch does: of a peer, another rank that shares memory with this
//! one. Then a launch alone cannot tell a deadlock from a slow peer. So those who launch such kernels form a
//! [`LaunchGroup`], which is stuck only when every member is in a launch whose programs wait, and nothing has moved in
//! any of them for the wait timeout. A launch without a group is a group of its own.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;

/// What the launches of a group know of each other.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Changes whenever a program starts, ends or does real work.
    moves: AtomicU64,
    /// Members that launch nothing now, but may yet.
    hosts: AtomicUsize,
    /// All members.
    members: AtomicUsize,
    /// Launches that something else than this driver runs.
    foreign: AtomicUsize,
    /// Launches none of whose programs waits.
    running: AtomicUsize,
    /// The number of moves after which the group was found stuck, plus one.
    stuck_at: AtomicU64,
}

impl Progress {
    /// The progress of a launch without a group.
    pub(crate) fn of_one_launch() -> Self {
        Self { running: AtomicUsize::new(1), ..Self::default() }
    }

    /// Some program started, ended, or came to wait after real work.
    pub(crate) fn moved(&self) {
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes when something moves.
    pub(crate) fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    /// A launch begins, or the last of its programs that waited goes on.
    pub(crate) fn runs(&self) {
        self.running.fetch_add(1, Ordering::SeqCst);
    }

    /// A launch ends, or the first of its programs waits.
    pub(crate) fn waits_or_ends(&self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether nobody is left who could bring about what programs wait for.
    pub(crate) fn all_wait(&self) -> bool {
        self.hosts.load(Ordering::SeqCst) == 0 && self.running.load(Ordering::SeqCst) == 0
    }

    /// The group is stuck after so many moves: all its launches are to end, the first of which makes it look alive.
    pub(crate) fn declare_stuck(&self, moves: u64) {
        self.stuck_at.store(moves + 1, Ordering::Relaxed);
    }

    /// Whether it was found to be stuck, and nothing has moved since.
    pub(crate) fn is_declared_stuck(&self, moves: u64) -> bool {
        self.stuck_at.load(Ordering::Relaxed) == moves + 1
    }
}

/// Ranks of one process whose launches may wait for each other.
#[derive(Clone, Debug, Default)]
pub struct LaunchGroup(Arc<Progress>);

impl LaunchGroup {
    /// A group without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A new member. From now on others wait for its launches without limit, until it is dropped: all members join
    /// before one launches.
    #[must_use]
    pub fn join(&self) -> GroupMember {
        self.0.members.fetch_add(1, Ordering::SeqCst);
        self.0.hosts.fetch_add(1, Ordering::SeqCst);
        GroupMember(Arc::new(Member { group: Arc::clone(&self.0), launches: AtomicUsize::new(0) }))
    }
}

/// A member of a group. It leaves the group when the last copy is dropped.
#[derive(Clone, Debug)]
pub struct GroupMember(Arc<Member>);

#[derive(Debug)]
struct Member {
    group: Arc<Progress>,
    launches: AtomicUsize,
}

/// A launch of a member that something else than this driver runs. The member is in it until it is dropped.
#[derive(Debug)]
pub struct ForeignLaunch<'a> {
    member: &'a GroupMember,
    /// All of its programs wait.
    waits: Cell<bool>,
}

impl ForeignLaunch<'_> {
    /// None of its programs can go on.
    pub fn waits(&self) {
        if !self.waits.replace(true) {
            self.member.progress().waits_or_ends();
        }
    }

    /// A program of it has done something.
    pub fn moved(&self) {
        if self.waits.replace(false) {
            self.member.progress().runs();
        }
        self.member.progress().moved();
    }

    /// Whether nobody but launches of this kind could bring about what its programs wait for: all members are in such
    /// launches, or the others wait in vain too, which those who run them have found out.
    #[must_use]
    pub fn is_last(&self) -> bool {
        let progress = self.member.progress();
        let alone = progress.foreign.load(Ordering::SeqCst) == progress.members.load(Ordering::SeqCst);
        (alone && progress.hosts.load(Ordering::SeqCst) == 0) || progress.is_declared_stuck(progress.moves())
    }
}

impl Drop for ForeignLaunch<'_> {
    fn drop(&mut self) {
        let progress = self.member.progress();
        self.member.leaves_launch();
        progress.foreign.fetch_sub(1, Ordering::SeqCst);
        if !self.waits.get() {
            progress.waits_or_ends();
        }
    }
}

impl GroupMember {
    /// The member enters a launch that something else than this driver runs.
    #[must_use]
    pub fn launches_elsewhere(&self) -> ForeignLaunch<'_> {
        // In this order, nobody takes the group for one that waits in between.
        self.progress().runs();
        self.progress().foreign.fetch_add(1, Ordering::SeqCst);
        self.enters_launch();
        ForeignLaunch { member: self, waits: Cell::new(false) }
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.0.group
    }

    /// It is in a launch, which is counted already.
    pub(crate) fn enters_launch(&self) {
        if self.0.launches.fetch_add(1, Ordering::SeqCst) == 0 {
            self.0.group.hosts.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// It comes back from a launch, which is still counted.
    pub(crate) fn leaves_launch(&self) {
        if self.0.launches.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.group.hosts.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // A launch borrows the member, so it is in none.
        self.group.hosts.fetch_sub(1, Ordering::SeqCst);
        self.group.members.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_waits_when_all_its_members_do() {
        let group = LaunchGroup::new();
        let (a, b) = (group.join(), group.join());
        let progress = a.progress();
        let launch = |member: &GroupMember| {
            progress.runs();
            member.enters_launch();
        };
        launch(&a);
        assert!(!progress.all_wait(), "`a` runs, `b` may launch");
        progress.waits_or_ends();
        assert!(!progress.all_wait(), "`b` may launch");
        launch(&b);
        assert!(!progress.all_wait(), "`b` runs");
        progress.waits_or_ends();
        assert!(progress.all_wait());
        b.leaves_launch();
        assert!(!progress.all_wait(), "`b` may launch again");
        drop(b);
        assert!(progress.all_wait(), "`b` has left");
    }

    #[test]
    fn launches_run_elsewhere_count_with_those_run_here() {
        let group = LaunchGroup::new();
        let (a, b) = (group.join(), group.join());
        let foreign = a.launches_elsewhere();
        foreign.waits();
        assert!(!foreign.is_last(), "the host of `b` may act");
        // `b` launches here.
        b.progress().runs();
        b.enters_launch();
        assert!(!foreign.is_last(), "`b` runs");
        b.progress().waits_or_ends();
        assert!(!foreign.is_last(), "`b` may be about to go on");
        assert!(b.progress().all_wait(), "who runs `b` sees that all wait");
        b.progress().declare_stuck(b.progress().moves());
        assert!(foreign.is_last(), "and has found it out");
        foreign.moved();
        assert!(!foreign.is_last() && !b.progress().all_wait(), "something moved");
        b.leaves_launch();
        let other = b.launches_elsewhere();
        foreign.waits();
        other.waits();
        assert!(foreign.is_last() && other.is_last(), "both are of one kind");
    }

    #[test]
    fn a_group_is_stuck_until_something_moves() {
        let progress = Progress::default();
        assert!(!progress.is_declared_stuck(progress.moves()));
        progress.moved();
        progress.declare_stuck(progress.moves());
        assert!(progress.is_declared_stuck(progress.moves()));
        progress.moved();
        assert!(!progress.is_declared_stuck(progress.moves()));
    }
}
