//! Random layouts, small enough that all their places can be visited.

use proptest::prelude::*;
use shoal_layout::{InDim, LinearLayout, Place};

/// The dimensions that random layouts use; a further one would only add time.
pub(crate) const DIMS: [InDim; 3] = [InDim::Register, InDim::Lane, InDim::Warp];

/// Shapes of up to three dimensions.
pub(crate) fn shape() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec((0u32..4).prop_map(|bits| 1 << bits), 0..4)
}

fn basis(shape: &[u32]) -> impl Strategy<Value = Vec<u32>> + Clone + use<> {
    shape.iter().map(|&size| 0..size).collect::<Vec<_>>()
}

/// Any layout of a tile of this shape.
pub(crate) fn layout_of(shape: Vec<u32>) -> impl Strategy<Value = LinearLayout> {
    let bases = prop::collection::vec(basis(&shape), 0..4);
    [bases.clone(), bases.clone(), bases].prop_map(move |bases| {
        LinearLayout::from_bases(DIMS.into_iter().zip(bases), &shape).expect("the bases are in the tile")
    })
}

/// Any layout.
pub(crate) fn layout() -> impl Strategy<Value = LinearLayout> {
    shape().prop_flat_map(layout_of)
}

/// A layout of a tile of this shape that holds every element exactly once.
pub(crate) fn bijection_of(shape: Vec<u32>) -> impl Strategy<Value = LinearLayout> {
    let bits: u32 = shape.iter().map(|size| size.trailing_zeros()).sum();
    let unit: Vec<u64> = (0..bits).map(|bit| 1 << bit).collect();
    let steps = prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..24);
    let dims = prop::collection::vec(prop::sample::select(DIMS.as_slice()), bits as usize);
    (Just(unit).prop_shuffle(), steps, dims).prop_map(move |(mut columns, steps, dims)| {
        for (to, from) in steps.into_iter().filter(|_| bits > 1) {
            let (to, from) = (to.index(columns.len()), from.index(columns.len()));
            if to != from {
                columns[to] ^= columns[from];
            }
        }
        let bases = dims.into_iter().zip(columns).map(|(dim, column)| (dim, vec![vec![column as u32]]));
        let flat = LinearLayout::from_bases(bases, &[1 << bits]).expect("the columns are in the tile");
        flat.reshape_outs(&shape).expect("the sizes agree")
    })
}

/// All places of a layout.
pub(crate) fn places(layout: &LinearLayout) -> impl Iterator<Item = Place> + use<> {
    let [registers, lanes, warps] = DIMS.map(|dim| layout.in_size(dim));
    (0..warps).flat_map(move |warp| {
        (0..lanes).flat_map(move |lane| {
            (0..registers).map(move |register| Place { register, lane, warp, ..Place::default() })
        })
    })
}
