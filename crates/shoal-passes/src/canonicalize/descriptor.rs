//! The bases, sizes and strides of descriptors that are made in sight.

use shoal_ir::{OpId, OpKind, Value};

use super::Rewriter;

/// The pointer that the descriptor was made with.
pub(super) fn base(cx: &Rewriter<'_>, op: OpId) -> Option<Value> {
    let base = made_of(cx, op)?[0];
    Some(base).filter(|&base| *cx.func.ty(base) == cx.result_type(op))
}

/// The size that the descriptor was made with.
pub(super) fn size(cx: &Rewriter<'_>, op: OpId, dim: u8) -> Option<Value> {
    let made = made_of(cx, op)?;
    Some(made[1 + usize::from(dim)])
}

/// The stride that the descriptor was made with.
pub(super) fn stride(cx: &Rewriter<'_>, op: OpId, dim: u8) -> Option<Value> {
    let made = made_of(cx, op)?;
    let rank = (made.len() - 1) / 2;
    Some(made[1 + rank + usize::from(dim)])
}

/// What the descriptor that an operation asks was made of: its base, sizes and strides.
fn made_of<'c>(cx: &'c Rewriter<'_>, op: OpId) -> Option<&'c [Value]> {
    let make = cx.def_if(cx.operand(op, 0), |kind| matches!(kind, OpKind::MakeDesc))?;
    Some(cx.func.op(make).operands())
}
