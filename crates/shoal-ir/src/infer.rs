//! The result types of an operation, from its kind and its operands' types.
//!
//! Only for kinds whose result types follow from that; for the others the one who builds the operation gives them. Where
//! operands have layouts the results have the layouts that follow; results made of no tile have open ones, and whoever
//! builds the operation may decide them.

use crate::class::{
    AccessOp, ApplyOp, AtomicOp, ControlOp, DescOp, EffectOp, ElementwiseOp, OpClass, ShapeOp, SourceOp, TileOp,
};
use crate::comm::CommOp;
use crate::layouts;
use crate::op::OpKind;
use crate::shmem::ShmemOp;
use crate::types::{DescPart, Elem, Ptr, Scalar, Shape, Type};
use shoal_layout::LinearLayout;

/// The result types, or `None` if the kind does not determine them or the operand types make no sense (the verifier
/// says why).
pub fn result_types(kind: &OpKind, operands: &[&Type]) -> Option<Vec<Type>> {
    let same_as = |index: usize| operands.get(index).map(|&ty| vec![ty.clone()]);
    match kind.class() {
        OpClass::Source(op) => match op {
            SourceOp::ProgramId { .. } | SourceOp::NumPrograms { .. } => Some(vec![Type::scalar(Scalar::I32)]),
            SourceOp::Const(_) | SourceOp::Iota { .. } => None,
        },
        OpClass::Elementwise(op) => match op {
            ElementwiseOp::Unary(_)
            | ElementwiseOp::Binary(_)
            | ElementwiseOp::Math(_)
            | ElementwiseOp::Fma
            | ElementwiseOp::PtrAdd => same_as(0),
            ElementwiseOp::Cmp(_) => operands.first().map(|ty| vec![ty.with_elem(Scalar::I1)]),
            ElementwiseOp::Select => same_as(1),
            ElementwiseOp::Cast(_)
            | ElementwiseOp::Bitcast
            | ElementwiseOp::Extern(_)
            | ElementwiseOp::InlineAsm(_) => None,
        },
        OpClass::Shape(op) => match op {
            ShapeOp::Transpose { perm } => transpose(perm, operands.first()?).map(|ty| vec![ty]),
            ShapeOp::Join => join(operands.first()?).map(|ty| vec![ty]),
            ShapeOp::Split => split(operands.first()?).map(|ty| vec![ty.clone(), ty]),
            ShapeOp::Gather { .. } => Some(vec![operands.get(1)?.with_elem(operands.first()?.elem()?)]),
            ShapeOp::Splat | ShapeOp::Broadcast | ShapeOp::Reshape | ShapeOp::ConvertLayout => None,
        },
        OpClass::Tile(TileOp::Dot { .. }) => same_as(2),
        OpClass::Tile(TileOp::Histogram) => None,
        OpClass::Apply(op) => match op {
            ApplyOp::Reduce { axis, .. } => operands.iter().map(|ty| without_axis(ty, usize::from(axis))).collect(),
            ApplyOp::Scan { .. } => Some(operands.iter().map(|&ty| ty.clone()).collect()),
            ApplyOp::MapElementwise { .. } => None,
        },
        OpClass::Access(AccessOp::Load(_)) | OpClass::Atomic(AtomicOp::Load, ..) => {
            let ptr = operands.first()?;
            Some(vec![ptr.with_elem(ptr.elem()?.ptr()?.element())])
        }
        OpClass::Access(AccessOp::Store { .. }) | OpClass::Atomic(AtomicOp::Store, ..) => Some(Vec::new()),
        OpClass::Atomic(AtomicOp::Rmw(_) | AtomicOp::Cas, ..) => same_as(1),
        OpClass::Atomic(AtomicOp::Poll, ..) => Some(vec![Type::scalar(Scalar::I1)]),
        OpClass::Desc(DescOp::Make) => None,
        OpClass::Desc(DescOp::Base) => match operands.first()? {
            Type::Desc(desc) => Some(vec![DescPart::Base.ty(desc.elem)]),
            Type::Elem(_) | Type::Tile(_) | Type::Token => None,
        },
        OpClass::Desc(DescOp::Size { .. }) => Some(vec![Type::scalar(Scalar::I32)]),
        OpClass::Desc(DescOp::Stride { .. }) => Some(vec![Type::scalar(Scalar::I64)]),
        OpClass::Desc(DescOp::Load) => match operands.first()? {
            Type::Desc(desc) => Some(vec![Type::tile(Elem::Scalar(desc.elem), &desc.block)]),
            Type::Elem(_) | Type::Tile(_) | Type::Token => None,
        },
        OpClass::Comm(op) => match op {
            CommOp::Rank { .. } | CommOp::NumRanks { .. } => Some(vec![Type::scalar(Scalar::I32)]),
            CommOp::SymmAt | CommOp::ConsumeToken => same_as(0),
            CommOp::Wait { .. } => Some(vec![Type::Token]),
            CommOp::Notify { .. } => Some(Vec::new()),
            CommOp::Shmem(ShmemOp::TeamRank | ShmemOp::TeamSize | ShmemOp::TeamTranslate) => {
                Some(vec![Type::scalar(Scalar::I32)])
            }
            CommOp::Shmem(
                ShmemOp::Copy { .. }
                | ShmemOp::PutSignal { .. }
                | ShmemOp::PutValue
                | ShmemOp::Signal { .. }
                | ShmemOp::SignalWait { .. }
                | ShmemOp::Fence
                | ShmemOp::Quiet
                | ShmemOp::Meet { .. }
                | ShmemOp::Collect { .. },
            ) => Some(Vec::new()),
        },
        OpClass::Effect(EffectOp::Clock) => Some(vec![Type::scalar(Scalar::I64)]),
        OpClass::Effect(EffectOp::GridWords) => Some(vec![Type::Elem(Elem::Ptr(Ptr::global(Scalar::U32)))]),
        OpClass::Desc(DescOp::Store) | OpClass::Effect(_) | OpClass::Terminator(_) => Some(Vec::new()),
        OpClass::Control(ControlOp::For(_)) => Some(operands.get(3..)?.iter().map(|&ty| ty.clone()).collect()),
        OpClass::Control(ControlOp::If | ControlOp::While { .. }) | OpClass::Call(_) => None,
    }
}

