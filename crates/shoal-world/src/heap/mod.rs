//! The symmetric heap: memory at the same offset of every rank's segment.
//!
//! Allocation is collective: all ranks ask for the same in the same order, so that their allocators, which never talk
//! about where to put things, come to the same offsets. That they do ask for the same is checked. Memory that is
//! dropped goes back when all ranks have dropped theirs, which they find out at the next allocation; nothing waits in a
//! destructor.

mod allocator;
mod symm;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use allocator::{Allocator, GRANULE};
pub use symm::Symm;
pub(crate) use symm::elements_in;

use crate::engine::Call;
use crate::error::WorldError;
use crate::team::Team;

/// A rank's account of the heap. All ranks of the world have equal ones, but for what they have dropped.
#[derive(Debug)]
pub(crate) struct Heap {
    /// Held while ranks meet, which may take long; destructors take only what is below.
    turn: Mutex<()>,
    allocator: Mutex<Allocator>,
    /// Blocks that this rank needs no more and others may still use.
    dropped: Mutex<BTreeSet<usize>>,
}

impl Heap {
    /// The heap in a segment, behind its signal pad.
    pub(crate) fn new(start: usize, end: usize) -> Heap {
        Heap { turn: Mutex::new(()), allocator: Mutex::new(Allocator::new(start, end)), dropped: Mutex::default() }
    }

    /// Allocates on all ranks; the offset is the same everywhere.
    pub(crate) fn allocate(&self, world: &Team, bytes: usize, alignment: usize) -> Result<usize, WorldError> {
        let _turn = lock(&self.turn);
        let request = Request { bytes, alignment, dropped: lock(&self.dropped).iter().copied().collect() };
        let requests = world.exchange(Call::Allocate, &request.encode())?;
        let requests: Vec<Request> = requests.iter().map(|bytes| Request::decode(bytes)).collect();
        if requests.iter().any(|other| (other.bytes, other.alignment) != (bytes, alignment)) {
            let in_words = |other: &Request| format!("{} bytes, aligned to {}", other.bytes, other.alignment);
            let values = (0..).zip(&requests).map(|(rank, other)| (rank, in_words(other))).collect();
            return Err(WorldError::Disagreement {
                team: world.name().to_owned(),
                what: "a symmetric allocation",
                values,
            });
        }
        let mut allocator = lock(&self.allocator);
        self.take_back(&mut allocator, &requests);
        allocator.allocate(bytes, alignment).ok_or_else(|| WorldError::OutOfMemory {
            requested: bytes,
            alignment,
            free: allocator.free_bytes(),
            largest: allocator.largest_free(),
            heap: allocator.bytes(),
        })
    }

    /// Frees what all ranks have dropped.
    fn take_back(&self, allocator: &mut Allocator, requests: &[Request]) {
        let everywhere = |offset: &usize| requests.iter().all(|request| request.dropped.binary_search(offset).is_ok());
        lock(&self.dropped).retain(|offset| {
            let is_free = everywhere(offset);
            if is_free {
                allocator.free(*offset);
            }
            !is_free
        });
    }

    /// Frees on all ranks at once.
    pub(crate) fn free(&self, world: &Team, offset: usize) -> Result<(), WorldError> {
        let _turn = lock(&self.turn);
        let offsets = world.exchange(Call::Free, &(offset as u64).to_le_bytes())?;
        let offsets: Vec<usize> = offsets.iter().map(|bytes| word(bytes, 0)).collect();
        let mut allocator = lock(&self.allocator);
        if offsets.iter().any(|&other| other != offset) {
            let in_words = |other: usize| format!("the block of {} bytes at offset {other}", allocator.size_of(other));
            let values = offsets.iter().enumerate().map(|(rank, &other)| (rank, in_words(other))).collect();
            return Err(WorldError::Disagreement { team: world.name().to_owned(), what: "what to free", values });
        }
        allocator.free(offset);
        Ok(())
    }

    /// Remembers that this rank needs a block no more.
    pub(crate) fn drop_block(&self, offset: usize) {
        lock(&self.dropped).insert(offset);
    }

    pub(crate) fn free_bytes(&self) -> usize {
        lock(&self.allocator).free_bytes()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
