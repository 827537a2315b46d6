//! The result types of an operation, from its kind and its operands' types.
//!
//! Only for kinds whose result types follow from that; for the others the one who builds the operation gives them.

use crate::op::OpKind;
use crate::types::{Elem, Scalar, Shape, Type};

/// The result types, or `None` if the kind does not determine them or the operand types make no sense (the verifier
/// says why).
pub fn result_types(kind: &OpKind, operands: &[&Type]) -> Option<Vec<Type>> {
    let same_as = |index: usize| operands.get(index).map(|&ty| vec![ty.clone()]);
    match kind {
        OpKind::ProgramId { .. } | OpKind::NumPrograms { .. } => Some(vec![Type::scalar(Scalar::I32)]),
        OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Math(_) | OpKind::Fma | OpKind::PtrAdd => same_as(0),
        OpKind::Cmp(_) => operands.first().map(|ty| vec![ty.with_elem(Scalar::I1)]),
        OpKind::Select => same_as(1),
        OpKind::Transpose { perm } => transpose(perm, operands.first()?).map(|ty| vec![ty]),
        OpKind::Join => join(operands.first()?).map(|ty| vec![ty]),
        OpKind::Split => split(operands.first()?).map(|ty| vec![ty.clone(), ty]),
        OpKind::Gather { .. } => Some(vec![Type::tile(operands.first()?.elem()?, operands.get(1)?.shape())]),
        OpKind::Reduce { axis } => operands.iter().map(|ty| without_axis(ty, usize::from(*axis))).collect(),
        OpKind::Scan { .. } => Some(operands.iter().map(|&ty| ty.clone()).collect()),
        OpKind::Dot { .. } => same_as(2),
        OpKind::Load(_) | OpKind::AtomicLoad { .. } => {
            let ptr = operands.first()?;
            Some(vec![ptr.with_elem(ptr.elem()?.ptr()?.element())])
        }
        OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => same_as(1),
        OpKind::AtomicPoll { .. } => Some(vec![Type::scalar(Scalar::I1)]),
        OpKind::DescLoad => match operands.first()? {
            Type::Desc(desc) => Some(vec![Type::tile(Elem::Scalar(desc.elem), &desc.block)]),
            Type::Elem(_) | Type::Tile(_) | Type::Token => None,
        },
        OpKind::Store { .. }
        | OpKind::AtomicStore { .. }
        | OpKind::DescStore
        | OpKind::Barrier
        | OpKind::Print { .. }
        | OpKind::Assert { .. }
        | OpKind::Assume
        | OpKind::Condition
        | OpKind::Yield
        | OpKind::Return => Some(Vec::new()),
        OpKind::For(_) => Some(operands.get(3..)?.iter().map(|&ty| ty.clone()).collect()),
        OpKind::Const(_)
        | OpKind::Iota { .. }
        | OpKind::Cast(_)
        | OpKind::Bitcast
        | OpKind::Extern(_)
        | OpKind::InlineAsm(_)
        | OpKind::MapElementwise { .. }
        | OpKind::Splat
        | OpKind::Broadcast
        | OpKind::Reshape
        | OpKind::Histogram
        | OpKind::MakeDesc
        | OpKind::If
        | OpKind::While { .. }
        | OpKind::Call { .. } => None,
    }
}

fn transpose(perm: &[u8], ty: &Type) -> Option<Type> {
    let shape: Option<Shape> = perm.iter().map(|&p| ty.shape().get(usize::from(p)).copied()).collect();
    Some(Type::tile(ty.elem()?, &shape?))
}

fn join(ty: &Type) -> Option<Type> {
    let mut shape = Shape::from_slice(ty.shape());
    shape.push(2);
    Some(Type::tile(ty.elem()?, &shape))
}

fn split(ty: &Type) -> Option<Type> {
    let (last, rest) = ty.shape().split_last()?;
    (*last == 2).then_some(())?;
    Some(Type::tile(ty.elem()?, rest))
}

/// The type with one dimension taken away; a scalar when none is left.
pub fn without_axis(ty: &Type, axis: usize) -> Option<Type> {
    let mut shape = Shape::from_slice(ty.shape());
    if axis >= shape.len() {
        return None;
    }
    shape.remove(axis);
    Some(Type::tile(ty.elem()?, &shape))
}
