//! The type in which an operation on two operands computes.
//!
//! Triton's rules, in this order:
//!
//! 1. A Python number whose kind (bool, int, float) does not exceed the tensor's kind takes the tensor's type. A number
//!    of a higher kind takes part with its literal's type. A scalar on the device counts as a tensor.
//! 2. `fp64` wins. 3. Divisions and remainders with a float are done in `fp32`. 4. `fp32` wins, then `fp16` (also over
//!    `bf16`). 5. `bf16` stays itself only with `bf16`, else `fp32`. 6. Two different fp8 types meet in `fp16`.
//! 7. Integers follow C: the wider one, and of one width the unsigned one. Divisions refuse mixed signedness.

use shoal_ir::types::Scalar;

use super::operand::Number;
use crate::dtype::{int_range, scalar_name};

/// One side of an operation, as far as promotion looks at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Side {
    /// A tensor or a scalar on the device.
    Tensor(Scalar),
    /// A Python number.
    Number(Number),
}

/// Which rules an operation follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Sums, products, comparisons, bit operations, selections.
    Plain,
    /// Quotients and remainders.
    Division,
}

/// Why two operands have no common type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mismatch {
    /// No type holds both.
    NoCommonType(Scalar, Scalar),
    /// A quotient of a signed and an unsigned integer.
    MixedSigns(Scalar, Scalar),
    /// A negative number meets an unsigned type.
    Negative(Number, Scalar),
    /// The number does not fit the type.
    OutOfRange(Number, Scalar),
    /// The integer fits no type at all.
    TooLarge(Number),
}

impl Mismatch {
    /// What is wrong, and the way out.
    pub(crate) fn words(self) -> (String, String) {
        match self {
            Mismatch::NoCommonType(a, b) => (
                format!("`{}` and `{}` have no common type", scalar_name(a), scalar_name(b)),
                "cast one of them first, for example with `.to(tl.float32)`".to_owned(),
            ),
            Mismatch::MixedSigns(a, b) => (
                format!("cannot divide `{}` and `{}`: one is signed, the other is not", scalar_name(a), scalar_name(b)),
                "cast both to the same signedness first".to_owned(),
            ),
            Mismatch::Negative(n, ty) => (
                format!("the negative number {} meets a tensor of the unsigned type `{}`", n, scalar_name(ty)),
                "cast the tensor to a signed type first".to_owned(),
            ),
            Mismatch::OutOfRange(n, ty) => (
                format!("the number {} is out of range for `{}`", n, scalar_name(ty)),
                "cast the tensor to a wider type first".to_owned(),
            ),
            Mismatch::TooLarge(n) => (
                format!("the integer {} fits no integer type", n),
                "the widest types are `tl.int64` and `tl.uint64`".to_owned(),
            ),
        }
    }
}

/// The type in which two operands meet, once numbers are known to fit it.
pub(crate) fn common_type(a: Side, b: Side, rules: Rules) -> Result<Scalar, Mismatch> {
    let ty = computation_type(a, b, rules)?;
    fits(a, ty)?;
    fits(b, ty)?;
    Ok(ty)
}

/// The type in which three operands meet. Tensors and numbers are combined apart first, so that each number meets the
/// kind of all tensors, whatever the order.
pub(crate) fn common_type_of_three(sides: [Side; 3]) -> Result<Scalar, Mismatch> {
    let mut tensors: Option<Scalar> = None;
    let mut numbers: Option<Scalar> = None;
    for side in sides {
        let slot = if matches!(side, Side::Tensor(_)) { &mut tensors } else { &mut numbers };
        let ty = own_type(side)?;
        *slot = Some(match *slot {
            Some(before) => promote(before, ty, Rules::Plain)?,
            None => ty,
        });
    }
    let ty = match (tensors, numbers) {
        (Some(t), Some(n)) if kind(n) <= kind(t) => t,
        (Some(t), Some(n)) => promote(t, n, Rules::Plain)?,
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => unreachable!("three operands have types"),
    };
    sides.into_iter().try_for_each(|side| fits(side, ty))?;
    Ok(ty)
}

fn computation_type(a: Side, b: Side, rules: Rules) -> Result<Scalar, Mismatch> {
    let (a_ty, b_ty) = (own_type(a)?, own_type(b)?);
    match (a, b) {
        (Side::Tensor(t), Side::Number(_)) if kind(b_ty) <= kind(t) => promote(t, t, rules),
        (Side::Number(_), Side::Tensor(t)) if kind(a_ty) <= kind(t) => promote(t, t, rules),
        _ => promote(a_ty, b_ty, rules),
    }
}

fn own_type(side: Side) -> Result<Scalar, Mismatch> {
    match side {
        Side::Tensor(ty) => Ok(ty),
        Side::Number(n) => n.literal_type().ok_or(Mismatch::TooLarge(n)),
    }
}

/// bool < int < float
fn kind(ty: Scalar) -> u8 {
    match ty {
        Scalar::I1 => 0,
        _ if ty.is_int() => 1,
        _ => 2,
    }
}

fn promote(a: Scalar, b: Scalar, rules: Rules) -> Result<Scalar, Mismatch> {
    let either = |ty| a == ty || b == ty;
    if either(Scalar::F64) {
        return Ok(Scalar::F64);
    }
    if rules == Rules::Division && (a.is_float() || b.is_float()) {
        return Ok(Scalar::F32);
    }
    if either(Scalar::F32) {
        return Ok(Scalar::F32);
    }
    if either(Scalar::F16) {
        return Ok(Scalar::F16);
    }
    if either(Scalar::BF16) {
        return Ok(if a == b { Scalar::BF16 } else { Scalar::F32 });
    }
    if a.is_fp8() && b.is_fp8() {
        return Ok(if a == b { a } else { Scalar::F16 });
    }
    if a.is_float() || b.is_float() {
        return Err(Mismatch::NoCommonType(a, b));
    }
    if rules == Rules::Division && a.is_signed_int() != b.is_signed_int() {
        return Err(Mismatch::MixedSigns(a, b));
    }
    Ok(promote_ints(a, b))
}

/// C's usual arithmetic conversions, without the promotion to `int`.
fn promote_ints(a: Scalar, b: Scalar) -> Scalar {
    if a.is_signed_int() == b.is_signed_int() {
        return if a.bits() > b.bits() { a } else { b };
    }
    let (unsigned, signed) = if b.is_signed_int() { (a, b) } else { (b, a) };
    if unsigned.bits() >= signed.bits() { unsigned } else { signed }
}

fn fits(side: Side, ty: Scalar) -> Result<(), Mismatch> {
    let Side::Number(n) = side else { return Ok(()) };
    let Some((low, high)) = int_range(ty) else { return Ok(()) };
    match n.as_int() {
        Some(i) if i < 0 && ty.is_unsigned_int() => Err(Mismatch::Negative(n, ty)),
        Some(i) if i < low || i > high => Err(Mismatch::OutOfRange(n, ty)),
        _ => Ok(()),
    }
}
