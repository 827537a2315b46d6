//! Contiguity through elementwise operations.
//!
//! Each rule asks, for a run length: is the result consecutive, or equal, along aligned runs of it, and what divides
//! the result at their first elements?

use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::{Const, Type};

use super::info::{AxisInfo, MAX_DIVISIBILITY, PowerOfTwo};

/// A number everywhere.
pub(super) fn constant(ty: &Type, c: Const) -> AxisInfo {
    let value = c.as_int();
    let divisibility = value.map_or(1, divisor_of);
    AxisInfo { constant: value, non_negative: value.is_some_and(|v| v >= 0), ..AxisInfo::uniform(ty, divisibility) }
}

fn divisor_of(value: i128) -> u64 {
    u64::try_from(value.unsigned_abs()).unwrap_or(1).power_of_two()
}

/// Any function of single elements: equal operands give equal results.
pub(super) fn opaque(ty: &Type, operands: &[&AxisInfo]) -> AxisInfo {
    let mut info = AxisInfo::unknown(ty);
    for dim in 0..info.rank() {
        info.constancy[dim] = operands.iter().map(|o| o.constancy[dim]).min().unwrap_or(1);
    }
    info
}

/// Arithmetic on two numbers.
pub(super) fn binary(ty: &Type, kind: BinaryOp, a: &AxisInfo, b: &AxisInfo) -> AxisInfo {
    let mut info = opaque(ty, &[a, b]);
    if !ty.number().is_some_and(shoal_ir::Scalar::is_int) {
        return info;
    }
    let both = a.non_negative && b.non_negative;
    info.non_negative |= match kind {
        BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::MulHi | BinaryOp::Or | BinaryOp::Xor => both,
        // Divisors are taken to be positive, and a remainder has the sign of the dividend.
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => a.non_negative,
        BinaryOp::And | BinaryOp::Max => a.non_negative || b.non_negative,
        BinaryOp::Sub | BinaryOp::DivRn | BinaryOp::MinNan | BinaryOp::MaxNan => false,
    };
    match kind {
        BinaryOp::Add => sum(&mut info, a, b, Sign::Plus),
        BinaryOp::Sub => sum(&mut info, a, b, Sign::Minus),
        BinaryOp::Mul => product(&mut info, a, b),
        BinaryOp::Shl => shift_left(&mut info, a, b),
        BinaryOp::Shr => shift_right(&mut info, a, b),
        BinaryOp::Div => quotient(&mut info, a, b),
        BinaryOp::Rem => remainder(&mut info, a, b),
        BinaryOp::And => mask(&mut info, a, b),
        BinaryOp::Or | BinaryOp::Xor => {
            let divisor = a.divisibility_of_all().min(b.divisibility_of_all());
            info.divisibility.fill(divisor);
        }
        BinaryOp::Min | BinaryOp::Max => either(&mut info, a, b),
        BinaryOp::MulHi | BinaryOp::DivRn | BinaryOp::MinNan | BinaryOp::MaxNan => {}
    }
    info
}

/// Which way the second term counts.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

fn sum(info: &mut AxisInfo, a: &AxisInfo, b: &AxisInfo, sign: Sign) {
    for dim in 0..info.rank() {
        let first = a.contiguity[dim].min(b.constancy[dim]);
        let second = match sign {
            Sign::Plus => b.contiguity[dim].min(a.constancy[dim]),
            Sign::Minus => 1,
        };
        let run = first.max(second);
        info.contiguity[dim] = run;
        info.divisibility[dim] = a.divisibility_at(dim, run).min(b.divisibility_at(dim, run));
    }
}

fn product(info: &mut AxisInfo, a: &AxisInfo, b: &AxisInfo) {
    for (x, y) in [(a, b), (b, a)] {
        if y.constant == Some(1) {
            info.contiguity.clone_from(&x.contiguity);
            info.divisibility.clone_from(&x.divisibility);
            return;
        }
    }
    for dim in 0..info.rank() {
        info.divisibility[dim] = times(a.divisibility_at(dim, 1), b.divisibility_at(dim, 1));
    }
}

