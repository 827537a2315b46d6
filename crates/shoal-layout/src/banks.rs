//! The banks of shared memory: how long one access of a warp takes.
//!
//! Memory has 32 banks of four bytes: the word at address `a` is in bank `a / 4 % 32`. In one *wavefront* each bank gives or
//! takes one word, whoever asks for it; two words of one bank need two wavefronts, which is a *bank conflict*. Wide
//! accesses move more than 128 bytes, so they are split first: a warp's accesses of 8 bytes go by half warps, those of 16
//! bytes by quarter warps.
//!
//! ```text
//!  lanes read a column of a row-major 32 × 32 buffer of f32      32 words of bank 0:   32 wavefronts
//!  lanes read a row                                              one word of each:      1 wavefront
//!  lanes read the same word                                      one word of one:       1 wavefront
//! ```

use std::collections::BTreeSet;

/// The bytes of one word of one bank.
const WORD: u32 = 4;
/// The number of banks.
const BANKS: u32 = 32;

/// The wavefronts of one access in which lane `i` moves `bytes` bytes (a power of two) at byte address `addresses[i]`.
pub fn wavefronts(addresses: &[u32], bytes: u32) -> u32 {
    addresses.chunks(lanes_together(bytes)).map(|lanes| group_wavefronts(lanes, bytes)).sum()
}

/// The wavefronts that the same access takes without bank conflicts.
pub fn ideal_wavefronts(lanes: usize, bytes: u32) -> u32 {
    lanes.div_ceil(lanes_together(bytes)) as u32
}

/// The number of lanes, one after the other, that memory serves together.
pub(crate) fn lanes_together(bytes: u32) -> usize {
    (BANKS * WORD / bytes.max(WORD)) as usize
}

fn group_wavefronts(addresses: &[u32], bytes: u32) -> u32 {
    let words: BTreeSet<u32> =
        addresses.iter().flat_map(|&address| address / WORD..=(address + bytes - 1) / WORD).collect();
    let mut per_bank = [0; BANKS as usize];
    for word in words {
        per_bank[(word % BANKS) as usize] += 1;
    }
    per_bank.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: u32, address: impl Fn(u32) -> u32) -> u32 {
        wavefronts(&(0..32).map(address).collect::<Vec<u32>>(), bytes)
    }

    #[test]
    fn rows_columns_and_broadcasts() {
        assert_eq!(of(4, |lane| lane * 4), 1);
        assert_eq!(of(4, |lane| lane * 128), 32);
        assert_eq!(of(4, |_| 64), 1);
        assert_eq!(of(4, |lane| lane * 8), 2);
        assert_eq!(of(2, |lane| lane * 2), 1);
        assert_eq!(of(1, |lane| lane * 128 + lane), 4, "four lanes in each of eight banks");
    }

    #[test]
    fn wide_accesses_go_in_parts() {
        assert_eq!(of(16, |lane| lane * 16), 4);
        assert_eq!(of(8, |lane| lane * 8), 2);
        assert_eq!(of(16, |lane| lane * 32), 8, "every second piece of 16 bytes");
        assert_eq!(of(16, |lane| lane * 128 + lane % 8 * 16), 4, "swizzled rows");
        assert_eq!((ideal_wavefronts(32, 16), ideal_wavefronts(32, 2), ideal_wavefronts(64, 4)), (4, 1, 2));
    }
}
