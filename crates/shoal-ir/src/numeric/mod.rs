//! The meaning of operations on single elements.
//!
//! The interpreter runs these functions, constant folding calls them, and compiled code is tested against them. There
//! is one definition of each operation: a loop over element bits (`binary_slice` and its like), dispatched on
//! operation and type outside the loop. The functions on [`Const`] are that loop over one element, so the two cannot
//! disagree.
//!
//! All functions are total. What the IR leaves unspecified has a fixed value here:
//!
//! - integer division by zero gives 0, and so does the remainder; the least integer divided by -1 wraps to itself;
//! - a shift by the width or more gives 0, or the sign in every bit for an arithmetic shift right;
//! - a float converted to an integer is truncated; beyond the integer's ends it saturates, and NaN gives 0;
//! - an operation that a type does not have (which the verifier refuses) acts on the bits as on an unsigned integer of
//!   that width, or, for the float-only spellings of an integer operation, as the integer operation.
//!
//! Floats narrower than `f32` are computed in `f32` and then rounded: so are their `fma`, and integers converted to
//! them. Conversions between floats round once, whatever their widths. Which NaN an operation gives (its sign and
//! payload) is unspecified, except for `neg`, `abs`, `copysign`, `select` and `bitcast`, which move bits.

mod arithmetic;
mod constant;
mod convert;
mod format;
mod integer;
mod math;
#[cfg(test)]
mod tests;

pub use arithmetic::{binary_slice, compare_slice, fma_slice, select_slice, unary_slice};
pub use constant::Const;
pub use convert::{bitcast_slice, cast_slice};
pub use math::math_slice;
pub use shoal_abi::float_format::{FloatFormat, NonFinite, decode_float, encode_float};

use crate::op::{BinaryOp, CmpOp, MathFn, Rounding, UnaryOp};
use crate::types::Scalar;

/// `op a`.
pub fn unary(op: UnaryOp, a: Const) -> Const {
    one(a.ty(), |out| unary_slice(op, a.ty(), &[a.bits()], out))
}

/// `a op b`, both of `a`'s type.
pub fn binary(op: BinaryOp, a: Const, b: Const) -> Const {
    one(a.ty(), |out| binary_slice(op, a.ty(), &[a.bits()], &[b.bits()], out))
}

/// `a op b` as an `i1`, both of `a`'s type.
pub fn compare(op: CmpOp, a: Const, b: Const) -> Const {
    one(Scalar::I1, |out| compare_slice(op, a.ty(), &[a.bits()], &[b.bits()], out))
}

/// `a` if the condition is not zero, else `b`.
pub fn select(condition: Const, a: Const, b: Const) -> Const {
    one(a.ty(), |out| select_slice(&[condition.bits()], &[a.bits()], &[b.bits()], out))
}

/// `a * b + c` with one rounding in the type that computes.
pub fn fma(a: Const, b: Const, c: Const) -> Const {
    one(a.ty(), |out| fma_slice(a.ty(), &[a.bits()], &[b.bits()], &[c.bits()], out))
}

/// The same value at another type, as near as it gets. `rounding` is how a float becomes a narrower float; integers
/// become floats by rounding to nearest.
pub fn cast(a: Const, to: Scalar, rounding: Rounding) -> Const {
    one(to, |out| cast_slice(a.ty(), to, rounding, &[a.bits()], out))
}

/// The same bits at another type of the same width.
pub fn bitcast(a: Const, to: Scalar) -> Const {
    one(to, |out| bitcast_slice(to, &[a.bits()], out))
}

/// A function of mathematics on as many operands as it takes, all of the first one's type. `f32` and narrower are
/// computed in `f64` and rounded to `f32` (and once more to a narrower type). Missing operands count as zero.
pub fn math(function: MathFn, args: &[Const]) -> Const {
    let ty = args.first().map_or(Scalar::F32, |a| a.ty());
    let bits = |i: usize| [args.get(i).map_or(0, |a| a.bits())];
    one(ty, |out| math_slice(function, ty, &[&bits(0), &bits(1)], out))
}

fn one(ty: Scalar, fill: impl FnOnce(&mut [u64])) -> Const {
    let mut out = [0];
    fill(&mut out);
    Const::from_bits(ty, out[0])
}
