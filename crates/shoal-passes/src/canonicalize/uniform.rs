//! Elementwise operations on tiles that repeat fewer numbers than they have elements: compute those, then repeat.
//!
//! ```text
//! add (splat %a, splat %b)                    ==>   splat (add (%a, %b))
//! mul (broadcast %x, splat %s)                ==>   broadcast (mul (%x, splat %s))
//! ```
//!
//! This is what moves the uniform part of address arithmetic from tiles to scalars.

use shoal_ir::{OpId, OpKind, Shape, Type, Value};
use smallvec::SmallVec;

use super::Rewriter;
use super::shape::at_shape;
use crate::constants::{constant, splatted};

/// What a tile operand repeats.
enum Repeats {
    /// A scalar.
    Scalar,
    /// A smaller tile of this shape.
    Tile(Shape),
    /// Nothing that is known.
    Nothing,
}

fn repeats(cx: &Rewriter<'_>, value: Value) -> Repeats {
    if constant(cx.func, value).is_some() || splatted(cx.func, value).is_some() {
        return Repeats::Scalar;
    }
    match cx.def_if(value, |k| matches!(k, OpKind::Broadcast)) {
        Some(op) => Repeats::Tile(cx.func.ty(cx.operand(op, 0)).shape().into()),
        None => Repeats::Nothing,
    }
}

/// Applies an elementwise operation to what its operands repeat.
pub(super) fn elementwise(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let ty = cx.result_type(op);
    if !ty.is_tile() {
        return None;
    }
    let mut shape: Option<Shape> = None;
    for &operand in cx.func.op(op).operands() {
        match (repeats(cx, operand), &shape) {
            (Repeats::Nothing, _) => return None,
            (Repeats::Scalar, _) => {}
            (Repeats::Tile(other), Some(known)) if other != *known => return None,
            (Repeats::Tile(other), _) => shape = Some(other),
        }
    }
    let kind = cx.func.op(op).kind.clone();
    let operands: SmallVec<[Value; 3]> = cx.func.op(op).operands().into();
    match shape {
        None => {
            let scalars: SmallVec<[Value; 3]> = operands.iter().map(|&v| scalar_of(cx, v)).collect();
            let scalar = cx.make(kind, &scalars, Type::Elem(ty.elem()?));
            Some(cx.make(OpKind::Splat, &[scalar], ty))
        }
        Some(shape) => {
            let small_type = at_shape(&ty, &shape)?;
            let small: Option<SmallVec<[Value; 3]>> = operands.iter().map(|&v| small_of(cx, v, &shape)).collect();
            let small = cx.make(kind, &small?, small_type);
            Some(cx.make(OpKind::Broadcast, &[small], ty))
        }
    }
}

/// The scalar that a uniform tile repeats.
fn scalar_of(cx: &mut Rewriter<'_>, value: Value) -> Value {
    if let Some(scalar) = splatted(cx.func, value) {
        return scalar;
    }
    let c = constant(cx.func, value).expect("a uniform tile is a constant or a splat");
    cx.constant(c, Type::scalar(c.ty()))
}

/// The tile of `shape` that a tile repeats.
fn small_of(cx: &mut Rewriter<'_>, value: Value, shape: &[u32]) -> Option<Value> {
    if let Some(op) = cx.def_if(value, |k| matches!(k, OpKind::Broadcast)) {
        return Some(cx.operand(op, 0));
    }
    let ty = at_shape(cx.func.ty(value), shape)?;
    let scalar = scalar_of(cx, value);
    Some(cx.make(OpKind::Splat, &[scalar], ty))
}
