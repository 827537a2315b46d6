//! SHMEM transfers: each is an actor of its own from the moment it is issued until something completes it.

use std::collections::HashMap;

use super::access::{By, Party};
use super::clock::Clock;
use super::{Actor, Checker};

/// What a program and its lanes have issued and not completed.
#[derive(Clone, Debug, Default)]
pub(super) struct Transfers {
    /// Their actors, and the ranks whose fences order them; gets have none.
    open: Vec<(u32, Option<i32>)>,
    /// What comes before whatever is issued from now on, whoever it goes to.
    past: Clock,
    /// What is delivered to each rank before whatever is issued to it from now on.
    delivered: HashMap<i32, Clock>,
}

impl Transfers {
    /// What comes before a transfer to a rank that is issued now, beside the issuer's own past.
    fn before(&self, to: Option<i32>) -> Clock {
        let Some(to) = to else { return Clock::default() };
        let mut clock = self.past.clone();
        if let Some(delivered) = self.delivered.get(&to) {
            clock.join(delivered);
        }
        clock
    }
}

impl Checker {
    /// An actor issues a transfer. It comes after all that the actor did before; nothing comes after it until it is
    /// complete. `number` is its own among all that take turns, `to` the rank whose fences order it. Gives the actor that
    /// does it.
    pub(crate) fn start_transfer(&mut self, issuer: u32, number: u64, to: Option<i32>) -> u32 {
        let Actor { identity, party, at, clock, .. } = &self.actors[issuer as usize];
        let (identity, at, mut clock) = (*identity, *at, clock.clone());
        let party = match *party {
            Party::Program { launch, lane, .. } => Party::Program { launch, lane, by: By::Transfer },
            other @ (Party::Host | Party::Stream { .. }) => other,
        };
        clock.join(&self.transfers.entry(identity.program).or_default().before(to));
        // What the issuer does from now on is not the transfer's past.
        self.actors[issuer as usize].clock.advance(issuer);
        let transfer = self.add_actor(identity.rank, Some(identity.program), party, at, clock);
        self.actors[transfer as usize].transfer = Some(number);
        self.transfers.entry(identity.program).or_default().open.push((transfer, to));
        transfer
    }

    /// Others have changed the word of a transfer that is delivered now.
    pub(crate) fn is_overtaken(&mut self, transfer: u32) {
        if let Party::Program { by, .. } = &mut self.actors[transfer as usize].party {
            *by = By::OvertakenTransfer;
        }
    }

    /// What the program has issued to each rank is delivered before what it issues to it from now on; `by` is who says so.
    pub(crate) fn fence(&mut self, program: u32, by: u32) {
        let transfers = self.transfers.entry(program).or_default();
        for &(transfer, to) in &transfers.open {
            if let Some(to) = to {
                transfers.delivered.entry(to).or_default().join(&self.actors[transfer as usize].clock);
            }
        }
        transfers.past.join(&self.actors[by as usize].clock);
        self.actors[by as usize].clock.advance(by);
    }

    /// All that the program has issued is complete; `by` knows.
    pub(crate) fn quiet(&mut self, program: u32, by: u32) {
        let transfers = self.transfers.entry(program).or_default();
        for (transfer, _) in std::mem::take(&mut transfers.open) {
            // It has done what it does: nobody asks for its clock again.
            let known = std::mem::take(&mut self.actors[transfer as usize].clock);
            transfers.past.join(&known);
        }
        transfers.past.join(&self.actors[by as usize].clock);
        let known = transfers.past.clone();
        let clock = &mut self.actors[by as usize].clock;
        clock.join(&known);
        clock.advance(by);
    }

    /// A signal by itself: ordered only after what was issued to the same rank before a fence. Gives the actor that does
    /// it, and whether it releases anything.
    pub(crate) fn start_signal(&mut self, issuer: u32, (number, to): (u64, i32)) -> (u32, bool) {
        let program = self.actors[issuer as usize].identity.program;
        let before = self.transfers.entry(program).or_default().before(Some(to));
        let releases = before != Clock::default();
        let transfer = self.start_transfer(issuer, number, Some(to));
        if releases {
            let own = self.actors[transfer as usize].clock.get(transfer);
            let clock = &mut self.actors[transfer as usize].clock;
            *clock = before;
            for _ in 0..own {
                clock.advance(transfer);
            }
        }
        (transfer, releases)
    }

    /// All transfers of all programs are complete: gives what has happened for them.
    pub(super) fn complete_transfers(&mut self) -> Clock {
        let mut all = Clock::default();
        for transfers in std::mem::take(&mut self.transfers).into_values() {
            for (transfer, _) in transfers.open {
                all.join(&self.actors[transfer as usize].clock);
            }
        }
        all
    }
}
