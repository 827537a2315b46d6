//! `exp` and `exp2`: a power of two, put into the exponent's bits, times a polynomial.

use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::{Builder, Value};

use super::polynomial::{bits, float, fma, from_bits, int, is, polynomial};

/// Added to a small number, rounds it to an integer, which then stands in the lowest bits of the sum.
const TO_INTEGER: f64 = 12_582_912.0;

/// `e^x = 2^n e^r`, where `n` is `x / ln 2` rounded and `r = x - n ln 2`, at most `ln 2 / 2`.
pub(super) fn exp(b: &mut Builder<'_>, x: Value) -> Value {
    let (per_ln2, to_integer) = (float(b, std::f64::consts::LOG2_E, x), float(b, TO_INTEGER, x));
    let shifted = fma(b, x, per_ln2, to_integer);
    let n = b.binary(BinaryOp::Sub, shifted, to_integer);
    // ln 2 in two parts; the first has few enough bits for `n` times it to be exact.
    let (high, low) = (float(b, -0.693_145_751_953_125, x), float(b, -1.428_606_765_330_187e-6, x));
    let r = fma(b, n, high, x);
    let r = fma(b, n, low, r);
    // e^r = 1 + r + r^2 q(r)
    let q = polynomial(b, r, &EXP);
    let square = b.binary(BinaryOp::Mul, r, r);
    let tail = fma(b, square, q, r);
    let one = float(b, 1.0, x);
    let p = b.binary(BinaryOp::Add, one, tail);
    let scaled = scale(b, p, shifted, x, -87.0);
    clamp(b, scaled, x, 88.722_83, -104.0)
}

/// `2^x = 2^n 2^r`, where `n` is `x` rounded and `r = x - n`, at most a half.
pub(super) fn exp2(b: &mut Builder<'_>, x: Value) -> Value {
    let to_integer = float(b, TO_INTEGER, x);
    let shifted = b.binary(BinaryOp::Add, x, to_integer);
    let n = b.binary(BinaryOp::Sub, shifted, to_integer);
    let r = b.binary(BinaryOp::Sub, x, n);
    let q = polynomial(b, r, &EXP2);
    let one = float(b, 1.0, x);
    let p = fma(b, r, q, one);
    let scaled = scale(b, p, shifted, x, -125.5);
    clamp(b, scaled, x, 127.999_99, -150.0)
}

/// `p * 2^n`, where `n` stands in the lowest bits of `shifted`. `p` is near 1. Below `small` the result may be
/// subnormal: then the exponent is first put 64 higher, and the number multiplied down, which rounds it once.
fn scale(b: &mut Builder<'_>, p: Value, shifted: Value, x: Value, small: f64) -> Value {
    let shifted = bits(b, shifted);
    let mantissa_bits = int(b, 23, shifted);
    let exponent = b.binary(BinaryOp::Shl, shifted, mantissa_bits);
    let p = bits(b, p);
    let pattern = b.binary(BinaryOp::Add, p, exponent);
    let is_small = is(b, x, CmpOp::Lt, small);
    let (up, none) = (int(b, 64 << 23, shifted), int(b, 0, shifted));
    let up = b.select(is_small, up, none);
    let pattern = b.binary(BinaryOp::Add, pattern, up);
    let (down, same) = (float(b, 2f64.powi(-64), x), float(b, 1.0, x));
    let down = b.select(is_small, down, same);
    let scaled = from_bits(b, pattern);
    b.binary(BinaryOp::Mul, scaled, down)
}

/// Infinity above `high`, zero below `low`, and `x` itself where it is no number: the bits mean nothing there.
fn clamp(b: &mut Builder<'_>, value: Value, x: Value, high: f64, low: f64) -> Value {
    let (infinity, zero) = (float(b, f64::INFINITY, x), float(b, 0.0, x));
    let above = is(b, x, CmpOp::Gt, high);
    let value = b.select(above, infinity, value);
    let below = is(b, x, CmpOp::Lt, low);
    let value = b.select(below, zero, value);
    let no_number = b.cmp(CmpOp::Ne, x, x);
    b.select(no_number, x, value)
}

/// `(e^r - 1 - r) / r^2` on `[-ln 2 / 2, ln 2 / 2]`.
const EXP: [f64; 5] = [0.500000002859, 0.166665733614, 0.0416663634068, 0.00836377612553, 0.00139421649324];

/// `(2^r - 1) / r` on `[-1/2, 1/2]`.
const EXP2: [f64; 6] =
    [0.693147188029, 0.240226510842, 0.0555035710568, 0.00961803077723, 0.00133908668061, 0.000154697326644];
