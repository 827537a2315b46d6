//! Memory: allocations in an address space of their own, every access checked.

use std::cell::Cell;
use std::fmt;

/// Where the first allocation starts: far from zero, so that small numbers are never addresses.
const BASE: u64 = 0x5000_0000_0000;

/// Allocations start at multiples of this, with at least as much unmapped space between two of them.
const GAP: u64 = 1 << 16;

/// A place in a [`Memory`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub u64);

impl Address {
    /// So many bytes further.
    pub fn offset(self, bytes: u64) -> Address {
        Address(self.0.wrapping_add(bytes))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[derive(Clone, Debug)]
struct Block {
    base: u64,
    bytes: Vec<u8>,
    name: Option<String>,
}

/// What is wrong with an access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessError {
    OutOfBounds,
    Misaligned,
}

/// An address space with its contents. Fresh allocations are zero.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// In order of their addresses.
    blocks: Vec<Block>,
    /// Where allocations end.
    end: u64,
    /// How often the contents changed.
    version: u64,
    /// The block found last: accesses come in runs.
    recent: Cell<usize>,
}

impl Memory {
    /// Without allocations.
    pub fn new() -> Memory {
        Memory { end: BASE, ..Memory::default() }
    }

    /// Fresh zeroed bytes, with unmapped space on both sides.
    pub fn alloc(&mut self, bytes: usize) -> Address {
        self.alloc_from(&vec![0; bytes])
    }

    /// Fresh bytes with these contents.
    pub fn alloc_from(&mut self, contents: &[u8]) -> Address {
        let base = self.end.max(BASE);
        self.end = (base + contents.len() as u64).next_multiple_of(GAP) + GAP;
        self.blocks.push(Block { base, bytes: contents.to_vec(), name: None });
        Address(base)
    }

    /// Gives the allocation at an address a name for error messages.
    pub fn name(&mut self, address: Address, name: impl Into<String>) {
        if let Some(index) = self.block_at(address.0) {
            self.blocks[index].name = Some(name.into());
        }
    }

    /// Unmaps the allocation that starts at an address; later accesses to it are errors.
    pub fn free(&mut self, address: Address) {
        self.blocks.retain(|b| b.base != address.0);
    }

    /// What is in memory from an address to the end of its allocation.
    pub fn bytes(&self, address: Address) -> Option<&[u8]> {
        let block = &self.blocks[self.block_at(address.0)?];
        block.bytes.get((address.0 - block.base) as usize..)
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self, address: Address) -> Option<&mut [u8]> {
        let index = self.block_at(address.0)?;
        self.version += 1;
        let block = &mut self.blocks[index];
        block.bytes.get_mut((address.0 - block.base) as usize..)
    }

    /// How often the contents changed: while it stays, every read gives what it gave.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The last block that does not start after `address`, if the address is not behind its end.
    fn block_at(&self, address: u64) -> Option<usize> {
        let recent = self.recent.get();
        let holds = |b: &Block| address >= b.base && address - b.base <= b.bytes.len() as u64;
        if self.blocks.get(recent).is_some_and(holds) {
            return Some(recent);
        }
        let index = self.blocks.partition_point(|b| b.base <= address).checked_sub(1)?;
        self.recent.set(index);
        holds(&self.blocks[index]).then_some(index)
    }

    /// The block and the range in it of an access of `size` bytes.
    fn locate(&self, address: u64, size: u32) -> Result<(usize, usize), AccessError> {
        let index = self.block_at(address).ok_or(AccessError::OutOfBounds)?;
        let start = (address - self.blocks[index].base) as usize;
        if start + size as usize > self.blocks[index].bytes.len() {
            return Err(AccessError::OutOfBounds);
        }
        if !address.is_multiple_of(u64::from(size)) {
            return Err(AccessError::Misaligned);
        }
        Ok((index, start))
    }

