//! Elementwise operations on tiles that repeat fewer numbers than they have elements: compute those, then repeat.
//!
//! ```text
//! add (splat %a, splat %b)                    ==>   splat (add (%a, %b))
//! mul (broadcast %x, splat %s)                ==>   broadcast (mul (%x, splat %s))
//! ```
//!
//! This is what moves the uniform part of address arithmetic from tiles to scalars.

use shoal_ir::{OpId, OpKind, TileType, Type, Value};
use smallvec::SmallVec;

use super::Rewriter;
use crate::constants::{constant, splatted};

/// What a tile operand repeats.
enum Repeats {
    /// A scalar.
    Scalar,
    /// A smaller tile, of this type but for its elements.
    Tile(TileType),
    /// Nothing that is known.
    Nothing,
}

fn repeats(cx: &Rewriter<'_>, value: Value) -> Repeats {
    if constant(cx.func, value).is_some() || splatted(cx.func, value).is_some() {
        return Repeats::Scalar;
    }
    match cx.def_if(value, |k| matches!(k, OpKind::Broadcast)) {
        Some(op) => match cx.func.ty(cx.operand(op, 0)) {
            Type::Tile(tile) => Repeats::Tile(tile.clone()),
            Type::Elem(_) | Type::Desc(_) | Type::Token => Repeats::Nothing,
        },
        None => Repeats::Nothing,
    }
}

/// Applies an elementwise operation to what its operands repeat.
pub(super) fn elementwise(cx: &mut Rewriter<'_>, op: OpId) -> Option<Value> {
    let ty = cx.result_type(op);
    if !ty.is_tile() {
        return None;
    }
    let mut small: Option<TileType> = None;
    for &operand in cx.func.op(op).operands() {
        match (repeats(cx, operand), &small) {
            (Repeats::Nothing, _) => return None,
            (Repeats::Scalar, _) => {}
            (Repeats::Tile(other), Some(known)) if (&other.shape, &other.layout) != (&known.shape, &known.layout) => {
                return None;
            }
            (Repeats::Tile(other), _) => small = Some(other),
        }
    }
    let kind = cx.func.op(op).kind.clone();
    let operands: SmallVec<[Value; 3]> = cx.func.op(op).operands().into();
    match small {
        None => {
            let scalars: SmallVec<[Value; 3]> = operands.iter().map(|&v| scalar_of(cx, v)).collect();
            let scalar = cx.make(kind, &scalars, Type::Elem(ty.elem()?));
            Some(cx.make(OpKind::Splat, &[scalar], ty))
        }
        Some(tile) => {
            let tile = Type::Tile(tile);
            let small: Option<SmallVec<[Value; 3]>> = operands.iter().map(|&v| small_of(cx, v, &tile)).collect();
            let small = cx.make(kind, &small?, tile.with_elem(ty.elem()?));
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

/// The tile that a tile repeats, of the type `small` but for its elements.
fn small_of(cx: &mut Rewriter<'_>, value: Value, small: &Type) -> Option<Value> {
    if let Some(op) = cx.def_if(value, |k| matches!(k, OpKind::Broadcast)) {
        return Some(cx.operand(op, 0));
    }
    let ty = small.with_elem(cx.func.ty(value).elem()?);
    let scalar = scalar_of(cx, value);
    Some(cx.make(OpKind::Splat, &[scalar], ty))
}
