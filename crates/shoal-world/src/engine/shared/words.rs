//! Bytes in shared memory, moved a word at a time with atomics, so that a rank that misbehaves can garble a message but
//! not cause a data race.

use std::sync::atomic::{AtomicU64, Ordering};

/// A byte string of fixed capacity.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Words<const N: usize>([AtomicU64; N]);

impl<const N: usize> Words<N> {
    /// Bytes that fit.
    pub(crate) const CAPACITY: usize = N * 8;

    /// Writes as much of the bytes as fits.
    pub(crate) fn write(&self, bytes: &[u8]) {
        for (word, chunk) in self.0.iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
    }

    /// Appends the first `length` bytes.
    pub(crate) fn read(&self, length: usize, into: &mut Vec<u8>) {
        let end = into.len() + length.min(Self::CAPACITY);
        for word in &self.0[..length.min(Self::CAPACITY).div_ceil(8)] {
            into.extend_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        into.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let words = Words::<4>(Default::default());
        for length in 0..=Words::<4>::CAPACITY {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8 + 1).collect();
            words.write(&bytes);
            let mut back = vec![77];
            words.read(length, &mut back);
            assert_eq!(back[1..], bytes);
        }
    }

    #[test]
    fn a_length_beyond_the_capacity_reads_what_is_there() {
        let words = Words::<1>(Default::default());
        words.write(b"too long for it");
        let mut back = Vec::new();
        words.read(usize::MAX, &mut back);
        assert_eq!(back, b"too long");
    }
}
