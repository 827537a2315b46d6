//! Neighbouring numbers, read or written at once: most accesses of tiles are such.

use super::{AccessError, Contents, Memory};

/// Bytes that are copied at a time.
const PIECE: usize = 1024;

impl Memory {
    /// Reads as many neighbouring numbers of 1, 2, 4 or 8 bytes as there are places for. Nothing is read if any of them
    /// cannot be.
    pub(crate) fn load_run(&self, address: u64, size: u32, to: &mut [u64]) -> Result<(), AccessError> {
        let (index, start) = self.locate_run(address, size, to.len())?;
        let size = size as usize;
        match &self.blocks[index].contents {
            Contents::Own(bytes) => widen(&bytes[start..start + size * to.len()], size, to),
            Contents::Host(range) => {
                let mut piece = [0; PIECE];
                for (number, to) in to.chunks_mut(PIECE / size).enumerate() {
                    let piece = &mut piece[..size * to.len()];
                    range.read(start + number * PIECE, piece);
                    widen(piece, size, to);
                }
            }
        }
        Ok(())
    }

    /// Writes neighbouring numbers. Nothing is written if any of them cannot be, and writing what is there already changes
    /// nothing.
    pub(crate) fn store_run(&mut self, address: u64, size: u32, from: &[u64]) -> Result<(), AccessError> {
        let (index, start) = self.locate_run(address, size, from.len())?;
        let size = size as usize;
        let (mut new, mut old) = ([0; PIECE], [0; PIECE]);
        let mut changed = false;
        for (number, from) in from.chunks(PIECE / size).enumerate() {
            let new = &mut new[..size * from.len()];
            narrow(from, size, new);
            let at = start + number * PIECE;
            match &mut self.blocks[index].contents {
                Contents::Own(bytes) => {
                    let old = &mut bytes[at..at + new.len()];
                    changed |= *old != *new;
                    old.copy_from_slice(new);
                }
                Contents::Host(range) if !range.is_writable() => return Err(AccessError::ReadOnly),
                Contents::Host(range) => {
                    let old = &mut old[..new.len()];
                    range.read(at, old);
                    if *old != *new {
                        range.write(at, new);
                        changed = true;
                    }
                }
            }
        }
        self.version += u64::from(changed);
        Ok(())
    }

    fn locate_run(&self, address: u64, size: u32, count: usize) -> Result<(usize, usize), AccessError> {
        let (index, start) = self.locate(address, size)?;
        let room = self.blocks[index].size - start;
        if count > room / size as usize { Err(AccessError::OutOfBounds) } else { Ok((index, start)) }
    }
}

/// Little-endian numbers of `size` bytes, zero-extended.
fn widen(bytes: &[u8], size: usize, to: &mut [u64]) {
    fn each<const N: usize>(bytes: &[u8], to: &mut [u64]) {
        for (to, number) in to.iter_mut().zip(bytes.as_chunks::<N>().0) {
            let mut wide = [0; 8];
            wide[..N].copy_from_slice(number);
            *to = u64::from_le_bytes(wide);
        }
    }
    match size {
        1 => each::<1>(bytes, to),
        2 => each::<2>(bytes, to),
        4 => each::<4>(bytes, to),
        _ => each::<8>(bytes, to),
    }
}

/// The lowest `size` bytes of each number, little-endian.
fn narrow(from: &[u64], size: usize, bytes: &mut [u8]) {
    fn each<const N: usize>(from: &[u64], bytes: &mut [u8]) {
        for (number, &wide) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(from) {
            number.copy_from_slice(&wide.to_le_bytes()[..N]);
        }
    }
    match size {
        1 => each::<1>(from, bytes),
        2 => each::<2>(from, bytes),
        4 => each::<4>(from, bytes),
        _ => each::<8>(from, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Address, HostRange};

    /// Memory of a host, for tests.
    #[derive(Debug)]
    struct Bytes(Vec<u8>);

    impl HostRange for Bytes {
        fn size(&self) -> usize {
            self.0.len()
        }

        fn is_writable(&self) -> bool {
            true
        }

        fn read(&self, start: usize, to: &mut [u8]) {
            to.copy_from_slice(&self.0[start..start + to.len()]);
        }

        fn write(&mut self, start: usize, from: &[u8]) {
            self.0[start..start + from.len()].copy_from_slice(from);
        }

        fn exchange(&mut self, start: usize, old: &[u8], new: &[u8]) -> bool {
            let there = self.0[start..start + old.len()] == *old;
            if there {
                self.write(start, new);
            }
            there
        }
    }

    #[test]
    fn runs_are_the_same_as_single_numbers() {
        const HOST: u64 = 1 << 20;
        let mut memory = Memory::new();
        let own = memory.alloc(8 << 10).0;
        memory.map_host(Address(HOST), Box::new(Bytes(vec![0; 8 << 10])));
        for (base, size) in [own, HOST].into_iter().flat_map(|base| [1, 2, 4, 8].map(|size| (base, size))) {
            let mask = u64::MAX >> (64 - 8 * size);
            let numbers: Vec<u64> = (1..=700u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
            let start = base + u64::from(size);
            let before = memory.version();
            memory.store_run(start, size, &numbers).unwrap();
            assert!(memory.version() > before);
            for (n, &number) in (0..).zip(&numbers) {
                assert_eq!(memory.load(start + n * u64::from(size), size), Ok(number));
            }
            let mut read = vec![7; numbers.len()];
            memory.load_run(start, size, &mut read).unwrap();
            assert_eq!(read, numbers);
            let before = memory.version();
            memory.store_run(start, size, &numbers).unwrap();
            assert_eq!(memory.version(), before, "nothing has changed");
        }
    }

    #[test]
    fn a_run_that_leaves_its_range_does_nothing() {
        let mut memory = Memory::new();
        let base = memory.alloc(16).0;
        assert_eq!(memory.store_run(base + 8, 4, &[1, 2, 3]), Err(AccessError::OutOfBounds));
        assert_eq!(memory.store_run(base + 2, 4, &[1]), Err(AccessError::Misaligned));
        assert_eq!(memory.load_run(base + 16, 4, &mut [0]), Err(AccessError::OutOfBounds));
        assert_eq!(memory.bytes(Address(base)), Some([0; 16].as_slice()));
        assert_eq!(memory.version(), 0);
    }
}