    /// Reads a little-endian number of 1, 2, 4 or 8 bytes.
    pub(crate) fn load(&self, address: u64, size: u32) -> Result<u64, AccessError> {
        let (index, start) = self.locate(address, size)?;
        let bytes = &self.blocks[index].bytes[start..start + size as usize];
        Ok(match *bytes {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            _ => bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)),
        })
    }

    /// Writes a little-endian number. Writing what is there already changes nothing.
    pub(crate) fn store(&mut self, address: u64, size: u32, value: u64) -> Result<(), AccessError> {
        let (index, start) = self.locate(address, size)?;
        let new = &value.to_le_bytes()[..size as usize];
        let old = &mut self.blocks[index].bytes[start..start + size as usize];
        if *old != *new {
            old.copy_from_slice(new);
            self.version += 1;
        }
        Ok(())
    }

    /// Where an address lies, in words for an error message.
    pub(crate) fn describe(&self, address: u64) -> String {
        let Some(index) = self.blocks.partition_point(|b| b.base <= address).checked_sub(1) else {
            return match self.blocks.first() {
                Some(block) if block.base - address <= GAP => {
                    format!("{} bytes before {}", block.base - address, Memory::title(block))
                }
                _ => Memory::unallocated(address),
            };
        };
        let block = &self.blocks[index];
        let end = block.base + block.bytes.len() as u64;
        if address < end {
            return format!("at byte {} of {}", address - block.base, Memory::title(block));
        }
        match self.blocks.get(index + 1) {
            Some(next) if next.base - address < address - end && next.base - address <= GAP => {
                format!("{} bytes before {}", next.base - address, Memory::title(next))
            }
            _ if address - end <= GAP => format!("{} bytes past the end of {}", address - end, Memory::title(block)),
            _ => Memory::unallocated(address),
        }
    }

    /// An address that is near no allocation may come from a table of addresses, which native code could follow.
    fn unallocated(address: u64) -> String {
        let nothing = "where nothing is allocated";
        let of_another_space = address >> 40 != BASE >> 40 && address >= GAP;
        if of_another_space {
            format!("{nothing}; the interpreter sees the memory of arguments, not what addresses in arrays point to")
        } else {
            nothing.into()
        }
    }

    fn title(block: &Block) -> String {
        match &block.name {
            Some(name) => format!("`{name}` ({} bytes)", block.bytes.len()),
            None => format!("the {} bytes allocated at {:#x}", block.bytes.len(), block.base),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_checked() {
        let mut memory = Memory::new();
        let (a, b) = (memory.alloc(8), memory.alloc(16));
        assert!(b.0 - a.0 > 8 + GAP / 2);
        memory.store(a.0 + 4, 4, 0xdead_beef).unwrap();
        assert_eq!(memory.load(a.0 + 4, 4), Ok(0xdead_beef));
        assert_eq!(memory.load(a.0, 8), Ok(0xdead_beef_0000_0000));
        assert_eq!(memory.load(a.0 + 2, 4), Err(AccessError::Misaligned));
        assert_eq!(memory.load(a.0 + 8, 1), Err(AccessError::OutOfBounds));
        assert_eq!(memory.load(a.0 + 4, 8), Err(AccessError::OutOfBounds));
        assert_eq!(memory.load(0, 1), Err(AccessError::OutOfBounds));
        assert_eq!(memory.store(b.0 - 1, 1, 0), Err(AccessError::OutOfBounds));
        memory.free(a);
        assert_eq!(memory.load(a.0, 1), Err(AccessError::OutOfBounds));
        assert_eq!(memory.load(b.0, 8), Ok(0));
    }

    #[test]
    fn only_changes_count() {
        let mut memory = Memory::new();
        let a = memory.alloc(4);
        let before = memory.version();
        memory.store(a.0, 4, 0).unwrap();
        assert_eq!(memory.version(), before);
        memory.store(a.0, 4, 1).unwrap();
        assert_ne!(memory.version(), before);
    }

    #[test]
    fn places_are_described_by_their_neighbour() {
        let mut memory = Memory::new();
        let a = memory.alloc(8);
        memory.name(a, "x");
        assert_eq!(memory.describe(a.0 + 12), "4 bytes past the end of `x` (8 bytes)");
        assert_eq!(memory.describe(a.0 - 4), "4 bytes before `x` (8 bytes)");
        assert_eq!(memory.describe(16), "where nothing is allocated");
        assert_eq!(memory.describe(a.0 + 100 * GAP), "where nothing is allocated");
        assert!(memory.describe(0x7f00_0000_0000).contains("not what addresses in arrays point to"));
    }
}
