//! A rank's way to the blocks of all ranks: by loads and stores where `shmem_ptr` finds them, else through the library.

use std::ffi::{c_int, c_ulong};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use rustix::process::getpid;
use shoal_abi::SignalChange;
use shoal_driver::Transport;

use super::session::Session;
use crate::copy::copy;

/// The blocks of all ranks. Offsets are checked by who calls: a block is as large as all ranks have agreed on.
pub(crate) struct Port {
    session: &'static Session,
    /// This rank's own block.
    block: NonNull<u8>,
    /// The blocks that loads and stores reach, this rank's own included.
    blocks: Vec<Option<NonNull<u8>>>,
    /// Bytes of a block before the segment that kernels see.
    board_bytes: usize,
}

// SAFETY: blocks stay as long as the process and are accessed by atomics and `copy` only.
unsafe impl Send for Port {}
// SAFETY: see above; calls of the library take turns.
unsafe impl Sync for Port {}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Port({} of {} by load and store)", self.blocks.iter().flatten().count(), self.blocks.len())
    }
}

impl Port {
    /// # Safety
    ///
    /// The blocks are symmetric memory of the library, aligned to 8 bytes, which is not given back.
    pub(super) unsafe fn new(
        session: &'static Session,
        block: NonNull<u8>,
        blocks: Vec<Option<NonNull<u8>>>,
        board_bytes: usize,
    ) -> Port {
        Port { session, block, blocks, board_bytes }
    }

    pub(super) fn is_own_process(&self) -> bool {
        self.session.process == getpid()
    }

    /// The segment of a rank, if loads and stores reach it.
    pub(super) fn segment(&self, rank: usize) -> Option<NonNull<u8>> {
        let block = (*self.blocks.get(rank)?)?;
        // SAFETY: a block begins with its board.
        Some(unsafe { block.add(self.board_bytes) })
    }

    /// A word of this rank's own block.
    pub(super) fn own_word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: an aligned word inside of the block, which is only accessed atomically or by `copy`.
        unsafe { self.block.add(offset).cast::<AtomicU64>().as_ref() }
    }

    /// Bytes of this rank's own block.
    pub(super) fn read_own(&self, offset: usize, bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        // SAFETY: the bytes lie in the block; the vector is ours.
        unsafe { copy(self.block.add(offset).as_ptr(), read.as_mut_ptr(), bytes) };
        read
    }

    /// Writes bytes of a rank's block; ordered before a later `set` there.
    pub(super) fn write(&self, rank: usize, offset: usize, bytes: &[u8]) {
        match self.blocks[rank] {
            // SAFETY: the bytes lie in the block, which is mapped here.
            Some(block) => unsafe { copy(bytes.as_ptr(), block.add(offset).as_ptr(), bytes.len()) },
            // SAFETY: a slice can be read.
            None => unsafe { self.put_block(rank, offset, bytes.as_ptr(), bytes.len()) },
        }
    }

    /// Sets a word of a rank's block, after what was written there before.
    pub(super) fn set(&self, rank: usize, offset: usize, value: u64) {
        match self.blocks[rank] {
            Some(block) => {
                fence(Ordering::Release);
                // SAFETY: an aligned word inside of the block, which is only accessed atomically.
                unsafe { block.add(offset).cast::<AtomicU64>().as_ref() }.store(value, Ordering::Release);
            }
            None => self.change_word(rank, offset, value, SignalChange::Set),
        }
    }

    /// # Safety
    ///
    /// So many bytes can be read at `source`.
    unsafe fn put_block(&self, rank: usize, offset: usize, source: *const u8, bytes: usize) {
        let (target, pe) = (self.symmetric(offset), rank as c_int);
        // SAFETY: the target is symmetric memory of so many bytes; the source is readable by contract.
        self.session.call(|library| unsafe { (library.putmem)(target.cast(), source.cast(), bytes, pe) });
    }

    fn change_word(&self, rank: usize, offset: usize, value: u64, change: SignalChange) {
        let (word, pe) = (self.symmetric(offset).cast::<c_ulong>(), rank as c_int);
        // SAFETY: an aligned word of symmetric memory. The fence is what orders it after earlier puts.
        self.session.call(|library| unsafe {
            (library.fence)();
            match change {
                SignalChange::Set => (library.atomic_set)(word, value, pe),
                SignalChange::Add => (library.atomic_add)(word, value, pe),
            }
        });
    }

    /// How the library knows a place: by its address in this rank's block.
    fn symmetric(&self, offset: usize) -> *mut u8 {
        self.block.as_ptr().wrapping_add(offset)
    }

    fn reaches_all(&self) -> bool {
        self.blocks.iter().all(Option::is_some)
    }
}

impl Transport for Port {
    unsafe fn put(&self, rank: u32, offset: usize, source: *const u8, bytes: usize) {
        if bytes > 0 {
            // SAFETY: by contract.
            unsafe { self.put_block(rank as usize, self.board_bytes + offset, source, bytes) };
        }
    }

    unsafe fn get(&self, rank: u32, offset: usize, target: *mut u8, bytes: usize) {
        if bytes > 0 {
            let (source, pe) = (self.symmetric(self.board_bytes + offset), rank as c_int);
            // SAFETY: the source is symmetric memory of so many bytes; the target is writable by contract.
            self.session.call(|library| unsafe { (library.getmem)(target.cast(), source.cast(), bytes, pe) });
        }
    }

    fn signal(&self, rank: u32, offset: usize, signal: u64, change: SignalChange) {
        self.change_word(rank as usize, self.board_bytes + offset, signal, change);
    }

    fn fence(&self) {
        // SAFETY: the library is initialised.
        self.session.call(|library| unsafe { (library.fence)() });
    }

    fn quiet(&self) {
        if !self.reaches_all() {
            // SAFETY: the library is initialised.
            self.session.call(|library| unsafe { (library.quiet)() });
        }
    }

    fn progress(&self) {
        if !self.reaches_all() {
            self.session.progress();
        }
    }
}
