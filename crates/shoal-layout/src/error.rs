//! Why a layout cannot be.

use std::fmt;

use crate::InDim;

/// Why a layout cannot be made, or two cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// A size is not a power of two.
    NotPowerOfTwo {
        /// The size.
        size: u32,
    },
    /// A list has not one entry for each dimension of the tile.
    Rank {
        /// The rank of the tile.
        expected: usize,
        /// The number of entries.
        found: usize,
    },
    /// A basis lies outside the tile.
    OutsideTile {
        /// The hardware dimension of the basis.
        dim: InDim,
        /// The basis.
        basis: Vec<u32>,
    },
    /// A list of dimensions does not name each one once, or names one that is not there.
    BadOrder {
        /// The list.
        order: Vec<usize>,
    },
    /// Two tiles should have the same shape, or as many elements as each other.
    Shape {
        /// The one.
        expected: Vec<u32>,
        /// The other.
        found: Vec<u32>,
    },
    /// The target of a conversion has no place for an element of the source.
    NotCovered {
        /// The element.
        element: Vec<u32>,
    },
    /// A place of the conversion's result is not a place of the layout it is composed with.
    PlacesDiffer {
        /// The hardware dimension whose sizes differ.
        dim: InDim,
    },
    /// A matrix instruction, or what memory it works on, has no such form.
    Instruction {
        /// Why not.
        reason: &'static str,
    },
    /// Memory has no elements of this size.
    ElementBits {
        /// The bits of an element.
        bits: u32,
    },
    /// A conversion would move elements between the blocks of a cluster.
    BetweenBlocks,
    /// A conversion needs more shared memory than it may use, however many passes it makes.
    ScratchTooSmall {
        /// The bytes that one pass needs.
        needed: u64,
        /// The bytes that may be used.
        available: u32,
    },
    /// More than 2³¹ places along a dimension, or more than 2⁶³ in all.
    TooLarge,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPowerOfTwo { size } => write!(f, "the size {size} is not a power of two"),
            Self::Rank { expected, found } => {
                write!(f, "the tile has {expected} dimensions, but {found} numbers are given")
            }
            Self::OutsideTile { dim, basis } => write!(f, "the {dim} basis {basis:?} lies outside the tile"),
            Self::BadOrder { order } => write!(f, "{order:?} does not name dimensions of the tile, each once"),
            Self::Shape { expected, found } => write!(f, "the shapes {expected:?} and {found:?} do not fit"),
            Self::NotCovered { element } => write!(f, "the target layout has no place for element {element:?}"),
            Self::PlacesDiffer { dim } => write!(f, "the numbers of places along {dim} differ"),
            Self::Instruction { reason } => f.write_str(reason),
            Self::ElementBits { bits } => write!(f, "elements of {bits} bits do not lie in memory one by one"),
            Self::BetweenBlocks => f.write_str("elements would have to move between the blocks of a cluster"),
            Self::ScratchTooSmall { needed, available } => {
                write!(f, "the conversion needs {needed} bytes of shared memory, but {available} are available")
            }
            Self::TooLarge => f.write_str("the layout has more places than an index can count"),
        }
    }
}

impl std::error::Error for LayoutError {}

/// Why a text is not a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseLayoutError {
    /// The byte at which reading stopped.
    pub offset: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for ParseLayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {} of the layout)", self.message, self.offset)
    }
}

impl std::error::Error for ParseLayoutError {}
