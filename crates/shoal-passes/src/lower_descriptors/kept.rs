//! Descriptors that a copy engine takes over: those whose map can be made before the kernel starts, that nobody hands on,
//! and whose tensors and blocks are aligned as the engine wants them.

use std::collections::HashSet;

use shoal_ir::tensor_map::{made_desc, tensor_map};
use shoal_ir::{Func, OpId, OpKind};

use crate::contiguity::{self, AxisInfos};

/// What the engine wants addresses and strides to be multiples of, in bytes.
const ALIGNMENT: u64 = 16;

/// The operations of the descriptors' family that stay. What makes a descriptor that was `passed` to the kernel is taken
/// to have aligned strides: whoever launches the kernel looks.
pub(super) fn kept(func: &Func, passed: &HashSet<OpId>) -> HashSet<OpId> {
    let infos = contiguity::analyze(func);
    let mut kept = HashSet::new();
    for make in func.walk() {
        let fits = made_desc(func, make).is_some()
            && tensor_map(func, make).is_some()
            && is_aligned(func, &infos, make, passed.contains(&make));
        let uses = if fits { func.value(func.op(make).result()).uses() } else { &[] };
        let accesses = |op: OpId| {
            matches!(func.op(op).kind, OpKind::DescLoad | OpKind::DescStore) && begins_aligned(func, &infos, make, op)
        };
        if !uses.is_empty() && uses.iter().all(|this| this.index == 0 && accesses(this.op)) {
            kept.insert(make);
            kept.extend(uses.iter().map(|this| this.op));
        }
    }
    kept
}

/// Whether a block begins at an address that the engine can access, wherever its rows are.
fn begins_aligned(func: &Func, infos: &AxisInfos, make: OpId, access: OpId) -> bool {
    let column = func.op(access).operands().last().and_then(|&offset| infos.find(offset));
    column.is_some_and(|info| info.divisibility[0].is_multiple_of(elements_of_alignment(func, make)))
}

/// How many elements of a descriptor's tensor are as long as the alignment.
fn elements_of_alignment(func: &Func, make: OpId) -> u64 {
    let bytes = made_desc(func, make).map_or(1, |desc| shoal_ir::Elem::Scalar(desc.elem).bytes());
    ALIGNMENT / u64::from(bytes)
}

fn is_aligned(func: &Func, infos: &AxisInfos, make: OpId, passed: bool) -> bool {
    let operands = func.op(make).operands();
    let Some(desc) = made_desc(func, make) else { return false };
    let rank = desc.block.len();
    let divides = |value, by: u64| infos.find(value).is_some_and(|info| info.divisibility[0].is_multiple_of(by));
    let elements = elements_of_alignment(func, make);
    let strides = &operands[1 + rank..operands.len() - 1];
    divides(operands[0], ALIGNMENT) && (passed || strides.iter().all(|&stride| divides(stride, elements)))
}
