//! What the programs of a launch know of the other ranks.

use shoal_abi::Topology;
use shoal_abi::team::sync_words;

/// The world as one rank sees it: who there is, and where their symmetric heaps are in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankView {
    topology: Topology,
    /// The first byte of each rank's heap.
    heaps: Vec<usize>,
    heap_bytes: usize,
    /// Where the words in which teams meet begin in each heap.
    sync_words: Option<usize>,
}

impl RankView {
    /// A view from `rank` on heaps of `heap_bytes` each, that of rank 0 first. Teams cannot meet.
    ///
    /// # Panics
    ///
    /// When there is no such rank, or there are more than a kernel can count.
    #[must_use]
    pub fn new(rank: usize, heaps: Vec<usize>, heap_bytes: usize) -> Self {
        let number = |n: usize| u32::try_from(n).expect("kernels count ranks in 32 bits");
        let topology = Topology::new(number(rank), number(heaps.len()));
        Self { topology, heaps, heap_bytes, sync_words: None }
    }

    /// The same with this rank's teams and its place in a mesh.
    ///
    /// # Panics
    ///
    /// When it is the view of another rank, or of another world.
    #[must_use]
    pub fn with_topology(self, topology: Topology) -> Self {
        let same = (topology.rank(), topology.size()) == (self.topology.rank(), self.topology.size());
        assert!(same, "{topology:?} is not about {:?}", self.topology);
        Self { topology, ..self }
    }

    /// The same with [words](shoal_abi::team::sync_words) in which teams meet, this far into each heap and zero at
    /// first. Nothing else may use them.
    #[must_use]
    pub fn with_sync_words(self, offset: usize) -> Self {
        assert!(offset.is_multiple_of(8) && offset + sync_words::BYTES <= self.heap_bytes, "words at {offset}");
        Self { sync_words: Some(offset), ..self }
    }

    /// This rank's number.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.topology.rank()
    }

    /// How many ranks there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.heaps.len()
    }

    /// This rank's teams and its place in a mesh.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
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

    /// Where the words in which teams meet begin in each heap, if they can.
    #[must_use]
    pub fn sync_words(&self) -> Option<usize> {
        self.sync_words
    }

    /// The same place in another rank's heap, or why there is none.
    pub(crate) fn symmetric(&self, address: usize, rank: i32) -> Result<usize, String> {
        self.symmetric_range(address, 1, rank)
    }

    /// The same bytes in another rank's heap, or why there are none.
    pub(crate) fn symmetric_range(&self, address: usize, bytes: usize, rank: i32) -> Result<usize, String> {
        let offset = address.wrapping_sub(self.heaps[self.rank() as usize]);
        if offset > self.heap_bytes || self.heap_bytes - offset < bytes {
            let what = if bytes > 1 { format!("{bytes} bytes at {address:#x}") } else { format!("{address:#x}") };
            let verb = if bytes > 1 { "are" } else { "is" };
            return Err(format!(
                "{what} {verb} not in the symmetric heap of rank {}; allocate it on all ranks together",
                self.rank()
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
            Ok(rank) if rank == self.rank() => Ok(address),
            _ => Err(format!("a signal at `gpu` scope stays on its rank, {}, but is for rank {rank}", self.rank())),
        }
    }

    /// The word of a team in a rank's memory.
    pub(crate) fn sync_word(&self, rank: u32, team: i32, word: usize) -> Result<usize, String> {
        let begin = self.sync_words.ok_or("this world has no place for teams to meet")?;
        Ok(self.heaps[rank as usize] + begin + sync_words::offset(team, word))
    }

    /// Where an address lies among the heaps.
    pub(crate) fn place(&self, address: usize) -> Option<String> {
        let inside = |base: &usize| address.wrapping_sub(*base) < self.heap_bytes;
        let rank = self.heaps.iter().position(inside)?;
        let offset = address - self.heaps[rank];
        Some(match self.sync_words.and_then(|begin| offset.checked_sub(begin)) {
            Some(word) if word < sync_words::BYTES => self.arrival(word),
            Some(_) | None => format!("byte {offset} of the symmetric heap of rank {rank}"),
        })
    }

    /// Whose arrival a word of this rank tells.
    fn arrival(&self, offset: usize) -> String {
        let (team, word) = sync_words::at(offset);
        let round = word.checked_sub(sync_words::FIRST_ROUND);
        match round.and_then(|k| self.topology.round(team, k).ok().flatten()) {
            Some(round) => format!("the arrivals of rank {} at meetings of team {team}", round.hear),
            None => format!("the state of team {team}"),
        }
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
