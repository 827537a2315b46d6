//! Masks that are known.

use shoal_ir::class::{AccessOp, AtomicOp, EffectOp, OpClass};
use shoal_ir::{Const, OpId, Value};

use super::Rewriter;
use crate::constants::constant;

/// A load whose mask is false everywhere gives what it gives where the mask is false.
pub(super) fn load(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let &[_, mask, ref other @ ..] = cx.func.op(op).operands() else { return None };
    if known(cx, mask)? {
        return None;
    }
    let ty = cx.result_type(op);
    match other.first() {
        Some(&other) => Some(other),
        None => {
            let number = ty.number()?;
            Some(cx.constant(Const::zero(number), ty))
        }
    }
}

/// Drops masks that are true everywhere; says whether nothing is left to do.
pub(super) fn drop_no_op(cx: &mut Rewriter<'_>, op: OpId) -> bool {
    let operands = cx.func.op(op).operands();
    match cx.func.op(op).kind.class() {
        OpClass::Access(AccessOp::Load(_)) => {
            drop_zero_other(cx, op);
            drop_true_mask(cx, op, 1);
            false
        }
        OpClass::Access(AccessOp::Store { .. }) => {
            let nothing = operands.get(2).is_some_and(|&mask| known(cx, mask) == Some(false));
            drop_true_mask(cx, op, 2);
            if nothing {
                cx.func.erase(op);
            }
            nothing
        }
        OpClass::Atomic(kind, ..) => {
            match kind {
                AtomicOp::Load => drop_true_mask(cx, op, 1),
                AtomicOp::Rmw(_) | AtomicOp::Store => drop_true_mask(cx, op, 2),
                AtomicOp::Cas => drop_true_mask(cx, op, 3),
                AtomicOp::Poll => {}
            }
            false
        }
        OpClass::Effect(EffectOp::Assert { .. } | EffectOp::Assume) => {
            let holds = known(cx, operands[0]) == Some(true);
            if holds {
                cx.func.erase(op);
            }
            holds
        }
        OpClass::Effect(
            EffectOp::Barrier | EffectOp::Fence { .. } | EffectOp::Clock | EffectOp::GridWords | EffectOp::Print { .. },
        )
        | OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => false,
    }
}

/// What a mask is everywhere.
fn known(cx: &Rewriter<'_>, mask: Value) -> Option<bool> {
    constant(cx.func, mask).map(|c| !c.is_zero())
}

/// Drops the mask at `index`, and all behind it, if it is true everywhere.
fn drop_true_mask(cx: &mut Rewriter<'_>, op: OpId, index: usize) {
    let operands = cx.func.op(op).operands();
    if operands.get(index).is_some_and(|&mask| known(cx, mask) == Some(true)) {
        let kept = operands[..index].to_vec();
        cx.func.set_operands(op, kept);
        cx.changed = true;
    }
}

/// Where the mask is false a load gives zero by itself.
fn drop_zero_other(cx: &mut Rewriter<'_>, op: OpId) {
    if let &[ptr, mask, other] = cx.func.op(op).operands()
        && constant(cx.func, other).is_some_and(Const::is_zero)
    {
        cx.func.set_operands(op, [ptr, mask]);
        cx.changed = true;
    }
}
