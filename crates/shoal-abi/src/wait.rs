//! What a program waits for.

/// When a program that watches a number in memory goes on. Numbers are compared as their kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitCondition {
    /// When memory holds the expected number.
    Equal,
    /// When memory holds any other number.
    NotEqual,
    /// When memory holds a greater number.
    Greater,
    /// When memory holds a number that is not greater.
    LessEqual,
    /// When memory holds a smaller number.
    Less,
    /// When memory holds a number that is not smaller.
    GreaterEqual,
}

impl WaitCondition {
    /// Added to the number of a condition by programs that give up by themselves if it is not met in time.
    pub const OR_IN_TIME: u32 = 1 << 8;

    /// All conditions, by number.
    pub const ALL: [Self; 6] =
        [Self::Equal, Self::NotEqual, Self::Greater, Self::LessEqual, Self::Less, Self::GreaterEqual];

    /// Its number in generated code; that of SHMEM's comparisons.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Equal => 0,
            Self::NotEqual => 1,
            Self::Greater => 2,
            Self::LessEqual => 3,
            Self::Less => 4,
            Self::GreaterEqual => 5,
        }
    }

    /// The condition with this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Whether an unsigned number that was found satisfies it.
    #[must_use]
    pub const fn holds(self, found: u64, expected: u64) -> bool {
        match self {
            Self::Equal => found == expected,
            Self::NotEqual => found != expected,
            Self::Greater => found > expected,
            Self::LessEqual => found <= expected,
            Self::Less => found < expected,
            Self::GreaterEqual => found >= expected,
        }
    }

    /// What stands before the expected number: waits for ...
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Equal => "",
            Self::NotEqual => "anything but ",
            Self::Greater => "more than ",
            Self::LessEqual => "at most ",
            Self::Less => "less than ",
            Self::GreaterEqual => "at least ",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for condition in WaitCondition::ALL {
            assert_eq!(WaitCondition::from_number(condition.number()), Some(condition));
        }
        assert_eq!(WaitCondition::from_number(6), None);
        assert!(WaitCondition::GreaterEqual.holds(3, 3) && !WaitCondition::Greater.holds(3, 3));
        assert!(WaitCondition::Less.holds(1, u64::MAX), "signals are unsigned");
    }
}
