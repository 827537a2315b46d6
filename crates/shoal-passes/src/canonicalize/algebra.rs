//! Identities of arithmetic, comparison and selection.
//!
//! Integers wrap, so their identities are those of rings. Of floats only those are used that keep every bit: `x * 1`,
//! `x - 0`, `x + -0`, and division by a power of two.

use shoal_ir::op::{BinaryOp, CmpOp, UnaryOp};
use shoal_ir::{Const, OpId, OpKind, Scalar, Value, numeric};

use super::Rewriter;
use crate::constants::{constant, splatted};

/// `-(-x)`, `~~x`, `||x||`, and the complement of a comparison.
pub(super) fn unary(cx: &mut Rewriter<'_>, op: OpId, kind: UnaryOp) -> Option<Value> {
    let operand = cx.operand(op, 0);
    let inner = cx.func.def_op(operand)?;
    let inner_kind = &cx.func.op(inner).kind;
    if let OpKind::Unary(inner_kind) = inner_kind
        && *inner_kind == kind
    {
        return match kind {
            UnaryOp::Neg | UnaryOp::Not | UnaryOp::Brev => Some(cx.operand(inner, 0)),
            UnaryOp::Abs => Some(operand),
            UnaryOp::Clz | UnaryOp::Popc => None,
        };
    }
    if let (UnaryOp::Not, OpKind::Cmp(compare)) = (kind, inner_kind) {
        let inverse = inverse(*compare, cx.func.ty(cx.operand(inner, 0)).number())?;
        let operands = cx.func.op(inner).operands().to_vec();
        let ty = cx.result_type(op);
        return Some(cx.make(OpKind::Cmp(inverse), &operands, ty));
    }
    None
}

/// The comparison that is true where this one is false. An order of floats has none: NaN is in neither half.
fn inverse(compare: CmpOp, number: Option<Scalar>) -> Option<CmpOp> {
    let ordered = number.is_none_or(Scalar::is_int);
    match compare {
        CmpOp::Eq => Some(CmpOp::Ne),
        CmpOp::Ne => Some(CmpOp::Eq),
        CmpOp::Lt => ordered.then_some(CmpOp::Ge),
        CmpOp::Le => ordered.then_some(CmpOp::Gt),
        CmpOp::Gt => ordered.then_some(CmpOp::Le),
        CmpOp::Ge => ordered.then_some(CmpOp::Lt),
    }
}

/// Identities of operations on two numbers.
pub(super) fn binary(cx: &mut Rewriter<'_>, op: OpId, kind: BinaryOp) -> Option<Value> {
    let (a, b) = (cx.operand(op, 0), cx.operand(op, 1));
    let number = cx.func.ty(a).number()?;
    if commutes(kind) && prefers_right(cx, a) && !prefers_right(cx, b) {
        let ty = cx.result_type(op);
        return Some(cx.make(OpKind::Binary(kind), &[b, a], ty));
    }
    if a == b
        && let Some(value) = with_itself(cx, op, kind, number)
    {
        return Some(value);
    }
    if let Some(c) = constant(cx.func, b)
        && let Some(value) = with_constant(cx, op, kind, c)
    {
        return Some(value);
    }
    if number.is_int() { reassociate(cx, op, kind) } else { None }
}

/// Constants and uniform values stand on the right.
fn prefers_right(cx: &Rewriter<'_>, value: Value) -> bool {
    constant(cx.func, value).is_some() || splatted(cx.func, value).is_some()
}

fn commutes(kind: BinaryOp) -> bool {
    match kind {
        BinaryOp::Add
        | BinaryOp::Mul
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::MulHi
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::MinNan
        | BinaryOp::MaxNan => true,
        BinaryOp::Sub | BinaryOp::Div | BinaryOp::DivRn | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => false,
    }
}

fn with_itself(cx: &mut Rewriter<'_>, op: OpId, kind: BinaryOp, number: Scalar) -> Option<Value> {
    match kind {
        BinaryOp::And | BinaryOp::Or | BinaryOp::Min | BinaryOp::Max | BinaryOp::MinNan | BinaryOp::MaxNan => {
            Some(cx.operand(op, 0))
        }
        BinaryOp::Sub | BinaryOp::Xor if number.is_int() => {
            let ty = cx.result_type(op);
            Some(cx.constant(Const::zero(number), ty))
        }
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::DivRn
        | BinaryOp::Rem
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::MulHi => None,
    }
}

fn with_constant(cx: &mut Rewriter<'_>, op: OpId, kind: BinaryOp, c: Const) -> Option<Value> {
    if c.ty().is_float() {
        return with_float(cx, op, kind, c);
    }
    let a = cx.operand(op, 0);
    let (zero, one) = (c.is_zero(), c == Const::one(c.ty()));
    let ones = c == numeric::unary(UnaryOp::Not, Const::zero(c.ty()));
    let to_zero = |cx: &mut Rewriter<'_>| {
        let ty = cx.result_type(op);
        Some(cx.constant(Const::zero(c.ty()), ty))
    };
    match kind {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr if zero => Some(a),
        BinaryOp::Mul | BinaryOp::And if zero => to_zero(cx),
        BinaryOp::Mul | BinaryOp::Div if one => Some(a),
        BinaryOp::Rem if one => to_zero(cx),
        BinaryOp::And if ones => Some(a),
        BinaryOp::Or if ones => Some(cx.operand(op, 1)),
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::DivRn
        | BinaryOp::Rem
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::MinNan
        | BinaryOp::MaxNan
        | BinaryOp::MulHi => None,
    }
}

