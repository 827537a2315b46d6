//! Which scalars are never negative, by how they are computed.
//!
//! A sum or a product of such scalars is taken not to wrap: where one does, the address made of it means nothing
//! already. Nothing is taken for granted of parameters and of what is loaded.

use crate::class::Structure;
use crate::func::{Func, Op, Value, ValueDef};
use crate::numeric::Const;
use crate::op::{BinaryOp, OpKind};
use crate::types::Scalar;

/// How far back a proof looks.
const MAX_DEPTH: u32 = 8;

/// Whether a scalar integer is never negative.
pub fn is_non_negative(func: &Func, value: Value) -> bool {
    prove(func, value, MAX_DEPTH)
}

fn prove(func: &Func, value: Value, depth: u32) -> bool {
    if func.ty(value).number().is_some_and(Scalar::is_unsigned_int) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let operand = |index: usize, op: &Op| prove(func, op.operands()[index], depth);
    match func.value(value).def() {
        ValueDef::Param(region, 0) => func.region(region).owner().is_some_and(|owner| {
            // A counter starts at its first value and goes up.
            Structure::of_op(func, owner) == Structure::For && operand(0, func.op(owner))
        }),
        ValueDef::Param(..) => false,
        ValueDef::Result(op, _) => {
            let op = func.op(op);
            if let OpKind::Binary(kind) = op.kind {
                return prove_binary(kind, &|index| operand(index, op));
            }
            if matches!(op.kind, OpKind::Cast(_)) {
                let (from, to) = (func.ty(op.operands()[0]).number(), func.ty(value).number());
                let widens = from.zip(to).is_some_and(|(from, to)| from.is_int() && from.bits() < to.bits());
                return widens && operand(0, op);
            }
            matches!(op.kind, OpKind::ProgramId { .. } | OpKind::NumPrograms { .. })
                || matches!(op.kind, OpKind::Const(c) if is_at_least_zero(c))
        }
    }
}

fn prove_binary(kind: BinaryOp, operand: &dyn Fn(usize) -> bool) -> bool {
    match kind {
        BinaryOp::Add | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Min | BinaryOp::Or | BinaryOp::Xor => {
            operand(0) && operand(1)
        }
        BinaryOp::And | BinaryOp::Max => operand(0) || operand(1),
        BinaryOp::Rem | BinaryOp::Shr => operand(0),
        BinaryOp::Sub | BinaryOp::Shl | BinaryOp::MulHi | BinaryOp::DivRn | BinaryOp::MinNan | BinaryOp::MaxNan => {
            false
        }
    }
}

fn is_at_least_zero(number: Const) -> bool {
    number.as_int().is_some_and(|number| number >= 0)
}
