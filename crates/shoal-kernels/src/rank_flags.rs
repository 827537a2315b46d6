//! Flags by which the programs of all ranks meet.

use shoal::Error;
use shoal::world::{Rank, Symm, WorldError};

/// How often the programs of one launch meet.
const MEETINGS: usize = 2;

/// Flags in symmetric memory for launches of up to a number of programs on each rank. They need no clearing: every
/// launch waits for a number of its own. All ranks use theirs for the same launches in the same order.
#[derive(Debug)]
pub struct RankFlags {
    words: Symm<i64>,
    programs: usize,
    epoch: i64,
}

impl RankFlags {
    /// Flags for `programs` programs. Collective over the world.
    ///
    /// # Errors
    /// When the heap has no room, or the ranks do not ask for the same.
    pub fn new(rank: &Rank, programs: usize) -> Result<RankFlags, WorldError> {
        let count = MEETINGS.checked_mul(programs).and_then(|count| count.checked_mul(rank.size()));
        let count = count.ok_or_else(|| WorldError::Argument(format!("{programs} programs are too many")))?;
        Ok(RankFlags { words: rank.symm_zeros(count)?, programs, epoch: 0 })
    }

    /// The rank whose flags these are.
    #[must_use]
    pub fn rank(&self) -> &Rank {
        self.words.rank()
    }

    /// How many programs of a grid of `wanted` can be launched.
    pub(crate) fn programs(&self, wanted: usize) -> usize {
        wanted.clamp(1, self.programs.max(1))
    }

    /// The flags, and the number that the next launch waits for.
    pub(crate) fn advance(&mut self) -> (&Symm<i64>, i64) {
        self.epoch += 1;
        (&self.words, self.epoch)
    }

    /// Refuses a buffer that does not have the elements that a collective needs.
    pub(crate) fn check(what: &str, has: usize, needs: usize) -> Result<(), Error> {
        if has == needs {
            return Ok(());
        }
        Err(WorldError::Argument(format!("`{what}` has {has} elements, but needs {needs}")).into())
    }
}
