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
//! A GPU with a copy engine (sm_90 and up) keeps the descriptors that the engine can be told of before the kernel starts
//! (`kept`); they stay as they are, with the loads and stores through them.
//!
//! A descriptor that is carried around a loop or comes out of a branch is carried as its parts, and `desc_size` and
//! `desc_stride` are parts. A descriptor parameter of a kernel becomes, at its place, the values that
//! [`DescPart::passed`] lists. Functions that take or return descriptors are left alone: calls must be inlined first.

mod access;
mod carry;
mod kept;

use std::collections::{HashMap, HashSet};

use shoal_abi::{NvptxArch, Target};
use shoal_ir::class::{DescOp, OpClass};
use shoal_ir::effects::CallEffects;
use shoal_ir::types::{DescPart, DescType};
use shoal_ir::{Builder, CommOp, Facts, Func, FuncKind, Module, OpId, OpKind, Ptr, Region, Scalar, Type, Value};
use smallvec::SmallVec;

use crate::dce::remove_dead;

/// Lowers the descriptors of every function that the target's copy engine does not take over.
pub fn lower_descriptors(module: &mut Module, target: &Target) {
    let engine = match target {
        Target::Nvptx(arch) if *arch >= NvptxArch::Sm90 => CopyEngine::Tensors,
        Target::Nvptx(_) | Target::Cpu(_) | Target::Amdgpu(_) => CopyEngine::None,
    };
    let calls = CallEffects::of_module(module);
    for func in &mut module.funcs {
        if has_descriptors(func) && can_lower(func) {
            lower(func, &calls, engine);
        }
    }
}

/// Whether a target has an engine that copies blocks of tensors.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum CopyEngine {
    None,
    Tensors,
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

fn lower(func: &mut Func, calls: &CallEffects, engine: CopyEngine) {
    let passed = expand_params(func);
    let kept = match engine {
        CopyEngine::None => HashSet::new(),
        CopyEngine::Tensors => kept::kept(func, &passed),
    };
    let mut lowering = Lowering { parts: HashMap::new(), replaced: Vec::new(), kept };
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
    /// Operations of the descriptors' family that stay.
    kept: HashSet<OpId>,
}

impl Lowering {
    fn region(&mut self, func: &mut Func, region: Region) {
        for op in func.take_ops(region) {
            match func.op(op).kind.class() {
                OpClass::Desc(_) if self.kept.contains(&op) => func.append(region, op),
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

/// Replaces descriptor parameters by what they are passed as, at their places, and makes the descriptors of that at the
/// function's beginning. Gives the operations that make them.
fn expand_params(func: &mut Func) -> HashSet<OpId> {
    let (body, span) = (func.body(), func.span);
    let old = func.params().to_vec();
    if old.iter().all(|&v| as_desc(func, v).is_none()) {
        return HashSet::new();
    }
    let mut made = Vec::new();
    for &param in &old {
        if let Some(desc) = as_desc(func, param).cloned() {
            let parts = DescPart::passed(desc.block.len());
            made.push((param, parts.map(|part| add_part(func, part, &desc)).collect::<Vec<_>>()));
        } else {
            let data = func.value(param);
            let (ty, facts, name) = (data.ty.clone(), data.facts.clone(), data.name.clone());
            let new = func.add_param(body, ty);
            func.value_mut(new).facts = facts;
            func.value_mut(new).name = name;
            func.replace_all_uses(param, new);
        }
    }
    let mut at = 0;
    let mut put = |func: &mut Func, kind: OpKind, operands: Vec<Value>, ty: Type| {
        let op = func.make_op(kind, operands, [ty], [], span);
        func.insert(body, at, op);
        at += 1;
        op
    };
    let mut makers = HashSet::new();
    for (param, mut parts) in made {
        let one = put(func, OpKind::Const(shoal_ir::Const::one(Scalar::I64)), Vec::new(), Scalar::I64.into());
        parts.push(func.op(one).result());
        let ty = func.ty(param).clone();
        let make = put(func, OpKind::MakeDesc, parts, ty);
        let desc = func.op(make).result();
        func.replace_all_uses(param, desc);
        makers.insert(make);
    }
    for _ in 0..old.len() {
        func.remove_param(body, 0);
    }
    makers
}

/// The parameter that a part of a descriptor is passed as.
fn add_part(func: &mut Func, part: DescPart, desc: &DescType) -> Value {
    let value = func.add_param(func.body(), part.ty(desc.elem));
    if part.divisor() > 1 {
        func.value_mut(value).facts = Facts::divisible(part.divisor());
    }
    value
}

/// The parts of a descriptor made by `op`.
fn take_apart(b: &mut Builder<'_>, op: OpId) -> Parts {
    let operands = b.func.op(op).operands().to_vec();
    let rank = (operands.len() - 1) / 2;
    let sizes = operands[1..=rank].iter().map(|&size| b.cast(size, Scalar::I64)).collect();
    Parts { base: operands[0], sizes, strides: operands[1 + rank..].into() }
}
