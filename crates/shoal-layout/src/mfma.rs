//! MFMA: the matrix instruction of one wavefront of 64 lanes (AMD, gfx90a and gfx942).
//!
//! A lane holds one column of the accumulator, four neighbouring rows at a time:
//!
//! ```text
//!  16 × 16       column 0    1   …   15          32 × 32       column 0    1   …   31
//!  rows  0… 3    lane   0    1   …   15          rows  0… 3    lane   0    1   …   31     registers 0…3
//!  rows  4… 7          16   17   …   31          rows  4… 7          32   33   …   63
//!  rows  8…11          32   33   …   47          rows  8…11           0    1   …   31     registers 4…7
//!  rows 12…15          48   49   …   63          …
//! ```
//!
//! With fp64 it is one row at a time. Computing `Bᵀ · Aᵀ` instead gives the transposed picture, in which a lane's registers
//! are neighbours of one row: what a row-major store wants.

use crate::matrix::log2;
use crate::tiling::{Operand, accumulator_warps, fastest_first, matrix_dims, operand_warps, spread};
use crate::{InDim, LayoutError, LinearLayout};

/// The rows and columns that one MFMA writes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum MfmaShape {
    /// 32 × 32.
    M32N32,
    /// 16 × 16.
    M16N16,
    /// 16 × 16 of fp64, whose rows lie differently.
    M16N16F64,
}

impl MfmaShape {
    fn size(self) -> u32 {
        match self {
            Self::M32N32 => 32,
            Self::M16N16 | Self::M16N16F64 => 16,
        }
    }

    /// The neighbouring rows that a lane holds.
    fn run(self) -> u32 {
        match self {
            Self::M32N32 | Self::M16N16 => 4,
            Self::M16N16F64 => 1,
        }
    }
}

/// Which product an MFMA accumulator holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum MfmaProduct {
    /// `A · B`: a lane's registers go down a column.
    Plain,
    /// `(Bᵀ · Aᵀ)ᵀ`: a lane's registers go along a row.
    Transposed,
}

/// The lanes of a wavefront.
const LANES: u32 = 64;

impl LinearLayout {
    /// The accumulator of MFMA: M × N, with a grid of `warps` (those along N vary fastest). Further registers go along
    /// N, then along M.
    pub fn mfma_accumulator(
        shape: &[u32],
        warps: &[u32],
        instruction: MfmaShape,
        product: MfmaProduct,
    ) -> Result<Self, LayoutError> {
        let (row, column) = matrix_dims(shape.len())?;
        let order = fastest_first(shape.len(), [column, row]);
        let (down, across) = match product {
            MfmaProduct::Plain => (row, column),
            MfmaProduct::Transposed => (column, row),
        };
        let (size, run) = (instruction.size(), instruction.run());
        let groups = LANES / size;
        let tile = Self::identity1d(run, InDim::Register, down)
            * Self::identity1d(size, InDim::Lane, across)
            * Self::identity1d(groups, InDim::Lane, down)
            * Self::identity1d(size / (run * groups), InDim::Register, down);
        spread(tile, &accumulator_warps(warps, &order, shape)?, &order, shape)
    }

    /// An operand of MFMA: M × K or K × N, where a lane holds `k_width` neighbours along K. `warps` is the
    /// accumulator's grid. Further registers go along K first.
    pub fn mfma_operand(
        shape: &[u32],
        warps: &[u32],
        instruction: MfmaShape,
        operand: Operand,
        k_width: u32,
    ) -> Result<Self, LayoutError> {
        let (row, column) = matrix_dims(shape.len())?;
        let order = fastest_first(shape.len(), [column, row]);
        let grid = operand_warps(warps, &order, operand, shape)?;
        if log2(k_width)? > 4 {
            return Err(LayoutError::Instruction { reason: "a lane holds at most 16 neighbours along K" });
        }
        let (k, outer) = match operand {
            Operand::A => (column, row),
            Operand::B => (row, column),
        };
        let tile = Self::identity1d(k_width, InDim::Register, k)
            * Self::identity1d(instruction.size(), InDim::Lane, outer)
            * Self::identity1d(LANES / instruction.size(), InDim::Lane, k);
        spread(tile, &grid, &fastest_first(shape.len(), [k, outer]), shape)
    }
}
