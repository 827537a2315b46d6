//! `log` and `log2`: the exponent's bits, and a polynomial in the rest.

use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::{Builder, Scalar, Value};

use super::polynomial::{
    LN_2_HIGH, LN_2_LOW, LOG10_2_HIGH, LOG10_2_LOW, bits, constant_bits, float, fma, from_bits, int, is, polynomial,
};

/// A positive number as `2^exponent (1 + fraction)`, `fraction` between `sqrt(1/2) - 1` and `sqrt(2) - 1`.
struct Parts {
    exponent: Value,
    fraction: Value,
}

fn parts(b: &mut Builder<'_>, x: Value) -> Parts {
    // Subnormal numbers have no exponent of their own until they are multiplied up.
    let is_small = is(b, x, CmpOp::Lt, f64::from(f32::MIN_POSITIVE));
    let scale = float(b, 2f64.powi(23), x);
    let scaled = b.binary(BinaryOp::Mul, x, scale);
    let normal = b.select(is_small, scaled, x);
    let (less, none) = (float(b, -23.0, x), float(b, 0.0, x));
    let correction = b.select(is_small, less, none);
    // Counted from the bits of sqrt(1/2), the exponent is that of the nearest power of two.
    let pattern = bits(b, normal);
    let root_half = int(b, 0x3f35_04f3, pattern);
    let offset = b.binary(BinaryOp::Sub, pattern, root_half);
    let mantissa_bits = int(b, 23, pattern);
    let exponent = b.binary(BinaryOp::Shr, offset, mantissa_bits);
    let shifted = b.binary(BinaryOp::Shl, exponent, mantissa_bits);
    let mantissa = b.binary(BinaryOp::Sub, pattern, shifted);
    let mantissa = from_bits(b, mantissa);
    let one = float(b, 1.0, x);
    let fraction = b.binary(BinaryOp::Sub, mantissa, one);
    let exponent = b.cast(exponent, Scalar::F32);
    let exponent = b.binary(BinaryOp::Add, exponent, correction);
    Parts { exponent, fraction }
}

/// `log x = exponent ln 2 + log(1 + f)`, and `log(1 + f) = f + f^2 q(f)`.
pub(super) fn log(b: &mut Builder<'_>, x: Value) -> Value {
    let Parts { exponent, fraction: f } = parts(b, x);
    let q = polynomial(b, f, &LOG);
    let square = b.binary(BinaryOp::Mul, f, f);
    let (high, low) = (float(b, LN_2_HIGH, x), float(b, LN_2_LOW, x));
    let rest = b.binary(BinaryOp::Mul, exponent, low);
    let rest = fma(b, square, q, rest);
    let rest = b.binary(BinaryOp::Add, rest, f);
    let value = fma(b, exponent, high, rest);
    special(b, value, x)
}

/// `log2 x = exponent + log2(1 + f)`, and `log2(1 + f) = f q(f)`.
pub(super) fn log2(b: &mut Builder<'_>, x: Value) -> Value {
    let Parts { exponent, fraction: f } = parts(b, x);
    let q = polynomial(b, f, &LOG2);
    let value = fma(b, f, q, exponent);
    special(b, value, x)
}

/// `log10 x = exponent log10 2 + log(1 + f) log10 e`.
pub(super) fn log10(b: &mut Builder<'_>, x: Value) -> Value {
    let Parts { exponent, fraction: f } = parts(b, x);
    let q = polynomial(b, f, &LOG);
    let square = b.binary(BinaryOp::Mul, f, f);
    let natural = fma(b, square, q, f);
    let (high, low) = (float(b, LOG10_2_HIGH, x), float(b, LOG10_2_LOW, x));
    let (log10_e, beyond) = (float(b, LOG10_E, x), float(b, LOG10_E_LOW, x));
    let rest = b.binary(BinaryOp::Mul, exponent, low);
    let rest = fma(b, natural, beyond, rest);
    let rest = fma(b, natural, log10_e, rest);
    let value = fma(b, exponent, high, rest);
    special(b, value, x)
}

/// `log(1 + x) = log u + d / u`, where `u` is `1 + x` rounded and `d` what the rounding lost.
pub(super) fn log1p(b: &mut Builder<'_>, x: Value) -> Value {
    let one = float(b, 1.0, x);
    let u = b.binary(BinaryOp::Add, one, x);
    // The greater of 1 and x is taken away first, which is exact.
    let x_of_u = b.binary(BinaryOp::Sub, u, one);
    let lost_of_x = b.binary(BinaryOp::Sub, x, x_of_u);
    let one_of_u = b.binary(BinaryOp::Sub, u, x);
    let lost_of_one = b.binary(BinaryOp::Sub, one, one_of_u);
    let is_large = is(b, x, CmpOp::Gt, 1.0);
    let lost = b.select(is_large, lost_of_one, lost_of_x);
    let correction = b.binary(BinaryOp::DivRn, lost, u);
    let value = log(b, u);
    let corrected = b.binary(BinaryOp::Add, value, correction);
    // At -1 and at infinity there is nothing to correct, and no way to.
    let is_known = b.cmp(CmpOp::Eq, correction, correction);
    let value = b.select(is_known, corrected, value);
    let is_zero = is(b, x, CmpOp::Eq, 0.0);
    b.select(is_zero, x, value)
}

/// Minus infinity at zero, infinity there, and no number below zero.
fn special(b: &mut Builder<'_>, value: Value, x: Value) -> Value {
    let infinity = float(b, f64::INFINITY, x);
    let is_infinite = b.cmp(CmpOp::Eq, x, infinity);
    let value = b.select(is_infinite, x, value);
    let is_zero = is(b, x, CmpOp::Eq, 0.0);
    let minus_infinity = float(b, f64::NEG_INFINITY, x);
    let value = b.select(is_zero, minus_infinity, value);
    let is_negative = is(b, x, CmpOp::Lt, 0.0);
    let nan = constant_bits(b, 0x7fc0_0000, x);
    let value = b.select(is_negative, nan, value);
    let no_number = b.cmp(CmpOp::Ne, x, x);
    b.select(no_number, x, value)
}

/// `log10 e` as an `f32`, and what that leaves out.
const LOG10_E: f64 = 0.434_294_492_006_301_9;
const LOG10_E_LOW: f64 = -1.010_305_005_223_168_3e-8;

/// `(log(1 + f) - f) / f^2` on `[sqrt(1/2) - 1, sqrt(2) - 1]`.
const LOG: [f64; 9] = [
    -0.499999892559,
    0.333333083198,
    -0.250015153643,
    0.200030119181,
    -0.166112812733,
    0.141635802631,
    -0.13207938277,
    0.130039706775,
    -0.078243359481,
];

/// `log2(1 + f) / f` on the same.
const LOG2: [f64; 10] = [
    1.44269504185,
    -0.721347352001,
    0.480897900615,
    -0.360696424301,
    0.288585271658,
    -0.239636585848,
    0.204296008912,
    -0.190612619338,
    0.187826729262,
    -0.112974969347,
];
