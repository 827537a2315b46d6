//! The collective of ranks that share memory: each member writes its own mailbox, the last to arrive wakes the others,
//! then each reads all mailboxes. Waiting ranks sleep in the kernel. Every wait is bounded, and ends early when a rank
//! dies or leaves.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::futex;

use super::SharedMemory;
use super::control::{PAYLOAD, TeamSlot};
use crate::engine::absence::{Patience, why_incomplete};
use crate::engine::{Awaited, Call, Engine, Route};
use crate::error::{Failure, WorldError};
use crate::giving_up;
use crate::host_wait::HostWait;
use crate::vigil::Beating;
use crate::wait_report::Told;

/// Looks at the word before going to sleep: the others are often about to arrive.
const SPINS_BEFORE_SLEEP: u32 = 100;
/// How long a rank sleeps before it looks whether the others are still there.
const LIVENESS_INTERVAL: Duration = Duration::from_millis(20);

pub(super) fn exchange(
    memory: &SharedMemory,
    access: &dyn Engine,
    route: &Route<'_>,
    call: Call,
    mine: &[u8],
) -> Result<Vec<Vec<u8>>, WorldError> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new(); route.members.len()];
    let mut lengths = vec![0; route.members.len()];
    let mut from = 0;
    loop {
        let round = Round { memory, access, me: access.rank(), route, call, number: next(route.rounds) };
        round.post(mine, from);
        round.arrive()?;
        if from == 0 {
            lengths = round.lengths()?;
        }
        for ((&member, bytes), &length) in route.members.iter().zip(&mut all).zip(&lengths) {
            let rest = length.saturating_sub(from).min(PAYLOAD);
            round.slot(member).mailboxes[round.parity()].payload.read(rest, bytes);
        }
        from += PAYLOAD;
        // All members see the same lengths, so they go the same number of rounds.
        if lengths.iter().all(|&length| length <= from) {
            return Ok(all);
        }
    }
}

/// A last round, after which nobody reads the team's mailboxes.
pub(super) fn retire(memory: &SharedMemory, access: &dyn Engine, route: &Route<'_>) -> Result<(), WorldError> {
    let number = next(route.rounds);
    let round = Round { memory, access, me: access.rank(), route, call: Call::FreeTeam, number };
    round.post(&[], 0);
    round.arrive()
}

fn next(rounds: &AtomicU32) -> u32 {
    rounds.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// One round of messages, seen by one rank.
struct Round<'a> {
    memory: &'a SharedMemory,
    /// The rank's view of the world.
    access: &'a dyn Engine,
    me: usize,
    route: &'a Route<'a>,
    call: Call,
    number: u32,
}

