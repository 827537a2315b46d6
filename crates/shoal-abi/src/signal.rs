//! How a signal changes a word.

/// How a signal changes a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignalChange {
    /// The word becomes the signal.
    Set,
    /// The signal is added to the word.
    Add,
}

impl SignalChange {
    /// Its number in generated code.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Set => 0,
            Self::Add => 1,
        }
    }

    /// The change with this number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Set),
            1 => Some(Self::Add),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for change in [SignalChange::Set, SignalChange::Add] {
            assert_eq!(SignalChange::from_number(change.number()), Some(change));
        }
        assert_eq!(SignalChange::from_number(2), None);
    }
}
