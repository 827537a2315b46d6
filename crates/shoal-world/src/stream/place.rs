//! Where copies go to and come from.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

use shoal_driver::Transport;

use crate::copy::copy;
use crate::element::{Element, bytes_of_mut, zeroed};
use crate::error::WorldError;
use crate::heap::{Symm, elements_in};
use crate::rank::Rank;

/// A range of bytes that a stream may access; it keeps them alive.
#[derive(Clone)]
pub struct Place {
    /// `None` where load and store do not reach.
    pointer: Option<*mut u8>,
    bytes: usize,
    /// What messages call it.
    pub(crate) name: PlaceName,
    keep: Keep,
}

#[derive(Clone, Copy)]
pub(crate) enum PlaceName {
    Symmetric { rank: usize, offset: usize },
    Host,
}

#[derive(Clone)]
enum Keep {
    Rank { rank: Rank, _block: Option<Arc<dyn Send + Sync>> },
    Host { _buffer: Arc<dyn Send + Sync> },
}

// SAFETY: the memory that a place points to is kept alive by it and may be accessed by any thread; all of Rust's
// accesses to it go through `copy` or atomics.
unsafe impl Send for Place {}
// SAFETY: see above.
unsafe impl Sync for Place {}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({}, {} bytes)", self.name, self.bytes)
    }
}

impl fmt::Display for PlaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlaceName::Symmetric { rank, offset } => write!(f, "offset {offset} of rank {rank}"),
            PlaceName::Host => f.write_str("a host buffer"),
        }
    }
}

impl Place {
    /// Elements of a symmetric buffer on any rank.
    pub fn symm<T: Element>(
        buffer: &Symm<T>,
        peer: usize,
        range: impl RangeBounds<usize>,
    ) -> Result<Place, WorldError> {
        let (start, count) = buffer.range(range)?;
        let offset = buffer.offset() + start * size_of::<T>();
        let place = Place::segment(buffer.rank(), peer, offset, count * size_of::<T>())?;
        Ok(match buffer.block() {
            Some(block) => place.kept_by(Arc::clone(block) as Arc<dyn Send + Sync>),
            None => place,
        })
    }

    /// The same bytes of a segment, with what keeps their block from being given to others.
    #[must_use]
    pub fn kept_by(mut self, block: Arc<dyn Send + Sync>) -> Place {
        if let Keep::Rank { _block, .. } = &mut self.keep {
            *_block = Some(block);
        }
        self
    }

    /// Bytes of any rank's segment, whose block somebody else keeps.
    pub fn segment(rank: &Rank, peer: usize, offset: usize, bytes: usize) -> Result<Place, WorldError> {
        let whole = rank.segment_bytes();
        if offset.checked_add(bytes).is_none_or(|end| end > whole) {
            return Err(WorldError::Argument(format!("{bytes} bytes at offset {offset} of a segment of {whole}")));
        }
        let pointer = match (rank.gpu().filter(|_| peer < rank.size()), rank.distant(peer)) {
            (Some(gpu), _) => Some(std::ptr::without_provenance_mut(gpu.address(peer) as usize + offset)),
            (None, Some(_)) => None,
            (None, None) => Some(rank.base(peer)?.as_ptr().wrapping_add(offset)),
        };
        let name = PlaceName::Symmetric { rank: peer, offset };
        Ok(Place { pointer, bytes, name, keep: Keep::Rank { rank: rank.clone(), _block: None } })
    }

    /// Memory of this process that `keep` keeps alive.
    ///
    /// # Safety
    ///
    /// The bytes must be valid for reads and writes as long as `keep` lives.
    #[must_use]
    pub unsafe fn host(address: usize, bytes: usize, keep: Arc<dyn Send + Sync>) -> Place {
        let pointer = Some(std::ptr::with_exposed_provenance_mut(address));
        Place { pointer, bytes, name: PlaceName::Host, keep: Keep::Host { _buffer: keep } }
    }

    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it is, if load and store reach it: in this process, or in a GPU's memory.
    pub(crate) fn pointer(&self) -> Option<*mut u8> {
        self.pointer
    }

    /// Whether it is a GPU's memory.
    pub(crate) fn is_on_gpu(&self) -> bool {
        match &self.keep {
            Keep::Rank { rank, .. } => rank.gpu().is_some(),
            Keep::Host { .. } => false,
        }
    }

    /// Whether it begins at a multiple of so many bytes.
    pub(crate) fn is_aligned_to(&self, bytes: usize) -> bool {
        match (self.pointer, self.name) {
            (Some(pointer), _) => pointer.addr().is_multiple_of(bytes),
            // Segments begin at pages.
            (None, PlaceName::Symmetric { offset, .. }) => offset.is_multiple_of(bytes),
            (None, PlaceName::Host) => false,
        }
    }

    /// The way there if load and store do not reach it: the transport, the rank, the offset.
    pub(crate) fn way(&self) -> Option<(Arc<dyn Transport>, u32, usize)> {
        match (&self.keep, self.name) {
            (Keep::Rank { rank: of, .. }, PlaceName::Symmetric { rank, offset }) => {
                of.distant(rank).map(|(transport, rank)| (transport, rank, offset))
            }
            (Keep::Rank { .. } | Keep::Host { .. }, _) => None,
        }
    }

    pub(super) fn overlaps(&self, other: &Place) -> bool {
        let (Some(a), Some(b)) = (self.pointer, other.pointer) else { return false };
        a.addr() < b.addr() + other.bytes && b.addr() < a.addr() + self.bytes
    }
}

/// Memory of this process for streams to copy from and to. Clones are the same memory.
#[derive(Clone)]
pub struct HostBuffer<T: Element>(Arc<Memory<T>>);

struct Memory<T>(Box<[UnsafeCell<T>]>);

// SAFETY: all accesses go through `copy`, which may race.
unsafe impl<T: Element> Sync for Memory<T> {}

impl<T: Element> fmt::Debug for HostBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostBuffer({} elements)", self.len())
    }
}

impl<T: Element> HostBuffer<T> {
    /// A buffer with these elements.
    #[must_use]
    pub fn new(elements: Vec<T>) -> HostBuffer<T> {
        HostBuffer(Arc::new(Memory(elements.into_iter().map(UnsafeCell::new).collect())))
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.0.len()
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements, as they are now.
    #[must_use]
    pub fn read(&self) -> Vec<T> {
        let mut elements = zeroed(self.len());
        let bytes = bytes_of_mut(&mut elements);
        // SAFETY: the vector is ours and as large as the buffer.
        unsafe { copy(self.pointer().cast(), bytes.as_mut_ptr(), bytes.len()) };
        elements
    }

    /// Elements of the buffer, for a stream.
    pub fn place(&self, range: impl RangeBounds<usize>) -> Result<Place, WorldError> {
        let (start, count) = elements_in(range, self.len(), "host buffer")?;
        Ok(Place {
            pointer: Some(self.pointer().wrapping_add(start).cast()),
            bytes: count * size_of::<T>(),
            name: PlaceName::Host,
            keep: Keep::Host { _buffer: Arc::clone(&self.0) as Arc<dyn Send + Sync> },
        })
    }

    fn pointer(&self) -> *mut T {
        UnsafeCell::raw_get(self.0.0.as_ptr())
    }
}
