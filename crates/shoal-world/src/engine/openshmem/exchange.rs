//! The collective of ranks that cannot all see each other's memory: each member puts its message into a box at every
//! other, then says so in a word there. Members poll their own memory, and need no answer from anybody. Every wait is
//! bounded, and ends early when a rank fails or leaves.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use shoal_driver::Transport;

use super::board::{Mail, PAYLOAD};
use super::{OpenShmemEngine, Shared};
use crate::engine::absence::{Patience, why_incomplete};
use crate::engine::{Awaited, Call, Route};
use crate::error::{Failure, WorldError};
use crate::giving_up;
use crate::vigil::Beating;

/// Looks before a rank leaves its core to others.
const SPINS: u32 = 100;
/// How long it only does so before it sleeps between two looks.
const AWAKE: Duration = Duration::from_millis(2);
const SLEEP: Duration = Duration::from_micros(100);
/// How often it tells the others that it waits, once a rank has left.
const BETWEEN_BEATS: Duration = Duration::from_millis(20);

pub(super) fn exchange(
    access: &OpenShmemEngine,
    route: &Route<'_>,
    call: Call,
    mine: &[u8],
) -> Result<Vec<Vec<u8>>, WorldError> {
    let world = &*access.0;
    // Who returns from a collective finds what the others had written before.
    world.port.quiet();
    let mut all: Vec<Vec<u8>> = vec![Vec::new(); route.members.len()];
    let mut lengths = vec![0; route.members.len()];
    let mut from = 0;
    loop {
        let round = Round { access, route, call, number: next(route.rounds) };
        // The others have been told already, and may have gone on to something else.
        if let Some(failure) = world.failure() {
            return Err(giving_up::came_late(access, round.awaited(), failure));
        }
        round.post(mine, from);
        round.await_all()?;
        if from == 0 {
            lengths = round.lengths()?;
        }
        for ((&member, bytes), &length) in route.members.iter().zip(&mut all).zip(&lengths) {
            world.board.receive(&world.port, round.mail(member), length.saturating_sub(from), bytes);
        }
        from += PAYLOAD;
        // All members see the same lengths, so they go the same number of rounds.
        if lengths.iter().all(|&length| length <= from) {
            return Ok(all);
        }
    }
}

fn next(rounds: &AtomicU32) -> u32 {
    rounds.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// One round of messages, seen by one rank. Two boxes for each member suffice: who arrives in round r has read all of
/// round r - 1, so that nobody who writes in round r + 1 finds one unread.
struct Round<'a> {
    access: &'a OpenShmemEngine,
    route: &'a Route<'a>,
    call: Call,
    number: u32,
}

impl Round<'_> {
    fn world(&self) -> &Shared {
        &self.access.0
    }

    fn mail(&self, source: usize) -> Mail {
        Mail { slot: self.route.slot, source, round: self.number }
    }

    /// Sends this rank's part to all members, itself included.
    fn post(&self, mine: &[u8], from: usize) {
        let Shared { rank, port, board, .. } = self.world();
        let rest = mine.get(from..).unwrap_or_default();
        let part = &rest[..rest.len().min(PAYLOAD)];
        for &member in self.route.members {
            board.send(port, member, self.mail(*rank), self.call.encode(), mine.len(), part);
            port.set(member, board.arrival_at(self.route.slot, *rank), self.number.into());
        }
    }

    /// Returns when all members have posted.
    fn await_all(&self) -> Result<(), WorldError> {
        let is_complete = || self.route.members.iter().all(|&member| self.has_posted(member));
        for _ in 0..SPINS {
            if is_complete() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let begun = Instant::now();
        let patience = Patience::begin(self.world().timeout);
        let mut beating = Beating::default();
        let mut last_beat = begun;
        let tell = |beat| self.world().beat(beat);
        let result = loop {
            self.world().port.progress();
            // In this order: what made the round complete may be the last thing that a rank did before it left.
            let trouble =
                why_incomplete(self.access, self.route, self.call, |member| self.has_posted(member), patience);
            if is_complete() {
                break Ok(());
            }
            if let Some(failure) = trouble {
                break Err(self.failed(failure));
            }
            if last_beat.elapsed() >= BETWEEN_BEATS && (0..self.world().size).any(|rank| self.world().has_left(rank)) {
                beating.looked(tell);
                last_beat = Instant::now();
            }
            match begun.elapsed() < AWAKE {
                true => std::thread::yield_now(),
                false => std::thread::sleep(SLEEP),
            }
        };
        beating.ended(tell);
        result
    }

    fn has_posted(&self, member: usize) -> bool {
        let Shared { port, board, .. } = self.world();
        let posted = port.own_word(board.arrival_at(self.route.slot, member)).load(Ordering::Acquire) as u32;
        posted.wrapping_sub(self.number) as i32 >= 0
    }

    fn failed(&self, failure: Failure) -> WorldError {
        WorldError::failed(self.world().rank, Some(self.awaited()), failure)
    }

    fn awaited(&self) -> Awaited {
        Awaited::Collective { call: self.call, team: self.route.team.to_owned() }
    }

    /// The lengths of all messages, if all members called the same operation.
    fn lengths(&self) -> Result<Vec<usize>, WorldError> {
        let headers = self.route.members.iter().map(|&member| {
            let (code, length) = self.world().board.header(&self.world().port, self.mail(member));
            (member, code, length)
        });
        let headers: Vec<(usize, u64, usize)> = headers.collect();
        if headers.iter().any(|&(_, code, _)| code != self.call.encode()) {
            let calls = headers.iter().filter_map(|&(rank, code, _)| Some((rank, Call::decode(code)?))).collect();
            return Err(WorldError::OutOfStep { team: self.route.team.to_owned(), calls });
        }
        Ok(headers.into_iter().map(|(_, _, length)| length).collect())
    }
}
