//! Elements that share a register: `pack` of them at a time.

use shoal_ir::op::BinaryOp;
use shoal_ir::types::{Scalar, Type};
use shoal_ir::{OpKind, Value as IrValue};

use super::machine::unsigned;
use crate::emit::Emit;

/// How many elements of a type share a register, `pack` at a time.
pub(super) fn per_register(bits: u32, pack: u32) -> u32 {
    if bits >= 32 { 1 } else { (32 / bits).min(pack) }
}

/// The registers of one operand: each a tile of one group's part.
pub(super) fn packed(e: &mut Emit<'_>, value: IrValue, pack: u32) -> Vec<IrValue> {
    let ty = e.func.ty(value).clone();
    let scalar = ty.number().unwrap_or(Scalar::U64);
    let count: u32 = ty.shape().iter().product();
    let flat = e.b().value_as(OpKind::Reshape, &[value], Type::tile(scalar, &[count / pack, pack]));
    let columns = columns(e, flat, pack);
    let share = per_register(scalar.bits(), pack);
    columns.chunks(share as usize).map(|group| joined(e, group, scalar)).collect()
}

/// Elements in one register, the first in the low bits.
fn joined(e: &mut Emit<'_>, group: &[IrValue], scalar: Scalar) -> IrValue {
    if let [one] = group {
        return *one;
    }
    let ty = e.func.ty(group[0]).clone();
    let whole = unsigned(scalar.bits() * group.len() as u32);
    let mut all = e.b().int(0, ty.with_elem(whole));
    for (i, &element) in group.iter().enumerate() {
        let wide = e.b().cast(element, whole);
        let by = e.b().int(i64::from(scalar.bits()) * i as i64, ty.with_elem(whole));
        let placed = e.b().binary(BinaryOp::Shl, wide, by);
        all = e.b().binary(BinaryOp::Or, all, placed);
    }
    all
}

/// The columns of a tile of pairs, fours, and so on.
fn columns(e: &mut Emit<'_>, tile: IrValue, width: u32) -> Vec<IrValue> {
    let ty = e.func.ty(tile).clone();
    let (elem, rows) = (ty.elem().expect("a tile has elements"), ty.shape()[0]);
    if width == 1 {
        return vec![e.b().value_as(OpKind::Reshape, &[tile], Type::tile(elem, &[rows]))];
    }
    let pairs = e.b().value_as(OpKind::Reshape, &[tile], Type::tile(elem, &[rows, width / 2, 2]));
    let half = Type::tile(elem, &[rows, width / 2]);
    let op = e.b().op(OpKind::Split, [pairs], [half.clone(), half], []);
    let halves = e.func.op(op).results().to_vec();
    let (even, odd) = (columns(e, halves[0], width / 2), columns(e, halves[1], width / 2));
    even.into_iter().zip(odd).flat_map(|(a, b)| [a, b]).collect()
}

/// The tile whose columns are these.
fn woven(e: &mut Emit<'_>, columns: &[IrValue]) -> IrValue {
    let ty = e.func.ty(columns[0]).clone();
    let (elem, rows, width) = (ty.elem().expect("a tile has elements"), ty.shape()[0], columns.len() as u32);
    if width == 1 {
        return e.b().value_as(OpKind::Reshape, &[columns[0]], Type::tile(elem, &[rows, 1]));
    }
    let pick = |parity: usize| columns.iter().copied().skip(parity).step_by(2).collect::<Vec<_>>();
    let (even, odd) = (woven(e, &pick(0)), woven(e, &pick(1)));
    let both = e.b().value_as(OpKind::Join, &[even, odd], Type::tile(elem, &[rows, width / 2, 2]));
    e.b().value_as(OpKind::Reshape, &[both], Type::tile(elem, &[rows, width]))
}

/// The tile of a shape whose groups of elements are in these registers.
pub(super) fn unpacked(e: &mut Emit<'_>, registers: &[IrValue], bits: u32, pack: u32, shape: &[u32]) -> IrValue {
    let share = per_register(bits, pack);
    let element = unsigned(bits);
    let mut columns = Vec::new();
    for &register in registers {
        let ty = e.func.ty(register).clone();
        let whole = ty.number().unwrap_or(Scalar::U32);
        for i in 0..share {
            let by = e.b().int(i64::from(bits * i), ty.with_elem(whole));
            let moved = e.b().binary(BinaryOp::Shr, register, by);
            columns.push(e.b().cast(moved, element));
        }
    }
    let tile = woven(e, &columns);
    e.b().value_as(OpKind::Reshape, &[tile], Type::tile(element, shape))
}
