//! Integers of every width, computed in 64 bits and cut to their width.

use super::arithmetic::{map, zip};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::types::Scalar;

/// A width and how its top bit is read.
#[derive(Copy, Clone, Debug)]
pub(super) struct Int {
    pub(super) bits: u32,
    pub(super) signed: bool,
}

impl Int {
    /// The integer type; for a float the unsigned integer of its width.
    pub(super) fn of(ty: Scalar) -> Int {
        Int { bits: ty.bits(), signed: ty.is_signed_int() }
    }

    pub(super) fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// Bits of a signed integer as its value.
    pub(super) fn extend(self, bits: u64) -> i64 {
        let unused = 64 - self.bits;
        ((bits << unused) as i64) >> unused
    }
}

pub(super) fn unary(op: UnaryOp, ty: Int, a: &[u64], out: &mut [u64]) {
    let (mask, unused) = (ty.mask(), 64 - ty.bits);
    match op {
        UnaryOp::Neg => map(a, out, |x| x.wrapping_neg() & mask),
        UnaryOp::Not => map(a, out, |x| !x & mask),
        UnaryOp::Abs if ty.signed => map(a, out, |x| ty.extend(x).unsigned_abs() & mask),
        UnaryOp::Abs => out.copy_from_slice(a),
        UnaryOp::Clz => map(a, out, |x| u64::from(x.leading_zeros() - unused) & mask),
        UnaryOp::Popc => map(a, out, |x| u64::from(x.count_ones()) & mask),
        UnaryOp::Brev => map(a, out, |x| x.reverse_bits() >> unused),
    }
}

pub(super) fn binary(op: BinaryOp, ty: Int, a: &[u64], b: &[u64], out: &mut [u64]) {
    let mask = ty.mask();
    match op {
        BinaryOp::Add => zip(a, b, out, |x, y| x.wrapping_add(y) & mask),
        BinaryOp::Sub => zip(a, b, out, |x, y| x.wrapping_sub(y) & mask),
        BinaryOp::Mul => zip(a, b, out, |x, y| x.wrapping_mul(y) & mask),
        BinaryOp::And => zip(a, b, out, |x, y| x & y),
        BinaryOp::Or => zip(a, b, out, |x, y| x | y),
        BinaryOp::Xor => zip(a, b, out, |x, y| x ^ y),
        BinaryOp::Shl => zip(a, b, out, |x, y| if y < u64::from(ty.bits) { (x << y) & mask } else { 0 }),
        BinaryOp::Div
        | BinaryOp::DivRn
        | BinaryOp::Rem
        | BinaryOp::Shr
        | BinaryOp::Min
        | BinaryOp::MinNan
        | BinaryOp::Max
        | BinaryOp::MaxNan
        | BinaryOp::MulHi => {
            if ty.signed {
                signed(op, ty, a, b, out);
            } else {
                unsigned(op, ty, a, b, out);
            }
        }
    }
}

/// The operations that read the top bit as a sign.
fn signed(op: BinaryOp, ty: Int, a: &[u64], b: &[u64], out: &mut [u64]) {
    let mask = ty.mask();
    let with = |f: fn(i64, i64) -> i64| move |x, y| f(ty.extend(x), ty.extend(y)) as u64 & mask;
    match op {
        BinaryOp::Rem => zip(a, b, out, with(|x, y| if y == 0 { 0 } else { x.wrapping_rem(y) })),
        BinaryOp::Shr => {
            zip(a, b, out, |x, y| (ty.extend(x) >> y.min(u64::from(ty.bits) - 1)) as u64 & mask);
        }
        BinaryOp::Min | BinaryOp::MinNan => zip(a, b, out, with(i64::min)),
        BinaryOp::Max | BinaryOp::MaxNan => zip(a, b, out, with(i64::max)),
        BinaryOp::MulHi => {
            zip(a, b, out, |x, y| ((i128::from(ty.extend(x)) * i128::from(ty.extend(y))) >> ty.bits) as u64 & mask)
        }
        BinaryOp::Div
        | BinaryOp::DivRn
        | BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl => zip(a, b, out, with(|x, y| if y == 0 { 0 } else { x.wrapping_div(y) })),
    }
}

/// The same operations where the top bit is like any other.
fn unsigned(op: BinaryOp, ty: Int, a: &[u64], b: &[u64], out: &mut [u64]) {
    match op {
        BinaryOp::Rem => zip(a, b, out, |x, y| x.checked_rem(y).unwrap_or(0)),
        BinaryOp::Shr => zip(a, b, out, |x, y| if y < u64::from(ty.bits) { x >> y } else { 0 }),
        BinaryOp::Min | BinaryOp::MinNan => zip(a, b, out, u64::min),
        BinaryOp::Max | BinaryOp::MaxNan => zip(a, b, out, u64::max),
        BinaryOp::MulHi => zip(a, b, out, |x, y| ((u128::from(x) * u128::from(y)) >> ty.bits) as u64),
        BinaryOp::Div
        | BinaryOp::DivRn
        | BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl => zip(a, b, out, |x, y| x.checked_div(y).unwrap_or(0)),
    }
}

pub(super) fn compare(op: CmpOp, ty: Int, a: &[u64], b: &[u64], out: &mut [u64]) {
    // Flipping the sign bit turns the signed order into the unsigned one.
    let flip = if ty.signed { 1u64 << (ty.bits - 1) } else { 0 };
    match op {
        CmpOp::Eq => zip(a, b, out, |x, y| u64::from(x == y)),
        CmpOp::Ne => zip(a, b, out, |x, y| u64::from(x != y)),
        CmpOp::Lt => zip(a, b, out, |x, y| u64::from(x ^ flip < y ^ flip)),
        CmpOp::Le => zip(a, b, out, |x, y| u64::from(x ^ flip <= y ^ flip)),
        CmpOp::Gt => zip(a, b, out, |x, y| u64::from(x ^ flip > y ^ flip)),
        CmpOp::Ge => zip(a, b, out, |x, y| u64::from(x ^ flip >= y ^ flip)),
    }
}