/// A tile of another shape, in the layout that `derive` makes of this one's; `None` if it makes none.
fn reshaped(ty: &Type, shape: &[u32], derive: impl FnOnce(&LinearLayout) -> Option<LinearLayout>) -> Option<Type> {
    let open = Type::tile(ty.elem()?, shape);
    match ty.layout() {
        Some(layout) if open.is_tile() => Some(open.with_layout(Some(derive(layout)?))),
        Some(_) | None => Some(open),
    }
}

fn transpose(perm: &[u8], ty: &Type) -> Option<Type> {
    let shape: Option<Shape> = perm.iter().map(|&p| ty.shape().get(usize::from(p)).copied()).collect();
    reshaped(ty, &shape?, |layout| layouts::transposed(layout, perm))
}

fn join(ty: &Type) -> Option<Type> {
    let mut shape = Shape::from_slice(ty.shape());
    shape.push(2);
    reshaped(ty, &shape, layouts::joined)
}

fn split(ty: &Type) -> Option<Type> {
    let (last, rest) = ty.shape().split_last()?;
    (*last == 2).then_some(())?;
    reshaped(ty, rest, layouts::split)
}

/// The type with one dimension taken away; a scalar when none is left.
pub fn without_axis(ty: &Type, axis: usize) -> Option<Type> {
    let mut shape = Shape::from_slice(ty.shape());
    if axis >= shape.len() {
        return None;
    }
    shape.remove(axis);
    reshaped(ty, &shape, |layout| layouts::sliced(layout, axis))
}

/// The type at another shape with as many elements.
pub fn at_shape(ty: &Type, shape: &[u32]) -> Option<Type> {
    reshaped(ty, shape, |layout| layouts::reshaped(layout, shape))
}
