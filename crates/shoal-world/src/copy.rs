//! Copies from and to memory that other ranks may be writing. A race gives old, new or mixed bytes, as on hardware; it
//! never is undefined behaviour, so safe functions can be built on it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Copies shorter than this are not worth the start of a string instruction.
const STRING_COPY: usize = 256;

/// Copies `bytes` bytes upwards.
///
/// # Safety
///
/// Both ranges must be mapped, and writable at the destination. They must not overlap, unless the destination begins
/// before the source. Nobody may hold a reference to the destination, or a unique one to the source; other accesses
/// during the copy are atomic or come from outside of this program's Rust code.
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes >= STRING_COPY {
        // SAFETY: as the caller promises.
        unsafe { copy_long(from, to, bytes) };
    } else {
        // SAFETY: as the caller promises.
        unsafe { copy_words(from, to, bytes) };
    }
}

#[cfg(target_arch = "x86_64")]
unsafe fn copy_long(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the instruction reads and writes exactly the two ranges; the direction flag is clear in Rust code. The
    // compiler knows nothing of its accesses, so that they may race.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") bytes => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_long(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: as the caller promises.
    unsafe { copy_words(from, to, bytes) };
}

/// Copies by words where both sides are aligned, else by bytes. What is aligned is never torn.
unsafe fn copy_words(from: *const u8, to: *mut u8, bytes: usize) {
    let mut at = 0;
    if (from.addr() | to.addr()).is_multiple_of(8) {
        while at + 8 <= bytes {
            // SAFETY: an aligned word inside of both ranges; all accesses to it may be concurrent, as it is atomic.
            unsafe {
                let word = (*from.add(at).cast::<AtomicU64>()).load(Ordering::Relaxed);
                (*to.add(at).cast::<AtomicU64>()).store(word, Ordering::Relaxed);
            }
            at += 8;
        }
    }
    while at < bytes {
        // SAFETY: a byte inside of both ranges.
        unsafe {
            let byte = (*from.add(at).cast::<AtomicU8>()).load(Ordering::Relaxed);
            (*to.add(at).cast::<AtomicU8>()).store(byte, Ordering::Relaxed);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_alignment() {
        let source: Vec<u8> = (0..1000u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for length in [0, 1, 7, 8, 9, 63, 255, 256, 257, 900] {
            for (skip, at) in [(0, 0), (1, 0), (0, 3), (5, 5)] {
                let mut target = vec![0u8; 1000];
                // SAFETY: the ranges lie in two different vectors.
                unsafe { copy(source.as_ptr().add(skip), target.as_mut_ptr().add(at), length) };
                assert_eq!(target[at..at + length], source[skip..skip + length]);
                assert!(target[at + length..].iter().all(|&byte| byte == 0));
            }
        }
    }
}
