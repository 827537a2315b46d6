//! Hosts, streams, launches and events: what orders the programs of a rank beside what they do themselves.

use shoal_ir::Span;

use super::access::{By, Party};
use super::clock::Clock;
use super::lanes::Lanes;
use super::{Bytes, Checker};
use crate::error::{AccessKind, Place};
use crate::memory::Memory;

/// Whether the lanes of a program are told apart.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaneOrder {
    /// The program has no code for single threads.
    AsOne,
    Each,
}

impl Checker {
    /// The actor of a stream of a rank.
    pub(crate) fn stream(&mut self, rank: u32, number: u32) -> u32 {
        if let Some(&actor) = self.streams.get(&(rank, number)) {
            return actor;
        }
        let at = self.actors[rank as usize].at;
        let actor = self.add_actor(rank, None, Party::Stream { number }, at, Clock::default());
        self.streams.insert((rank, number), actor);
        actor
    }

    /// What the host of a rank has done so far, for what it puts into a stream now.
    pub(crate) fn enqueued(&mut self, rank: u32) -> Clock {
        let host = &mut self.actors[rank as usize].clock;
        let known = host.clone();
        host.advance(rank);
        known
    }

    /// A stream begins with what the host put in when it knew this.
    pub(crate) fn begin_task(&mut self, stream: u32, known: &Clock) {
        self.actors[stream as usize].clock.join(known);
    }

    /// The host of a rank waits for a stream.
    pub(crate) fn synchronize(&mut self, rank: u32, stream: u32) {
        let known = self.actors[stream as usize].clock.clone();
        self.actors[stream as usize].clock.advance(stream);
        self.actors[rank as usize].clock.join(&known);
    }

    /// An event of a rank happens in a stream.
    pub(crate) fn record(&mut self, rank: u32, event: u32, stream: u32) {
        let known = self.actors[stream as usize].clock.clone();
        self.actors[stream as usize].clock.advance(stream);
        self.events_of.insert((rank, event), known);
    }

    /// A stream goes on after an event.
    pub(crate) fn wait_event(&mut self, rank: u32, event: u32, stream: u32) {
        if let Some(known) = self.events_of.get(&(rank, event)) {
            self.actors[stream as usize].clock.join(known);
        }
    }

    /// A program begins: after all that its stream knows.
    pub(crate) fn start_program(&mut self, stream: u32, launch: u32, at: Place, lanes: LaneOrder) -> u32 {
        let rank = at.rank.unwrap_or(0);
        let clock = self.actors[stream as usize].clock.clone();
        let lanes = (lanes == LaneOrder::Each).then(|| Box::new(Lanes::new(clock.clone())));
        let program = self.add_actor(rank, None, Party::Program { launch, lane: None, by: By::Itself }, at, clock);
        self.actors[program as usize].lanes = lanes;
        program
    }

    /// A program of a stream's launch ends.
    pub(crate) fn end_program(&mut self, stream: u32, program: u32) {
        self.lanes_meet(program);
        let clock = std::mem::take(&mut self.actors[program as usize].clock);
        self.ended.entry(stream).or_default().join(&clock);
        self.actors[program as usize].lanes = None;
    }

    /// All programs of a stream's launch have ended: what comes next in the stream comes after them.
    pub(crate) fn end_launch(&mut self, stream: u32) {
        let ended = self.ended.remove(&stream).unwrap_or_default();
        let clock = &mut self.actors[stream as usize].clock;
        clock.join(&ended);
        clock.advance(stream);
    }

    /// The hosts of all ranks meet.
    pub(crate) fn host_barrier(&mut self) {
        // Hosts that meet have completed what their kernels issued.
        let mut all = self.complete_transfers();
        let hosts = self.ranks as usize;
        for actor in &self.actors[..hosts] {
            all.join(&actor.clock);
        }
        for (rank, actor) in (0..).zip(&mut self.actors[..hosts]) {
            actor.clock = all.clone();
            actor.clock.advance(rank);
        }
    }

    /// The host of a rank copies to memory.
    pub(crate) fn copy_to(&mut self, memory: &Memory, (actor, span): (u32, Span), start: u64, bytes: u64) {
        let run = Bytes { start, end: start + bytes, element: 1 };
        let info = self.info(actor, span, AccessKind::Write, true, None, 1);
        self.plain(memory, actor, info, true, run);
    }

    /// The host of a rank copies from memory.
    pub(crate) fn copy_from(&mut self, memory: &Memory, (actor, span): (u32, Span), start: u64, bytes: u64) {
        let run = Bytes { start, end: start + bytes, element: 1 };
        let info = self.info(actor, span, AccessKind::Read, false, None, 1);
        self.plain(memory, actor, info, false, run);
    }
}
