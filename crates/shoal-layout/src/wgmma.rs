//! `wgmma`: the matrix instruction of a warp group (NVIDIA, sm_90a).
//!
//! Four warps together multiply 64 rows. Each holds 16 of them, as the accumulator of `mma.sync` holds its 16, and all
//! N columns of the instruction in further registers:
//!
//! ```text
//!  m64nN        columns 0…7   8…15   …  N-8…N-1
//!  rows  0…15   warp 0  registers 0…3   4…7   …
//!  rows 16…31   warp 1
//!  rows 32…47   warp 2
//!  rows 48…63   warp 3
//! ```
//!
//! B comes from shared memory ([`LinearLayout::nvmma_shared`]); A comes from there or from registers.

use crate::mma::{operand_fragment, warp_fragment};
use crate::tiling::{Operand, accumulator_warps, fastest_first, matrix_dims, operand_warps, spread};
use crate::{InDim, LayoutError, LinearLayout};

/// The warps that issue one `wgmma` together.
const GROUP: u32 = 4;

impl LinearLayout {
    /// The accumulator of `wgmma.m64nNk…`, where `n` is the N of the instruction. Warps along M vary fastest, for the
    /// four of a group stand there. Further registers go along N, then along M.
    pub fn wgmma_accumulator(shape: &[u32], warps: &[u32], n: u32) -> Result<Self, LayoutError> {
        let (row, column) = matrix_dims(shape.len())?;
        if !n.is_power_of_two() || !(8..=256).contains(&n) {
            return Err(LayoutError::Instruction {
                reason: "as a layout, N of `wgmma` is a power of two from 8 to 256",
            });
        }
        let order = fastest_first(shape.len(), [row, column]);
        let grid = accumulator_warps(warps, &order, shape)?;
        check_group(warps[row])?;
        let tile = warp_fragment(2, column, row)
            * Self::identity1d(2, InDim::Register, row)
            * Self::identity1d(n / 8, InDim::Register, column);
        spread(tile, &grid, &fastest_first(shape.len(), [column, row]), shape)
    }

    /// The A operand of `wgmma` in registers: M × K. `warps` is the accumulator's grid. Further registers go along K
    /// first.
    pub fn wgmma_operand(shape: &[u32], warps: &[u32], k_width: u32) -> Result<Self, LayoutError> {
        let (row, column) = matrix_dims(shape.len())?;
        let order = fastest_first(shape.len(), [row, column]);
        let grid = operand_warps(warps, &order, Operand::A, shape)?;
        check_group(warps[row])?;
        spread(operand_fragment(k_width, column, row)?, &grid, &fastest_first(shape.len(), [column, row]), shape)
    }
}

fn check_group(rows: u32) -> Result<(), LayoutError> {
    if rows.is_multiple_of(GROUP) {
        return Ok(());
    }
    Err(LayoutError::Instruction { reason: "`wgmma` needs four warps, or a multiple of them, along M" })
}
