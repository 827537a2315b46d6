//! Lanes: single threads of a program, each an actor of its own.
//!
//! Between two barriers a lane knows what the program knew at the first of them, and what it did and acquired itself.
//! So does the program as a whole, whose tile operations are ordered with no lane's accesses until all meet. Lanes come
//! to be when they act; kernels without code for single threads have none.

use std::collections::BTreeMap;
use std::rc::Rc;

use shoal_ir::op::{Scope, Sem};

use super::Checker;
use super::access::Party;
use super::clock::Clock;
use super::fence::Fences;
use super::sync::{acquires, releases};

/// Lanes of a warp.
const WARP: u32 = shoal_ir::shmem::WARP_LANES;

/// The lanes of a program.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// What all of them know since they met last.
    known: Rc<Clock>,
    /// The fences of those that have not acted yet.
    fences: Fences,
    of: BTreeMap<u32, Lane>,
}

#[derive(Copy, Clone, Debug)]
struct Lane {
    actor: u32,
    /// It has acted since all met last.
    acted: bool,
}

impl Lanes {
    /// Lanes that know what the program knew when it began.
    pub(crate) fn new(known: Clock) -> Lanes {
        Lanes { known: Rc::new(known), fences: Fences::default(), of: BTreeMap::new() }
    }
}

impl Checker {
    /// The actor of a lane; that of its program where lanes are not told apart.
    pub(crate) fn lane(&mut self, program: u32, lane: u32) -> u32 {
        let whole = &self.actors[program as usize];
        let Some(lanes) = &whole.lanes else { return program };
        let (known, found) = (Rc::clone(&lanes.known), lanes.of.get(&lane).copied());
        let actor = match found {
            Some(Lane { actor, acted: true }) => return actor,
            Some(Lane { actor, .. }) => {
                self.actors[actor as usize].clock = (*known).clone();
                self.actors[actor as usize].clock.advance(actor);
                actor
            }
            None => {
                let (fences, at, rank) = (lanes.fences.clone(), whole.at, whole.identity.rank);
                let party = match whole.party {
                    Party::Program { launch, by, .. } => Party::Program { launch, lane: Some(lane), by },
                    other @ (Party::Host | Party::Stream { .. }) => other,
                };
                let actor = self.add_actor(rank, Some(program), party, at, (*known).clone());
                self.actors[actor as usize].fences = fences;
                actor
            }
        };
        if let Some(lanes) = &mut self.actors[program as usize].lanes {
            lanes.of.insert(lane, Lane { actor, acted: true });
        }
        actor
    }

    /// All lanes of a program meet: what each did comes before what all do from now on.
    pub(crate) fn lanes_meet(&mut self, program: u32) {
        let Some(mut lanes) = self.actors[program as usize].lanes.take() else { return };
        let mut all = self.actors[program as usize].clock.clone();
        for lane in lanes.of.values_mut().filter(|lane| lane.acted) {
            all.join(&self.actors[lane.actor as usize].clock);
            lane.acted = false;
        }
        lanes.known = Rc::new(all.clone());
        all.advance(program);
        let whole = &mut self.actors[program as usize];
        (whole.clock, whole.lanes) = (all, Some(lanes));
    }

    /// The lanes of each warp meet, of those given.
    pub(crate) fn warps_meet(&mut self, program: u32, lanes: impl Iterator<Item = u32>) {
        if self.actors[program as usize].lanes.is_none() {
            return;
        }
        let mut warps: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for lane in lanes {
            let actor = self.lane(program, lane);
            warps.entry(lane / WARP).or_default().push(actor);
        }
        for actors in warps.into_values() {
            let mut all = Clock::default();
            for &actor in &actors {
                all.join(&self.actors[actor as usize].clock);
            }
            for &actor in &actors {
                self.actors[actor as usize].clock = all.clone();
                self.actors[actor as usize].clock.advance(actor);
            }
        }
    }

    /// A fence of the program as a whole: of each of its lanes.
    pub(crate) fn program_fence(&mut self, program: u32, sem: Sem, scope: Scope) {
        self.memory_fence(program, sem, scope);
        let Some(lanes) = &self.actors[program as usize].lanes else { return };
        let known: Vec<u32> = lanes.of.keys().copied().collect();
        for lane in known {
            let actor = self.lane(program, lane);
            self.memory_fence(actor, sem, scope);
        }
        if let (true, Some(lanes)) = (releases(sem), &mut self.actors[program as usize].lanes) {
            let known = Rc::clone(&lanes.known);
            lanes.fences.release(scope, known);
        }
    }

    /// What the program as a whole acquires by relaxed reads, a fence of any lane may complete: the lanes saw them too.
    pub(crate) fn lane_fence(&mut self, program: u32, lane: u32, sem: Sem, scope: Scope) {
        let actor = self.lane(program, lane);
        if acquires(sem) && actor != program {
            let seen = self.actors[program as usize].fences.clone();
            self.actors[actor as usize].fences.share(&seen);
        }
        self.memory_fence(actor, sem, scope);
    }

    /// What the program as a whole acquires, its lanes have acquired.
    pub(super) fn lanes_learn(&mut self, program: u32, clock: &Clock) {
        let Some(mut lanes) = self.actors[program as usize].lanes.take() else { return };
        let mut known = (*lanes.known).clone();
        known.join(clock);
        lanes.known = Rc::new(known);
        for lane in lanes.of.values().filter(|lane| lane.acted) {
            self.actors[lane.actor as usize].clock.join(clock);
        }
        self.actors[program as usize].lanes = Some(lanes);
    }
}
