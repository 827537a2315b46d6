//! **What.** Brings operations to their simplest form: folds constants, applies identities, and takes apart control
//! flow whose course is known.
//!
//! ```text
//! %1 = const {value = 0} () : i32             %1 = const {value = 128} () : i32
//! %2 = add (%0, %1) : i32                     %2 = mul (%0, %1) : i32
//! %3 = const {value = 128} () : i32    ==>    %3 = splat (%2) : tile<128xi32>
//! %4 = splat (%2) : tile<128xi32>
//! %5 = splat (%3) : tile<128xi32>
//! %6 = mul (%4, %5) : tile<128xi32>
//! ```
//!
//! **Why here.** Before every pass that looks for a pattern: it needs to know one form of it, not five.
//!
//! # Rules for rules
//!
//! - A rule is small, and a file test shows it.
//! - Never to worse code: fewer operations, or smaller ones (a scalar instead of a tile), or the same at an earlier
//!   place.
//! - The result is the same bit by bit, for integers that wrap, for signed zeros and for NaNs (whose payload is open).
//! - Every rule makes something smaller: the number of operations, of tile elements computed, or of uniform terms that
//!   stand outside others. So the passes over the function come to an end.
//!
//! # How it runs
//!
//! Sweeps forward through each region, operands before users, so one sweep settles most of a function; what a rule
//! makes is simplified before it is put down. Sweeps go on until one changes nothing.

mod algebra;
mod control;
mod convert;
mod descriptor;
mod fold;
mod memory;
mod pointer;
mod shape;
mod uniform;

use shoal_ir::class::{AccessOp, DescOp, ElementwiseOp, OpClass, ShapeOp};
use shoal_ir::effects::CallEffects;
use shoal_ir::{Const, Func, Module, OpId, OpKind, Region, Type, Value};

use crate::dce::remove_dead;
use crate::facts::{can_replace, replace_value};

/// No function seen needs more than five; the limit only guards against a rule that undoes another.
const MAX_SWEEPS: usize = 16;

/// Simplifies every function.
pub fn canonicalize(module: &mut Module) {
    let calls = CallEffects::of_module(module);
    for func in &mut module.funcs {
        for _ in 0..MAX_SWEEPS {
            let body = func.body();
            let mut rewriter = Rewriter { func, region: body, subject: None, changed: false };
            rewriter.sweep(body);
            let changed = rewriter.changed;
            remove_dead(func, &calls);
            if !changed {
                break;
            }
        }
    }
}

/// Goes through regions and puts down what is left of them.
struct Rewriter<'f> {
    func: &'f mut Func,
    /// The region under reconstruction; new operations go to its end.
    region: Region,
    /// The operation under consideration; what is made in its place has its span.
    subject: Option<OpId>,
    changed: bool,
}

impl Rewriter<'_> {
    fn sweep(&mut self, region: Region) {
        let outer = std::mem::replace(&mut self.region, region);
        for op in self.func.take_ops(region) {
            for inner in self.func.op(op).regions().to_vec() {
                self.sweep(inner);
            }
            self.subject = Some(op);
            self.place(op);
        }
        self.region = outer;
    }

    /// Puts an operation down, or what takes its place.
    fn place(&mut self, op: OpId) {
        let data = self.func.op(op);
        if let ([result], []) = (data.results(), data.regions()) {
            let result = *result;
            if let Some(value) = self.simplify(op)
                && can_replace(self.func, self.region, result, value)
            {
                self.changed = true;
                replace_value(self.func, self.region, result, value);
                self.func.erase(op);
                return;
            }
        }
        if control::dissolve(self, op) || memory::drop_no_op(self, op) {
            self.changed = true;
            return;
        }
        self.func.append(self.region, op);
    }

    /// A value that can stand for the only result of an operation without regions.
    fn simplify(&mut self, op: OpId) -> Option<Value> {
        fold::fold(self, op).or_else(|| self.apply_rules(op))
    }

    /// The rules of an operation's family. Most families have none.
    fn apply_rules(&mut self, op: OpId) -> Option<Value> {
        match self.func.op(op).kind.class() {
            OpClass::Elementwise(kind) => match kind {
                ElementwiseOp::Unary(kind) => algebra::unary(self, op, kind).or_else(|| uniform::elementwise(self, op)),
                ElementwiseOp::Binary(kind) => {
                    algebra::binary(self, op, kind).or_else(|| uniform::elementwise(self, op))
                }
                ElementwiseOp::Cmp(kind) => algebra::compare(self, op, kind).or_else(|| uniform::elementwise(self, op)),
                ElementwiseOp::Select => algebra::select(self, op).or_else(|| uniform::elementwise(self, op)),
                ElementwiseOp::Cast(_) => convert::cast(self, op).or_else(|| uniform::elementwise(self, op)),
                ElementwiseOp::Bitcast => convert::bitcast(self, op).or_else(|| uniform::elementwise(self, op)),
                ElementwiseOp::PtrAdd => uniform::elementwise(self, op).or_else(|| pointer::ptr_add(self, op)),
                ElementwiseOp::Math(_) | ElementwiseOp::Fma => uniform::elementwise(self, op),
                ElementwiseOp::Extern(_) | ElementwiseOp::InlineAsm(_) => None,
            },
            OpClass::Shape(kind) => match kind {
                ShapeOp::Splat => shape::splat(self, op),
                ShapeOp::Broadcast => shape::broadcast(self, op),
                ShapeOp::Reshape => shape::reshape(self, op),
                ShapeOp::Transpose { .. } => shape::transpose(self, op),
                ShapeOp::ConvertLayout => shape::convert_layout(self, op),
                ShapeOp::Join | ShapeOp::Split | ShapeOp::Gather { .. } => None,
            },
            OpClass::Access(AccessOp::Load(_)) => memory::load(self, op),
            OpClass::Desc(DescOp::Base) => descriptor::base(self, op),
            OpClass::Desc(DescOp::Size { dim }) => descriptor::size(self, op, dim),
            OpClass::Desc(DescOp::Stride { dim }) => descriptor::stride(self, op, dim),
            OpClass::Access(AccessOp::Store { .. })
            | OpClass::Source(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Atomic(..)
            | OpClass::Desc(DescOp::Make | DescOp::Load | DescOp::Store)
            | OpClass::Comm(_)
            | OpClass::Effect(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => None,
        }
    }

    /// Makes an operation with one result, or finds a value that is the same.
    fn make(&mut self, kind: OpKind, operands: &[Value], ty: Type) -> Value {
        let span = self.subject.map_or(self.func.span, |op| self.func.op(op).span);
        let op = self.func.make_op(kind, operands.iter().copied(), [ty], [], span);
        match self.simplify(op) {
            Some(value) => {
                self.func.erase(op);
                value
            }
            None => {
                self.func.append(self.region, op);
                self.func.op(op).result()
            }
        }
    }

    fn constant(&mut self, value: Const, ty: Type) -> Value {
        self.make(OpKind::Const(value), &[], ty)
    }

    fn operand(&self, op: OpId, index: usize) -> Value {
        self.func.op(op).operands()[index]
    }

    fn result_type(&self, op: OpId) -> Type {
        self.func.ty(self.func.op(op).results()[0]).clone()
    }

    /// The operation that defines a value, if it is of a kind that `wanted` accepts.
    fn def_if(&self, value: Value, wanted: impl FnOnce(&OpKind) -> bool) -> Option<OpId> {
        self.func.def_op(value).filter(|&op| wanted(&self.func.op(op).kind))
    }
}
