//! The typing rules of loads, stores, atomics and descriptors.

use super::typing::{Rule, Typed, int, require};
use crate::op::RmwOp;
use crate::types::{DescType, Elem, Scalar, Type};

/// The type of what a pointer operand points to, at the operand's shape.
pub(super) fn pointee(ty: &Type) -> Result<Type, String> {
    let ptr = ty.elem().and_then(Elem::ptr).ok_or_else(|| format!("`{ty}` is not a pointer"))?;
    Ok(ty.with_elem(ptr.element()))
}

fn mask(t: &Typed<'_>, index: usize) -> Rule {
    match t.operands.get(index) {
        None => Ok(()),
        Some(mask) => t.same(mask, &t.operands[0].with_elem(Scalar::I1)),
    }
}

pub(super) fn load(t: &Typed<'_>, most: usize) -> Rule {
    t.operand_count(1..=most)?;
    let element = pointee(t.operands[0])?;
    mask(t, 1)?;
    if let Some(other) = t.operands.get(2) {
        t.same(other, &element)?;
    }
    t.inferred()
}

pub(super) fn store(t: &Typed<'_>) -> Rule {
    t.operand_count(2..=3)?;
    t.same(t.operands[1], &pointee(t.operands[0])?)?;
    mask(t, 2)?;
    t.result_count(0)
}

pub(super) fn atomic_rmw(t: &Typed<'_>, op: RmwOp) -> Rule {
    t.operand_count(2..=3)?;
    t.same(t.operands[1], &pointee(t.operands[0])?)?;
    mask(t, 2)?;
    let element = t.operands[1].number().ok_or("atomics work on numbers")?;
    let works = match op {
        RmwOp::Add | RmwOp::Min | RmwOp::Max => element.bits() >= 32 || matches!(element, Scalar::F16 | Scalar::BF16),
        RmwOp::And | RmwOp::Or | RmwOp::Xor => element.is_int() && element.bits() >= 32,
        RmwOp::Xchg => element.bits() >= 16,
    };
    require!(works, "there is no atomic `{op}` on `{element}`");
    t.inferred()
}

pub(super) fn atomic_cas(t: &Typed<'_>) -> Rule {
    t.operand_count(3..=4)?;
    let element = pointee(t.operands[0])?;
    t.same(t.operands[1], &element)?;
    t.same(t.operands[2], &element)?;
    mask(t, 3)?;
    require!(element.elem().is_some_and(|e| e.bits() >= 16), "there is no compare-and-swap on `{element}`");
    t.inferred()
}

pub(super) fn atomic_poll(t: &Typed<'_>) -> Rule {
    t.operand_count(2..=3)?;
    let element = pointee(t.operands[0])?;
    require!(!element.is_tile(), "a poll looks at one address");
    t.same(t.operands[1], &element)?;
    int(&element)?;
    require!(element.elem().is_some_and(|e| e.bits() >= 16), "there is no poll on `{element}`");
    if let Some(timeout) = t.operands.get(2) {
        t.same(timeout, &Type::scalar(Scalar::I64))?;
    }
    t.inferred()
}

fn desc(ty: &Type) -> Result<&DescType, String> {
    match ty {
        Type::Desc(desc) => Ok(desc),
        Type::Elem(_) | Type::Tile(_) | Type::Token => Err(format!("`{ty}` is not a descriptor")),
    }
}

pub(super) fn make_desc(t: &Typed<'_>) -> Rule {
    t.result_count(1)?;
    let desc = desc(t.results[0])?;
    let rank = desc.block.len();
    t.operand_count(1 + 2 * rank..=1 + 2 * rank)?;
    t.same(&pointee(t.operands[0])?, &Type::scalar(desc.elem))?;
    t.operands[1..=rank].iter().try_for_each(|ty| t.same(ty, &Type::scalar(Scalar::I32)))?;
    t.operands[1 + rank..].iter().try_for_each(|ty| t.same(ty, &Type::scalar(Scalar::I64)))
}

/// The size or the stride of a dimension.
pub(super) fn desc_extent(t: &Typed<'_>, dim: u8) -> Rule {
    t.operand_count(1..=1)?;
    let rank = desc(t.operands[0])?.block.len();
    require!(usize::from(dim) < rank, "there is no dimension {dim} of {rank}");
    t.inferred()
}

fn offsets(t: &Typed<'_>, offsets: &[&Type], rank: usize) -> Rule {
    require!(offsets.len() == rank, "{} offsets for {rank} dimensions", offsets.len());
    offsets.iter().try_for_each(|ty| t.same(ty, &Type::scalar(Scalar::I32)))
}

pub(super) fn desc_load(t: &Typed<'_>) -> Rule {
    t.operand_count(1..=usize::MAX)?;
    offsets(t, &t.operands[1..], desc(t.operands[0])?.block.len())?;
    t.inferred()
}

pub(super) fn desc_store(t: &Typed<'_>) -> Rule {
    t.operand_count(2..=usize::MAX)?;
    let desc = desc(t.operands[0])?;
    t.same(&t.operands[1].with_layout(None), &Type::tile(desc.elem, &desc.block))?;
    offsets(t, &t.operands[2..], desc.block.len())?;
    t.result_count(0)
}
