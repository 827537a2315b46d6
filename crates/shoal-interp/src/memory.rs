//! Memory: ranges of one address space, every access checked.
//!
//! Allocations get addresses of the interpreter's own. Ranges of a host program's memory keep the addresses that they
//! have there, so that addresses which lie in memory themselves, such as tables of buffers, point to what they point to
//! on a device.

mod runs;

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

/// A range of a host program's memory, which the interpreter reads and writes in place.
pub trait HostRange: fmt::Debug {
    /// Its size in bytes.
    fn size(&self) -> usize;

    /// Whether it may be written to.
    fn is_writable(&self) -> bool;

    /// Copies from the range, from a byte on. What is asked for lies inside.
    fn read(&self, start: usize, to: &mut [u8]);

    /// Copies to the range, from a byte on. What is written lies inside.
    fn write(&mut self, start: usize, from: &[u8]);

    /// Writes an aligned number of 1, 2, 4 or 8 bytes where another is, at one stroke for all who share the memory. Whether
    /// it was there.
    fn exchange(&mut self, start: usize, old: &[u8], new: &[u8]) -> bool;
}

#[derive(Debug)]
enum Contents {
    Own(Vec<u8>),
    Host(Box<dyn HostRange>),
}

impl Contents {
    fn size(&self) -> usize {
        match self {
            Contents::Own(bytes) => bytes.len(),
            Contents::Host(range) => range.size(),
        }
    }
}

#[derive(Debug)]
struct Block {
    base: u64,
    /// In bytes; does not change.
    size: usize,
    contents: Contents,
    name: Option<String>,
}

impl Block {
    fn end(&self) -> u64 {
        self.base + self.size as u64
    }
}

/// What is wrong with an access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessError {
    OutOfBounds,
    Misaligned,
    ReadOnly,
}

