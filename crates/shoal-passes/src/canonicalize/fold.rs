//! Operations on constants, computed by [`shoal_ir::numeric`], which defines them.

use shoal_ir::{Const, OpId, OpKind, Value, numeric};
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
    match &data.kind {
        OpKind::Unary(op) => Some(numeric::unary(*op, a)),
        OpKind::Binary(op) => Some(numeric::binary(*op, a, operands[1])),
        OpKind::Cmp(op) => Some(numeric::compare(*op, a, operands[1])),
        OpKind::Select => Some(numeric::select(a, operands[1], operands[2])),
        OpKind::Fma => Some(numeric::fma(a, operands[1], operands[2])),
        OpKind::Cast(rounding) => Some(numeric::cast(a, target()?, *rounding)),
        OpKind::Bitcast => Some(numeric::bitcast(a, target()?)),
        OpKind::Math(function) => Some(numeric::math(*function, operands)),
        OpKind::Splat | OpKind::Broadcast | OpKind::Reshape | OpKind::Transpose { .. } => Some(a),
        OpKind::Const(_)
        | OpKind::Iota { .. }
        | OpKind::ProgramId { .. }
        | OpKind::NumPrograms { .. }
        | OpKind::PtrAdd
        | OpKind::Extern(_)
        | OpKind::InlineAsm(_)
        | OpKind::MapElementwise { .. }
        | OpKind::Join
        | OpKind::Split
        | OpKind::Gather { .. }
        | OpKind::Reduce { .. }
        | OpKind::Scan { .. }
        | OpKind::Histogram
        | OpKind::Dot { .. }
        | OpKind::Load(_)
        | OpKind::Store { .. }
        | OpKind::AtomicRmw { .. }
        | OpKind::AtomicCas { .. }
        | OpKind::AtomicLoad { .. }
        | OpKind::AtomicStore { .. }
        | OpKind::AtomicPoll { .. }
        | OpKind::MakeDesc
        | OpKind::DescLoad
        | OpKind::DescStore
        | OpKind::Barrier
        | OpKind::Print { .. }
        | OpKind::Assert { .. }
        | OpKind::Assume
        | OpKind::If
        | OpKind::For(_)
        | OpKind::While { .. }
        | OpKind::Condition
        | OpKind::Yield
        | OpKind::Return
        | OpKind::Call { .. } => None,
    }
}
