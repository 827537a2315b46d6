//! Working memory of programs: grown on demand, kept for the next launch.

use crate::mapping::PageMapping;
use core::{cell::Cell, ptr};
use std::io;

/// A block of scratch memory, 64-byte aligned (page aligned, in fact).
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    mapping: Option<PageMapping>,
    capacity: usize,
}

impl Scratch {
    /// Makes room for `bytes` bytes and returns their address; the content is undefined.
    #[inline]
    pub(crate) fn reserve(&mut self, bytes: usize) -> io::Result<*mut u8> {
        if bytes > self.capacity {
            self.grow(bytes)?;
        }
        Ok(self.mapping.as_ref().map_or(ptr::without_provenance_mut(64), |m| m.start().as_ptr()))
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> io::Result<()> {
        // Released first: the content need not survive, and both together might not fit.
        self.mapping = None;
        self.capacity = 0;
        self.mapping = Some(PageMapping::huge(bytes)?);
        self.capacity = bytes;
        Ok(())
    }

    /// Bytes held.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }
}

thread_local! {
    static OF_THREAD: Cell<Scratch> = const { Cell::new(Scratch { mapping: None, capacity: 0 }) };
}

/// The calling thread's scratch, taken out for the life of this value, so that a launch from inside a launch (a
/// print sink may do that) gets its own.
#[derive(Debug, Default)]
pub(crate) struct ThreadScratch(Scratch);

impl ThreadScratch {
    pub(crate) fn take() -> Self {
        Self(OF_THREAD.try_with(Cell::take).unwrap_or_default())
    }

    #[inline]
    pub(crate) fn reserve(&mut self, bytes: usize) -> io::Result<*mut u8> {
        self.0.reserve(bytes)
    }
}

impl Drop for ThreadScratch {
    fn drop(&mut self) {
        let scratch = core::mem::take(&mut self.0);
        // A thread that is ending has no slot any more; its scratch is simply freed.
        let _ = OF_THREAD.try_with(move |slot| slot.set(scratch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_stays_aligned() {
        let mut scratch = Scratch::default();
        for bytes in [0, 1, 5000, 100, 3 << 20] {
            let address = scratch.reserve(bytes).unwrap();
            assert_eq!(address.addr() % 64, 0);
            assert!(scratch.capacity() >= bytes);
            // SAFETY: `reserve` promises that many bytes.
            unsafe { address.write_bytes(1, bytes) };
        }
    }

    #[test]
    fn nested_use_gets_its_own_block() {
        let mut outer = ThreadScratch::take();
        let first = outer.reserve(4096).unwrap();
        let second = ThreadScratch::take().reserve(4096).unwrap();
        assert_ne!(first, second);
    }
}
