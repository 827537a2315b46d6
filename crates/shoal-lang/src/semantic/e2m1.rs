//! Floats of four bits, `e2m1`: a sign, two bits of exponent, one of mantissa. No tile has them: they lie in bytes.

use shoal_ir::Value as IrValue;
use shoal_ir::op::{BinaryOp, CmpOp, UnaryOp};
use shoal_ir::types::Scalar;

use crate::emit::Emit;

/// The middles between neighbours, and which of those at the middle go up: those whose upper neighbour is even.
const MIDDLES: [(f64, CmpOp); 7] = [
    (0.25, CmpOp::Gt),
    (0.75, CmpOp::Ge),
    (1.25, CmpOp::Gt),
    (1.75, CmpOp::Ge),
    (2.5, CmpOp::Gt),
    (3.5, CmpOp::Ge),
    (5.0, CmpOp::Gt),
];

/// Bytes whose low four bits are such numbers, as `fp32`: twice their magnitude is a digit of a constant.
pub(crate) fn to_float(e: &mut Emit<'_>, nibbles: IrValue) -> IrValue {
    const DOUBLED_MAGNITUDES: i64 = 0xC864_3210;
    let mut b = e.b();
    let wide = b.cast(nibbles, Scalar::U32);
    let words = e.func.ty(wide).clone();
    let mut b = e.b();
    let (seven, two, fifteen) = (b.int(7, words.clone()), b.int(2, words.clone()), b.int(15, words.clone()));
    let digits = b.int(DOUBLED_MAGNITUDES, words.clone());
    let code = b.binary(BinaryOp::And, wide, seven);
    let at = b.binary(BinaryOp::Shl, code, two);
    let digit = b.binary(BinaryOp::Shr, digits, at);
    let magnitude = b.binary(BinaryOp::And, digit, fifteen);
    let signed = b.bitcast(magnitude, Scalar::I32);
    let doubled = b.cast(signed, Scalar::F32);
    let floats = words.with_elem(Scalar::F32);
    let (half, minus_half) = (b.float(0.5, floats.clone()), b.float(-0.5, floats));
    let (eight, zero) = (b.int(8, words.clone()), b.int(0, words));
    let sign = b.binary(BinaryOp::And, wide, eight);
    let negative = b.cmp(CmpOp::Ne, sign, zero);
    let factor = b.select(negative, minus_half, half);
    b.binary(BinaryOp::Mul, doubled, factor)
}

/// Numbers in `fp32` as the nearest of four bits, in bytes: 6 is the largest, also for what is not a number.
pub(crate) fn from_float(e: &mut Emit<'_>, x: IrValue) -> IrValue {
    let floats = e.func.ty(x).clone();
    let bytes = floats.with_elem(Scalar::U8);
    let mut b = e.b();
    let magnitude = b.unary(UnaryOp::Abs, x);
    let (zero, one) = (b.int(0, bytes.clone()), b.int(1, bytes.clone()));
    let mut code = zero;
    for (middle, passes) in MIDDLES {
        let middle = b.float(middle, floats.clone());
        let above = b.cmp(passes, magnitude, middle);
        let step = b.select(above, one, zero);
        code = b.binary(BinaryOp::Add, code, step);
    }
    let bits = b.bitcast(x, Scalar::U32);
    let (top, three) = (b.int(31, floats.with_elem(Scalar::U32)), b.int(3, bytes.clone()));
    let sign = b.binary(BinaryOp::Shr, bits, top);
    let sign = b.cast(sign, Scalar::U8);
    let sign = b.binary(BinaryOp::Shl, sign, three);
    let signed = b.binary(BinaryOp::Or, code, sign);
    let (nan, largest) = (b.cmp(CmpOp::Ne, x, x), b.int(7, bytes));
    b.select(nan, largest, signed)
}
