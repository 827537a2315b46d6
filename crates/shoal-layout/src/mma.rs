//! `mma.sync`: the matrix instruction of one warp (NVIDIA, sm_80 and up).
//!
//! Eight groups of four lanes. In the accumulator a group holds a row, and each of its lanes two neighbours of it:
//!
//! ```text
//!  m16n8      column 0 1   2 3   4 5   6 7
//!  row 0    lane     0     1     2     3        registers 0 and 1
//!  row 1             4     5     6     7
//!  …
//!  row 7            28    29    30    31
//!  row 8             0     1     2     3        registers 2 and 3
//!  …
//! ```
//!
//! Operands look alike, along K: a lane holds `k_width` neighbours, its group of four lanes `4 * k_width`, and further
//! registers the same again, so one instruction covers `8 * k_width` of K. With 32-bit registers `k_width` is 32 divided
//! by the bits of an element (tf32: 1, 16 bits: 2, 8 bits: 4; fp64 has 1). A wider one permutes K, the same way in both
//! operands, which changes nothing in the product and lets one wide load fetch what several instructions need.

use crate::matrix::log2;
use crate::tiling::{Operand, accumulator_warps, fastest_first, matrix_dims, operand_warps, spread};
use crate::{InDim, LayoutError, LinearLayout};

/// The rows and columns that one `mma.sync` writes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum MmaShape {
    /// 16 × 8: everything but fp64 before sm_90.
    M16N8,
    /// 8 × 8: fp64 (`m8n8k4`).
    M8N8,
}

impl MmaShape {
    fn rows(self) -> u32 {
        match self {
            Self::M16N8 => 16,
            Self::M8N8 => 8,
        }
    }
}

impl LinearLayout {
    /// The accumulator of `mma.sync`: M × N, with a grid of `warps` (one number per dimension, those along N vary
    /// fastest). Further registers go along N, then along M.
    pub fn mma_accumulator(shape: &[u32], warps: &[u32], instruction: MmaShape) -> Result<Self, LayoutError> {
        let (row, column) = matrix_dims(shape.len())?;
        let order = fastest_first(shape.len(), [column, row]);
        let tile = warp_fragment(2, column, row) * Self::identity1d(instruction.rows() / 8, InDim::Register, row);
        spread(tile, &accumulator_warps(warps, &order, shape)?, &order, shape)
    }

    /// An operand of `mma.sync`: M × K or K × N. `warps` is the accumulator's grid. Further registers go along K first.
    pub fn mma_operand(
        shape: &[u32],
        warps: &[u32],
        instruction: MmaShape,
        operand: Operand,
        k_width: u32,
    ) -> Result<Self, LayoutError> {
        let (row, column) = matrix_dims(shape.len())?;
        let order = fastest_first(shape.len(), [column, row]);
        let warps = operand_warps(warps, &order, operand, shape)?;
        let (k, outer) = match operand {
            Operand::A => (column, row),
            Operand::B => (row, column),
        };
        let tile = match (instruction, operand) {
            (MmaShape::M16N8, Operand::A) => operand_fragment(k_width, k, outer)?,
            (MmaShape::M16N8, Operand::B) => {
                warp_fragment(checked(k_width)?, k, outer) * Self::identity1d(2, InDim::Register, k)
            }
            (MmaShape::M8N8, _) => warp_fragment(checked(k_width)?, k, outer),
        };
        spread(tile, &warps, &fastest_first(shape.len(), [k, outer]), shape)
    }
}

/// The A operand of 16 rows: rows 8 to 15 follow rows 0 to 7, then comes the second half of K.
pub(crate) fn operand_fragment(k_width: u32, k: usize, row: usize) -> Result<LinearLayout, LayoutError> {
    let half = warp_fragment(checked(k_width)?, k, row) * LinearLayout::identity1d(2, InDim::Register, row);
    Ok(half * LinearLayout::identity1d(2, InDim::Register, k))
}

/// What one warp holds in all these instructions: four lanes with `width` neighbours each along `inner`, eight such
/// groups along `outer`.
pub(crate) fn warp_fragment(width: u32, inner: usize, outer: usize) -> LinearLayout {
    LinearLayout::identity1d(width, InDim::Register, inner)
        * LinearLayout::identity1d(4, InDim::Lane, inner)
        * LinearLayout::identity1d(8, InDim::Lane, outer)
}

fn checked(k_width: u32) -> Result<u32, LayoutError> {
    match log2(k_width)? {
        0..=4 => Ok(k_width),
        _ => Err(LayoutError::Instruction { reason: "a lane holds at most 16 neighbours along K" }),
    }
}
