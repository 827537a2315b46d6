//! Tiles in shared memory: how they lie there.

use shoal_ir::{Func, OpKind, Value};
use shoal_layout::{InDim, LinearLayout, Major, Swizzle, TmaSwizzle};

use super::place::registers;

/// How a tile lies in shared memory: rows along its fastest dimension, swizzled so that rows of eight do not collide.
pub(super) fn buffer_layout(layout: &LinearLayout, shape: &[u32], bits: u32) -> Option<LinearLayout> {
    let along = |dim: usize| {
        layout
            .bases(InDim::Register)
            .take_while(|basis| basis.iter().enumerate().all(|(at, &c)| (at == dim) == (c != 0)))
            .count()
    };
    let major = if registers(layout) > 1 && along(0) > along(1) { Major::Column } else { Major::Row };
    swizzled_buffer(shape, bits, major)
}

/// A buffer with the widest swizzle that fits its rows; without one if none does.
pub(super) fn swizzled_buffer(shape: &[u32], bits: u32, major: Major) -> Option<LinearLayout> {
    let order = match major {
        Major::Row => [1, 0],
        Major::Column => [0, 1],
    };
    let swizzles = [TmaSwizzle::B128, TmaSwizzle::B64, TmaSwizzle::B32];
    let fits = swizzles.into_iter().find_map(|swizzle| LinearLayout::nvmma_shared(shape, bits, swizzle, major).ok());
    fits.or_else(|| LinearLayout::swizzled_shared(shape, &order, Swizzle::NONE).ok())
}

/// Which dimension of a buffer with a swizzle of the hardware is contiguous; `None` for other buffers.
pub(super) fn major_of(memory: &LinearLayout, bits: u32) -> Option<Major> {
    swizzle_of(memory, bits).map(|(_, major)| major)
}

/// The swizzle of the hardware that a buffer has, and its contiguous dimension.
pub(super) fn swizzle_of(memory: &LinearLayout, bits: u32) -> Option<(TmaSwizzle, Major)> {
    let shape = memory.shape();
    let all = [TmaSwizzle::B128, TmaSwizzle::B64, TmaSwizzle::B32];
    let candidates = all.into_iter().flat_map(|swizzle| [Major::Row, Major::Column].map(|major| (swizzle, major)));
    candidates
        .into_iter()
        .find(|&(swizzle, major)| LinearLayout::nvmma_shared(&shape, bits, swizzle, major).as_ref() == Ok(memory))
}

/// What a value is a transpose of, and whether its two dimensions are exchanged.
pub(super) fn behind_transposes(func: &Func, value: Value) -> (Value, bool) {
    let (mut source, mut flipped) = (value, false);
    while let Some(op) = func.def_op(source) {
        let OpKind::Transpose { perm } = &func.op(op).kind else { break };
        flipped ^= perm.first() != Some(&0);
        source = func.op(op).operands()[0];
    }
    (source, flipped)
}

/// Whether a value is zero everywhere, as the kernel says it.
pub(super) fn is_zero(func: &Func, value: Value) -> bool {
    match func.def_kind(value) {
        Some(OpKind::Const(constant)) => constant.bits() == 0,
        Some(OpKind::Splat) => func.def_op(value).is_some_and(|op| is_zero(func, func.op(op).operands()[0])),
        _ => false,
    }
}