fn with_float(cx: &mut Rewriter<'_>, op: OpId, kind: BinaryOp, c: Const) -> Option<Value> {
    let a = cx.operand(op, 0);
    let value = c.as_f64();
    match kind {
        BinaryOp::Add if value == 0.0 && value.is_sign_negative() => Some(a),
        BinaryOp::Sub if value == 0.0 && value.is_sign_positive() => Some(a),
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::DivRn if value == 1.0 => Some(a),
        BinaryOp::Div | BinaryOp::DivRn if is_modest_power_of_two(value) => {
            let ty = cx.result_type(op);
            let reciprocal = cx.constant(Const::from_f64(c.ty(), 1.0 / value), ty.clone());
            Some(cx.make(OpKind::Binary(BinaryOp::Mul), &[a, reciprocal], ty))
        }
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::DivRn
        | BinaryOp::Rem
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::MinNan
        | BinaryOp::MaxNan
        | BinaryOp::MulHi => None,
    }
}

/// A power of two whose reciprocal every float format holds exactly.
fn is_modest_power_of_two(value: f64) -> bool {
    let mantissa = value.to_bits() & ((1 << 52) - 1);
    mantissa == 0 && (1.0 / 64.0..=64.0).contains(&value.abs())
}

/// `(x + c) + d` is `x + (c + d)`, and the same for the other associative operations, where `c` and `d` are uniform.
fn reassociate(cx: &mut Rewriter<'_>, op: OpId, kind: BinaryOp) -> Option<Value> {
    match kind {
        BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {}
        BinaryOp::Sub
        | BinaryOp::Div
        | BinaryOp::DivRn
        | BinaryOp::Rem
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::MinNan
        | BinaryOp::MaxNan
        | BinaryOp::MulHi => return None,
    }
    let (a, d) = (cx.operand(op, 0), cx.operand(op, 1));
    let inner = cx.def_if(a, |k| matches!(k, OpKind::Binary(inner) if *inner == kind))?;
    let (x, c) = (cx.operand(inner, 0), cx.operand(inner, 1));
    let both = |test: fn(&Rewriter<'_>, Value) -> bool| test(cx, c) && test(cx, d);
    let constants = both(|cx, v| constant(cx.func, v).is_some());
    let uniform_tiles = cx.func.ty(a).is_tile() && both(prefers_right);
    if !constants && !uniform_tiles {
        return None;
    }
    let ty = cx.result_type(op);
    let both = cx.make(OpKind::Binary(kind), &[c, d], ty.clone());
    Some(cx.make(OpKind::Binary(kind), &[x, both], ty))
}

/// Comparisons whose outcome does not depend on the values.
pub(super) fn compare(cx: &mut Rewriter<'_>, op: OpId, kind: CmpOp) -> Option<Value> {
    let (a, b) = (cx.operand(op, 0), cx.operand(op, 1));
    let number = cx.func.ty(a).number();
    let decide = |cx: &mut Rewriter<'_>, outcome| {
        let ty = cx.result_type(op);
        Some(cx.constant(Const::bool(outcome), ty))
    };
    if a == b && number.is_none_or(Scalar::is_int) {
        return decide(cx, matches!(kind, CmpOp::Eq | CmpOp::Le | CmpOp::Ge));
    }
    let c = constant(cx.func, b).filter(|c| c.is_zero())?;
    match kind {
        CmpOp::Ne if c.ty() == Scalar::I1 => Some(a),
        CmpOp::Lt if c.ty().is_unsigned_int() => decide(cx, false),
        CmpOp::Ge if c.ty().is_unsigned_int() => decide(cx, true),
        CmpOp::Eq | CmpOp::Ne | CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => None,
    }
}

/// Selections whose condition or whose branches are known.
pub(super) fn select(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let (condition, a, b) = (cx.operand(op, 0), cx.operand(op, 1), cx.operand(op, 2));
    if a == b {
        return Some(a);
    }
    if let Some(c) = constant(cx.func, condition) {
        return Some(if c.is_zero() { b } else { a });
    }
    let ty = cx.result_type(op);
    if ty.number() == Some(Scalar::I1)
        && let (Some(yes), Some(no)) = (constant(cx.func, a), constant(cx.func, b))
    {
        // They differ: equal constants are the same value only after CSE, so compare.
        return match (yes.is_zero(), no.is_zero()) {
            (false, true) => Some(condition),
            (true, false) => Some(cx.make(OpKind::Unary(UnaryOp::Not), &[condition], ty)),
            (true, true) | (false, false) => Some(a),
        };
    }
    let inverted = cx.def_if(condition, |k| matches!(k, OpKind::Unary(UnaryOp::Not)))?;
    let condition = cx.operand(inverted, 0);
    Some(cx.make(OpKind::Select, &[condition, b, a], ty))
}
