//! What a loop's early loads compute their addresses from, and what forbids loads to run early.

use std::collections::HashSet;

use shoal_ir::class::{ElementwiseOp, OpClass, ShapeOp};
use shoal_ir::{OpId, OpKind, Region, Value, ValueDef};

/// What addresses are computed from, inside a loop's body.
#[derive(Clone)]
pub(super) struct Slice<'f> {
    pub(super) func: &'f shoal_ir::Func,
    pub(super) body: Region,
    pub(super) ops: HashSet<OpId>,
    /// The carried values that are needed, by position.
    pub(super) carried: HashSet<usize>,
}

impl Slice<'_> {
    /// Adds what a value needs; `false` if that is more than arithmetic.
    pub(super) fn add(&mut self, value: Value) -> bool {
        match self.func.value(value).def() {
            ValueDef::Param(region, 0) if region == self.body => true,
            ValueDef::Param(region, index) if region == self.body => {
                let index = index as usize - 1;
                !self.carried.insert(index) || self.add(self.func.yielded(self.body)[index])
            }
            ValueDef::Param(region, _) => !self.func.is_inside(region, self.body),
            ValueDef::Result(op, _) => {
                let data = self.func.op(op);
                match data.parent() {
                    Some(region) if region == self.body => {}
                    Some(region) => return !self.func.is_inside(region, self.body),
                    None => return false,
                }
                if self.ops.contains(&op) {
                    return true;
                }
                if !is_arithmetic(&data.kind) {
                    return false;
                }
                self.ops.insert(op);
                data.operands().to_vec().into_iter().all(|operand| self.add(operand))
            }
        }
    }
}

pub(super) fn is_arithmetic(kind: &OpKind) -> bool {
    match kind.class() {
        OpClass::Source(_) => true,
        OpClass::Elementwise(kind) => !matches!(kind, ElementwiseOp::Extern(_) | ElementwiseOp::InlineAsm(_)),
        OpClass::Shape(kind) => !matches!(kind, ShapeOp::ConvertLayout | ShapeOp::Gather { .. }),
        OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Access(_)
        | OpClass::Atomic(..)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => false,
    }
}

/// Whether an operation changes memory or orders accesses, so that no load may be moved across it.
pub(super) fn writes_or_orders(kind: &OpKind) -> bool {
    match kind.class() {
        OpClass::Access(access) => matches!(access, shoal_ir::class::AccessOp::Store { .. }),
        OpClass::Elementwise(ElementwiseOp::Extern(function)) => !function.pure,
        OpClass::Elementwise(ElementwiseOp::InlineAsm(asm)) => !asm.pure,
        OpClass::Effect(effect) => !matches!(effect, shoal_ir::class::EffectOp::Assume),
        OpClass::Desc(desc) => matches!(desc, shoal_ir::class::DescOp::Store),
        OpClass::Atomic(..) | OpClass::Comm(_) | OpClass::Call(_) => true,
        OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_) => false,
    }
}
