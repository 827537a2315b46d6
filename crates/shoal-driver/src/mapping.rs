//! Anonymous page mappings, unmapped on drop. Buffers, scratch and loaded code live in them.

use core::ptr::NonNull;
use rustix::mm::{self, MapFlags, ProtFlags};
use std::io;

/// Size of a huge page, and the alignment that lets the kernel use one.
const HUGE_PAGE: usize = 2 << 20;
/// Size of a page as far as protection is concerned.
pub(crate) const PAGE: usize = 4096;

/// Readable and writable zeroed pages.
#[derive(Debug)]
pub(crate) struct PageMapping {
    base: NonNull<u8>,
    mapped: usize,
    start: NonNull<u8>,
}

// SAFETY: a mapping is plain memory owned by this value.
unsafe impl Send for PageMapping {}
// SAFETY: `&PageMapping` only gives out addresses.
unsafe impl Sync for PageMapping {}

impl PageMapping {
    /// Maps at least `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let mapped = round_up(bytes.max(1), PAGE)?;
        // SAFETY: a fresh private anonymous mapping at an address the kernel chooses disturbs nothing.
        let base = unsafe {
            mm::mmap_anonymous(core::ptr::null_mut(), mapped, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, mapped, start: base })
    }

    /// Maps at least `bytes` bytes, with huge pages advised when that is worth it.
    pub(crate) fn huge(bytes: usize) -> io::Result<Self> {
        if bytes < HUGE_PAGE {
            return Self::new(bytes);
        }
        let usable = round_up(bytes, PAGE)?;
        let padded = usable.checked_add(HUGE_PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut mapping = Self::new(padded)?;
        let skip = mapping.base.as_ptr().align_offset(HUGE_PAGE);
        // SAFETY: `align_offset` skips less than the padding, so the result lies inside the mapping.
        mapping.start = unsafe { mapping.base.add(skip) };
        // SAFETY: the range lies inside our own mapping; the advice changes no content. A kernel without huge
        // pages refuses it, which costs speed and nothing else.
        #[cfg(target_os = "linux")]
        let _ = unsafe { mm::madvise(mapping.start.as_ptr().cast(), usable, mm::Advice::LinuxHugepage) };
        Ok(mapping)
    }

    /// The first usable byte: page aligned, and huge-page aligned for large mappings.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for PageMapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range mapped in `new`. It cannot fail for such a range.
        let _ = unsafe { mm::munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}

fn round_up(bytes: usize, to: usize) -> io::Result<usize> {
    match bytes.checked_next_multiple_of(to) {
        Some(rounded) if isize::try_from(rounded).is_ok() => Ok(rounded),
        _ => Err(io::ErrorKind::OutOfMemory.into()),
    }
}
