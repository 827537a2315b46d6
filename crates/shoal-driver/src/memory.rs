//! Host buffers: aligned, zeroed or poisoned, viewed as slices of plain data.

use core::{fmt, ptr::NonNull, slice};
use std::alloc::{self, Layout};

/// From this size on a buffer is mapped in whole pages, with huge pages advised.
const MAPPED_FROM: usize = 1 << 20;
/// Alignment of every buffer: a cache line, and the widest vector.
const ALIGN: usize = 64;
/// The byte a poisoned buffer is filled with: every float type reads it as NaN, every signed integer as -1.
const POISON: u8 = 0xff;

/// Types whose every bit pattern is a value and which have no padding: what a buffer may be viewed as.
///
/// # Safety
///
/// Implementors have no padding and no invalid bit patterns, contain no references, and need at most 64-byte
/// alignment.
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

macro_rules! pod {
    ($($t:ty),*) => { $(
        // SAFETY: a primitive number (or a transparent wrapper of one): no padding, all bit patterns valid.
        unsafe impl Pod for $t {}
    )* };
}
pod!(i8, i16, i32, i64, u8, u16, u32, u64, usize, isize, f32, f64, half::f16, half::bf16);

/// A block of host memory that kernels read and write.
///
/// A launch is synchronous, so between launches the buffer is ordinary memory. While a launch runs, no slice of a
/// buffer the kernel writes may be alive; that is part of the contract of
/// [`CpuDevice::launch`](crate::cpu::CpuDevice::launch).
pub struct Buffer {
    len: usize,
    storage: Storage,
}

enum Storage {
    Empty,
    Heap(NonNull<u8>, Layout),
    Mapped(crate::mapping::PageMapping),
}

// SAFETY: a buffer owns its memory; access through `&self` is read-only and plain data.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

/// A buffer could not be allocated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate a buffer of {bytes} bytes")]
pub struct AllocError {
    /// The size asked for.
    pub bytes: usize,
}

impl Buffer {
    /// A buffer of zero bytes in every place.
    ///
    /// # Errors
    ///
    /// When the memory is not there.
    pub fn zeroed(bytes: usize) -> Result<Self, AllocError> {
        let error = AllocError { bytes };
        if bytes == 0 {
            return Ok(Self { len: 0, storage: Storage::Empty });
        }
        if bytes >= MAPPED_FROM {
            let mapping = crate::mapping::PageMapping::huge(bytes).map_err(|_| error)?;
            return Ok(Self { len: bytes, storage: Storage::Mapped(mapping) });
        }
        let layout = Layout::from_size_align(bytes, ALIGN).map_err(|_| error.clone())?;
        // SAFETY: the size is not zero.
        let data = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }).ok_or(error)?;
        Ok(Self { len: bytes, storage: Storage::Heap(data, layout) })
    }

    /// A buffer filled with a pattern that every float type reads as NaN, to make reads of unwritten memory show.
    ///
    /// # Errors
    ///
    /// When the memory is not there.
    pub fn poisoned(bytes: usize) -> Result<Self, AllocError> {
        let mut buffer = Self::zeroed(bytes)?;
        buffer.as_mut_slice::<u8>().fill(POISON);
        Ok(buffer)
    }

    /// A buffer that holds a copy of `values`.
    ///
    /// # Errors
    ///
    /// When the memory is not there.
    pub fn from_slice<T: Pod>(values: &[T]) -> Result<Self, AllocError> {
        let mut buffer = Self::zeroed(size_of_val(values))?;
        buffer.as_mut_slice::<T>().copy_from_slice(values);
        Ok(buffer)
    }

    /// Size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer holds no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address to pass to kernels. It stays the same for the life of the buffer.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        match &self.storage {
            // Aligned like the others, so that it can be viewed as a slice of anything.
            Storage::Empty => core::ptr::without_provenance_mut(ALIGN),
            Storage::Heap(data, _) => data.as_ptr(),
            Storage::Mapped(mapping) => mapping.start().as_ptr(),
        }
    }

    /// The content as elements of type `T`; trailing bytes that make no whole element are left out.
    #[must_use]
    pub fn as_slice<T: Pod>(&self) -> &[T] {
        // SAFETY: the memory is initialised, aligned to 64 bytes, long enough, and `T: Pod` accepts any content.
        unsafe { slice::from_raw_parts(self.as_ptr().cast(), self.len / element_size::<T>()) }
    }

    /// The content as elements of type `T`, to write; trailing bytes that make no whole element are left out.
    pub fn as_mut_slice<T: Pod>(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`, and `&mut self` makes the access exclusive.
        unsafe { slice::from_raw_parts_mut(self.as_ptr().cast(), self.len / element_size::<T>()) }
    }
}

/// Size of `T` with the alignment and size requirements of a view checked at compile time.
const fn element_size<T>() -> usize {
    const {
        assert!(size_of::<T>() > 0 && align_of::<T>() <= 8, "not an element type");
        size_of::<T>()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match &self.storage {
            // A mapping frees itself.
            Storage::Empty | Storage::Mapped(_) => {}
            // SAFETY: allocated with this layout in `zeroed`.
            Storage::Heap(data, layout) => unsafe { alloc::dealloc(data.as_ptr(), *layout) },
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("data", &self.as_ptr()).field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_typed() {
        for bytes in [0, 4, 100, 1 << 20, (4 << 20) + 12] {
            let mut buffer = Buffer::zeroed(bytes).unwrap();
            assert_eq!(buffer.len(), bytes);
            if bytes > 0 {
                assert_eq!(buffer.as_ptr().addr() % 64, 0);
            }
            assert!(buffer.as_slice::<u8>().iter().all(|&b| b == 0));
            buffer.as_mut_slice::<f32>().fill(1.5);
            assert_eq!(buffer.as_slice::<f32>().len(), bytes / 4);
            assert!(buffer.as_slice::<f32>().iter().all(|&v| v == 1.5));
        }
    }

    #[test]
    fn poison_is_nan_for_every_float() {
        let buffer = Buffer::poisoned(64).unwrap();
        assert!(buffer.as_slice::<f32>().iter().all(|v| v.is_nan()));
        assert!(buffer.as_slice::<f64>().iter().all(|v| v.is_nan()));
        assert!(buffer.as_slice::<half::f16>().iter().all(|v| v.is_nan()));
        assert!(buffer.as_slice::<half::bf16>().iter().all(|v| v.is_nan()));
    }

    #[test]
    fn impossible_sizes_are_errors() {
        assert_eq!(Buffer::zeroed(usize::MAX / 2).unwrap_err().bytes, usize::MAX / 2);
    }

    #[test]
    fn slices_round_trip() {
        let buffer = Buffer::from_slice(&[1i64, -2, 3]).unwrap();
        assert_eq!(buffer.as_slice::<i64>(), &[1, -2, 3]);
    }
}
