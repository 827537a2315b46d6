//! Operations that only move elements.

use shoal_ir::{OpId, OpKind, Value};

use super::Rewriter;
use crate::constants::splatted;

/// A splat to a scalar is its operand. (A splat of a constant is folded.)
pub(super) fn splat(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let a = cx.operand(op, 0);
    (*cx.func.ty(a) == cx.result_type(op)).then_some(a)
}

/// Broadcasts that repeat nothing, of uniform tiles, and of broadcasts.
pub(super) fn broadcast(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let a = cx.operand(op, 0);
    let ty = cx.result_type(op);
    if *cx.func.ty(a) == ty {
        return Some(a);
    }
    if let Some(scalar) = splatted(cx.func, a) {
        return Some(cx.make(OpKind::Splat, &[scalar], ty));
    }
    let inner = cx.def_if(a, |k| matches!(k, OpKind::Broadcast))?;
    let x = cx.operand(inner, 0);
    Some(cx.make(OpKind::Broadcast, &[x], ty))
}

/// Reshapes that change nothing, of uniform tiles, of scalars and of reshapes.
pub(super) fn reshape(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let a = cx.operand(op, 0);
    let ty = cx.result_type(op);
    if *cx.func.ty(a) == ty {
        return Some(a);
    }
    let scalar = if cx.func.ty(a).is_tile() { splatted(cx.func, a) } else { Some(a) };
    if let Some(scalar) = scalar {
        return Some(if ty.is_tile() { cx.make(OpKind::Splat, &[scalar], ty) } else { scalar });
    }
    let inner = cx.def_if(a, |k| matches!(k, OpKind::Reshape))?;
    let x = cx.operand(inner, 0);
    Some(cx.make(OpKind::Reshape, &[x], ty))
}

/// Transposes that change nothing, of uniform tiles and of transposes.
pub(super) fn transpose(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let a = cx.operand(op, 0);
    let ty = cx.result_type(op);
    let OpKind::Transpose { perm } = cx.func.op(op).kind.clone() else { return None };
    if perm.iter().enumerate().all(|(i, &p)| i == usize::from(p)) && *cx.func.ty(a) == ty {
        return Some(a);
    }
    if let Some(scalar) = splatted(cx.func, a) {
        return Some(cx.make(OpKind::Splat, &[scalar], ty));
    }
    let inner = cx.func.def_op(a)?;
    let OpKind::Transpose { perm: first } = &cx.func.op(inner).kind else { return None };
    // Dimension `i` of the result is dimension `perm[i]` of `a`, which is dimension `first[perm[i]]` of `x`.
    let perm = perm.iter().map(|&p| first[usize::from(p)]).collect();
    let x = cx.operand(inner, 0);
    Some(cx.make(OpKind::Transpose { perm }, &[x], ty))
}

/// Conversions that change nothing, of uniform tiles and of conversions.
pub(super) fn convert_layout(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let a = cx.operand(op, 0);
    let ty = cx.result_type(op);
    if *cx.func.ty(a) == ty {
        return Some(a);
    }
    if let Some(scalar) = splatted(cx.func, a) {
        return Some(cx.make(OpKind::Splat, &[scalar], ty));
    }
    let inner = cx.def_if(a, |k| matches!(k, OpKind::ConvertLayout))?;
    let x = cx.operand(inner, 0);
    Some(cx.make(OpKind::ConvertLayout, &[x], ty))
}
