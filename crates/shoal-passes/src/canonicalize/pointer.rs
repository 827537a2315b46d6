//! Address arithmetic: uniform offsets move inwards, to the scalar base.
//!
//! ```text
//! ptr_add (ptr_add (splat %p, %offsets), splat %s)   ==>   ptr_add (splat (ptr_add (%p, %s)), %offsets)
//! ```
//!
//! Addresses are 64-bit numbers that wrap and offsets are extended to them before they are added, so the order of
//! several `ptr_add` does not matter. Sums *inside* an offset stay as they are: in a narrower type they may wrap.

use shoal_ir::op::BinaryOp;
use shoal_ir::{OpId, OpKind, Scalar, Type, Value};

use super::Rewriter;
use super::convert;
use crate::constants::{constant, int_constant, splatted};

/// No offset, and chains of offsets.
pub(super) fn ptr_add(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let (base, offset) = (cx.operand(op, 0), cx.operand(op, 1));
    if int_constant(cx.func, offset) == Some(0) {
        return Some(base);
    }
    let inner = cx.def_if(base, |k| matches!(k, OpKind::PtrAdd))?;
    let (root, first) = (cx.operand(inner, 0), cx.operand(inner, 1));
    let ty = cx.result_type(op);
    if let Some(sum) = merged(cx, first, offset) {
        return Some(cx.make(OpKind::PtrAdd, &[root, sum], ty));
    }
    if ty.is_tile() && is_uniform(cx, offset) && !is_uniform(cx, first) {
        let moved = cx.make(OpKind::PtrAdd, &[root, offset], ty.clone());
        return Some(cx.make(OpKind::PtrAdd, &[moved, first], ty));
    }
    None
}

fn is_uniform(cx: &Rewriter<'_>, value: Value) -> bool {
    constant(cx.func, value).is_some() || splatted(cx.func, value).is_some()
}

/// The sum of two offsets as 64-bit numbers, where that costs a scalar operation at most.
fn merged(cx: &mut Rewriter<'_>, a: Value, b: Value) -> Option<Value> {
    let constants = int_constant(cx.func, a).is_some() && int_constant(cx.func, b).is_some();
    let ty = cx.func.ty(a).clone();
    let uniform_tiles = ty.is_tile() && is_uniform(cx, a) && is_uniform(cx, b);
    if !constants && !uniform_tiles {
        return None;
    }
    let wide = ty.with_elem(Scalar::I64);
    let (a, b) = (extended(cx, a, &wide), extended(cx, b, &wide));
    Some(cx.make(OpKind::Binary(BinaryOp::Add), &[a, b], wide))
}

fn extended(cx: &mut Rewriter<'_>, offset: Value, wide: &Type) -> Value {
    cx.make(OpKind::Cast(convert::EXACT), &[offset], wide.clone())
}
