//! From the tile of one instruction to a tile of any shape.
//!
//! A matrix instruction fixes which lane holds what of a small tile. A block's tile is a grid of those: first the warps
//! stand side by side, then each goes over the rest with further registers.
//!
//! ```text
//!            N ─►
//!      ┌────────┬────────┬────────┬────────┐       the instruction's tile, 16 × 8, by warps 2 × 2
//!    M │ warp 0 │ warp 1 │ warp 0 │ warp 1 │       on a tile of 32 × 32: the right half is held
//!    │ │        │        │  again │  again │       in further registers
//!    ▼ ├────────┼────────┼────────┼────────┤
//!      │ warp 2 │ warp 3 │ warp 2 │ warp 3 │
//!      └────────┴────────┴────────┴────────┘
//! ```

use crate::matrix::{Matrix, log2, shape_bits};
use crate::{InDim, LayoutError, LinearLayout};

/// What the warps along one dimension of the accumulator hold of the tile at hand.
#[derive(Copy, Clone)]
pub(crate) enum WarpShare {
    /// Each its part of this dimension.
    Part(usize),
    /// All the same.
    Copies,
}

/// Spreads an instruction's tile over a tile of this shape.
///
/// `warps` lists the sizes of the grid of warps, the fastest first, each with what it holds. `repeat` lists the tile's
/// dimensions in the order in which further registers cover them, the fastest first; it names each once. Where the
/// instruction's tile or the grid is larger than the tile, the places beyond hold copies, so that an instruction's
/// registers are always complete.
pub(crate) fn spread(
    instruction: LinearLayout,
    warps: &[(u32, WarpShare)],
    repeat: &[usize],
    shape: &[u32],
) -> Result<LinearLayout, LayoutError> {
    let wanted = shape_bits(shape)?;
    let mut layout = Matrix::of_tile(vec![0; shape.len()]).finish() * instruction;
    for &(size, share) in warps {
        log2(size)?;
        layout = layout
            * match share {
                WarpShare::Part(out) => LinearLayout::identity1d(size, InDim::Warp, out),
                WarpShare::Copies => LinearLayout::zeros1d(size, InDim::Warp, 0),
            };
    }
    for &out in repeat {
        let missing = wanted[out].saturating_sub(layout.matrix.out_bits[out]);
        layout = layout * LinearLayout::identity1d(1 << missing, InDim::Register, out);
    }
    Ok(clamp(&layout, wanted))
}

/// The layout on a tile that is smaller along some dimensions: what lay outside becomes a copy of what is inside.
fn clamp(layout: &LinearLayout, wanted: Vec<u8>) -> LinearLayout {
    let mut clamped = Matrix::of_tile(wanted);
    for dim in InDim::ALL {
        clamped.bases[dim.index()] = layout
            .bases(dim)
            .map(|basis| {
                let inside =
                    basis.iter().zip(&clamped.out_bits).map(|(&coordinate, &bits)| coordinate & ((1 << bits) - 1));
                clamped.pack(&inside.collect::<Vec<u32>>())
            })
            .collect();
    }
    clamped.finish()
}

/// The two dimensions of a matrix in a tile of this rank: the last two. A tile with more is a batch of matrices.
pub(crate) fn matrix_dims(rank: usize) -> Result<(usize, usize), LayoutError> {
    if rank < 2 { Err(LayoutError::Rank { expected: 2, found: rank }) } else { Ok((rank - 2, rank - 1)) }
}

/// The tile's dimensions, these first, then the others from the last to the first.
pub(crate) fn fastest_first(rank: usize, first: [usize; 2]) -> Vec<usize> {
    first.into_iter().chain((0..rank).rev().filter(|dim| !first.contains(dim))).collect()
}

/// The grid of warps of an accumulator, its dimensions in this order, as it holds the accumulator itself.
pub(crate) fn accumulator_warps(
    warps: &[u32],
    order: &[usize],
    shape: &[u32],
) -> Result<Vec<(u32, WarpShare)>, LayoutError> {
    check_warps(warps, shape)?;
    Ok(order.iter().map(|&out| (warps[out], WarpShare::Part(out))).collect())
}

/// The same grid as it holds an operand: warps along the dimension that the operand does not have hold the same.
pub(crate) fn operand_warps(
    warps: &[u32],
    order: &[usize],
    operand: Operand,
    shape: &[u32],
) -> Result<Vec<(u32, WarpShare)>, LayoutError> {
    check_warps(warps, shape)?;
    let (row, column) = matrix_dims(shape.len())?;
    let absent = match operand {
        Operand::A => column,
        Operand::B => row,
    };
    let share = |out: usize| if out == absent { WarpShare::Copies } else { WarpShare::Part(out) };
    Ok(order.iter().map(|&out| (warps[out], share(out))).collect())
}

fn check_warps(warps: &[u32], shape: &[u32]) -> Result<(), LayoutError> {
    if warps.len() == shape.len() {
        return Ok(());
    }
    Err(LayoutError::Rank { expected: shape.len(), found: warps.len() })
}

/// An operand of a matrix product `A · B`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The left one, M × K.
    A,
    /// The right one, K × N.
    B,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    #[test]
    fn warps_first_then_registers() {
        let instruction = LinearLayout::identity1d(4, InDim::Lane, 1) * LinearLayout::identity1d(2, InDim::Lane, 0);
        let warps = [(2, WarpShare::Part(1)), (1, WarpShare::Part(0))];
        let layout = spread(instruction, &warps, &[1, 0], &[4, 16]).unwrap();
        assert_eq!(layout.apply(Place { warp: 1, ..Place::default() }), [0, 4]);
        assert_eq!(layout.apply(Place { register: 1, ..Place::default() }), [0, 8]);
        assert_eq!(layout.apply(Place { register: 2, ..Place::default() }), [2, 0]);
        assert!(layout.is_bijective());
    }

    #[test]
    fn small_tiles_are_copied() {
        let instruction = LinearLayout::identity1d(4, InDim::Lane, 1) * LinearLayout::identity1d(2, InDim::Register, 0);
        let layout = spread(instruction, &[(2, WarpShare::Copies)], &[1, 0], &[1, 2]).unwrap();
        assert_eq!(layout.to_string(), "#layout<register=[[0,0]], lane=[[0,1],[0,0]], warp=[[0,0]], out=[1,2]>");
    }
}
