//! Blocked layouts: each lane holds a small block, and blocks, lanes and warps tile the plane in order.

use crate::matrix::{Matrix, log2, shape_bits};
use crate::{InDim, LayoutError, LinearLayout};

impl LinearLayout {
    /// The layout in which each lane holds a block of `size_per_thread` elements, the lanes of a warp hold
    /// `threads_per_warp` such blocks side by side, and the warps `warps` of those.
    ///
    /// `order` lists the tile's dimensions, the fastest first: neighbours along it have neighbouring registers, lanes
    /// and warps. Each list has one number per dimension of the tile.
    ///
    /// Where all warps together hold less than the tile, they go over it again with further registers. Where they hold
    /// more, registers beyond the tile do not exist, and lanes and warps beyond it hold copies.
    pub fn blocked(
        shape: &[u32],
        size_per_thread: &[u32],
        threads_per_warp: &[u32],
        warps: &[u32],
        order: &[usize],
    ) -> Result<Self, LayoutError> {
        let rank = shape.len();
        check_order(order, rank)?;
        let mut remaining = shape_bits(shape)?;
        let mut layout = Matrix::of_tile(vec![0; rank]).finish();
        for (dim, sizes) in [(InDim::Register, size_per_thread), (InDim::Lane, threads_per_warp), (InDim::Warp, warps)]
        {
            if sizes.len() != rank {
                return Err(LayoutError::Rank { expected: rank, found: sizes.len() });
            }
            for &out in order {
                let wanted = log2(sizes[out])?;
                let fitting = wanted.min(remaining[out]);
                remaining[out] -= fitting;
                layout = layout * Self::identity1d(1 << fitting, dim, out);
                if dim != InDim::Register {
                    layout = layout * Self::zeros1d(1 << (wanted - fitting), dim, out);
                }
            }
        }
        for &out in order {
            layout = layout * Self::identity1d(1 << remaining[out], InDim::Register, out);
        }
        Ok(layout)
    }
}

/// Whether `order` names each of the dimensions `0..rank` once.
pub(crate) fn check_order(order: &[usize], rank: usize) -> Result<(), LayoutError> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sorted.into_iter().eq(0..rank) { Ok(()) } else { Err(LayoutError::BadOrder { order: order.to_vec() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    #[test]
    fn exact_fit_in_row_major_order() {
        let layout = LinearLayout::blocked(&[4, 16], &[1, 2], &[2, 4], &[2, 2], &[1, 0]).unwrap();
        assert_eq!(
            layout.to_string(),
            "#layout<register=[[0,1]], lane=[[0,2],[0,4],[1,0]], warp=[[0,8],[2,0]], out=[4,16]>"
        );
    }

    #[test]
    fn the_order_changes_the_neighbours() {
        let layout = LinearLayout::blocked(&[8, 4], &[2, 1], &[4, 2], &[1, 1], &[0, 1]).unwrap();
        assert_eq!(layout.apply(Place { register: 1, ..Place::default() }), [1, 0]);
        assert_eq!(layout.apply(Place { lane: 1, ..Place::default() }), [2, 0]);
        assert_eq!(layout.apply(Place { register: 2, ..Place::default() }), [0, 2], "a second pass over the tile");
    }

    #[test]
    fn more_lanes_than_elements_hold_copies() {
        let layout = LinearLayout::blocked(&[16], &[1], &[32], &[4], &[0]).unwrap();
        assert_eq!(layout.in_size(InDim::Lane), 32);
        assert_eq!(layout.in_size(InDim::Warp), 4);
        assert_eq!(layout.apply(Place { lane: 17, warp: 3, ..Place::default() }), [1]);
        assert!(layout.is_surjective());
    }

    #[test]
    fn registers_beyond_the_tile_do_not_exist() {
        let layout = LinearLayout::blocked(&[2], &[8], &[32], &[1], &[0]).unwrap();
        assert_eq!(layout.in_size(InDim::Register), 2);
    }

    #[test]
    fn a_tile_without_dimensions() {
        let layout = LinearLayout::blocked(&[], &[], &[], &[], &[]).unwrap();
        assert_eq!(layout, LinearLayout::empty());
    }

    #[test]
    fn bad_arguments_are_refused() {
        let blocked = |order: &[usize], warps: &[u32]| LinearLayout::blocked(&[4, 4], &[1, 1], &[4, 4], warps, order);
        assert_eq!(blocked(&[0, 0], &[1, 1]), Err(LayoutError::BadOrder { order: vec![0, 0] }));
        assert_eq!(blocked(&[0], &[1, 1]), Err(LayoutError::BadOrder { order: vec![0] }));
        assert_eq!(blocked(&[0, 1], &[1]), Err(LayoutError::Rank { expected: 2, found: 1 }));
        assert_eq!(blocked(&[0, 1], &[1, 3]), Err(LayoutError::NotPowerOfTwo { size: 3 }));
    }
}
