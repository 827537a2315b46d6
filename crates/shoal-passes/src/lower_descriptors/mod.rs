//! **What.** Turns tensor descriptors into what they are made of: a base pointer, sizes and strides; and the loads and
//! stores of blocks into loads and stores through tiles of pointers, with a mask for the tensor's edges.
//!
//! ```text
//! %d = make_desc (%p, %n, %s) : desc<64xf32>          %e = cast {round = rtne} (%o) : i64
//! %x = desc_load (%d, %o) : tile<64xf32>       ==>    %q = ptr_add (%p, %e) : ptr<f32>
//!                                                     … tile of pointers from %q, mask from %n and %o …
//!                                                     %x = load (%pointers, %mask) : tile<64xf32>
//! ```
//!
//! **Why here.** For targets without hardware for descriptors. Before `licm` and `canonicalize`, which find that most
//! of the arithmetic made here is the same for all blocks.
//!
//! A descriptor that is carried around a loop or comes out of a branch is carried as its parts, and `desc_size` and
//! `desc_stride` are parts. A descriptor parameter of a kernel becomes, at its place, the values that
//! [`DescPart::passed`] lists. Functions that take or return descriptors are left alone: calls must be inlined first.

mod access;
mod carry;

use std::collections::HashMap;

use shoal_ir::class::{DescOp, OpClass};
use shoal_ir::effects::CallEffects;
use shoal_ir::op::Rounding;
use shoal_ir::types::{DescPart, DescType};
use shoal_ir::{Builder, CommOp, Facts, Func, FuncKind, Module, OpId, OpKind, Ptr, Region, Scalar, Type, Value};
use smallvec::SmallVec;

use crate::dce::remove_dead;

/// Lowers the descriptors of every function.
pub fn lower_descriptors(module: &mut Module) {
    let calls = CallEffects::of_module(module);
    for func in &mut module.funcs {
        if has_descriptors(func) && can_lower(func) {
            lower(func, &calls);
        }
    }
}

/// What a descriptor is made of.
#[derive(Clone, Debug)]
struct Parts {
    base: Value,
    /// `i64` each.
    sizes: SmallVec<[Value; 4]>,
    /// `i64` each, in elements.
    strides: SmallVec<[Value; 4]>,
}

impl Parts {
    /// In the order in which they are carried and passed.
    fn values(&self) -> Vec<Value> {
        std::iter::once(self.base).chain(self.sizes.iter().copied()).chain(self.strides.iter().copied()).collect()
    }

    fn from_values(values: &[Value]) -> Parts {
        let rank = (values.len() - 1) / 2;
        Parts { base: values[0], sizes: values[1..=rank].into(), strides: values[1 + rank..].into() }
    }

    /// The types of the parts.
    fn types(desc: &DescType) -> Vec<Type> {
        let number = std::iter::repeat_n(Type::scalar(Scalar::I64), 2 * desc.block.len());
        std::iter::once(Type::Elem(Ptr::global(desc.elem).into())).chain(number).collect()
    }
}

fn as_desc(func: &Func, value: Value) -> Option<&DescType> {
    match func.ty(value) {
        Type::Desc(desc) => Some(desc),
        Type::Elem(_) | Type::Tile(_) | Type::Token => None,
    }
}

fn has_descriptors(func: &Func) -> bool {
    let any = |values: &[Value]| values.iter().any(|&v| as_desc(func, v).is_some());
    any(func.params()) || func.walk().into_iter().any(|op| any(func.op(op).results()))
}

/// Whether no descriptor crosses a call.
fn can_lower(func: &Func) -> bool {
    let any = |values: &[Value]| values.iter().any(|&v| as_desc(func, v).is_some());
    let calls = func.walk().into_iter().any(|op| {
        let data = func.op(op);
        matches!(data.kind, OpKind::Call { .. } | OpKind::Return) && (any(data.operands()) || any(data.results()))
    });
    !calls && (func.kind == FuncKind::Kernel || !any(func.params()))
}

fn lower(func: &mut Func, calls: &CallEffects) {
    let mut lowering = Lowering { parts: HashMap::new(), replaced: Vec::new() };
    lowering.params(func);
    let body = func.body();
    lowering.region(func, body);
    for op in lowering.replaced.into_iter().rev() {
        func.erase(op);
    }
    remove_dead(func, calls);
}

struct Lowering {
    parts: HashMap<Value, Parts>,
    /// Operations that something else stands for. They go last, when nothing uses their results any more.
    replaced: Vec<OpId>,
}

