//! What the programs of a launch know of the other ranks.

use crate::transport::Transport;
use crate::write_records;
use shoal_abi::Topology;
use shoal_abi::team::{how_to_allocate, sync_words};
use std::sync::Arc;

/// The world as one rank sees it: who there is, and where their symmetric heaps are in this process.
#[derive(Clone, Debug)]
pub struct RankView {
    topology: Topology,
    /// The first byte of each rank's heap; `None` where only the transport reaches it.
    heaps: Vec<Option<usize>>,
    heap_bytes: usize,
    /// Where the words in which teams meet begin in each heap.
    sync_words: Option<usize>,
    /// Where the records of who wrote last begin in each heap.
    write_records: Option<usize>,
    /// The way to heaps that loads and stores do not reach.
    transport: Option<Arc<dyn Transport>>,
    /// Whether heaps on a GPU lie where they happen to.
    is_scattered: bool,
}

/// A place in a rank's heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At this address.
    Here(usize),
    /// Where only the transport reaches.
    There {
        /// The rank.
        rank: u32,
        /// How far into its heap.
        offset: usize,
    },
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
        let heaps = heaps.into_iter().map(Some).collect();
        Self {
            topology,
            heaps,
            heap_bytes,
            sync_words: None,
            write_records: None,
            transport: None,
            is_scattered: false,
        }
    }

    /// A view from `rank`, where the transport is the way to the heaps that are not given.
    ///
    /// # Panics
    ///
    /// As [`RankView::new`], and when the rank's own heap is not given.
    #[must_use]
    pub fn with_transport(
        rank: usize,
        heaps: Vec<Option<usize>>,
        heap_bytes: usize,
        transport: Arc<dyn Transport>,
    ) -> Self {
        assert!(heaps[rank].is_some(), "a rank reaches its own heap");
        let view = Self::new(rank, vec![0; heaps.len()], heap_bytes);
        Self { heaps, transport: Some(transport), ..view }
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

    /// The same with heaps on a GPU that do not lie at equal distances: kernels find them by other means than the table.
    #[must_use]
    pub fn with_scattered_heaps(self) -> Self {
        Self { is_scattered: true, ..self }
    }

    /// Whether kernels on a GPU find the heaps by other means than the table.
    #[must_use]
    pub fn is_scattered(&self) -> bool {
        self.is_scattered
    }

    /// The same with [records](crate::write_records) of who wrote last, this far into each heap and zero at first.
    /// Nothing else may use them.
    #[must_use]
    pub fn with_write_records(self, offset: usize) -> Self {
        assert!(offset.is_multiple_of(64) && offset + write_records::BYTES <= self.heap_bytes, "records at {offset}");
        Self { write_records: Some(offset), ..self }
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

    /// The first byte of each rank's heap that loads and stores reach, with the rank.
    pub fn heaps(&self) -> impl Iterator<Item = (usize, usize)> {
        self.heaps.iter().enumerate().filter_map(|(rank, heap)| Some((rank, (*heap)?)))
    }

    /// The way to the heaps of other ranks, if there are any that loads and stores do not reach.
    pub(crate) fn transport(&self) -> Option<&dyn Transport> {
        self.transport.as_deref()
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

    /// The same place in another rank's heap as loads and stores find it, or why there is none.
    pub(crate) fn symmetric(&self, address: usize, rank: i32) -> Result<usize, String> {
        match self.symmetric_range(address, 1, rank)? {
            Place::Here(place) => Ok(place),
            Place::There { rank, .. } => Err(format!(
                "rank {rank} cannot be reached by load and store from rank {}; use put, get and signals",
                self.rank()
            )),
        }
    }

    /// The same bytes in another rank's heap, or why there are none.
    pub(crate) fn symmetric_range(&self, address: usize, bytes: usize, rank: i32) -> Result<Place, String> {
        let own = self.heaps[self.rank() as usize].unwrap_or_default();
        let offset = address.wrapping_sub(own);
        if offset > self.heap_bytes || self.heap_bytes - offset < bytes {
            let what = if bytes > 1 { format!("{bytes} bytes at {address:#x}") } else { format!("{address:#x}") };
            let verb = if bytes > 1 { "are" } else { "is" };
            let how = how_to_allocate(address as u64);
            return Err(format!("{what} {verb} not in the symmetric heap of rank {}; {how}", self.rank()));
        }
        let known = u32::try_from(rank).ok().filter(|&rank| (rank as usize) < self.size());
        known
            .map(|rank| self.at(rank, offset))
            .ok_or_else(|| format!("there is no rank {rank}; the world has {}", self.size()))
    }

    /// Bytes that an operation of SHMEM names at a rank: those of this rank's heap as the other has them, or the other's
    /// own, by the address at which this process sees them.
    pub(crate) fn named_range(&self, address: usize, bytes: usize, rank: i32) -> Result<Place, String> {
        let theirs = usize::try_from(rank).ok().and_then(|rank| self.heaps.get(rank).copied().flatten());
        let offset = theirs.map(|heap| address.wrapping_sub(heap));
        match offset.is_some_and(|offset| offset <= self.heap_bytes && self.heap_bytes - offset >= bytes) {
            true => Ok(Place::Here(address)),
            false => self.symmetric_range(address, bytes, rank),
        }
    }

    /// A place of a rank that there is.
    fn at(&self, rank: u32, offset: usize) -> Place {
        self.heaps[rank as usize].map_or(Place::There { rank, offset }, |heap| Place::Here(heap + offset))
    }

    /// The place itself, if it is for this rank.
    pub(crate) fn own(&self, address: usize, rank: i32) -> Result<usize, String> {
        match u32::try_from(rank) {
            Ok(rank) if rank == self.rank() => Ok(address),
            _ => Err(format!("a signal at `gpu` scope stays on its rank, {}, but is for rank {rank}", self.rank())),
        }
    }

    /// The word of a team in a rank's memory.
    pub(crate) fn sync_word(&self, rank: u32, team: i32, word: usize) -> Result<Place, String> {
        let begin = self.sync_words.ok_or("this world has no place for teams to meet")?;
        Ok(self.at(rank, begin + sync_words::offset(team, word)))
    }

    /// The word of a team in this rank's own memory.
    pub(crate) fn own_sync_word(&self, team: i32, word: usize) -> Result<usize, String> {
        match self.sync_word(self.rank(), team, word)? {
            Place::Here(address) => Ok(address),
            Place::There { rank, .. } => Err(format!("rank {rank} does not reach its own heap")),
        }
    }

    /// The rank in whose heap an address lies.
    pub(crate) fn owner_of(&self, address: usize) -> Option<usize> {
        let (rank, _) = self.heaps().find(|(_, base)| address.wrapping_sub(*base) < self.heap_bytes)?;
        Some(rank)
    }

    /// Where the record of a word in a rank's heap is, if loads and stores reach it, and the number that says that the
    /// record is about this word.
    pub(crate) fn write_record(&self, rank: usize, address: usize) -> Option<(usize, u64)> {
        let (records, base) = (self.write_records?, self.heaps.get(rank).copied().flatten()?);
        let offset = address.checked_sub(base).filter(|&offset| offset < self.heap_bytes)?;
        Some((base + records + write_records::record_of(offset), offset as u64 + 1))
    }

    /// Where an address lies among the heaps.
    pub(crate) fn place(&self, address: usize) -> Option<String> {
        let rank = self.owner_of(address)?;
        let offset = address - self.heaps[rank]?;
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
    use shoal_abi::SignalChange;

    /// A way that nobody may take.
    #[derive(Debug)]
    struct Closed;

    impl Transport for Closed {
        unsafe fn put(&self, rank: u32, _: usize, _: *const u8, _: usize) {
            panic!("a put to rank {rank}");
        }
        unsafe fn get(&self, rank: u32, _: usize, _: *mut u8, _: usize) {
            panic!("a get from rank {rank}");
        }
        fn signal(&self, rank: u32, _: usize, _: u64, _: SignalChange) {
            panic!("a signal to rank {rank}");
        }
        fn fence(&self) {}
        fn quiet(&self) {}
        fn progress(&self) {}
    }

    #[test]
    fn what_loads_do_not_reach_is_there() {
        let view = RankView::with_transport(1, vec![None, Some(0x8000)], 0x100, Arc::new(Closed));
        assert_eq!(view.symmetric_range(0x8010, 16, 0), Ok(Place::There { rank: 0, offset: 16 }));
        assert_eq!(view.symmetric_range(0x8010, 16, 1), Ok(Place::Here(0x8010)));
        let said = view.symmetric(0x8010, 0).unwrap_err();
        assert_eq!(said, "rank 0 cannot be reached by load and store from rank 1; use put, get and signals");
        assert_eq!(view.symmetric(0x8010, 2), Err("there is no rank 2; the world has 2".into()));
    }

    #[test]
    fn places_are_the_same_in_every_heap() {
        let view = RankView::new(1, vec![0x1000, 0x8000, 0x4000], 0x100);
        assert_eq!(view.symmetric(0x8010, 2), Ok(0x4010));
        assert_eq!(view.symmetric(0x80ff, 0), Ok(0x10ff));
        assert_eq!(view.symmetric(0x8000, 1), Ok(0x8000));
        assert!(view.symmetric(0x8100, 0).is_err(), "one past the end");
        assert!(view.symmetric(0x4010, 0).is_err(), "in the heap of another rank");
        assert_eq!(view.named_range(0x4010, 16, 2), Ok(Place::Here(0x4010)));
        assert_eq!(view.named_range(0x8010, 16, 2), Ok(Place::Here(0x4010)));
        assert!(view.named_range(0x4010, 16, 0).is_err(), "in the heap of a third rank");
        assert!(view.named_range(0x40f8, 16, 2).is_err(), "past the end");
        assert_eq!(view.symmetric(0x8010, 3), Err("there is no rank 3; the world has 3".into()));
        assert_eq!(view.symmetric(0x8010, -1), Err("there is no rank -1; the world has 3".into()));
        assert_eq!(view.own(0x10, 1), Ok(0x10));
        assert!(view.own(0x10, 0).is_err());
        assert_eq!(view.place(0x4010).as_deref(), Some("byte 16 of the symmetric heap of rank 2"));
        assert_eq!(view.place(0x10), None);
    }
}
