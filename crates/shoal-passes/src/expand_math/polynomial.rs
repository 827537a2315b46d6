//! The pieces that expansions are made of, on `f32` values of any shape.

use shoal_ir::op::{BinaryOp, CmpOp, MathFn};
use shoal_ir::{Builder, Const, OpKind, Scalar, Value};

/// `ln 2` in two parts. The first has few enough bits for its product with an exponent to be exact.
pub(super) const LN_2_HIGH: f64 = 0.693_145_751_953_125;
/// What the first part leaves out.
pub(super) const LN_2_LOW: f64 = 1.428_606_765_330_187e-6;
/// `log10 2` in two parts, likewise.
pub(super) const LOG10_2_HIGH: f64 = 0.301_025_390_625;
/// What the first part leaves out.
pub(super) const LOG10_2_LOW: f64 = 4.605_038_981_195_214e-6;

/// A float constant of `like`'s shape and type.
pub(super) fn float(b: &mut Builder<'_>, value: f64, like: Value) -> Value {
    let ty = b.func.ty(like).clone();
    b.float(value, ty)
}

/// An integer constant of `like`'s shape and type.
pub(super) fn int(b: &mut Builder<'_>, value: i64, like: Value) -> Value {
    let ty = b.func.ty(like).clone();
    b.int(value, ty)
}

/// `x * y + z`, rounded once.
pub(super) fn fma(b: &mut Builder<'_>, x: Value, y: Value, z: Value) -> Value {
    b.value(OpKind::Fma, &[x, y, z])
}

/// `e^x`, which backends have.
pub(super) fn exp(b: &mut Builder<'_>, x: Value) -> Value {
    b.value(OpKind::Math(MathFn::Exp), &[x])
}

/// `c[0] + c[1] x + c[2] x^2 + …`.
pub(super) fn polynomial(b: &mut Builder<'_>, x: Value, coefficients: &[f64]) -> Value {
    let (last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
    let mut sum = float(b, *last, x);
    for &c in rest.iter().rev() {
        let c = float(b, c, x);
        sum = fma(b, sum, x, c);
    }
    sum
}

/// `x` compared with a number.
pub(super) fn is(b: &mut Builder<'_>, x: Value, op: CmpOp, limit: f64) -> Value {
    let limit = float(b, limit, x);
    b.cmp(op, x, limit)
}

/// The bits of an `f32` as an integer.
pub(super) fn bits(b: &mut Builder<'_>, x: Value) -> Value {
    b.bitcast(x, Scalar::I32)
}

/// The `f32` of these bits.
pub(super) fn from_bits(b: &mut Builder<'_>, bits: Value) -> Value {
    b.bitcast(bits, Scalar::F32)
}

/// `x` with its sign taken away.
pub(super) fn magnitude(b: &mut Builder<'_>, x: Value) -> Value {
    b.unary(shoal_ir::op::UnaryOp::Abs, x)
}

/// A magnitude with the sign of `x`.
pub(super) fn with_sign_of(b: &mut Builder<'_>, magnitude: Value, x: Value) -> Value {
    let (magnitude, x) = (bits(b, magnitude), bits(b, x));
    let sign = int(b, i64::from(i32::MIN), x);
    let sign = b.binary(BinaryOp::And, x, sign);
    let signed = b.binary(BinaryOp::Or, magnitude, sign);
    from_bits(b, signed)
}

/// A constant by its bits, of `like`'s shape.
pub(super) fn constant_bits(b: &mut Builder<'_>, pattern: u32, like: Value) -> Value {
    let ty = b.func.ty(like).clone();
    b.constant(Const::from_bits(Scalar::F32, u64::from(pattern)), ty)
}
