//! Functions of `libdevice` that take several operations.

use shoal_ir::OpKind;
use shoal_ir::Value as IrValue;
use shoal_ir::op::{BinaryOp, CmpOp, MathFn, UnaryOp};
use shoal_ir::types::{Scalar, Type};

use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::semantic::operand::number_type;
use crate::value::Tensor;

/// A tile's worth of an integer constant.
fn int(e: &mut Emit<'_>, value: i64, like: &Type) -> IrValue {
    e.b().int(value, like.clone())
}

fn float(e: &mut Emit<'_>, value: f64, like: &Type) -> IrValue {
    e.b().float(value, like.clone())
}

fn done(e: &Emit<'_>, value: IrValue) -> LowerResult<Tensor> {
    Ok(e.tensor(value))
}

fn at(t: &Tensor, ty: Scalar) -> Type {
    t.ty.with_elem(ty)
}

/// Bytes of two words, picked by the nibbles of a third.
pub(super) fn byte_perm(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let wide = at(&args[0], Scalar::U64);
    let mut b = e.b();
    let as_wide = |b: &mut shoal_ir::Builder<'_>, v: IrValue| {
        let unsigned = b.bitcast(v, Scalar::U32);
        b.cast(unsigned, Scalar::U64)
    };
    let (low, high) = (as_wide(&mut b, args[0].value), as_wide(&mut b, args[1].value));
    let selector = as_wide(&mut b, args[2].value);
    let up = b.int(32, wide.clone());
    let high = b.binary(BinaryOp::Shl, high, up);
    let bytes = b.binary(BinaryOp::Or, low, high);
    let (seven, eight, ff) = (b.int(7, wide.clone()), b.int(8, wide.clone()), b.int(0xff, wide.clone()));
    let mut result = b.int(0, wide.clone());
    for i in 0..4 {
        let nibble = b.int(4 * i, wide.clone());
        let index = b.binary(BinaryOp::Shr, selector, nibble);
        let index = b.binary(BinaryOp::And, index, seven);
        let from = b.binary(BinaryOp::Mul, index, eight);
        let byte = b.binary(BinaryOp::Shr, bytes, from);
        let byte = b.binary(BinaryOp::And, byte, ff);
        let to = b.int(8 * i, wide.clone());
        let byte = b.binary(BinaryOp::Shl, byte, to);
        result = b.binary(BinaryOp::Or, result, byte);
    }
    let result = b.cast(result, Scalar::I32);
    done(e, result)
}

/// The product of the lower 24 bits.
pub(super) fn mul24(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let eight = int(e, 8, &args[0].ty);
    let mut b = e.b();
    // Up and down again: the upper bits become copies of the sign, or zero.
    let mut low = |v: IrValue| {
        let up = b.binary(BinaryOp::Shl, v, eight);
        b.binary(BinaryOp::Shr, up, eight)
    };
    let (x, y) = (low(args[0].value), low(args[1].value));
    let product = e.b().binary(BinaryOp::Mul, x, y);
    done(e, product)
}

/// `|x - y| + z`.
pub(super) fn sad(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let ty = number_type(&args[0]).expect("integers");
    let mut b = e.b();
    let greater = b.binary(BinaryOp::Max, args[0].value, args[1].value);
    let lesser = b.binary(BinaryOp::Min, args[0].value, args[1].value);
    let difference = b.binary(BinaryOp::Sub, greater, lesser);
    let difference = if ty == Scalar::U32 { difference } else { b.bitcast(difference, Scalar::U32) };
    let sum = b.binary(BinaryOp::Add, difference, args[2].value);
    let sum = if ty == Scalar::U32 { sum } else { b.bitcast(sum, ty) };
    done(e, sum)
}

/// The place of the lowest set bit, counted from 1; 0 if none is set.
pub(super) fn ffs(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let ty = args[0].ty.clone();
    let width = int(e, i64::from(number_type(&args[0]).expect("integers").bits()), &ty);
    let mut b = e.b();
    let negative = b.unary(UnaryOp::Neg, args[0].value);
    let lowest = b.binary(BinaryOp::And, args[0].value, negative);
    let above = b.unary(UnaryOp::Clz, lowest);
    let place = b.binary(BinaryOp::Sub, width, above);
    let place = b.cast(place, Scalar::I32);
    done(e, place)
}

