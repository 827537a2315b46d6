//! What the programs of a launch know of the other ranks.

/// The world as one rank sees it: who there is, and where their symmetric heaps are in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankView {
    rank: u32,
    /// The first byte of each rank's heap.
    heaps: Vec<usize>,
    heap_bytes: usize,
}

impl RankView {
    /// A view from `rank` on heaps of `heap_bytes` each, that of rank 0 first.
    ///
    /// # Panics
    ///
    /// When there is no such rank, or there are more than a kernel can count.
    #[must_use]
    pub fn new(rank: usize, heaps: Vec<usize>, heap_bytes: usize) -> Self {
        assert!(rank < heaps.len(), "rank {rank} of {}", heaps.len());
        let number = i32::try_from(heaps.len()).ok().and_then(|_| u32::try_from(rank).ok());
        Self { rank: number.expect("kernels count ranks in 32 bits"), heaps, heap_bytes }
    }

    /// This rank's number.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many ranks there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.heaps.len()
    }

    /// The first byte of each rank's heap, that of rank 0 first.
    #[must_use]
    pub fn heaps(&self) -> &[usize] {
        &self.heaps
    }

    /// The size of each heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.heap_bytes
    }

    /// The same place in another rank's heap, or why there is none.
    pub(crate) fn symmetric(&self, address: usize, rank: i32) -> Result<usize, String> {
        let offset = address.wrapping_sub(self.heaps[self.rank as usize]);
        if offset >= self.heap_bytes {
            return Err(format!(
                "{address:#x} is not in the symmetric heap of rank {}; allocate it on all ranks together",
                self.rank
            ));
        }
        match usize::try_from(rank).ok().and_then(|rank| self.heaps.get(rank)) {
            Some(base) => Ok(base + offset),
            None => Err(format!("there is no rank {rank}; the world has {}", self.size())),
        }
    }

    /// The place itself, if it is for this rank.
    pub(crate) fn own(&self, address: usize, rank: i32) -> Result<usize, String> {
        match u32::try_from(rank) {
            Ok(rank) if rank == self.rank => Ok(address),
            _ => Err(format!("a signal at `gpu` scope stays on its rank, {}, but is for rank {rank}", self.rank)),
        }
    }

    /// Where an address lies among the heaps.
    pub(crate) fn place(&self, address: usize) -> Option<String> {
        let inside = |base: &usize| address.wrapping_sub(*base) < self.heap_bytes;
        let rank = self.heaps.iter().position(inside)?;
        Some(format!("byte {} of the symmetric heap of rank {rank}", address - self.heaps[rank]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_same_in_every_heap() {
        let view = RankView::new(1, vec![0x1000, 0x8000, 0x4000], 0x100);
        assert_eq!(view.symmetric(0x8010, 2), Ok(0x4010));
        assert_eq!(view.symmetric(0x80ff, 0), Ok(0x10ff));
        assert_eq!(view.symmetric(0x8000, 1), Ok(0x8000));
        assert!(view.symmetric(0x8100, 0).is_err(), "one past the end");
        assert!(view.symmetric(0x4010, 0).is_err(), "in the heap of another rank");
        assert_eq!(view.symmetric(0x8010, 3), Err("there is no rank 3; the world has 3".into()));
        assert_eq!(view.symmetric(0x8010, -1), Err("there is no rank -1; the world has 3".into()));
        assert_eq!(view.own(0x10, 1), Ok(0x10));
        assert!(view.own(0x10, 0).is_err());
        assert_eq!(view.place(0x4010).as_deref(), Some("byte 16 of the symmetric heap of rank 2"));
        assert_eq!(view.place(0x10), None);
    }
}