fn times(a: u64, b: u64) -> u64 {
    a.saturating_mul(b).min(MAX_DIVISIBILITY)
}

fn shift_left(info: &mut AxisInfo, a: &AxisInfo, b: &AxisInfo) {
    let factor = b.constant.and_then(|by| u32::try_from(by).ok()).filter(|&by| by < 24).map_or(1, |by| 1 << by);
    for dim in 0..info.rank() {
        info.divisibility[dim] = times(a.divisibility_at(dim, 1), factor);
    }
    if b.constant == Some(0) {
        info.contiguity.clone_from(&a.contiguity);
        info.divisibility.clone_from(&a.divisibility);
    }
}

/// A shift right rounds down, for negative numbers too: within a run that starts at a multiple of the divisor the
/// quotient changes only at its multiples.
fn shift_right(info: &mut AxisInfo, a: &AxisInfo, b: &AxisInfo) {
    let Some(by) = b.constant.and_then(|by| u32::try_from(by).ok()).filter(|&by| by < 24) else { return };
    divide_by(info, a, 1 << by);
}

/// Division truncates: only from zero on does it round down.
fn quotient(info: &mut AxisInfo, a: &AxisInfo, b: &AxisInfo) {
    if b.constant == Some(1) {
        info.contiguity.clone_from(&a.contiguity);
        info.divisibility.clone_from(&a.divisibility);
        return;
    }
    if !a.non_negative {
        return;
    }
    for dim in 0..info.rank() {
        let run = a.contiguity[dim].min(a.divisibility[dim]).min(b.divisibility_at(dim, 1)).min(b.constancy[dim]);
        info.constancy[dim] = info.constancy[dim].max(run);
    }
    if let Some(by) = b.constant.and_then(|by| u64::try_from(by).ok()).filter(|by| by.is_power_of_two()) {
        divide_by(info, a, by);
    }
}

fn divide_by(info: &mut AxisInfo, a: &AxisInfo, by: u64) {
    for dim in 0..info.rank() {
        let run = a.contiguity[dim].min(a.divisibility[dim]).min(by);
        info.constancy[dim] = info.constancy[dim].max(run);
        info.divisibility[dim] = (a.divisibility_at(dim, 1) / by).max(1);
    }
}

/// From zero on a remainder counts up with the dividend, between multiples of the divisor.
fn remainder(info: &mut AxisInfo, a: &AxisInfo, b: &AxisInfo) {
    for dim in 0..info.rank() {
        let at_all = a.divisibility_at(dim, 1).min(b.divisibility_at(dim, 1));
        info.divisibility[dim] = at_all;
        let run = a.contiguity[dim].min(a.divisibility[dim]).min(b.divisibility_at(dim, 1)).min(b.constancy[dim]);
        if a.non_negative && run > 1 {
            info.contiguity[dim] = run;
            info.divisibility[dim] = a.divisibility_at(dim, run).min(b.divisibility_at(dim, run));
        }
    }
}

/// `x & (2^n - 1)` is a remainder that rounds down; `x & -2^n` rounds down to a multiple.
fn mask(info: &mut AxisInfo, a: &AxisInfo, b: &AxisInfo) {
    for dim in 0..info.rank() {
        info.divisibility[dim] = a.divisibility_at(dim, 1).max(b.divisibility_at(dim, 1));
    }
    let Some(c) = b.constant else { return };
    if let Ok(modulus) = u64::try_from(c + 1)
        && modulus.is_power_of_two()
    {
        for dim in 0..info.rank() {
            let run = a.contiguity[dim].min(a.divisibility[dim]).min(modulus);
            if run > 1 {
                info.contiguity[dim] = run;
                info.divisibility[dim] = a.divisibility_at(dim, run);
            }
        }
    } else if c < 0 && c.unsigned_abs().is_power_of_two() {
        let step = u64::try_from(c.unsigned_abs()).unwrap_or(1);
        for dim in 0..info.rank() {
            let run = a.contiguity[dim].min(a.divisibility[dim]).min(step);
            info.constancy[dim] = info.constancy[dim].max(run);
        }
    }
}

