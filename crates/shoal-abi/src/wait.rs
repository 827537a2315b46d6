//! What a program waits for.

/// When a program that watches a number in memory goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitCondition {
    /// When memory holds the expected number.
    Equal,
    /// When memory holds any other number.
    NotEqual,
}

impl WaitCondition {
    /// Its number in generated code.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Equal => 0,
            Self::NotEqual => 1,
        }
    }

    /// The condition with this number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Equal),
            1 => Some(Self::NotEqual),
            _ => None,
        }
    }
}
