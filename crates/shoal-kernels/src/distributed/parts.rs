//! How elements or rows are dealt out to ranks.

use std::ops::Range;

/// A number of things dealt out to ranks: each gets as many, the last ones fewer or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    total: usize,
    part: usize,
}

impl Parts {
    /// `total` things for `ranks` ranks.
    #[must_use]
    pub fn new(total: usize, ranks: usize) -> Parts {
        Parts { total, part: total.div_ceil(ranks.max(1)) }
    }

    /// How many the first ranks get.
    #[must_use]
    pub fn part(&self) -> usize {
        self.part
    }

    /// Those of a rank.
    #[must_use]
    pub fn of(&self, rank: usize) -> Range<usize> {
        let at = |rank: usize| rank.saturating_mul(self.part).min(self.total);
        at(rank)..at(rank + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_dealt_out_in_order() {
        for (total, ranks) in [(0, 3), (1, 4), (7, 3), (8, 4), (5, 4), (100, 1)] {
            let parts = Parts::new(total, ranks);
            let dealt: Vec<usize> = (0..ranks).flat_map(|rank| parts.of(rank)).collect();
            assert_eq!(dealt, (0..total).collect::<Vec<_>>());
        }
        assert_eq!(Parts::new(5, 4).of(3), 5..5);
    }
}
