//! The symmetric heap: memory at the same offset of every rank's segment.
//!
//! Allocation is collective: all ranks ask for the same in the same order, so that their allocators, which never talk
//! about where to put things, come to the same offsets. That they do ask for the same is checked. Memory that is
//! dropped goes back when all ranks have dropped theirs, which they find out at the next allocation; nothing waits in a
//! destructor.

mod allocator;
mod symm;

use std::collections::BTreeSet;

pub(crate) use allocator::{Allocator, GRANULE};
pub use symm::Symm;
pub(crate) use symm::elements_in;

use crate::engine::Call;
use crate::error::WorldError;
use crate::team::Team;

/// A rank's account of the heap. All ranks of the world have equal ones, but for what they have dropped.
#[derive(Debug)]
pub(crate) struct Heap {
    allocator: Allocator,
    /// Blocks that this rank needs no more and others may still use.
    dropped: BTreeSet<usize>,
}

impl Heap {
    /// The heap in a segment, behind its signal pad.
    pub(crate) fn new(start: usize, end: usize) -> Heap {
        Heap { allocator: Allocator::new(start, end), dropped: BTreeSet::new() }
    }

    /// Allocates on all ranks; the offset is the same everywhere.
    pub(crate) fn allocate(&mut self, world: &Team, bytes: usize, alignment: usize) -> Result<usize, WorldError> {
        let request = Request { bytes, alignment, dropped: self.dropped.iter().copied().collect() };
        let requests = world.exchange(Call::Allocate, &request.encode())?;
        let requests: Vec<Request> = requests.iter().map(|bytes| Request::decode(bytes)).collect();
        if requests.iter().any(|other| (other.bytes, other.alignment) != (bytes, alignment)) {
            let told = |other: &Request| format!("{} bytes, aligned to {}", other.bytes, other.alignment);
            let values = (0..).zip(&requests).map(|(rank, other)| (rank, told(other))).collect();
            return Err(WorldError::Disagreement {
                team: world.name().to_owned(),
                what: "a symmetric allocation",
                values,
            });
        }
        self.take_back(&requests);
        self.allocator.allocate(bytes, alignment).ok_or_else(|| WorldError::OutOfMemory {
            requested: bytes,
            alignment,
            free: self.allocator.free_bytes(),
            largest: self.allocator.largest_free(),
            heap: self.allocator.bytes(),
        })
    }

    /// Frees what all ranks have dropped.
    fn take_back(&mut self, requests: &[Request]) {
        let everywhere = |offset: &usize| requests.iter().all(|request| request.dropped.binary_search(offset).is_ok());
        let freed: Vec<usize> = self.dropped.iter().copied().filter(everywhere).collect();
        for offset in freed {
            self.dropped.remove(&offset);
            self.allocator.free(offset);
        }
    }

    /// Frees on all ranks at once.
    pub(crate) fn free(&mut self, world: &Team, offset: usize) -> Result<(), WorldError> {
        let offsets = world.exchange(Call::Free, &(offset as u64).to_le_bytes())?;
        let offsets: Vec<usize> = offsets.iter().map(|bytes| word(bytes, 0)).collect();
        if offsets.iter().any(|&other| other != offset) {
            let told = |other: usize| format!("the block of {} bytes at offset {other}", self.allocator.size_of(other));
            let values = offsets.iter().enumerate().map(|(rank, &other)| (rank, told(other))).collect();
            return Err(WorldError::Disagreement { team: world.name().to_owned(), what: "what to free", values });
        }
        self.allocator.free(offset);
        Ok(())
    }

    /// Remembers that this rank needs a block no more.
    pub(crate) fn drop_block(&mut self, offset: usize) {
        self.dropped.insert(offset);
    }

    pub(crate) fn free_bytes(&self) -> usize {
        self.allocator.free_bytes()
    }
}

/// What ranks tell each other when they allocate.
struct Request {
    bytes: usize,
    alignment: usize,
    /// Ascending.
    dropped: Vec<usize>,
}

impl Request {
    fn encode(&self) -> Vec<u8> {
        let words = [self.bytes, self.alignment].into_iter().chain(self.dropped.iter().copied());
        words.flat_map(|word| (word as u64).to_le_bytes()).collect()
    }

    fn decode(bytes: &[u8]) -> Request {
        let dropped = (2..bytes.len() / 8).map(|at| word(bytes, at)).collect();
        Request { bytes: word(bytes, 0), alignment: word(bytes, 1), dropped }
    }
}

/// The `at`-th word of a message; zero beyond its end.
fn word(bytes: &[u8], at: usize) -> usize {
    let word = bytes.get(at * 8..at * 8 + 8).and_then(|word| word.try_into().ok());
    word.map_or(0, |word| u64::from_le_bytes(word) as usize)
}
