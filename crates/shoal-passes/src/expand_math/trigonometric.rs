//! `sin` and `cos`: the nearest multiple of a quarter turn, and polynomials in the rest.
//!
//! The rest is found in `f64`, whose 53 bits and a second part of pi / 2 leave it exact to far more than an `f32` for
//! magnitudes up to 2^47. Larger numbers are whole multiples of a power of two, so many whole turns of it can be left
//! out: with `x = m 2^b` and `2^b = 2 pi k + c`, the angle is `m c`. Infinities become NaN on the way by themselves.

use shoal_ir::op::{BinaryOp, CmpOp, UnaryOp};
use shoal_ir::{Builder, Scalar, Value};

use super::polynomial::{bits, float, fma, from_bits, int, is, polynomial};

/// Added to a number, rounds it to an integer, which then stands in the lowest bits of the sum.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// For numbers from a limit on: what to multiply them by, in two parts, to get an angle below 2^47 that differs by whole
/// turns. The factor is `2^b mod 2 pi`, divided by `2^b`; `b` is 24, 48, 75 and 98, at most the last bit of an `f32` of
/// that size.
const WITHOUT_TURNS: [(i32, f64, f64); 4] = [
    (47, -5.328469673873168e-08, -2.3770391114804077e-25),
    (71, 4.613578886261727e-16, 1.229896773422462e-32),
    (98, 5.111969106821283e-23, 1.1343508803844442e-39),
    (121, -8.35915299917325e-31, -1.0064611358029224e-47),
];

/// Sine.
pub(super) fn sin(b: &mut Builder<'_>, x: Value) -> Value {
    let value = turned(b, x, 0);
    // The polynomial loses the sign of -0.
    let is_zero = is(b, x, CmpOp::Eq, 0.0);
    b.select(is_zero, x, value)
}

/// Cosine: the sine a quarter turn on.
pub(super) fn cos(b: &mut Builder<'_>, x: Value) -> Value {
    turned(b, x, 1)
}

fn turned(b: &mut Builder<'_>, x: Value, quarters: i64) -> Value {
    let (wide, beyond) = without_turns(b, x);
    let (per_quarter, to_integer) = (float(b, std::f64::consts::FRAC_2_PI, wide), float(b, TO_INTEGER, wide));
    let shifted = fma(b, wide, per_quarter, to_integer);
    let n = b.binary(BinaryOp::Sub, shifted, to_integer);
    let (high, low) = (float(b, -std::f64::consts::FRAC_PI_2, wide), float(b, -6.123_233_995_736_766e-17, wide));
    let r = fma(b, n, high, wide);
    let r = fma(b, n, low, r);
    let r = b.binary(BinaryOp::Add, r, beyond);
    let r = b.cast(r, Scalar::F32);
    let pattern = b.bitcast(shifted, Scalar::I64);
    let quarter = b.cast(pattern, Scalar::I32);
    let quarter = if quarters == 0 {
        quarter
    } else {
        let more = int(b, quarters, quarter);
        b.binary(BinaryOp::Add, quarter, more)
    };
    select_quarter(b, r, quarter)
}

/// `x` as an angle below 2^47 in `f64`, without whole turns, and what it leaves out.
fn without_turns(b: &mut Builder<'_>, x: Value) -> (Value, Value) {
    let wide = b.cast(x, Scalar::F64);
    let size = b.unary(UnaryOp::Abs, x);
    let (mut high, mut low) = (float(b, 1.0, wide), float(b, 0.0, wide));
    for (limit, factor, rest) in WITHOUT_TURNS {
        let large = is(b, size, CmpOp::Ge, 2f64.powi(limit));
        let (factor, rest) = (float(b, factor, wide), float(b, rest, wide));
        high = b.select(large, factor, high);
        low = b.select(large, rest, low);
    }
    let angle = b.binary(BinaryOp::Mul, wide, high);
    let negative = b.unary(UnaryOp::Neg, angle);
    let rounding = fma(b, wide, high, negative);
    let beyond = fma(b, wide, low, rounding);
    (angle, beyond)
}

/// The sine of `r` plus that many quarter turns.
fn select_quarter(b: &mut Builder<'_>, r: Value, quarter: Value) -> Value {
    let square = b.binary(BinaryOp::Mul, r, r);
    // sin r = r + r^3 p(r^2)
    let p = polynomial(b, square, &SIN);
    let cube = b.binary(BinaryOp::Mul, square, r);
    let sine = fma(b, cube, p, r);
    // cos r = 1 - r^2 / 2 + r^4 q(r^2)
    let q = polynomial(b, square, &COS);
    let (half, one) = (float(b, -0.5, r), float(b, 1.0, r));
    let q = fma(b, square, q, half);
    let cosine = fma(b, square, q, one);
    let (first, second) = (int(b, 1, quarter), int(b, 2, quarter));
    let odd = b.binary(BinaryOp::And, quarter, first);
    let odd = b.cast(odd, Scalar::I1);
    let value = b.select(odd, cosine, sine);
    // The second half of the turn is the first one upside down.
    let half_turn = b.binary(BinaryOp::And, quarter, second);
    let to_sign = int(b, 30, quarter);
    let sign = b.binary(BinaryOp::Shl, half_turn, to_sign);
    let value = bits(b, value);
    let value = b.binary(BinaryOp::Xor, value, sign);
    from_bits(b, value)
}

/// `(sin r / r - 1) / r^2` in `r^2`, for `r` up to pi / 4.
const SIN: [f64; 4] = [-0.166666666633, 0.00833333164742, -0.000198399667416, 2.72347271626e-6];

/// `(cos r - 1 + r^2 / 2) / r^4` in `r^2`, for the same.
const COS: [f64; 3] = [0.0416666643496, -0.00138882439056, 2.45354379909e-5];
