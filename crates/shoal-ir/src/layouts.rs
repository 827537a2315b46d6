//! What operations that move elements make of a tile's layout.
//!
//! Each of them leaves every element where it is: the result's layout says where that is in the result's shape. Only
//! [`OpKind::ConvertLayout`](crate::OpKind::ConvertLayout) moves elements between registers, lanes and warps. Registers
//! that would hold copies of others do not exist; lanes and warps do, and hold copies.

use shoal_layout::{InDim, LinearLayout};

/// The layout with each basis mapped to another tile's coordinates; bases mapped to `None` go away.
fn mapped(
    layout: &LinearLayout,
    shape: &[u32],
    map: impl Fn(InDim, Vec<u32>) -> Option<Vec<u32>>,
) -> Option<LinearLayout> {
    let bases = InDim::ALL.map(|dim| (dim, layout.bases(dim).filter_map(|basis| map(dim, basis)).collect()));
    LinearLayout::from_bases(bases, shape).ok()
}

/// Whether a basis along `dim` says that registers hold copies.
fn is_register_copy(dim: InDim, basis: &[u32]) -> bool {
    dim == InDim::Register && basis.iter().all(|&coordinate| coordinate == 0)
}

/// Lanes of a warp: what a program's threads are counted in.
pub const WARP_SIZE: u32 = 32;

/// One element for each thread of a program of so many warps, in order: what code for single threads computes on.
///
/// # Panics
/// If the number of warps is not a power of two.
pub fn one_per_thread(num_warps: u32) -> LinearLayout {
    let along = |dim, count: u32, first: u32| {
        let bases = (0..count.trailing_zeros()).map(|bit| vec![first << bit]).collect::<Vec<_>>();
        (dim, bases)
    };
    assert!(num_warps.is_power_of_two(), "{num_warps} warps");
    let bases = [along(InDim::Lane, WARP_SIZE, 1), along(InDim::Warp, num_warps, WARP_SIZE)];
    LinearLayout::from_bases(bases, &[WARP_SIZE * num_warps]).expect("a basis for each bit of the index")
}

/// Dimension `i` of the result is dimension `perm[i]` of the operand.
pub fn transposed(layout: &LinearLayout, perm: &[u8]) -> Option<LinearLayout> {
    let order: Vec<usize> = perm.iter().map(|&p| usize::from(p)).collect();
    layout.transpose_outs(&order).ok()
}

/// The same elements in row-major order at another shape.
pub fn reshaped(layout: &LinearLayout, shape: &[u32]) -> Option<LinearLayout> {
    layout.reshape_outs(shape).ok()
}

/// One dimension vanishes, as a reduction leaves it.
pub fn sliced(layout: &LinearLayout, axis: usize) -> Option<LinearLayout> {
    layout.slice(axis).ok()
}

/// What a tile must be laid out like to be broadcast to a tile with this layout without moving: where `shape` is 1 the
/// coordinate is forgotten.
pub fn before_broadcast(layout: &LinearLayout, shape: &[u32]) -> Option<LinearLayout> {
    if shape.len() != layout.rank() {
        return None;
    }
    mapped(layout, shape, |dim, basis| {
        let kept: Vec<u32> = basis.into_iter().zip(shape).map(|(c, &size)| if size == 1 { 0 } else { c }).collect();
        (!is_register_copy(dim, &kept)).then_some(kept)
    })
}

/// Whether a tile with this layout and shape can be broadcast to a tile with the layout `to` without moving.
pub fn broadcasts(from: &LinearLayout, to: &LinearLayout) -> bool {
    let shape = from.shape();
    // Forgetting nothing still drops registers that hold copies.
    before_broadcast(to, &shape).is_some_and(|wanted| before_broadcast(from, &shape) == Some(wanted))
}

/// A new innermost dimension of size 2, whose elements are in neighbouring registers.
pub fn joined(layout: &LinearLayout) -> Option<LinearLayout> {
    let mut shape = layout.shape();
    let halves = [vec![0; shape.len()], vec![1]].concat();
    shape.push(2);
    let bases = InDim::ALL.map(|dim| {
        let first = (dim == InDim::Register).then(|| halves.clone());
        let others = layout.bases(dim).map(|basis| [basis, vec![0]].concat());
        (dim, first.into_iter().chain(others).collect())
    });
    LinearLayout::from_bases(bases, &shape).ok()
}

/// The innermost dimension, of size 2, is taken apart; `None` if its two elements are not in registers of one lane.
pub fn split(layout: &LinearLayout) -> Option<LinearLayout> {
    let shape = layout.shape();
    let (&2, rest) = shape.split_last()? else { return None };
    let is_half = |basis: &[u32]| basis.iter().rev().enumerate().all(|(i, &c)| c == u32::from(i == 0));
    let touches = |basis: &[u32]| basis.last() == Some(&1);
    let halves = layout.bases(InDim::Register).filter(|basis| is_half(basis)).count();
    let touching = InDim::ALL.into_iter().flat_map(|dim| layout.bases(dim)).filter(|basis| touches(basis)).count();
    if halves != 1 || touching != 1 {
        return None;
    }
    mapped(layout, rest, |_, mut basis| (basis.pop() == Some(0)).then_some(basis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> LinearLayout {
        text.parse().unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    /// Each lane holds two neighbours of a row of four; lanes 0 and 1 share a row.
    const ROWS: &str = "#layout<register=[[0,1]], lane=[[0,2],[1,0],[2,0]], out=[4,4]>";

    #[test]
    fn a_slice_merges_registers_and_copies_lanes() {
        assert_eq!(sliced(&layout(ROWS), 1), Some(layout("#layout<lane=[[0],[1],[2]], out=[4]>")));
        assert_eq!(sliced(&layout(ROWS), 0), Some(layout("#layout<register=[[1]], lane=[[2],[0],[0]], out=[4]>")));
        assert_eq!(sliced(&layout(ROWS), 2), None);
    }

    #[test]
    fn a_slice_broadcasts_back() {
        let rows = layout(ROWS);
        for axis in [0, 1] {
            let slice = sliced(&rows, axis).unwrap();
            let mut shape = rows.shape();
            shape[axis] = 1;
            assert!(broadcasts(&reshaped(&slice, &shape).unwrap(), &rows));
        }
        assert!(broadcasts(&rows, &rows));
        assert!(!broadcasts(&layout("#layout<lane=[[1,0],[2,0],[0,0]], out=[4,1]>"), &rows));
    }

    #[test]
    fn halves_join_in_registers_and_split_again() {
        let joined = joined(&layout(ROWS)).unwrap();
        let expected = "#layout<register=[[0,0,1],[0,1,0]], lane=[[0,2,0],[1,0,0],[2,0,0]], out=[4,4,2]>";
        assert_eq!(joined, layout(expected));
        assert_eq!(split(&joined), Some(layout(ROWS)));
    }

    #[test]
    fn halves_in_different_lanes_do_not_split() {
        assert_eq!(split(&layout("#layout<lane=[[0,1],[1,0]], out=[2,2]>")), None);
        assert_eq!(split(&layout("#layout<register=[[1,1]], lane=[[1,0]], out=[2,2]>")), None);
        assert_eq!(split(&layout("#layout<register=[[0,1],[0,1]], lane=[[1,0]], out=[2,2]>")), None, "copies");
        assert_eq!(split(&layout("#layout<register=[[1]], out=[4]>")), None);
    }
}