/// The result is one of the operands, the same one only where both are equal along a run.
fn either(info: &mut AxisInfo, a: &AxisInfo, b: &AxisInfo) {
    for dim in 0..info.rank() {
        info.divisibility[dim] = a.divisibility_at(dim, 1).min(b.divisibility_at(dim, 1));
    }
}

/// Comparisons of a run with something equal along it: outcomes change only between runs that start at multiples.
pub(super) fn compare(ty: &Type, kind: CmpOp, a: &AxisInfo, b: &AxisInfo) -> AxisInfo {
    let mut info = opaque(ty, &[a, b]);
    if a.stride != 1 || b.stride != 1 {
        return info;
    }
    // `x < y` and `x >= y` for a run `x` of numbers from a multiple of `g`, and `y` a multiple of `g`: either all are
    // below, or none.
    let (run, limit) = match kind {
        CmpOp::Lt | CmpOp::Ge => (a, b),
        CmpOp::Gt | CmpOp::Le => (b, a),
        CmpOp::Eq | CmpOp::Ne => return info,
    };
    for dim in 0..info.rank() {
        let length = run.contiguity[dim].min(run.divisibility[dim]);
        let length = length.min(limit.constancy[dim]).min(limit.divisibility_at(dim, 1));
        info.constancy[dim] = info.constancy[dim].max(length);
    }
    info
}

/// Along runs in which the condition is equal, one of the two.
pub(super) fn select(ty: &Type, condition: &AxisInfo, a: &AxisInfo, b: &AxisInfo) -> AxisInfo {
    let mut info = a.join(b);
    info.constancy = opaque(ty, &[condition, a, b]).constancy;
    for dim in 0..info.rank() {
        info.shorten(dim, condition.constancy[dim]);
    }
    info
}

/// Conversions between integers keep numbers, runs do not wrap; but one that becomes unsigned may begin below zero,
/// where the numbers jump.
pub(super) fn cast(from: &Type, to: &Type, operand: &AxisInfo) -> AxisInfo {
    let mut info = opaque(to, &[operand]);
    let (Some(from), Some(to)) = (from.number(), to.number()) else { return info };
    if !from.is_int() || !to.is_int() || to == shoal_ir::Scalar::I1 {
        return info;
    }
    let jumps = from.is_signed_int() && !to.is_signed_int() && !operand.non_negative;
    for dim in 0..info.rank() {
        let run = if jumps { 1 } else { operand.contiguity[dim] };
        info.contiguity[dim] = run;
        info.divisibility[dim] = operand.divisibility_at(dim, run);
    }
    let same_sign = to.bits() > from.bits() || (to.bits() == from.bits() && from.is_signed_int());
    info.non_negative |= operand.non_negative && same_sign;
    info.constant = operand.constant.filter(|&c| (0..=127).contains(&c));
    info
}

/// An address and an offset in elements.
pub(super) fn ptr_add(ty: &Type, base: &AxisInfo, offset: &AxisInfo) -> AxisInfo {
    let mut info = opaque(ty, &[base, offset]);
    let size = info.stride.power_of_two();
    for dim in 0..info.rank() {
        let first = base.contiguity[dim].min(offset.constancy[dim]);
        let second = offset.contiguity[dim].min(base.constancy[dim]);
        let run = first.max(second);
        info.contiguity[dim] = run;
        let by_offset = times(offset.divisibility_at(dim, run), size);
        info.divisibility[dim] = base.divisibility_at(dim, run).min(by_offset);
    }
    info
}
