//! The mapping that holds a loaded object.

use super::{
    Elf, LoadError,
    layout::{Layout, Protection},
};
use crate::mapping::PageMapping;
use core::slice;
use object::{Object, ObjectSection};
use rustix::mm::{self, MprotectFlags};

/// Sections in memory. Writable until [`protect`](Self::protect), then as each part needs.
pub(super) struct Image {
    mapping: PageMapping,
    size: usize,
}

impl Image {
    /// Maps memory and copies the sections to their places.
    pub(super) fn map(elf: &Elf<'_>, layout: &Layout) -> Result<Self, LoadError> {
        let mapping = PageMapping::new(layout.size)
            .map_err(|e| LoadError::Memory { bytes: layout.size, reason: e.to_string() })?;
        let mut image = Self { mapping, size: layout.size };
        for (&index, placed) in &layout.sections {
            let section = elf.section_by_index(index).map_err(LoadError::malformed)?;
            // Empty for sections that are all zero, which fresh memory is.
            let data = section.data().map_err(LoadError::malformed)?;
            let target = image.bytes().get_mut(placed.offset..placed.offset + data.len());
            match target {
                Some(target) if data.len() <= placed.size => target.copy_from_slice(data),
                _ => return Err(LoadError::Malformed("a section is larger than it says".into())),
            }
        }
        Ok(image)
    }

    /// The memory, before it is protected.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has this many readable and writable bytes until `protect`, which takes the only means
        // to get here with it: loading ends there.
        unsafe { slice::from_raw_parts_mut(self.mapping.start().as_ptr(), self.size) }
    }

    /// The address of a byte of the image.
    pub(super) fn address(&self, offset: usize) -> usize {
        self.mapping.start().as_ptr().expose_provenance() + offset
    }

    /// A pointer to an address in the image.
    pub(super) fn pointer_to(&self, address: usize) -> *const u8 {
        self.mapping.start().as_ptr().with_addr(address)
    }

    /// Bytes mapped.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Gives each part the protection it runs with.
    pub(super) fn protect(&mut self, layout: &Layout) -> Result<(), LoadError> {
        for (range, protection) in &layout.parts {
            let flags = match protection {
                Protection::Run => MprotectFlags::READ | MprotectFlags::EXEC,
                Protection::Read => MprotectFlags::READ,
                Protection::Write => continue,
            };
            let start = self.bytes()[range.clone()].as_mut_ptr();
            // SAFETY: whole pages of our own mapping, to which no reference is alive.
            unsafe { mm::mprotect(start.cast(), range.len(), flags) }
                .map_err(|e| LoadError::Memory { bytes: range.len(), reason: e.to_string() })?;
        }
        Ok(())
    }
}