impl Round<'_> {
    fn slot(&self, rank: usize) -> &TeamSlot {
        &self.memory.control(rank).teams[self.route.slot]
    }

    fn parity(&self) -> usize {
        self.number as usize % 2
    }

    fn post(&self, mine: &[u8], from: usize) {
        let slot = self.slot(self.me);
        let mailbox = &slot.mailboxes[self.parity()];
        mailbox.call.store(self.call.encode(), Ordering::Relaxed);
        mailbox.length.store(mine.len() as u64, Ordering::Relaxed);
        let rest = mine.get(from..).unwrap_or_default();
        mailbox.payload.write(&rest[..rest.len().min(PAYLOAD)]);
        slot.posted.store(self.number, Ordering::Release);
    }

    /// Says that this rank is here, and returns when all are.
    fn arrive(&self) -> Result<(), WorldError> {
        // Others may have been told already, so that nobody else would ever come, or would come and be told.
        if let Some(failure) = self.memory.failure() {
            return Err(giving_up::came_late(self.access, self.awaited(), failure));
        }
        let root = self.slot(self.route.members[0]);
        // Nobody can complete this round before this rank has arrived.
        let before = root.completed.load(Ordering::Acquire);
        let arrived = root.arrived.fetch_add(1, Ordering::AcqRel) + 1;
        if arrived as usize == self.route.members.len() {
            root.arrived.store(0, Ordering::Relaxed);
            root.completed.store(before.wrapping_add(1), Ordering::Release);
            // The only error of waking is a bad address.
            let _ = futex::wake(&root.completed, self.memory.futex_flags(), i32::MAX as u32);
            return Ok(());
        }
        self.sleep_while(&root.completed, before)
    }

    fn sleep_while(&self, completed: &AtomicU32, before: u32) -> Result<(), WorldError> {
        let is_complete = || completed.load(Ordering::Acquire) != before;
        for _ in 0..SPINS_BEFORE_SLEEP {
            if is_complete() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let patience = Patience::begin(self.memory.timeout);
        let mut wait = HostWait::begin(self.memory.group.as_ref(), self.me);
        let mut beating = Beating::default();
        let tell = |beat| self.memory.beat(self.me, beat);
        let result = loop {
            wait.looks();
            // In this order: what made the round complete may be the last thing that a rank did before it left.
            let trouble =
                why_incomplete(self.access, self.route, self.call, |member| self.has_posted(member), patience);
            if is_complete() {
                break Ok(());
            }
            if let Some(failure) = trouble {
                wait.is_too_long();
                break Err(self.failed(failure));
            }
            if self.memory.has_lost_a_process() {
                beating.looked(tell);
            }
            if let Some(verdict) = wait.in_vain() {
                break Err(giving_up::deadlocked(self.access, &verdict, &self.told()));
            }
            let interval = LIVENESS_INTERVAL.min(patience.deadline.saturating_duration_since(Instant::now()));
            let interval = futex::Timespec::try_from(interval).expect("a short time");
            // Woken, timed out, interrupted or too late to sleep: in every case the loop looks again.
            let _ = futex::wait(completed, self.memory.futex_flags(), before, Some(&interval));
        };
        beating.ended(tell);
        result
    }

    fn has_posted(&self, rank: usize) -> bool {
        let posted = self.slot(rank).posted.load(Ordering::Acquire);
        posted.wrapping_sub(self.number) as i32 >= 0
    }

    fn failed(&self, failure: Failure) -> WorldError {
        WorldError::failed(self.me, Some(self.awaited()), failure)
    }

    /// What this rank waits for, and for whom.
    fn told(&self) -> Told {
        let missing = self.route.members.iter().filter(|&&member| !self.has_posted(member));
        let missing: Vec<String> = missing.map(|&member| self.memory.name(member)).collect();
        let told = Told::from(&self.awaited());
        Told { what: format!("{}, waiting for {}", told.what, missing.join(", ")), ..told }
    }

    fn awaited(&self) -> Awaited {
        Awaited::Collective { call: self.call, team: self.route.team.to_owned() }
    }

    /// As much of a member's message as its mailbox holds.
    fn beginning(&self, member: usize) -> Vec<u8> {
        let mailbox = &self.slot(member).mailboxes[self.parity()];
        let (length, mut bytes) = (mailbox.length.load(Ordering::Relaxed) as usize, Vec::new());
        mailbox.payload.read(length.min(PAYLOAD), &mut bytes);
        bytes
    }

    /// The lengths of all messages, if all members called the same operation.
    fn lengths(&self) -> Result<Vec<usize>, WorldError> {
        let mailboxes = self.route.members.iter().map(|&member| &self.slot(member).mailboxes[self.parity()]);
        let codes: Vec<u64> = mailboxes.clone().map(|mailbox| mailbox.call.load(Ordering::Relaxed)).collect();
        if codes.iter().any(|&code| code != self.call.encode()) {
            let calls = self.route.members.iter().zip(codes);
            let calls: Vec<(usize, Call)> =
                calls.filter_map(|(&rank, code)| Some((rank, Call::decode(code)?))).collect();
            if calls.iter().any(|&(_, call)| call == Call::GivesUp) {
                let calls: Vec<_> = calls.into_iter().map(|(rank, call)| (rank, call, self.beginning(rank))).collect();
                return Err(giving_up::given_up(self.access, self.route.team, &calls));
            }
            return Err(WorldError::OutOfStep { team: self.route.team.to_owned(), calls });
        }
        Ok(mailboxes.map(|mailbox| mailbox.length.load(Ordering::Relaxed) as usize).collect())
    }
}
