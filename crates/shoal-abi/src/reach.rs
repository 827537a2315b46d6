//! How far an operation between ranks reaches.

/// Whose memory an address is translated to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// That of any rank that can be reached by loads and stores: the address is in the symmetric heap.
    AnyRank,
    /// This rank's own, in the symmetric heap or not.
    OwnRank,
}

impl Reach {
    /// Its number in generated code.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::AnyRank => 0,
            Self::OwnRank => 1,
        }
    }

    /// The reach with this number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::AnyRank),
            1 => Some(Self::OwnRank),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for reach in [Reach::AnyRank, Reach::OwnRank] {
            assert_eq!(Reach::from_number(reach.number()), Some(reach));
        }
        assert_eq!(Reach::from_number(2), None);
    }
}
