//! SHMEM transfers: each is an actor of its own from the moment it is issued until something completes it.

use super::access::Party;
use super::clock::Clock;
use super::{Actor, Checker};

/// What a program and its lanes have issued and not completed.
#[derive(Clone, Debug, Default)]
pub(super) struct Transfers {
    /// Their actors.
    open: Vec<u32>,
    /// What is delivered before whatever is issued from now on.
    fenced: Clock,
}

impl Checker {
    /// An actor issues a transfer. It comes after all that the actor did before; nothing comes after it until it is
    /// complete. Gives the actor that does it.
    pub(crate) fn start_transfer(&mut self, issuer: u32) -> u32 {
        let Actor { identity, party, at, clock, .. } = &self.actors[issuer as usize];
        let (identity, at, mut clock) = (*identity, *at, clock.clone());
        let party = match *party {
            Party::Program { launch, lane, .. } => Party::Program { launch, lane, pending: true },
            other @ (Party::Host | Party::Stream { .. }) => other,
        };
        clock.join(&self.transfers.entry(identity.program).or_default().fenced);
        // What the issuer does from now on is not the transfer's past.
        self.actors[issuer as usize].clock.advance(issuer);
        let transfer = self.add_actor(identity.rank, Some(identity.program), party, at, clock);
        self.transfers.entry(identity.program).or_default().open.push(transfer);
        transfer
    }

    /// What the program has issued is delivered before what it issues from now on; `by` is who says so.
    pub(crate) fn fence(&mut self, program: u32, by: u32) {
        let transfers = self.transfers.entry(program).or_default();
        for &transfer in &transfers.open {
            transfers.fenced.join(&self.actors[transfer as usize].clock);
        }
        transfers.fenced.join(&self.actors[by as usize].clock);
        self.actors[by as usize].clock.advance(by);
    }

    /// All that the program has issued is complete; `by` knows.
    pub(crate) fn quiet(&mut self, program: u32, by: u32) {
        self.fence(program, by);
        let transfers = self.transfers.entry(program).or_default();
        transfers.open.clear();
        self.actors[by as usize].clock.join(&transfers.fenced);
    }

    /// A signal by itself: ordered only after what was issued before a fence. Gives the actor that does it, and whether it
    /// releases anything.
    pub(crate) fn start_signal(&mut self, issuer: u32) -> (u32, bool) {
        let program = self.actors[issuer as usize].identity.program;
        let fenced = self.transfers.entry(program).or_default().fenced.clone();
        let releases = fenced != Clock::default();
        let transfer = self.start_transfer(issuer);
        if releases {
            let own = self.actors[transfer as usize].clock.get(transfer);
            let clock = &mut self.actors[transfer as usize].clock;
            *clock = fenced;
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
            for transfer in transfers.open {
                all.join(&self.actors[transfer as usize].clock);
            }
        }
        all
    }
}
