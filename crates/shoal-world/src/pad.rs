//! Signal pads: 32-bit slots at the begin of every rank's segment, zero at rest.
//!
//! The block barrier of collective kernels uses slot `program * ranks + source`: who signals writes 1 where 0 is, who
//! waits writes 0 where 1 is. Nothing else may lie in these slots, so a launch that needs more of them than there are
//! must be refused before it starts.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::WorldError;
use crate::heap::Symm;
use crate::rank::Rank;

/// The signal pads of a world, seen by one rank.
#[derive(Debug, Clone)]
pub struct SignalPad {
    rank: Rank,
    slots: usize,
}

impl SignalPad {
    pub(crate) fn new(rank: Rank, slots: usize) -> SignalPad {
        SignalPad { rank, slots }
    }

    /// The rank that sees them.
    #[must_use]
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Slots of each rank's pad.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The address of a rank's pad in this process.
    pub fn address_at(&self, peer: usize) -> Result<usize, WorldError> {
        self.rank.address_of(peer)
    }

    /// Refuses launches whose programs would signal beyond the pad: `programs` on each of `ranks` ranks, each of which
    /// signals its likes.
    pub fn check(&self, programs: usize, ranks: usize) -> Result<(), WorldError> {
        let needed = programs as u128 * ranks as u128;
        if needed <= self.slots as u128 {
            return Ok(());
        }
        Err(WorldError::PadTooSmall { slots: self.slots, programs, ranks, needed })
    }

    /// One slot of a rank's pad.
    pub fn slot(&self, peer: usize, slot: usize) -> Result<&AtomicU32, WorldError> {
        if slot >= self.slots {
            let slots = self.slots;
            return Err(WorldError::Argument(format!("slot {slot} does not lie in a signal pad of {slots} slots")));
        }
        let base = self.rank.base(peer)?;
        // SAFETY: the segment begins with the pad, is aligned to a page and stays mapped as long as the rank, which
        // `self` keeps. All accesses to slots are atomic.
        Ok(unsafe { base.cast::<AtomicU32>().add(slot).as_ref() })
    }

    /// The slots of this rank's pad that are not zero, with their values: none, while no kernel runs. An error if the pad is
    /// a GPU's that has failed.
    pub fn raised(&self) -> Result<Vec<(usize, u32)>, WorldError> {
        let me = self.rank.rank();
        let values: Vec<u32> = match self.rank.gpu() {
            Some(_) => Symm::<u32>::view(&self.rank, 0, self.slots)?.read()?,
            None => {
                let value = |slot| Ok(self.slot(me, slot)?.load(Ordering::Acquire));
                (0..self.slots).map(value).collect::<Result<_, WorldError>>()?
            }
        };
        Ok(values.into_iter().enumerate().filter(|&(_, value)| value != 0).collect())
    }
}
