//! A number that is a linear function of a place: a register to read, a lane to ask, an offset in memory.

use crate::matrix::combine;
use crate::{InDim, Place};

/// A linear map over F2 from places to numbers. Code for it is an xor of the columns whose bit is set in the place, so
/// what depends on the register alone is a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct LinearIndex {
    /// For each hardware dimension, the images of 1, 2, 4, ….
    pub(crate) columns: [Vec<u64>; InDim::COUNT],
}

impl LinearIndex {
    /// The number for this place. Indices past the end of a dimension wrap around.
    pub fn apply(&self, place: Place) -> u32 {
        InDim::ALL.into_iter().fold(0, |sum, dim| sum ^ combine(self.columns(dim), place[dim].into())) as u32
    }

    /// The images of 1, 2, 4, … along `dim`.
    pub fn columns(&self, dim: InDim) -> &[u64] {
        &self.columns[dim.index()]
    }

    /// Whether the number is the same all along `dim`.
    pub fn ignores(&self, dim: InDim) -> bool {
        self.columns(dim).iter().all(|&column| column == 0)
    }

    /// Whether the number depends on the register alone, and so is known when code is generated.
    pub fn is_static(&self) -> bool {
        InDim::ALL.into_iter().all(|dim| dim == InDim::Register || self.ignores(dim))
    }
}
