//! `tanh` and `erf`: a polynomial near zero, one minus an exponential further out.

use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::{Builder, Value};

use super::polynomial::{exp, float, fma, is, magnitude, polynomial, with_sign_of};

/// `tanh x = x + x^3 p(x^2)` up to 0.6, else `1 - 2 / (e^2x + 1)`.
pub(super) fn tanh(b: &mut Builder<'_>, x: Value) -> Value {
    let size = magnitude(b, x);
    let square = b.binary(BinaryOp::Mul, x, x);
    let p = polynomial(b, square, &TANH);
    let cube = b.binary(BinaryOp::Mul, square, x);
    let near = fma(b, cube, p, x);
    let double = b.binary(BinaryOp::Add, size, size);
    let power = exp(b, double);
    let (one, two) = (float(b, 1.0, x), float(b, 2.0, x));
    let sum = b.binary(BinaryOp::Add, power, one);
    let quotient = b.binary(BinaryOp::DivRn, two, sum);
    let far = b.binary(BinaryOp::Sub, one, quotient);
    let is_near = is(b, size, CmpOp::Lt, 0.6);
    let value = b.select(is_near, near, far);
    with_sign_of(b, value, x)
}

/// `erf x = x + x p(x^2)` up to 1, else `1 - e^q(x)`, where `q` is the logarithm of what is missing to 1. From 4 on
/// nothing is.
pub(super) fn erf(b: &mut Builder<'_>, x: Value) -> Value {
    let size = magnitude(b, x);
    let square = b.binary(BinaryOp::Mul, x, x);
    let p = polynomial(b, square, &ERF_NEAR);
    let near = fma(b, x, p, x);
    let (one, end) = (float(b, 1.0, x), float(b, 4.0, x));
    let is_beyond = b.cmp(CmpOp::Gt, size, end);
    let within = b.select(is_beyond, end, size);
    let q = polynomial(b, within, &ERF_FAR);
    let missing = exp(b, q);
    let far = b.binary(BinaryOp::Sub, one, missing);
    let is_near = is(b, size, CmpOp::Lt, 1.0);
    let value = b.select(is_near, near, far);
    with_sign_of(b, value, x)
}

/// `(tanh x / x - 1) / x^2` in `x^2`, for `x` up to 0.6.
const TANH: [f64; 6] =
    [-0.333333332378, 0.133333137794, -0.0539617537185, 0.0217898879898, -0.0084150313058, 0.00237626796187];

/// `erf x / x - 1` in `x^2`, for `x` up to 1.
const ERF_NEAR: [f64; 7] = [
    0.12837916591,
    -0.376126271359,
    0.11283600176,
    -0.0268544445871,
    0.00518953534092,
    -0.000802084136062,
    7.88911995754e-5,
];

/// The logarithm of `1 - erf x`, for `x` from 0.95 to 4.
const ERF_FAR: [f64; 8] = [
    0.000182459454035,
    -1.12955203778,
    -0.633272421289,
    -0.108361543819,
    0.0251718029744,
    -0.00419085350961,
    0.00043852945824,
    -2.14455233154e-5,
];
