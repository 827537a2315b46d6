//! Relocations: writes addresses into the code and data that need them.

use super::{
    Elf, LoadError, Symbols,
    image::Image,
    layout::{Layout, Placed},
};
use object::{Object, ObjectSection, RelocationFlags, RelocationTarget, SymbolIndex, elf};

/// Applies all relocations of loaded sections.
pub(super) fn apply(elf: &Elf<'_>, layout: &Layout, image: &mut Image, symbols: &Symbols) -> Result<(), LoadError> {
    let mut relocator = Relocator { layout, image, symbols };
    for (&index, placed) in &layout.sections {
        let section = elf.section_by_index(index).map_err(LoadError::malformed)?;
        for (offset, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let kind = r_type.0;
            if kind == elf::R_X86_64_NONE.0 {
                continue;
            }
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                return Err(LoadError::Malformed(format!("relocation of type {kind} without a symbol")));
            };
            let place = relocator.place(placed, offset, width(kind)?)?;
            relocator.relocate(kind, place, symbol, relocation.addend())?;
        }
    }
    Ok(())
}

/// Bytes a relocation of this type writes.
fn width(kind: u32) -> Result<usize, LoadError> {
    const ABSOLUTE_64: u32 = elf::R_X86_64_64.0;
    const RELATIVE_64: u32 = elf::R_X86_64_PC64.0;
    const RELATIVE_32: u32 = elf::R_X86_64_PC32.0;
    const CALL_32: u32 = elf::R_X86_64_PLT32.0;
    const ABSOLUTE_32: u32 = elf::R_X86_64_32.0;
    const ABSOLUTE_32_SIGNED: u32 = elf::R_X86_64_32S.0;
    const SLOT: u32 = elf::R_X86_64_GOTPCREL.0;
    const SLOT_X: u32 = elf::R_X86_64_GOTPCRELX.0;
    const SLOT_REX: u32 = elf::R_X86_64_REX_GOTPCRELX.0;
    match kind {
        ABSOLUTE_64 | RELATIVE_64 => Ok(8),
        RELATIVE_32 | CALL_32 | ABSOLUTE_32 | ABSOLUTE_32_SIGNED | SLOT | SLOT_X | SLOT_REX => Ok(4),
        _ => Err(LoadError::Unsupported(format!(
            "relocation of type {kind}; compile position-independent code for the small code model"
        ))),
    }
}

struct Relocator<'a> {
    layout: &'a Layout,
    image: &'a mut Image,
    symbols: &'a Symbols,
}

impl Relocator<'_> {
    /// The offset in the image of `width` bytes at `offset` of a section.
    fn place(&self, placed: &Placed, offset: u64, width: usize) -> Result<usize, LoadError> {
        match usize::try_from(offset).ok().and_then(|o| o.checked_add(width).map(|end| (o, end))) {
            Some((offset, end)) if end <= placed.size => Ok(placed.offset + offset),
            _ => Err(LoadError::Malformed("a relocation lies outside its section".into())),
        }
    }

    fn relocate(&mut self, kind: u32, place: usize, symbol: SymbolIndex, addend: i64) -> Result<(), LoadError> {
        let Some(target) = self.symbols.address(symbol) else {
            return Err(LoadError::Malformed("a relocation names a symbol that is not there".into()));
        };
        let here = self.image.address(place) as i64;
        let absolute = (target as i64).wrapping_add(addend);
        if kind == elf::R_X86_64_64.0 {
            self.write(place, &absolute.to_le_bytes())
        } else if kind == elf::R_X86_64_PC64.0 {
            self.write(place, &absolute.wrapping_sub(here).to_le_bytes())
        } else if kind == elf::R_X86_64_32.0 || kind == elf::R_X86_64_32S.0 {
            Err(LoadError::Unsupported("32-bit absolute addresses; compile position-independent code".into()))
        } else if kind == elf::R_X86_64_PC32.0 || kind == elf::R_X86_64_PLT32.0 {
            match i32::try_from(absolute.wrapping_sub(here)) {
                Ok(near) => self.write(place, &near.to_le_bytes()),
                Err(_) => {
                    let stub = self.stub(symbol, target)?;
                    self.write_relative(place, stub as i64, addend)
                }
            }
        } else {
            let slot = self.slot(symbol, target)?;
            self.write_relative(place, slot as i64, addend)
        }
    }

    /// Writes the distance from `place` to `target`, an address in the image, plus `addend`.
    fn write_relative(&mut self, place: usize, target: i64, addend: i64) -> Result<(), LoadError> {
        let distance = target.wrapping_add(addend).wrapping_sub(self.image.address(place) as i64);
        match i32::try_from(distance) {
            Ok(distance) => self.write(place, &distance.to_le_bytes()),
            Err(_) => Err(LoadError::Malformed("a relocation reaches too far".into())),
        }
    }

    /// The address of a stub in the image that jumps to `target`.
    fn stub(&mut self, symbol: SymbolIndex, target: usize) -> Result<usize, LoadError> {
        let offset = self.layout.stub(symbol).ok_or_else(no_room)?;
        // jmp *0(%rip), then the address it reads.
        self.write(offset, &[0xff, 0x25, 0, 0, 0, 0])?;
        self.write(offset + 6, &(target as u64).to_le_bytes())?;
        Ok(self.image.address(offset))
    }

    /// The address of a slot in the image that holds `target`.
    fn slot(&mut self, symbol: SymbolIndex, target: usize) -> Result<usize, LoadError> {
        let offset = self.layout.slot(symbol).ok_or_else(no_room)?;
        self.write(offset, &(target as u64).to_le_bytes())?;
        Ok(self.image.address(offset))
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), LoadError> {
        let target = offset.checked_add(bytes.len()).and_then(|end| self.image.bytes().get_mut(offset..end));
        target.ok_or_else(no_room)?.copy_from_slice(bytes);
        Ok(())
    }
}

fn no_room() -> LoadError {
    LoadError::Malformed("a relocation lies outside the object".into())
}