/// An address space with its contents. Fresh allocations are zero.
#[derive(Debug, Default)]
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
        self.insert(base, Contents::Own(contents.to_vec()));
        Address(base)
    }

    /// Bytes with these contents at an address of the caller's choice, where nothing is yet.
    pub fn alloc_at(&mut self, address: Address, contents: &[u8]) {
        self.insert(address.0, Contents::Own(contents.to_vec()));
    }

    /// A range of the host program's memory, at its own address. It must not overlap another.
    pub fn map_host(&mut self, address: Address, range: Box<dyn HostRange>) {
        self.insert(address.0, Contents::Host(range));
    }

    fn insert(&mut self, base: u64, contents: Contents) {
        let at = self.blocks.partition_point(|b| b.base <= base);
        let block = Block { base, size: contents.size(), contents, name: None };
        debug_assert!(at == 0 || self.blocks[at - 1].end() <= base, "ranges do not overlap");
        debug_assert!(self.blocks.get(at).is_none_or(|next| block.end() <= next.base), "ranges do not overlap");
        self.blocks.insert(at, block);
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

    /// What is in memory from an address to the end of its allocation; `None` for memory of the host program.
    pub fn bytes(&self, address: Address) -> Option<&[u8]> {
        let block = &self.blocks[self.block_at(address.0)?];
        match &block.contents {
            Contents::Own(bytes) => bytes.get((address.0 - block.base) as usize..),
            Contents::Host(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self, address: Address) -> Option<&mut [u8]> {
        let index = self.block_at(address.0)?;
        self.version += 1;
        let block = &mut self.blocks[index];
        match &mut block.contents {
            Contents::Own(bytes) => bytes.get_mut((address.0 - block.base) as usize..),
            Contents::Host(_) => None,
        }
    }

    /// Somebody else may have changed the memory of the host program.
    pub(crate) fn touch(&mut self) {
        self.version += 1;
    }

    /// Where an address lies in a range that has a name: `byte 8 of x (64 bytes)`.
    pub fn place_of(&self, address: Address) -> Option<String> {
        let block = &self.blocks[self.block_at(address.0)?];
        let inside = address.0 < block.end();
        let name = block.name.as_deref().filter(|_| inside)?;
        Some(format!("byte {} of {name}", address.0 - block.base))
    }

    /// How often the contents changed: while it stays, every read gives what it gave.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The last block that does not start after `address`, if the address is not behind its end.
    fn block_at(&self, address: u64) -> Option<usize> {
        let recent = self.recent.get();
        if self.blocks.get(recent).is_some_and(|b| address >= b.base && address < b.end()) {
            return Some(recent);
        }
        let index = self.blocks.partition_point(|b| b.base <= address).checked_sub(1)?;
        self.recent.set(index);
        (address <= self.blocks[index].end()).then_some(index)
    }

    /// The block and the range in it of an access of `size` bytes.
    fn locate(&self, address: u64, size: u32) -> Result<(usize, usize), AccessError> {
        let index = self.block_at(address).ok_or(AccessError::OutOfBounds)?;
        let start = (address - self.blocks[index].base) as usize;
        if start + size as usize > self.blocks[index].size {
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
        let mut number = [0; 8];
        match &self.blocks[index].contents {
            Contents::Own(bytes) => number[..size as usize].copy_from_slice(&bytes[start..start + size as usize]),
            Contents::Host(range) => range.read(start, &mut number[..size as usize]),
        }
        Ok(u64::from_le_bytes(number))
    }

    /// Writes a little-endian number. Writing what is there already changes nothing.
    pub(crate) fn store(&mut self, address: u64, size: u32, value: u64) -> Result<(), AccessError> {
        let (index, start) = self.locate(address, size)?;
        let new = &value.to_le_bytes()[..size as usize];
        match &mut self.blocks[index].contents {
            Contents::Own(bytes) => {
                let old = &mut bytes[start..start + size as usize];
                if *old != *new {
                    old.copy_from_slice(new);
                    self.version += 1;
                }
            }
            Contents::Host(range) => {
                let mut old = [0; 8];
                range.read(start, &mut old[..size as usize]);
                if !range.is_writable() {
                    return Err(AccessError::ReadOnly);
                }
                if old[..size as usize] != *new {
                    range.write(start, new);
                    self.version += 1;
                }
            }
        }
        Ok(())
    }

    /// Changes a number as one access, also for those who share the host's memory: gives what it was. `change` says what
    /// it becomes, or that it stays.
    pub(crate) fn update(
        &mut self,
        address: u64,
        size: u32,
        mut change: impl FnMut(u64) -> Option<u64>,
    ) -> Result<u64, AccessError> {
        loop {
            let old = self.load(address, size)?;
            let Some(new) = change(old) else { return Ok(old) };
            let (index, start) = self.locate(address, size)?;
            if let Contents::Host(range) = &mut self.blocks[index].contents {
                if !range.is_writable() {
                    return Err(AccessError::ReadOnly);
                }
                let (before, after) = (old.to_le_bytes(), new.to_le_bytes());
                if !range.exchange(start, &before[..size as usize], &after[..size as usize]) {
                    continue;
                }
                self.version += u64::from(old != new);
            } else {
                self.store(address, size, new)?;
            }
            return Ok(old);
        }
    }

    /// Reads bytes.
    pub(crate) fn copy_from(&self, address: u64, bytes: u64) -> Result<Vec<u8>, AccessError> {
        let Some(last) = bytes.checked_sub(1) else { return Ok(Vec::new()) };
        let (index, start) = self.locate(address, 1)?;
        let end = start.checked_add(last as usize).ok_or(AccessError::OutOfBounds)?;
        if end >= self.blocks[index].size {
            return Err(AccessError::OutOfBounds);
        }
        match &self.blocks[index].contents {
            Contents::Own(own) => Ok(own[start..=end].to_vec()),
            Contents::Host(range) => {
                let mut data = vec![0; bytes as usize];
                range.read(start, &mut data);
                Ok(data)
            }
        }
    }

    /// Writes bytes.
    pub(crate) fn copy_to(&mut self, address: u64, data: &[u8]) -> Result<(), AccessError> {
        let Some(last) = data.len().checked_sub(1) else { return Ok(()) };
        let (index, start) = self.locate(address, 1)?;
        let end = start.checked_add(last).ok_or(AccessError::OutOfBounds)?;
        if end >= self.blocks[index].size {
            return Err(AccessError::OutOfBounds);
        }
        match &mut self.blocks[index].contents {
            Contents::Own(own) => own[start..=end].copy_from_slice(data),
            Contents::Host(range) if !range.is_writable() => return Err(AccessError::ReadOnly),
            Contents::Host(range) => range.write(start, data),
        }
        self.version += 1;
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
        let end = block.end();
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
            format!("{nothing}; the interpreter sees the memory of arguments and symmetric heaps, and no other")
        } else {
            nothing.into()
        }
    }

    fn title(block: &Block) -> String {
        match &block.name {
            Some(name) => format!("`{name}` ({} bytes)", block.size),
            None => format!("the {} bytes allocated at {:#x}", block.size, block.base),
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
        assert!(memory.describe(0x7f00_0000_0000).contains("and no other"));
    }
}
