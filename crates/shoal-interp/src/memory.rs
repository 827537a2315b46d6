//! Memory: ranges of one address space, every access checked.
//!
//! Allocations get addresses of the interpreter's own. Ranges of a host program's memory keep the addresses that they
//! have there, so that addresses which lie in memory themselves, such as tables of buffers, point to what they point to
//! on a device. What such a table points to outside of all ranges is found in the host's memory when it is asked for, and
//! seen by accesses through such addresses only.

mod runs;

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

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

/// The host program's memory outside of the ranges that it handed over.
pub trait HostMemory: fmt::Debug {
    /// The memory around an address, as far as it lies in `within`, and where it starts; `None` where there is none.
    fn around(&self, address: u64, within: Range<u64>) -> Option<(Address, Box<dyn HostRange>)>;
}

/// How far accesses reach.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To allocations, and ranges that the host handed over.
    #[default]
    Ranges,
    /// To all of the host's memory: the address was found in memory or made of a number.
    Host,
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
    /// It lies outside of the ranges that the host handed over.
    found: bool,
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
    host: Option<Box<dyn HostMemory>>,
    reach: Reach,
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
        self.insert(base, Contents::Own(contents.to_vec()), false);
        Address(base)
    }

    /// Bytes with these contents at an address of the caller's choice, where nothing is yet.
    pub fn alloc_at(&mut self, address: Address, contents: &[u8]) {
        self.insert(address.0, Contents::Own(contents.to_vec()), false);
    }

    /// A range of the host program's memory, at its own address. It must not overlap another.
    pub fn map_host(&mut self, address: Address, range: Box<dyn HostRange>) {
        self.insert(address.0, Contents::Host(range), false);
    }

    /// Lets accesses through addresses that were found in memory reach the rest of the host program's memory.
    pub fn set_host(&mut self, host: Box<dyn HostMemory>) {
        self.host = Some(host);
    }

    /// Says how far the accesses that follow reach.
    pub(crate) fn set_reach(&mut self, reach: Reach) {
        self.reach = reach;
    }

    /// Makes an access, again if its address is found in the host's memory.
    pub(crate) fn reaching<T>(
        &mut self,
        address: u64,
        mut access: impl FnMut(&mut Memory) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        match access(self) {
            Err(AccessError::OutOfBounds) if self.reach == Reach::Host && self.find(address) => access(self),
            done => done,
        }
    }

    /// Looks for memory of the host around an address that is in no block. Whether there is some.
    fn find(&mut self, address: u64) -> bool {
        let next = self.blocks.partition_point(|b| b.base <= address);
        let start = next.checked_sub(1).map_or(0, |last| self.blocks[last].end());
        let end = self.blocks.get(next).map_or(u64::MAX, |next| next.base);
        let around = self.host.as_ref().filter(|_| start <= address).and_then(|h| h.around(address, start..end));
        let Some((base, range)) = around else { return false };
        self.insert(base.0, Contents::Host(range), true);
        true
    }

    fn insert(&mut self, base: u64, contents: Contents, found: bool) {
        let at = self.blocks.partition_point(|b| b.base <= base);
        let block = Block { base, size: contents.size(), contents, name: None, found };
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
        let block = &self.blocks[index];
        let start = (address - block.base) as usize;
        if start + size as usize > block.size || (block.found && self.reach == Reach::Ranges) {
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
        let (before, after) = self.blocks.split_at(self.blocks.partition_point(|b| b.base <= address));
        let last = before.iter().rfind(|block| !block.found);
        if let Some(block) = last.filter(|block| address < block.end()) {
            return format!("at byte {} of {}", address - block.base, Memory::title(block));
        }
        let past = last.map(|block| (address - block.end(), "past the end of", block));
        let short = after.iter().find(|block| !block.found).map(|block| (block.base - address, "before", block));
        match past.into_iter().chain(short).min_by_key(|(distance, ..)| *distance) {
            Some((distance, side, block)) if distance <= GAP => {
                format!("{distance} bytes {side} {}", Memory::title(block))
            }
            _ => "where nothing is allocated".into(),
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

    /// A host whose memory lies at 0x1000 to 0x2000.
    #[derive(Debug)]
    struct Page;

    impl HostMemory for Page {
        fn around(&self, address: u64, within: Range<u64>) -> Option<(Address, Box<dyn HostRange>)> {
            let (start, end) = (within.start.max(0x1000), within.end.min(0x2000));
            (start..end).contains(&address).then(|| {
                let bytes: Box<dyn HostRange> = Box::new(Zeros((end - start) as usize));
                (Address(start), bytes)
            })
        }
    }

    #[derive(Debug)]
    struct Zeros(usize);

    impl HostRange for Zeros {
        fn size(&self) -> usize {
            self.0
        }

        fn is_writable(&self) -> bool {
            false
        }

        fn read(&self, start: usize, to: &mut [u8]) {
            assert!(start + to.len() <= self.0);
            to.fill(0);
        }

        fn write(&mut self, _: usize, _: &[u8]) {}

        fn exchange(&mut self, _: usize, _: &[u8], _: &[u8]) -> bool {
            false
        }
    }

    #[test]
    fn only_addresses_from_elsewhere_reach_the_rest_of_the_host() {
        let mut memory = Memory::new();
        memory.alloc_at(Address(0x1800), &[1; 8]);
        memory.name(Address(0x1800), "x");
        memory.set_host(Box::new(Page));
        let load = |memory: &mut Memory, address| memory.reaching(address, |memory| memory.load(address, 4));
        assert_eq!(load(&mut memory, 0x1808), Err(AccessError::OutOfBounds));
        memory.set_reach(Reach::Host);
        assert_eq!([0x1000, 0x17fc, 0x1808, 0x1ffc].map(|at| load(&mut memory, at)), [Ok(0); 4]);
        assert_eq!(load(&mut memory, 0x1800), Ok(0x0101_0101));
        assert_eq!(memory.store(0x1808, 4, 1), Err(AccessError::ReadOnly));
        assert_eq!([0xffc, 0x2000].map(|at| load(&mut memory, at)), [Err(AccessError::OutOfBounds); 2]);
        memory.set_reach(Reach::Ranges);
        assert_eq!(load(&mut memory, 0x1808), Err(AccessError::OutOfBounds));
        assert_eq!(memory.describe(0x1808), "0 bytes past the end of `x` (8 bytes)");
        assert_eq!(memory.describe(0x17fc), "4 bytes before `x` (8 bytes)");
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
    }
}