/// The mean, rounded down, without overflow.
pub(super) fn hadd(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let half = half_difference(e, args);
    let mut b = e.b();
    let common = b.binary(BinaryOp::And, args[0].value, args[1].value);
    let mean = b.binary(BinaryOp::Add, common, half);
    done(e, mean)
}

/// The mean, rounded up, without overflow.
pub(super) fn rhadd(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let half = half_difference(e, args);
    let mut b = e.b();
    let either = b.binary(BinaryOp::Or, args[0].value, args[1].value);
    let mean = b.binary(BinaryOp::Sub, either, half);
    done(e, mean)
}

fn half_difference(e: &mut Emit<'_>, args: &[Tensor]) -> IrValue {
    let one = int(e, 1, &args[0].ty);
    let mut b = e.b();
    let differing = b.binary(BinaryOp::Xor, args[0].value, args[1].value);
    b.binary(BinaryOp::Shr, differing, one)
}

/// Clamped to 0 and 1; NaN becomes 0.
pub(super) fn saturatef(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let zero = float(e, 0.0, &args[0].ty);
    let one = float(e, 1.0, &args[0].ty);
    let mut b = e.b();
    let raised = b.binary(BinaryOp::Max, args[0].value, zero);
    let clamped = b.binary(BinaryOp::Min, raised, one);
    done(e, clamped)
}

/// `1 / x`, rounded once.
pub(super) fn rcp_rn(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let value = reciprocal(e, args[0].value);
    done(e, value)
}

fn reciprocal(e: &mut Emit<'_>, x: IrValue) -> IrValue {
    let ty = e.func.ty(x).clone();
    let one = float(e, 1.0, &ty);
    e.b().binary(BinaryOp::DivRn, one, x)
}

/// `1 / sqrt(x)`: computed in `fp64`, so that one rounding is left.
pub(super) fn rsqrt_rn(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let mut b = e.b();
    let wide = b.cast(args[0].value, Scalar::F64);
    let root = b.value(OpKind::Math(MathFn::SqrtRn), &[wide]);
    let inverse = reciprocal(e, root);
    let value = e.b().cast(inverse, Scalar::F32);
    done(e, value)
}

/// A double from its upper and its lower word.
pub(super) fn hiloint2double(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let up = int(e, 32, &at(&args[0], Scalar::U64));
    let mut b = e.b();
    let mut wide = |v: IrValue| {
        let unsigned = b.bitcast(v, Scalar::U32);
        b.cast(unsigned, Scalar::U64)
    };
    let (high, low) = (wide(args[0].value), wide(args[1].value));
    let high = b.binary(BinaryOp::Shl, high, up);
    let bits = b.binary(BinaryOp::Or, high, low);
    let value = b.bitcast(bits, Scalar::F64);
    done(e, value)
}

/// The lower word of a double.
pub(super) fn double2loint(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let mut b = e.b();
    let bits = b.bitcast(args[0].value, Scalar::I64);
    let word = b.cast(bits, Scalar::I32);
    done(e, word)
}

/// The upper word of a double.
pub(super) fn double2hiint(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let down = int(e, 32, &at(&args[0], Scalar::I64));
    let mut b = e.b();
    let bits = b.bitcast(args[0].value, Scalar::I64);
    let upper = b.binary(BinaryOp::Shr, bits, down);
    let word = b.cast(upper, Scalar::I32);
    done(e, word)
}

/// Whether it is not a number.
pub(super) fn isnan(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let value = e.b().cmp(CmpOp::Ne, args[0].value, args[0].value);
    done(e, value)
}

/// Whether it is an infinity.
pub(super) fn isinf(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let value = compare_to_infinity(e, &args[0], CmpOp::Eq);
    done(e, value)
}

/// Whether it is neither an infinity nor NaN.
pub(super) fn is_finite(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let value = compare_to_infinity(e, &args[0], CmpOp::Lt);
    done(e, value)
}

fn compare_to_infinity(e: &mut Emit<'_>, x: &Tensor, op: CmpOp) -> IrValue {
    let infinity = float(e, f64::INFINITY, &x.ty);
    let mut b = e.b();
    let size = b.unary(UnaryOp::Abs, x.value);
    b.cmp(op, size, infinity)
}

/// The sign bit: 0 or 1.
pub(super) fn signbit(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let bits = Scalar::int(number_type(&args[0]).expect("floats").bits(), true).expect("32 or 64 bits");
    let zero = int(e, 0, &at(&args[0], bits));
    let mut b = e.b();
    let signed = b.bitcast(args[0].value, bits);
    let negative = b.cmp(CmpOp::Lt, signed, zero);
    let value = b.cast(negative, Scalar::I32);
    done(e, value)
}

