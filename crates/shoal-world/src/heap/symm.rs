//! Symmetric buffers.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::element::{Element, bytes_of, bytes_of_mut, zeroed};
use crate::error::WorldError;
use crate::rank::Rank;

/// A buffer at the same offset of every rank's heap.
///
/// Reading and writing copy. Other ranks may do the same, or run kernels on the memory, meanwhile: what is read then is
/// old, new or a mixture, by element for elements that the hardware writes at once. Order is made with barriers, events
/// and signals.
///
/// Dropping it gives the memory back as soon as all ranks have dropped theirs, and streams are done with it;
/// [`Symm::free`] does so now.
#[derive(Debug)]
pub struct Symm<T: Element> {
    rank: Rank,
    offset: usize,
    length: usize,
    /// `None` if somebody else keeps the memory.
    block: Option<Arc<Block>>,
    elements: PhantomData<T>,
}

/// Memory of the heap, until its last user drops it.
#[derive(Debug)]
pub(crate) struct Block {
    rank: Rank,
    offset: usize,
    /// Given back on all ranks already.
    is_freed: AtomicBool,
}

impl Drop for Block {
    fn drop(&mut self) {
        if !*self.is_freed.get_mut() {
            self.rank.drop_block(self.offset);
        }
    }
}

impl<T: Element> Symm<T> {
    pub(crate) fn new(rank: Rank, offset: usize, length: usize) -> Symm<T> {
        let block = Block { rank: rank.clone(), offset, is_freed: AtomicBool::new(false) };
        Symm { rank, offset, length, block: Some(Arc::new(block)), elements: PhantomData }
    }

    /// Elements at an offset of every rank's segment, in memory that somebody else has allocated and keeps: dropping
    /// this gives nothing back.
    pub fn view(rank: &Rank, offset: usize, length: usize) -> Result<Symm<T>, WorldError> {
        let bytes = length.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(offset));
        if bytes.is_none_or(|end| end > rank.segment_bytes()) || !offset.is_multiple_of(align_of::<T>()) {
            let (size, whole) = (size_of::<T>(), rank.segment_bytes());
            return Err(WorldError::Argument(format!(
                "{length} elements of {size} bytes do not lie at offset {offset} of a segment of {whole}"
            )));
        }
        Ok(Symm { rank: rank.clone(), offset, length, block: None, elements: PhantomData })
    }

    /// Number of elements on each rank.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where it lies in every rank's segment, in bytes.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The rank whose own part [`Symm::read`] and [`Symm::write`] access.
    #[must_use]
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// The address of this rank's part.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address_at(self.rank.rank()).expect("a rank's own memory has an address")
    }

    /// The address of a rank's part in this process. An error if it cannot be reached by load and store.
    pub fn address_at(&self, peer: usize) -> Result<usize, WorldError> {
        Ok(self.rank.address_of(peer)? + self.offset)
    }

    /// The elements of this rank. An error if they are a GPU's that has failed.
    pub fn read(&self) -> Result<Vec<T>, WorldError> {
        self.read_from(self.rank.rank(), ..)
    }

    /// Overwrites the elements of this rank. An error if their number is another.
    pub fn write(&self, elements: &[T]) -> Result<(), WorldError> {
        if elements.len() != self.length {
            let (given, length) = (elements.len(), self.length);
            return Err(WorldError::Argument(format!("{given} elements do not fill a symmetric buffer of {length}")));
        }
        self.write_to(self.rank.rank(), 0, elements)
    }

    /// Elements of any rank.
    pub fn read_from(&self, peer: usize, range: impl RangeBounds<usize>) -> Result<Vec<T>, WorldError> {
        let (start, count) = self.range(range)?;
        let mut elements = zeroed(count);
        let bytes = bytes_of_mut(&mut elements);
        self.rank.read_segment(peer, self.offset + start * size_of::<T>(), bytes)?;
        Ok(elements)
    }

    /// Overwrites elements of any rank, from the `start`-th on.
    pub fn write_to(&self, peer: usize, start: usize, elements: &[T]) -> Result<(), WorldError> {
        let (start, _) = self.range(start..start.saturating_add(elements.len()))?;
        self.rank.write_segment(peer, self.offset + start * size_of::<T>(), bytes_of(elements))
    }

    /// Sets all elements of this rank. An error if they are a GPU's that has failed.
    pub fn fill(&self, value: T) -> Result<(), WorldError> {
        // Copies to a GPU are few and large.
        let most = if self.rank.gpu().is_some() { 1 << 22 } else { 4096 };
        let piece = vec![value; self.length.min(most)];
        for start in (0..self.length).step_by(most) {
            let piece = &piece[..piece.len().min(self.length - start)];
            self.write_to(self.rank.rank(), start, piece)?;
        }
        Ok(())
    }

    /// First element and number of elements of a range, which must lie inside.
    pub(crate) fn range(&self, range: impl RangeBounds<usize>) -> Result<(usize, usize), WorldError> {
        elements_in(range, self.length, "symmetric buffer")
    }

    /// Gives the memory back on all ranks. Collective over the world.
    pub fn free(self) -> Result<(), WorldError> {
        let Some(block) = &self.block else {
            return Err(WorldError::Argument("a view of symmetric memory is freed by who allocated it".to_owned()));
        };
        block.is_freed.store(true, Ordering::Relaxed);
        self.rank.free_block(self.offset)
    }

    /// What keeps the memory, if it is this buffer's.
    pub(crate) fn block(&self) -> Option<&Arc<Block>> {
        self.block.as_ref()
    }
}

/// First element and number of elements of a range, which must lie in a buffer of `length`.
pub(crate) fn elements_in(
    range: impl RangeBounds<usize>,
    length: usize,
    buffer: &str,
) -> Result<(usize, usize), WorldError> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => length,
    };
    if start <= end && end <= length {
        return Ok((start, end - start));
    }
    Err(WorldError::Argument(format!("elements {start}..{end} do not lie in a {buffer} of {length}")))
}
