//! `exp10` and `expm1`: a power of two, put into the exponent's bits, and what is left.

use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::{Builder, Value};

use super::polynomial::{
    LN_2_HIGH, LN_2_LOW, LOG10_2_HIGH, LOG10_2_LOW, bits, exp, float, fma, from_bits, int, is, magnitude, polynomial,
};

/// Added to a small number, rounds it to an integer, which then stands in the lowest bits of the sum.
const TO_INTEGER: f64 = 12_582_912.0;

/// `10^x = 2^n e^(r ln 10)`, where `n` is `x / log10 2` rounded and `r = x - n log10 2`.
pub(super) fn exp10(b: &mut Builder<'_>, x: Value) -> Value {
    let x = clamp(b, x, -46.0, 39.0);
    let (per_log2, to_integer) = (float(b, std::f64::consts::LOG2_10, x), float(b, TO_INTEGER, x));
    let shifted = fma(b, x, per_log2, to_integer);
    let n = b.binary(BinaryOp::Sub, shifted, to_integer);
    let (high, low) = (float(b, -LOG10_2_HIGH, x), float(b, -LOG10_2_LOW, x));
    let r = fma(b, n, high, x);
    let r = fma(b, n, low, r);
    let ln10 = float(b, std::f64::consts::LN_10, x);
    let r = b.binary(BinaryOp::Mul, r, ln10);
    let p = exp(b, r);
    scale(b, p, shifted)
}

/// `e^x - 1 = 2^n (e^r - 1) + (2^n - 1)`, where `n` is `x / ln 2` rounded and `r = x - n ln 2`. Both terms are halved,
/// because `2^n` itself may be too great, and doubled in the end.
pub(super) fn expm1(b: &mut Builder<'_>, x: Value) -> Value {
    // Below -18 nothing is left but -1.
    let limited = clamp(b, x, -18.0, 89.0);
    let (per_ln2, to_integer) = (float(b, std::f64::consts::LOG2_E, x), float(b, TO_INTEGER, x));
    let shifted = fma(b, limited, per_ln2, to_integer);
    let n = b.binary(BinaryOp::Sub, shifted, to_integer);
    let (high, low) = (float(b, -LN_2_HIGH, x), float(b, -LN_2_LOW, x));
    let r = fma(b, n, high, limited);
    let r = fma(b, n, low, r);
    let q = polynomial(b, r, &EXPM1);
    let square = b.binary(BinaryOp::Mul, r, r);
    let less_one = fma(b, square, q, r);
    let n = bits(b, shifted);
    let one = int(b, 1, n);
    let n = b.binary(BinaryOp::Sub, n, one);
    let power = power_of_two(b, n);
    let half = float(b, 0.5, x);
    let rest = b.binary(BinaryOp::Sub, power, half);
    let value = fma(b, power, less_one, rest);
    let value = b.binary(BinaryOp::Add, value, value);
    // Halving would cost the smallest numbers their last bit; and -0 its sign.
    let size = magnitude(b, x);
    let is_tiny = is(b, size, CmpOp::Lt, 1e-8);
    b.select(is_tiny, x, value)
}

/// `x` brought between two limits; NaN stays. In this form each limit is one instruction of most processors.
fn clamp(b: &mut Builder<'_>, x: Value, low: f64, high: f64) -> Value {
    let (low, high) = (float(b, low, x), float(b, high, x));
    let is_above = b.cmp(CmpOp::Lt, high, x);
    let x = b.select(is_above, high, x);
    let is_below = b.cmp(CmpOp::Gt, low, x);
    b.select(is_below, low, x)
}

/// `p * 2^n`, where `n` stands in the lowest bits of `shifted`: two multiplications by half of it each, because `2^n`
/// itself may have no exponent. Only the second one rounds, to a subnormal number or to infinity.
fn scale(b: &mut Builder<'_>, p: Value, shifted: Value) -> Value {
    let n = bits(b, shifted);
    let one = int(b, 1, n);
    let half = b.binary(BinaryOp::Shr, n, one);
    let other_half = b.binary(BinaryOp::Sub, n, half);
    let half = power_of_two(b, half);
    let other_half = power_of_two(b, other_half);
    let p = b.binary(BinaryOp::Mul, p, half);
    b.binary(BinaryOp::Mul, p, other_half)
}

/// `2^n` for an integer whose upper bits are shifted out.
fn power_of_two(b: &mut Builder<'_>, n: Value) -> Value {
    let (mantissa_bits, bias) = (int(b, 23, n), int(b, 127 << 23, n));
    let exponent = b.binary(BinaryOp::Shl, n, mantissa_bits);
    let pattern = b.binary(BinaryOp::Add, exponent, bias);
    from_bits(b, pattern)
}

/// `(e^r - 1 - r) / r^2` on `[-ln 2 / 2, ln 2 / 2]`.
const EXPM1: [f64; 5] = [0.500000002859, 0.166665733614, 0.0416663634068, 0.00836377612553, 0.00139421649324];