impl Lowering {
    /// Replaces descriptor parameters; the others are renewed around them so that the order stays.
    fn params(&mut self, func: &mut Func) {
        let body = func.body();
        let old = func.params().to_vec();
        if old.iter().all(|&v| as_desc(func, v).is_none()) {
            return;
        }
        let mut uses_to_come = Vec::new();
        for &param in &old {
            if let Some(desc) = as_desc(func, param).cloned() {
                let parts = DescPart::passed(desc.block.len());
                let values = parts.map(|part| (part, add_part(func, part, &desc))).collect::<Vec<_>>();
                uses_to_come.push((param, values));
            } else {
                let data = func.value(param);
                let (ty, facts, name) = (data.ty.clone(), data.facts.clone(), data.name.clone());
                let new = func.add_param(body, ty);
                func.value_mut(new).facts = facts;
                func.value_mut(new).name = name;
                func.replace_all_uses(param, new);
            }
        }
        // Descriptors lose their uses while the body is lowered, so until then they stay, behind the others, as the
        // results of operations that are never put down.
        let span = func.span;
        for (param, values) in uses_to_come {
            let ty = func.ty(param).clone();
            let holder = func.make_op(OpKind::MakeDesc, [], [ty], [], span);
            let held = func.op(holder).result();
            func.replace_all_uses(param, held);
            self.replaced.push(holder);
            let parts = passed_parts(func, &values);
            self.parts.insert(held, parts);
        }
        for _ in 0..old.len() {
            func.remove_param(body, 0);
        }
    }

    fn region(&mut self, func: &mut Func, region: Region) {
        for op in func.take_ops(region) {
            match func.op(op).kind.class() {
                OpClass::Desc(kind) => self.desc(func, region, op, kind),
                OpClass::Comm(CommOp::ConsumeToken) if self.parts.contains_key(&func.op(op).operands()[0]) => {
                    self.consume_token(func, region, op);
                }
                OpClass::Source(_)
                | OpClass::Elementwise(_)
                | OpClass::Shape(_)
                | OpClass::Tile(_)
                | OpClass::Apply(_)
                | OpClass::Access(_)
                | OpClass::Atomic(..)
                | OpClass::Comm(_)
                | OpClass::Effect(_)
                | OpClass::Control(_)
                | OpClass::Terminator(_)
                | OpClass::Call(_) => self.control(func, region, op),
            }
        }
    }

    /// A descriptor that is used after a wait: every access goes through its base.
    fn consume_token(&mut self, func: &mut Func, region: Region, op: OpId) {
        let (span, operands) = (func.op(op).span, func.op(op).operands().to_vec());
        let parts = self.parts[&operands[0]].clone();
        let mut b = Builder::at_end(func, region, span);
        let base = b.value(OpKind::Comm(CommOp::ConsumeToken), &[parts.base, operands[1]]);
        self.parts.insert(func.op(op).result(), Parts { base, ..parts });
        self.replaced.push(op);
    }

    /// Puts down what an operation of the descriptors' family does, on parts.
    fn desc(&mut self, func: &mut Func, region: Region, op: OpId, kind: DescOp) {
        let data = func.op(op);
        let (span, first, result) = (data.span, data.operands()[0], data.results().first().copied());
        let b = &mut Builder::at_end(func, region, span);
        let parts = || &self.parts[&first];
        let value = match kind {
            DescOp::Make => {
                let parts = take_apart(b, op);
                self.parts.extend(result.map(|made| (made, parts)));
                None
            }
            DescOp::Base => Some(parts().base),
            DescOp::Size { dim } => Some(b.cast(parts().sizes[usize::from(dim)], Scalar::I32)),
            DescOp::Stride { dim } => Some(parts().strides[usize::from(dim)]),
            DescOp::Load => Some(access::load(b, op, parts())),
            DescOp::Store => {
                access::store(b, op, parts());
                None
            }
        };
        if let (Some(result), Some(value)) = (result, value) {
            func.replace_all_uses(result, value);
        }
        self.replaced.push(op);
    }
}

/// The parameter that a part of a descriptor is passed as.
fn add_part(func: &mut Func, part: DescPart, desc: &DescType) -> Value {
    let value = func.add_param(func.body(), part.ty(desc.elem));
    if part.divisor() > 1 {
        func.value_mut(value).facts = Facts::divisible(part.divisor());
    }
    value
}

/// The parts of a descriptor from the values that it was passed as; what is missing is computed at the function's
/// beginning.
fn passed_parts(func: &mut Func, values: &[(DescPart, Value)]) -> Parts {
    let (body, span) = (func.body(), func.span);
    let mut at_start = |kind: OpKind, operands: &[Value]| {
        let op = func.make_op(kind, operands.iter().copied(), [Scalar::I64.into()], [], span);
        func.insert(body, 0, op);
        func.op(op).result()
    };
    let mut parts = Parts { base: values[0].1, sizes: SmallVec::new(), strides: SmallVec::new() };
    for &(part, value) in values {
        match part {
            DescPart::Base => {}
            DescPart::Size(_) => parts.sizes.push(at_start(OpKind::Cast(Rounding::Nearest), &[value])),
            DescPart::Stride(_) => parts.strides.push(value),
        }
    }
    parts.strides.push(at_start(OpKind::Const(shoal_ir::Const::one(Scalar::I64)), &[]));
    parts
}

/// The parts of a descriptor made by `op`.
fn take_apart(b: &mut Builder<'_>, op: OpId) -> Parts {
    let operands = b.func.op(op).operands().to_vec();
    let rank = (operands.len() - 1) / 2;
    let sizes = operands[1..=rank].iter().map(|&size| b.cast(size, Scalar::I64)).collect();
    Parts { base: operands[0], sizes, strides: operands[1 + rank..].into() }
}
