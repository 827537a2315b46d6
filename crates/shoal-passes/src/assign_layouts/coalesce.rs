//! Layouts for accesses to memory: neighbouring lanes at neighbouring addresses, as wide as one instruction may be.
//!
//! One instruction moves neighbours only if the mask treats them alike. Where it does not, each lane takes one element at a
//! time, and lanes lie side by side: several in a row for each lane would be as many accesses, each of which touches all
//! the memory of the row.

use shoal_ir::class::{AccessOp, OpClass};
use shoal_ir::{Func, OpId, Value};
use shoal_layout::{InDim, LinearLayout};

use super::{Hardware, LANES};
use crate::contiguity::AxisInfos;

/// The bytes that one lane moves with one instruction.
const WIDEST: u64 = 16;

/// The layout for an access.
pub(super) fn coalesced(func: &Func, infos: &AxisInfos, op: OpId, hardware: Hardware) -> LinearLayout {
    let shape = func.ty(func.op(op).operands()[0]).shape().to_vec();
    let (order, vector) = wanted(func, infos, op, hardware);
    blocked(&shape, &order, vector, hardware)
}

/// The dimensions of an access, that with the longest runs first, and how many elements a lane should take.
fn wanted(func: &Func, infos: &AxisInfos, op: OpId, hardware: Hardware) -> (Vec<usize>, u32) {
    let pointers = func.op(op).operands()[0];
    let ty = func.ty(pointers);
    let shape = ty.shape();
    let mut order: Vec<usize> = (0..shape.len()).rev().collect();
    let Some(info) = infos.find(pointers) else { return (order, 1) };
    order.sort_by_key(|&dim| std::cmp::Reverse(info.contiguity[dim]));
    let bytes = pointed_bytes(func, pointers);
    let fastest = order[0];
    let aligned = info.divisibility[fastest] / bytes;
    let alike = mask(func, op).and_then(|mask| infos.find(mask)).map_or(u64::MAX, |mask| mask.constancy[fastest]);
    let run = info.contiguity[fastest].min(aligned.max(1)).min(alike).min(WIDEST / bytes.min(WIDEST));
    let elements: u64 = shape.iter().map(|&size| u64::from(size)).product();
    let each = (elements / u64::from(LANES * hardware.warps)).max(1);
    (order, run.min(each).max(1) as u32)
}

/// The mask of a load or a store.
fn mask(func: &Func, op: OpId) -> Option<Value> {
    let data = func.op(op);
    let OpClass::Access(access) = data.kind.class() else { return None };
    let at = match access {
        AccessOp::Load(_) => 1,
        AccessOp::Store { .. } => 2,
    };
    data.operands().get(at).copied()
}

/// Whether an access may as well be done in the layout that the tile has.
pub(super) fn is_good(func: &Func, infos: &AxisInfos, op: OpId, layout: &LinearLayout, hardware: Hardware) -> bool {
    let (order, vector) = wanted(func, infos, op, hardware);
    let pointers = func.op(op).operands()[0];
    let fastest = order[0];
    let row_major = fastest == layout.rank() - 1;
    let has_runs = infos.find(pointers).is_some_and(|info| info.contiguity[fastest] > 1);
    // Lanes that are farther apart touch more of the cache than they use.
    let near = WIDEST / pointed_bytes(func, pointers);
    let mut lanes = layout.bases(InDim::Lane);
    let lanes_follow = lanes.next().is_some_and(|first| match is_along(&first, fastest) {
        true => u64::from(first[fastest]) <= near,
        false => vector == 1,
    });
    row_major && layout.num_consecutive(InDim::Register) >= vector && (lanes_follow || !has_runs)
}

/// The bytes of an element that a pointer of a tile points to.
fn pointed_bytes(func: &Func, pointers: Value) -> u64 {
    func.ty(pointers).elem().and_then(shoal_ir::Elem::ptr).map_or(8, |ptr| u64::from(ptr.element().bytes()))
}

fn is_along(basis: &[u32], dim: usize) -> bool {
    basis.iter().enumerate().all(|(at, &coordinate)| (at == dim) == (coordinate != 0))
}

/// A layout for tiles that nothing is known of.
pub(super) fn default_layout(shape: &[u32], hardware: Hardware) -> LinearLayout {
    let order: Vec<usize> = (0..shape.len()).rev().collect();
    let elements: u64 = shape.iter().map(|&size| u64::from(size)).product();
    let each = (elements / u64::from(LANES * hardware.warps)).clamp(1, 4);
    blocked(shape, &order, each as u32, hardware)
}

/// A layout for blocks that a copy engine brings to shared memory: rows, as wide as one instruction reads.
pub(super) fn block_layout(shape: &[u32], elem: shoal_ir::Elem, hardware: Hardware) -> LinearLayout {
    let order: Vec<usize> = (0..shape.len()).rev().collect();
    let elements: u64 = shape.iter().map(|&size| u64::from(size)).product();
    let each = (elements / u64::from(LANES * hardware.warps)).clamp(1, WIDEST / u64::from(elem.bytes()));
    blocked(shape, &order, each as u32, hardware)
}

/// `vector` elements for each lane along the first dimension of `order`; lanes and warps fill one dimension after the
/// other.
fn blocked(shape: &[u32], order: &[usize], vector: u32, hardware: Hardware) -> LinearLayout {
    let mut each = vec![1; shape.len()];
    each[order[0]] = vector.min(shape[order[0]]);
    spread(shape, order, &each, hardware)
}

/// `each` elements for each lane; lanes and warps fill one dimension after the other.
pub(super) fn spread(shape: &[u32], order: &[usize], each: &[u32], hardware: Hardware) -> LinearLayout {
    let (mut lanes, mut warps) = (vec![1; shape.len()], vec![1; shape.len()]);
    let (mut lanes_left, mut warps_left) = (LANES, hardware.warps);
    for &dim in order {
        let room = (shape[dim] / each[dim]).max(1);
        lanes[dim] = room.min(lanes_left);
        lanes_left /= lanes[dim];
        warps[dim] = (room / lanes[dim]).max(1).min(warps_left);
        warps_left /= warps[dim];
    }
    // What is left over holds copies, along the slowest dimension.
    let slowest = *order.last().expect("a tile has a dimension");
    lanes[slowest] *= lanes_left;
    warps[slowest] *= warps_left;
    LinearLayout::blocked(shape, each, &lanes, &warps, order).expect("sizes are powers of two")
}
