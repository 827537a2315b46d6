//! What variants of a kernel that were compiled ahead of time ask of the arguments of a launch.
//!
//! A launch passes one word for each argument; [`WordKind`] says how it is read, [`Slot`] what one variant asks of it.

/// The version of the structures that describe such kernels to the runtime; it refuses another one.
pub const AHEAD_OF_TIME_VERSION: u32 = 2;

/// How the word of an argument is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WordKind {
    /// An address.
    Pointer = 0,
    /// A signed integer, extended to 64 bits.
    Signed = 1,
    /// An unsigned integer or a truth value.
    Unsigned = 2,
    /// The bits of a float.
    Float = 3,
    /// An address or null, for which there are variants of their own: no other variant takes null.
    OptionalPointer = 4,
}

impl WordKind {
    /// All of them, by their numbers in C.
    pub const ALL: [WordKind; 5] =
        [WordKind::Pointer, WordKind::Signed, WordKind::Unsigned, WordKind::Float, WordKind::OptionalPointer];

    /// The kind of this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<WordKind> {
        WordKind::ALL.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// What a variant takes and asks of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Bytes in the argument block; 0 when the value is compiled in.
    pub bytes: u8,
    /// The argument must be a multiple of this.
    pub divisible: u64,
    /// The argument must be this.
    pub equals: Option<i64>,
}

impl Slot {
    /// Whether an argument is as the variant wants it.
    #[must_use]
    pub fn fits(&self, kind: WordKind, word: u64) -> bool {
        if let Some(value) = self.equals {
            return word.cast_signed() == value;
        }
        let unused = 64 - 8 * u32::from(self.bytes.clamp(1, 8));
        let divisor = self.divisible.max(1);
        match kind {
            WordKind::Float => true,
            WordKind::Pointer => word.is_multiple_of(divisor),
            WordKind::OptionalPointer => word != 0 && word.is_multiple_of(divisor),
            WordKind::Unsigned => word << unused >> unused == word && word.is_multiple_of(divisor),
            WordKind::Signed => {
                let value = word.cast_signed();
                value << unused >> unused == value && value.unsigned_abs().is_multiple_of(divisor)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_for_variants_that_were_compiled_for_it() {
        let slot = Slot { bytes: 8, divisible: 16, equals: None };
        assert!(slot.fits(WordKind::Pointer, 0) && slot.fits(WordKind::OptionalPointer, 32));
        assert!(!slot.fits(WordKind::OptionalPointer, 0));
        let none = Slot { bytes: 0, divisible: 1, equals: Some(0) };
        assert!(none.fits(WordKind::OptionalPointer, 0) && !none.fits(WordKind::OptionalPointer, 32));
    }

    #[test]
    fn kinds_have_numbers() {
        for kind in WordKind::ALL {
            assert_eq!(WordKind::from_number(kind as u32), Some(kind));
        }
        assert_eq!(WordKind::from_number(5), None);
    }
}
