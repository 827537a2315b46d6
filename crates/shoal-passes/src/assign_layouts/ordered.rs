//! Layouts for what is combined in the order of the elements: scans, and reductions that do not commute.
//!
//! ```text
//! natural:  register = [[1],[2],[256],[512]], lane = [[4],[8],[16],[32],[64]], warp = [[128]]
//! ordered:  register = [[1],[2],[4],[8]],     lane = [[16],[32],[64],[128],[256]], warp = [[512]]
//! ```
//!
//! A thread's elements along the axis are neighbours, those of neighbouring lanes follow, and warps are in order: each thread
//! combines its own, then lanes do by shuffles, then warps through shared memory, each once. Nothing moves along other axes.

use shoal_layout::{InDim, LinearLayout};

use super::Hardware;
use super::coalesce::default_layout;

/// The natural layout of a tile, or one for tiles that nothing is known of, with the elements along `axis` in order.
pub(super) fn ordered_along(
    natural: Option<LinearLayout>,
    shape: &[u32],
    axis: usize,
    hardware: Hardware,
) -> LinearLayout {
    natural
        .and_then(|layout| ordered(&layout, axis))
        .or_else(|| ordered(&default_layout(shape, hardware), axis))
        .expect("the default layout can be ordered")
}

/// Whether every basis of a layout goes along `axis` alone or not at all.
pub(super) fn is_pure_along(layout: &LinearLayout, axis: usize) -> bool {
    let pure = |basis: Vec<u32>| {
        let others = basis.iter().enumerate().any(|(dim, &coordinate)| dim != axis && coordinate != 0);
        basis[axis] == 0 || !others
    };
    InDim::ALL.into_iter().all(|dim| layout.bases(dim).all(pure))
}

/// `None` for a layout in which registers, or lanes that tell elements along the axis apart, hold copies, or those lanes are
/// not neighbours.
fn ordered(layout: &LinearLayout, axis: usize) -> Option<LinearLayout> {
    let along = |dim: InDim| layout.bases(dim).enumerate().filter(|(_, basis)| basis[axis] != 0).map(|(bit, _)| bit);
    let lanes: Vec<usize> = along(InDim::Lane).collect();
    let are_neighbours = lanes.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let has_copies = layout.free_variable_masks().register != 0;
    let bits: usize = InDim::ALL.into_iter().map(|dim| along(dim).count()).sum();
    if !is_pure_along(layout, axis) || !are_neighbours || has_copies || 1 << bits != layout.shape()[axis] {
        return None;
    }
    let mut next = 1;
    let mut in_order = |mut basis: Vec<u32>| {
        if basis[axis] != 0 {
            basis[axis] = next;
            next <<= 1;
        }
        basis
    };
    let bases: Vec<(InDim, Vec<Vec<u32>>)> =
        InDim::ALL.map(|dim| (dim, layout.bases(dim).map(&mut in_order).collect())).to_vec();
    LinearLayout::from_bases(bases, &layout.shape()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shoal_abi::NvptxArch;
    use shoal_layout::Place;

    use super::*;

    /// Registers, lanes and warps count along the axis, the slice is that of `from`, and no element is lost.
    fn counts_along(found: &LinearLayout, axis: usize, from: &LinearLayout) -> Result<(), TestCaseError> {
        let mut next = 1;
        for basis in [InDim::Register, InDim::Lane, InDim::Warp].into_iter().flat_map(|dim| found.bases(dim)) {
            if basis[axis] != 0 {
                prop_assert_eq!(basis[axis], next);
                next <<= 1;
            }
        }
        prop_assert_eq!(next, found.shape()[axis]);
        let mut held = std::collections::HashSet::new();
        for warp in 0..found.in_size(InDim::Warp) {
            for lane in 0..found.in_size(InDim::Lane) {
                for register in 0..found.in_size(InDim::Register) {
                    held.insert(found.apply_flat(Place { register, lane, warp, ..Place::default() }));
                }
            }
        }
        prop_assert_eq!(held.len() as u64, found.num_elements());
        prop_assert_eq!(found.in_size(InDim::Register), from.in_size(InDim::Register));
        prop_assert_eq!(found.slice(axis), from.slice(axis));
        Ok(())
    }

    proptest! {
        /// Whatever a tile's shape is, and however many warps there are: nothing is known of it.
        #[test]
        fn tiles_that_nothing_is_known_of_are_ordered(
            shape in prop::collection::vec(0u32..8, 1..6),
            warps in 0u32..6,
            axis in any::<prop::sample::Index>(),
        ) {
            let axis = axis.index(shape.len());
            let shape: Vec<u32> = shape.iter().map(|bits| 1 << bits).collect();
            prop_assume!(shape.iter().map(|&size| u64::from(size)).product::<u64>() <= 1 << 14);
            let hardware = Hardware { warps: 1 << warps, arch: NvptxArch::Sm80 };
            let found = ordered_along(None, &shape, axis, hardware);
            counts_along(&found, axis, &default_layout(&shape, hardware))?;
        }

        #[test]
        fn places_count_along_the_axis(
            shape in prop::collection::vec(0u32..6, 1..4),
            order in any::<u64>(),
            each in 0u32..4,
            lanes in 0u32..6,
            warps in 0u32..4,
            axis in any::<prop::sample::Index>(),
        ) {
            let rank = shape.len();
            let axis = axis.index(rank);
            let shape: Vec<u32> = shape.iter().map(|bits| 1 << bits).collect();
            let mut dims: Vec<usize> = (0..rank).collect();
            dims.rotate_left((order % rank as u64) as usize);
            let spread = |bits: u32, first: usize| -> Vec<u32> {
                (0..rank).map(|dim| if dim == dims[first % rank] { 1 << bits } else { 1 }).collect()
            };
            let two_ways = |bits: u32| -> Vec<u32> {
                spread(bits / 2, 0).iter().zip(spread(bits - bits / 2, 1)).map(|(a, b)| a * b).collect()
            };
            let natural =
                LinearLayout::blocked(&shape, &spread(each, 0), &two_ways(lanes), &two_ways(warps), &dims).unwrap();
            let hardware = Hardware { warps: 1 << warps, arch: NvptxArch::Sm80 };
            let found = ordered_along(Some(natural.clone()), &shape, axis, hardware);
            counts_along(&found, axis, &natural)?;
        }
    }
}