fn hypot(e: &mut Emit<'_>, x: IrValue, y: IrValue) -> IrValue {
    e.b().value(OpKind::Math(MathFn::Hypot), &[x, y])
}

/// The length of a vector.
fn length(e: &mut Emit<'_>, args: &[Tensor]) -> IrValue {
    let first = args[0].value;
    args[1..].iter().fold(first, |so_far, t| hypot(e, so_far, t.value))
}

/// The length of a 3-vector.
pub(super) fn norm3d(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let value = length(e, args);
    done(e, value)
}

/// The reciprocal length of a 3-vector.
pub(super) fn rnorm3d(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let value = length(e, args);
    let value = reciprocal(e, value);
    done(e, value)
}

/// The length of a 4-vector.
pub(super) fn norm4d(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    norm3d(e, args)
}

/// The reciprocal length of a 4-vector.
pub(super) fn rnorm4d(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    rnorm3d(e, args)
}

/// `x * 2^n`. The power is applied in four steps, so that none of them leaves the range of exponents.
pub(super) fn ldexp(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let ty = number_type(&args[0]).expect("floats");
    // Beyond this the result is zero or infinite whatever `x` is; (mantissa bits, exponent bias) follow the format.
    let (limit, mantissa, bias) = if ty == Scalar::F64 { (2200, 52, 1023) } else { (300, 23, 127) };
    let bits = Scalar::int(ty.bits(), true).expect("32 or 64 bits");
    let int_ty = at(&args[0], bits);
    let mut b = e.b();
    let n = b.cast(args[1].value, bits);
    let most = b.int(limit, int_ty.clone());
    let least = b.int(-limit, int_ty.clone());
    let n = b.binary(BinaryOp::Min, n, most);
    let n = b.binary(BinaryOp::Max, n, least);
    let two = b.int(2, int_ty.clone());
    let quarter = b.binary(BinaryOp::Shr, n, two);
    let three = b.int(3, int_ty.clone());
    let most_of_it = b.binary(BinaryOp::Mul, quarter, three);
    let rest = b.binary(BinaryOp::Sub, n, most_of_it);
    let bias = b.int(bias, int_ty.clone());
    let shift = b.int(mantissa, int_ty);
    let mut power = |k: IrValue| {
        let exponent = b.binary(BinaryOp::Add, k, bias);
        let exponent = b.binary(BinaryOp::Shl, exponent, shift);
        b.bitcast(exponent, ty)
    };
    let (step, last) = (power(quarter), power(rest));
    let mut value = args[0].value;
    for factor in [step, step, step, last] {
        value = e.b().binary(BinaryOp::Mul, value, factor);
    }
    done(e, value)
}

/// `x` to a power that is an integer or a float.
pub(super) fn pow(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let ty = number_type(&args[0]).expect("floats");
    let mut b = e.b();
    let exponent = b.cast(args[1].value, ty);
    let value = b.value(OpKind::Math(MathFn::Pow), &[args[0].value, exponent]);
    done(e, value)
}

/// The exponent as an integer; the least integer for zero and NaN.
pub(super) fn ilogb(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    let least = int(e, i64::from(i32::MIN), &at(&args[0], Scalar::I32));
    let mut b = e.b();
    let exponent = b.value(OpKind::Math(MathFn::Logb), &[args[0].value]);
    let exponent = b.cast(exponent, Scalar::I32);
    let nan = b.cmp(CmpOp::Ne, args[0].value, args[0].value);
    let value = b.select(nan, least, exponent);
    done(e, value)
}

/// The Bessel function of the first kind of an integer order.
pub(super) fn jn(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    of_order(e, MathFn::Jn, args)
}

/// The Bessel function of the second kind of an integer order.
pub(super) fn yn(e: &mut Emit<'_>, args: &[Tensor]) -> LowerResult<Tensor> {
    of_order(e, MathFn::Yn, args)
}

/// The IR's operands have one type: the order becomes a float, exact for all orders that are not absurd.
fn of_order(e: &mut Emit<'_>, function: MathFn, args: &[Tensor]) -> LowerResult<Tensor> {
    let ty = number_type(&args[1]).expect("floats");
    let mut b = e.b();
    let order = b.cast(args[0].value, ty);
    let value = b.value(OpKind::Math(function), &[order, args[1].value]);
    done(e, value)
}
