//! Sets of memory spaces.

use std::fmt;

use crate::types::Space;

/// Which memory an access may touch.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default)]
pub struct Spaces(u8);

impl Spaces {
    /// No memory.
    pub const NONE: Spaces = Spaces(0);
    /// Any memory.
    pub const ALL: Spaces = Spaces(0b11);

    /// One space.
    pub fn one(space: Space) -> Spaces {
        match space {
            Space::Global => Spaces(0b01),
            Space::Shared => Spaces(0b10),
        }
    }

    /// Whether there is any.
    pub fn any(self) -> bool {
        self.0 != 0
    }

    /// Whether a space is among them.
    pub fn contains(self, space: Space) -> bool {
        self.overlaps(Spaces::one(space))
    }

    /// Whether both have a space in common.
    pub fn overlaps(self, other: Spaces) -> bool {
        self.0 & other.0 != 0
    }

    /// Those of either.
    #[must_use]
    pub fn union(self, other: Spaces) -> Spaces {
        Spaces(self.0 | other.0)
    }
}

impl fmt::Debug for Spaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Space::ALL.into_iter().filter(|&space| self.contains(space))).finish()
    }
}
