//! Operations on constants, computed by [`shoal_ir::numeric`], which defines them.

use shoal_ir::class::{ElementwiseOp, OpClass, ShapeOp};
use shoal_ir::{Const, OpId, Value, numeric};
use smallvec::SmallVec;

use super::Rewriter;
use crate::constants::constant;

/// The constant an elementwise operation on constants gives.
pub(super) fn fold(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let data = cx.func.op(op);
    if data.operands().is_empty() {
        return None;
    }
    let operands: Option<SmallVec<[Const; 3]>> = data.operands().iter().map(|&v| constant(cx.func, v)).collect();
    let value = evaluate(cx, op, &operands?)?;
    let ty = cx.result_type(op);
    Some(cx.constant(value, ty))
}

fn evaluate(cx: &Rewriter<'_>, op: OpId, operands: &[Const]) -> Option<Const> {
    let data = cx.func.op(op);
    let target = || cx.func.ty(data.results()[0]).number();
    let a = operands[0];
    match data.kind.class() {
        OpClass::Elementwise(kind) => match kind {
            ElementwiseOp::Unary(op) => Some(numeric::unary(op, a)),
            ElementwiseOp::Binary(op) => Some(numeric::binary(op, a, operands[1])),
            ElementwiseOp::Cmp(op) => Some(numeric::compare(op, a, operands[1])),
            ElementwiseOp::Select => Some(numeric::select(a, operands[1], operands[2])),
            ElementwiseOp::Fma => Some(numeric::fma(a, operands[1], operands[2])),
            ElementwiseOp::Cast(rounding) => Some(numeric::cast(a, target()?, rounding)),
            ElementwiseOp::Bitcast => Some(numeric::bitcast(a, target()?)),
            ElementwiseOp::Math(function) => Some(numeric::math(function, operands)),
            ElementwiseOp::PtrAdd | ElementwiseOp::Extern(_) | ElementwiseOp::InlineAsm(_) => None,
        },
        OpClass::Shape(kind) => match kind {
            ShapeOp::Splat
            | ShapeOp::Broadcast
            | ShapeOp::Reshape
            | ShapeOp::Transpose { .. }
            | ShapeOp::ConvertLayout => Some(a),
            ShapeOp::Join | ShapeOp::Split | ShapeOp::Gather { .. } => None,
        },
        OpClass::Source(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Access(_)
        | OpClass::Atomic(..)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => None,
    }
}
