//! The segments of all ranks, mapped one behind the other with a guard page after each.

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::mm::{self, MapFlags, MprotectFlags, ProtFlags};

use super::Layout;
use crate::error::WorldError;

/// The segments of all ranks in this process.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    layout: Layout,
    ranks: usize,
}

// SAFETY: a mapping is plain memory owned by this value, which only gives out addresses.
unsafe impl Send for Mapping {}
// SAFETY: see above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Zeroed memory for all ranks, private to this process.
    pub(crate) fn anonymous(layout: Layout, ranks: usize) -> Result<Mapping, WorldError> {
        let mapping = Mapping::reserve(layout, ranks)?;
        for rank in 0..ranks {
            // SAFETY: the range lies inside the reservation, which nobody uses yet.
            unsafe {
                mm::mprotect(
                    mapping.segment(rank).as_ptr().cast(),
                    layout.segment(),
                    MprotectFlags::READ | MprotectFlags::WRITE,
                )
            }
            .map_err(WorldError::system(mapping.what(rank)))?;
        }
        Ok(mapping)
    }

    /// The files of all ranks. Each must have at least the size of a segment and must not shrink.
    pub(crate) fn files(layout: Layout, files: &[BorrowedFd<'_>]) -> Result<Mapping, WorldError> {
        let mapping = Mapping::reserve(layout, files.len())?;
        for (rank, file) in files.iter().enumerate() {
            // SAFETY: the fixed range lies inside the reservation, which nobody uses yet.
            unsafe {
                mm::mmap(
                    mapping.segment(rank).as_ptr().cast(),
                    layout.segment(),
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::SHARED | MapFlags::FIXED | MapFlags::NORESERVE,
                    file,
                    0,
                )
            }
            .map_err(WorldError::system(mapping.what(rank)))?;
        }
        Ok(mapping)
    }

    /// Address space for all segments, not accessible yet.
    pub(crate) fn reserve(layout: Layout, ranks: usize) -> Result<Mapping, WorldError> {
        let doing = format!("reserve address space for {ranks} heaps of {} bytes", layout.symmetric);
        let bytes = layout.stride().checked_mul(ranks).filter(|&bytes| isize::try_from(bytes).is_ok());
        let bytes = bytes.ok_or(rustix::io::Errno::NOMEM);
        let base = bytes.and_then(|bytes| {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: a fresh private anonymous mapping at an address the kernel chooses disturbs nothing.
            unsafe { mm::mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::empty(), flags) }
        });
        let base = base.map_err(WorldError::system(doing))?;
        let base = NonNull::new(base.cast::<u8>()).expect("the kernel maps nothing at address zero");
        Ok(Mapping { base, layout, ranks })
    }

    fn what(&self, rank: usize) -> String {
        format!("map the heap of rank {rank} ({} bytes)", self.layout.symmetric)
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    /// Where a rank's segment begins.
    pub(crate) fn segment(&self, rank: usize) -> NonNull<u8> {
        assert!(rank < self.ranks, "rank {rank} of {}", self.ranks);
        // SAFETY: the reservation has room for all ranks.
        unsafe { self.base.add(rank * self.layout.stride()) }
    }

    /// Where the part of a rank's segment begins that kernels see.
    pub(crate) fn symmetric(&self, rank: usize) -> NonNull<u8> {
        // SAFETY: the control block is part of the segment.
        unsafe { self.segment(rank).add(self.layout.control) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was reserved. It cannot fail for such a range.
        let _ = unsafe { mm::munmap(self.base.as_ptr().cast(), self.layout.stride() * self.ranks) };
    }
}
