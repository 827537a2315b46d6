//! Constant data of an object: places in the kernel's source, and the accesses that are checked.

use crate::c_type::CType;
use core::{mem::offset_of, ops::Range, ptr};

/// One number or pointer of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it is.
    pub offset: usize,
    /// What it is.
    pub ty: CType,
}

/// A place in the kernel's source.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    /// UTF-8 file name, not terminated.
    pub file: *const u8,
    /// Length of `file` in bytes.
    pub file_len: u64,
    /// Line, counted from 1; 0 when unknown.
    pub line: u32,
    /// Column, counted from 1; 0 when unknown.
    pub col: u32,
    /// What the program does there in the user's words ("atomic_cas in a loop"), not terminated.
    pub what: *const u8,
    /// Length of `what` in bytes.
    pub what_len: u64,
}

impl Site {
    /// No place.
    pub const UNKNOWN: Site = Site { file: ptr::null(), file_len: 0, line: 0, col: 0, what: ptr::null(), what_len: 0 };

    /// What it consists of, in order.
    pub const FIELDS: [Field; 6] = [
        Field { offset: offset_of!(Site, file), ty: CType::Text },
        Field { offset: offset_of!(Site, file_len), ty: CType::U64 },
        Field { offset: offset_of!(Site, line), ty: CType::U32 },
        Field { offset: offset_of!(Site, col), ty: CType::U32 },
        Field { offset: offset_of!(Site, what), ty: CType::Text },
        Field { offset: offset_of!(Site, what_len), ty: CType::U64 },
    ];

    /// The type in C.
    pub const C_DEFINITION: &'static str = "typedef struct { const char *file; uint64_t file_len; \
        uint32_t line, col; const char *what; uint64_t what_len; } Site;";
}

/// An access to memory that is checked.
#[repr(C)]
#[derive(Debug)]
pub struct CheckedAccess {
    /// Where it is in the source.
    pub site: Site,
    /// Bytes at each address.
    pub bytes: u32,
    /// What is done, by the number of an [`AccessKind`].
    pub kind: u32,
    /// What the addresses are computed from, by the number of an [`AccessBase`].
    pub base: i32,
}

impl CheckedAccess {
    /// What follows the site, in order.
    pub const FIELDS: [Field; 3] = [
        Field { offset: offset_of!(CheckedAccess, bytes), ty: CType::U32 },
        Field { offset: offset_of!(CheckedAccess, kind), ty: CType::U32 },
        Field { offset: offset_of!(CheckedAccess, base), ty: CType::I32 },
    ];

    /// The type in C.
    pub const C_DEFINITION: &'static str =
        "typedef struct { Site site; uint32_t bytes, kind; int32_t base; } CheckedAccess;";
}

/// What can be memory. Addresses below are null and offsets; those above belong to the system, and those that wrap are there.
pub const ANYWHERE: Range<u64> = 64 << 10..1 << 63;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes atomically.
    Atomic,
}

impl AccessKind {
    /// Its number in a [`CheckedAccess`].
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Atomic => 2,
        }
    }

    /// The kind with this number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Read),
            1 => Some(Self::Write),
            2 => Some(Self::Atomic),
            _ => None,
        }
    }
}

/// The provenance of an access's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessBase {
    /// Computed from this run-time parameter.
    Param(u32),
    /// Computed from one run-time parameter or another.
    SomeParam,
    /// From memory or from integers, so that nobody knows what they point at.
    Unknown,
}

impl AccessBase {
    /// Its number in a [`CheckedAccess`].
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Param(param) => param.cast_signed(),
            Self::SomeParam => -1,
            Self::Unknown => -2,
        }
    }

    /// The provenance with this number.
    #[must_use]
    pub const fn from_number(number: i32) -> Self {
        match number {
            -1 => Self::SomeParam,
            0.. => Self::Param(number.cast_unsigned()),
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_they_were_made_from() {
        for kind in [AccessKind::Read, AccessKind::Write, AccessKind::Atomic] {
            assert_eq!(AccessKind::from_number(kind.number()), Some(kind));
        }
        assert_eq!(AccessKind::from_number(3), None);
        for base in [AccessBase::Param(0), AccessBase::Param(7), AccessBase::SomeParam, AccessBase::Unknown] {
            assert_eq!(AccessBase::from_number(base.number()), base);
        }
    }
}
