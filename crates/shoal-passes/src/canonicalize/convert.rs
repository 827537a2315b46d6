//! Chains of conversions.

use shoal_ir::numeric::NonFinite;
use shoal_ir::op::Rounding;
use shoal_ir::{OpId, OpKind, Scalar, Value};

use super::Rewriter;

/// The rounding of a conversion that does not round.
pub(super) const EXACT: Rounding = Rounding::Nearest;

/// A conversion to the same type, and two conversions that one can do.
pub(super) fn cast(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let a = cx.operand(op, 0);
    let ty = cx.result_type(op);
    if *cx.func.ty(a) == ty {
        return Some(a);
    }
    let inner = cx.def_if(a, |k| matches!(k, OpKind::Cast(_)))?;
    let x = cx.operand(inner, 0);
    let (from, through, to) = (cx.func.ty(x).number()?, cx.func.ty(a).number()?, ty.number()?);
    if !is_exact(from, through) && !both_narrow(from, through, to) || loses_infinities(from, to) {
        return None;
    }
    let kind = cx.func.op(op).kind.clone();
    Some(cx.make(kind, &[x], ty))
}

/// Whether a way back to a type is not the way of doing nothing: a conversion to eight bits saturates.
fn loses_infinities(from: Scalar, to: Scalar) -> bool {
    let format = to.float_format();
    from == to && format.is_some_and(|f| f.saturates() && f.non_finite == NonFinite::Ieee)
}

/// Whether a conversion keeps every value.
fn is_exact(from: Scalar, to: Scalar) -> bool {
    if from.is_int() && to.is_int() {
        to != Scalar::I1 && from.bits() < to.bits() && (from.is_unsigned_int() || to.is_signed_int())
    } else if from.is_float() && to.is_float() {
        // Every 8-bit format lies inside both 16-bit ones; of those neither lies in the other.
        from.bits() < to.bits()
    } else {
        false
    }
}

/// Integers that lose upper bits twice.
fn both_narrow(from: Scalar, through: Scalar, to: Scalar) -> bool {
    from.is_int()
        && through.is_int()
        && to.is_int()
        && to != Scalar::I1
        && from.bits() >= through.bits()
        && through.bits() >= to.bits()
}

/// The same bits at the same type, or twice at others.
pub(super) fn bitcast(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let a = cx.operand(op, 0);
    let ty = cx.result_type(op);
    if *cx.func.ty(a) == ty {
        return Some(a);
    }
    let inner = cx.def_if(a, |k| matches!(k, OpKind::Bitcast))?;
    let x = cx.operand(inner, 0);
    Some(cx.make(OpKind::Bitcast, &[x], ty))
}
