//! Where blocks lie in a heap: first fit over a sorted list. Deterministic, so that ranks that ask for the same get the
//! same.

use std::collections::BTreeMap;

/// Blocks begin at multiples of this and have sizes that are; it is what vector loads, cache lines and bulk copies of
/// accelerators want.
pub(crate) const GRANULE: usize = 256;

/// Offsets in use and offsets free.
#[derive(Debug)]
pub(crate) struct Allocator {
    start: usize,
    end: usize,
    /// Begin and bytes; neighbours are merged.
    free: BTreeMap<usize, usize>,
    used: BTreeMap<usize, usize>,
}

impl Allocator {
    pub(crate) fn new(start: usize, end: usize) -> Allocator {
        let start = start.next_multiple_of(GRANULE);
        let end = (end - end % GRANULE).max(start);
        let free = if end > start { BTreeMap::from([(start, end - start)]) } else { BTreeMap::new() };
        Allocator { start, end, free, used: BTreeMap::new() }
    }

    /// The offset of a new block. `alignment` is a power of two.
    pub(crate) fn allocate(&mut self, bytes: usize, alignment: usize) -> Option<usize> {
        let bytes = bytes.max(1).checked_next_multiple_of(GRANULE)?;
        let alignment = alignment.max(GRANULE);
        let (begin, room, at) = self.free.iter().find_map(|(&begin, &room)| {
            let at = begin.checked_next_multiple_of(alignment)?;
            (at.checked_add(bytes)? <= begin + room).then_some((begin, room, at))
        })?;
        self.free.remove(&begin);
        if at > begin {
            self.free.insert(begin, at - begin);
        }
        if begin + room > at + bytes {
            self.free.insert(at + bytes, begin + room - at - bytes);
        }
        self.used.insert(at, bytes);
        Some(at)
    }

    /// Returns a block; an offset that no block begins at is ignored.
    pub(crate) fn free(&mut self, offset: usize) {
        let Some(bytes) = self.used.remove(&offset) else { return };
        let (mut begin, mut end) = (offset, offset + bytes);
        if let Some((&before, &room)) = self.free.range(..offset).next_back()
            && before + room == offset
        {
            self.free.remove(&before);
            begin = before;
        }
        if let Some(room) = self.free.remove(&end) {
            end += room;
        }
        self.free.insert(begin, end - begin);
    }

    pub(crate) fn size_of(&self, offset: usize) -> usize {
        self.used.get(&offset).copied().unwrap_or(0)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn free_bytes(&self) -> usize {
        self.free.values().sum()
    }

    pub(crate) fn largest_free(&self) -> usize {
        self.free.values().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn alignment_leaves_a_gap_that_is_used() {
        let mut allocator = Allocator::new(256, 1 << 20);
        assert_eq!(allocator.allocate(1, 1), Some(256));
        assert_eq!(allocator.allocate(1, 4096), Some(4096));
        assert_eq!(allocator.allocate(256, 8), Some(512));
        assert_eq!(allocator.allocate(1 << 20, 8), None);
        assert_eq!(allocator.allocate(usize::MAX, 8), None);
        assert_eq!(allocator.allocate(1, 1 << 63), None);
    }

    proptest! {
        #[test]
        fn blocks_never_overlap_and_all_comes_back(steps in prop::collection::vec((0usize..5000, 0u32..14, any::<prop::sample::Index>(), any::<bool>()), 1..200)) {
            let mut allocator = Allocator::new(100, 100_000);
            let whole = allocator.free_bytes();
            let mut blocks: Vec<(usize, usize)> = Vec::new();
            for (bytes, alignment, which, gives_back) in steps {
                if gives_back && !blocks.is_empty() {
                    let (offset, _) = blocks.swap_remove(which.index(blocks.len()));
                    allocator.free(offset);
                } else if let Some(at) = allocator.allocate(bytes, 1 << alignment) {
                    prop_assert!(at.is_multiple_of(1 << alignment) && at >= 100 && at + bytes <= 100_000);
                    prop_assert!(blocks.iter().all(|&(other, size)| at + bytes.max(1) <= other || other + size.max(1) <= at));
                    blocks.push((at, bytes));
                }
            }
            for (offset, _) in blocks {
                allocator.free(offset);
            }
            prop_assert_eq!(allocator.free_bytes(), whole);
            prop_assert_eq!(allocator.largest_free(), whole);
        }
    }
}
