//! Where each section of an object goes in the mapping.

use super::{Elf, LoadError};
use crate::mapping::PAGE;
use core::ops::Range;
use object::{Object, ObjectSection, RelocationTarget, SectionFlags, SectionIndex, SymbolIndex, elf};
use std::collections::{HashMap, HashSet};

/// Everything in an object must be within reach of a 32-bit displacement; kernels are far smaller.
const LARGEST: usize = 1 << 30;
/// `jmp *0(%rip)` and the eight bytes of the target, padded.
pub(super) const STUB_BYTES: usize = 16;
pub(super) const SLOT_BYTES: usize = 8;

/// A section that is loaded.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) offset: usize,
    pub(super) size: usize,
    protection: Protection,
}

impl Placed {
    /// Whether there is code at `value`, an offset in the section.
    pub(super) fn runs(&self, value: usize) -> bool {
        self.protection == Protection::Run && value < self.size
    }
}

/// What may be done with a part of the mapping once it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Read and run: code.
    Run,
    /// Read: constants.
    Read,
    /// Read and write: variables.
    Write,
}

/// The plan of a mapping.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) sections: HashMap<SectionIndex, Placed>,
    /// Page-aligned parts of the mapping and what may be done with them.
    pub(super) parts: Vec<(Range<usize>, Protection)>,
    pub(super) size: usize,
    /// Where stubs and address slots begin. There is one of each for every symbol any relocation names.
    stubs: usize,
    slots: usize,
    indirect: HashMap<SymbolIndex, usize>,
}

impl Layout {
    pub(super) fn new(elf: &Elf<'_>) -> Result<Self, LoadError> {
        let indirect = targets(elf);
        let mut layout = Self {
            sections: HashMap::new(),
            parts: Vec::new(),
            size: 0,
            stubs: 0,
            slots: 0,
            indirect: indirect.into_iter().enumerate().map(|(number, symbol)| (symbol, number)).collect(),
        };
        let count = layout.indirect.len();
        for protection in [Protection::Run, Protection::Read, Protection::Write] {
            let start = layout.size;
            for section in elf.sections() {
                if protection_of(&section)? == Some(protection) {
                    layout.place(&section, protection)?;
                }
            }
            match protection {
                Protection::Run => layout.stubs = layout.allot(STUB_BYTES, count * STUB_BYTES)?,
                Protection::Read => layout.slots = layout.allot(SLOT_BYTES, count * SLOT_BYTES)?,
                Protection::Write => {}
            }
            layout.size = layout.size.next_multiple_of(PAGE);
            if layout.size > start {
                layout.parts.push((start..layout.size, protection));
            }
        }
        Ok(layout)
    }

    fn place<'data>(&mut self, section: &impl ObjectSection<'data>, protection: Protection) -> Result<(), LoadError> {
        let align = usize::try_from(section.align().max(1)).unwrap_or(usize::MAX);
        if !align.is_power_of_two() || align > PAGE {
            return Err(LoadError::Malformed(format!("a section is aligned to {align} bytes")));
        }
        let size = usize::try_from(section.size()).unwrap_or(usize::MAX);
        let offset = self.allot(align, size)?;
        self.sections.insert(section.index(), Placed { offset, size, protection });
        Ok(())
    }

    /// Sets bytes aside and returns their offset.
    fn allot(&mut self, align: usize, bytes: usize) -> Result<usize, LoadError> {
        let offset = self.size.next_multiple_of(align);
        match offset.checked_add(bytes) {
            Some(end) if end <= LARGEST => {
                self.size = end;
                Ok(offset)
            }
            _ => Err(LoadError::Malformed("the object claims to be larger than 1 GiB".into())),
        }
    }

    /// Whether a relocation names this symbol.
    pub(super) fn names(&self, symbol: SymbolIndex) -> bool {
        self.indirect.contains_key(&symbol)
    }

    /// Offset of the stub that jumps to a symbol.
    pub(super) fn stub(&self, symbol: SymbolIndex) -> Option<usize> {
        self.indirect.get(&symbol).map(|number| self.stubs + number * STUB_BYTES)
    }

    /// Offset of the slot that holds a symbol's address.
    pub(super) fn slot(&self, symbol: SymbolIndex) -> Option<usize> {
        self.indirect.get(&symbol).map(|number| self.slots + number * SLOT_BYTES)
    }
}

/// How a section is to be protected; `None` when it is not to be loaded.
fn protection_of<'data>(section: &impl ObjectSection<'data>) -> Result<Option<Protection>, LoadError> {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return Ok(None) };
    let has = |flag: elf::SectionFlags| sh_flags.0 & flag.0 != 0;
    if !has(elf::SHF_ALLOC) {
        return Ok(None);
    }
    if has(elf::SHF_TLS) {
        return Err(LoadError::Unsupported("thread-local variables".into()));
    }
    Ok(Some(match (has(elf::SHF_EXECINSTR), has(elf::SHF_WRITE)) {
        (true, true) => return Err(LoadError::Unsupported("a section that is both code and writable".into())),
        (true, false) => Protection::Run,
        (false, true) => Protection::Write,
        (false, false) => Protection::Read,
    }))
}

/// The symbols that relocations of loaded sections name.
fn targets(elf: &Elf<'_>) -> HashSet<SymbolIndex> {
    let loaded = elf.sections().filter(|section| matches!(protection_of(section), Ok(Some(_))));
    loaded
        .flat_map(|section| section.relocations())
        .filter_map(|(_, relocation)| match relocation.target() {
            RelocationTarget::Symbol(symbol) => Some(symbol),
            _ => None,
        })
        .collect()
}
