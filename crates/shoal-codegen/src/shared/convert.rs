//! Conversions between number types, on scalars and vectors.

use inkwell::values::InstructionOpcode as Op;
use inkwell::{FloatPredicate, IntPredicate};
use shoal_ir::numeric::{FloatFormat, NonFinite};
use shoal_ir::op::Rounding;
use shoal_ir::{Elem, Scalar};

use super::llvm::{Llvm, V, lanes, pointer_as_int};
use super::value_type::register_type;

/// Integer constants of the shape of a value: a scalar or a vector.
struct Bits<'l, 'ctx> {
    llvm: &'l Llvm<'ctx>,
    like: V<'ctx>,
    width: u32,
}

impl<'ctx> Bits<'_, 'ctx> {
    fn int(&self, value: u64) -> V<'ctx> {
        self.shaped(self.llvm.int_type(self.width).const_int(value, false).into())
    }

    fn float(&self, value: f64) -> V<'ctx> {
        self.shaped(self.llvm.f32().const_float(value).into())
    }

    fn shaped(&self, scalar: V<'ctx>) -> V<'ctx> {
        self.llvm.splat_like(scalar, self.like)
    }
}

/// A float narrower than `f32`, exactly.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other floats are read by their format")]
pub(crate) fn to_f32<'ctx>(llvm: &Llvm<'ctx>, from: Scalar, a: V<'ctx>) -> V<'ctx> {
    match from {
        Scalar::F16 => llvm.cast(Op::FPExt, a, llvm.f32().into()),
        Scalar::BF16 => {
            let bits = Bits { llvm, like: a, width: 32 };
            let upper = llvm.bin(Op::Shl, llvm.cast(Op::ZExt, a, llvm.i32().into()), bits.int(16));
            llvm.cast(Op::BitCast, upper, llvm.f32().into())
        }
        Scalar::F8E5M2 => {
            // The upper half of an IEEE half.
            let bits = Bits { llvm, like: a, width: 16 };
            let wide = llvm.cast(Op::ZExt, a, llvm.int_type(16).into());
            let half = llvm.cast(Op::BitCast, llvm.bin(Op::Shl, wide, bits.int(8)), llvm.context.f16_type().into());
            llvm.cast(Op::FPExt, half, llvm.f32().into())
        }
        _ => match from.float_format() {
            Some(format) if from.is_fp8() => fp8_to_f32(llvm, format, a),
            _ => a,
        },
    }
}

/// Exponent and mantissa moved into place give the number times a power of two, subnormals included.
fn fp8_to_f32<'ctx>(llvm: &Llvm<'ctx>, format: FloatFormat, a: V<'ctx>) -> V<'ctx> {
    let bits = Bits { llvm, like: a, width: 32 };
    let wide = llvm.cast(Op::ZExt, a, llvm.i32().into());
    let magnitude = llvm.bin(Op::And, wide, bits.int(0x7f));
    let sign = llvm.bin(Op::Shl, llvm.bin(Op::And, wide, bits.int(0x80)), bits.int(24));
    let placed = llvm.bin(Op::Shl, magnitude, bits.int(u64::from(23 - format.mantissa)));
    let scaled =
        llvm.bin(Op::FMul, llvm.cast(Op::BitCast, placed, llvm.f32().into()), bits.float(2f64.powi(127 - format.bias)));
    let number = llvm.bin(Op::Or, llvm.cast(Op::BitCast, scaled, llvm.i32().into()), sign);
    let is_nan = match format.non_finite {
        NonFinite::AllOnesNan => Some(llvm.icmp(IntPredicate::EQ, magnitude, bits.int(0x7f))),
        NonFinite::SignNan => Some(llvm.icmp(IntPredicate::EQ, wide, bits.int(0x80))),
        NonFinite::Ieee | NonFinite::Saturating => None,
    };
    let number = match is_nan {
        Some(is_nan) => llvm.select(is_nan, llvm.bin(Op::Or, bits.int(0x7fc0_0000), sign), number),
        None => number,
    };
    llvm.cast(Op::BitCast, number, llvm.f32().into())
}

/// A value as functions take it: `bf16` is a float to them.
pub(crate) fn as_passed<'ctx>(llvm: &Llvm<'ctx>, elem: Elem, a: V<'ctx>) -> V<'ctx> {
    match elem {
        Elem::Scalar(Scalar::BF16) => llvm.cast(Op::BitCast, a, llvm.context.bf16_type().into()),
        Elem::Scalar(_) | Elem::Ptr(_) => a,
    }
}

/// `f32` to a narrower float, to nearest even.
pub(crate) fn from_f32<'ctx>(llvm: &Llvm<'ctx>, to: Scalar, a: V<'ctx>) -> V<'ctx> {
    narrow(llvm, to, a, Rounding::Nearest)
}

fn narrow<'ctx>(llvm: &Llvm<'ctx>, to: Scalar, a: V<'ctx>, rounding: Rounding) -> V<'ctx> {
    match (to, rounding) {
        (Scalar::F32, _) => a,
        (Scalar::F16, Rounding::Nearest) => llvm.cast(Op::FPTrunc, a, llvm.context.f16_type().into()),
        (Scalar::BF16, _) => to_bf16(llvm, a, rounding),
        _ => match to.float_format() {
            Some(format) => {
                let encoded = encode(llvm, format, a, rounding);
                let int = llvm.cast(Op::Trunc, encoded, llvm.int_type(to.bits()).into());
                llvm.cast(Op::BitCast, int, register_type(llvm, Elem::Scalar(to)))
            }
            None => unreachable!("a float type, not {to}"),
        },
    }
}

/// The upper half of an `f32`. The instruction that LLVM would take where there is one makes zeros of subnormals.
fn to_bf16<'ctx>(llvm: &Llvm<'ctx>, a: V<'ctx>, rounding: Rounding) -> V<'ctx> {
    if llvm.bf16_instructions && rounding == Rounding::Nearest {
        let rounded = llvm.cast(Op::FPTrunc, a, llvm.context.bf16_type().into());
        return llvm.cast(Op::BitCast, rounded, llvm.int_type(16).into());
    }
    let bits = Bits { llvm, like: a, width: 32 };
    let raw = llvm.cast(Op::BitCast, a, llvm.i32().into());
    let upper = llvm.bin(Op::LShr, raw, bits.int(16));
    let rounded = match rounding {
        Rounding::Nearest => {
            let odd = llvm.bin(Op::And, upper, bits.int(1));
            let carried = llvm.bin(Op::Add, raw, llvm.bin(Op::Add, odd, bits.int(0x7fff)));
            llvm.bin(Op::LShr, carried, bits.int(16))
        }
        Rounding::Zero => upper,
    };
    let is_nan = llvm.fcmp(FloatPredicate::UNO, a, a);
    let result = llvm.select(is_nan, llvm.bin(Op::Or, upper, bits.int(0x40)), rounded);
    llvm.cast(Op::Trunc, result, llvm.int_type(16).into())
}

/// The bits of `a` in a narrower format: the algorithm of `numeric::encode_float`, on `f32`.
fn encode<'ctx>(llvm: &Llvm<'ctx>, format: FloatFormat, a: V<'ctx>, rounding: Rounding) -> V<'ctx> {
    let bits = Bits { llvm, like: a, width: 32 };
    let (int, one) = (|v: u64| bits.int(v), bits.int(1));
    let raw = llvm.cast(Op::BitCast, a, llvm.i32().into());
    let magnitude = llvm.bin(Op::And, raw, int(0x7fff_ffff));
    let sign_bit = 1u64 << (format.exponent + format.mantissa);
    let sign = llvm.bin(
        Op::And,
        llvm.bin(Op::LShr, raw, int(u64::from(31 - (format.exponent + format.mantissa)))),
        int(sign_bit),
    );
    let exponent = llvm.bin(Op::LShr, magnitude, int(23));
    let significand = llvm.bin(Op::Or, llvm.bin(Op::And, magnitude, int(0x7f_ffff)), int(0x80_0000));
    // The exponent, in f32's bias, of the format's least normal number.
    let least = (127 + 1 - format.bias) as u64;
    let is_below = llvm.icmp(IntPredicate::ULT, exponent, int(least));
    let below = llvm.select(is_below, llvm.bin(Op::Sub, int(least), exponent), int(0));
    let shift = llvm.bin(Op::Add, int(u64::from(23 - format.mantissa)), below);
    let shift = llvm.select(llvm.icmp(IntPredicate::ULT, shift, int(31)), shift, int(31));
    let kept = llvm.bin(Op::LShr, significand, shift);
    let base = llvm.bin(Op::Shl, llvm.bin(Op::Sub, exponent, int(least)), int(u64::from(format.mantissa)));
    let base = llvm.select(is_below, int(0), base);
    let mut result = llvm.bin(Op::Add, base, kept);
    if rounding == Rounding::Nearest {
        let rest = llvm.bin(Op::And, significand, llvm.bin(Op::Sub, llvm.bin(Op::Shl, one, shift), one));
        let half = llvm.bin(Op::Shl, one, llvm.bin(Op::Sub, shift, one));
        let odd = llvm.icmp(IntPredicate::NE, llvm.bin(Op::And, kept, one), int(0));
        let tie = llvm.bin(Op::And, llvm.icmp(IntPredicate::EQ, rest, half), odd);
        let up = llvm.bin(Op::Or, llvm.icmp(IntPredicate::UGT, rest, half), tie);
        result = llvm.bin(Op::Add, result, llvm.cast(Op::ZExt, up, llvm.i32().into()));
    }
    let top = ((1u64 << format.exponent) - 1) << format.mantissa;
    let greatest = format.max_finite();
    let (overflow, nan) = match format.non_finite {
        NonFinite::Ieee if format.saturates() => (greatest, top | (1 << (format.mantissa - 1))),
        NonFinite::Ieee => (top, top | (1 << (format.mantissa - 1))),
        NonFinite::AllOnesNan => (greatest, sign_bit - 1),
        NonFinite::SignNan => (greatest, sign_bit),
        NonFinite::Saturating => (greatest, greatest),
    };
    let too_big = llvm.icmp(IntPredicate::UGT, result, int(greatest));
    let infinite = llvm.icmp(IntPredicate::EQ, magnitude, int(0x7f80_0000));
    let at_most = match rounding {
        Rounding::Zero if overflow != greatest => llvm.select(infinite, int(overflow), int(greatest)),
        Rounding::Nearest | Rounding::Zero => int(overflow),
    };
    let result = llvm.select(too_big, at_most, result);
    let result = llvm.select(llvm.icmp(IntPredicate::UGT, magnitude, int(0x7f80_0000)), int(nan), result);
    let signed = llvm.bin(Op::Or, result, sign);
    if format.non_finite != NonFinite::SignNan {
        return signed;
    }
    // One zero and one NaN: neither takes a sign.
    let bare =
        llvm.bin(Op::Or, llvm.icmp(IntPredicate::EQ, result, int(0)), llvm.icmp(IntPredicate::EQ, result, int(nan)));
    llvm.select(bare, result, signed)
}

/// `f64` to `f32` such that rounding once more, to a narrower format, gives what one rounding would have given: towards
/// zero, with the last bit set if anything was lost.
fn to_odd_f32<'ctx>(llvm: &Llvm<'ctx>, a: V<'ctx>) -> V<'ctx> {
    let (f32, f64) = (llvm.f32().into(), llvm.context.f64_type().into());
    let near = llvm.cast(Op::FPTrunc, a, f32);
    let back = llvm.cast(Op::FPExt, near, f64);
    let size = |v: V<'ctx>| llvm.intrinsic("llvm.fabs", &[v.get_type()], &[v]).expect("a value");
    let too_far = llvm.cast(Op::ZExt, llvm.fcmp(FloatPredicate::OGT, size(back), size(a)), llvm.i32().into());
    let inexact = llvm.cast(Op::ZExt, llvm.fcmp(FloatPredicate::ONE, back, a), llvm.i32().into());
    let raw = llvm.cast(Op::BitCast, near, llvm.i32().into());
    let towards_zero = llvm.bin(Op::Sub, raw, too_far);
    llvm.cast(Op::BitCast, llvm.bin(Op::Or, towards_zero, inexact), f32)
}

/// Conversion by value.
pub(crate) fn cast<'ctx>(llvm: &Llvm<'ctx>, from: Elem, to: Elem, rounding: Rounding, a: V<'ctx>) -> V<'ctx> {
    match (from, to) {
        (Elem::Ptr(_), Elem::Ptr(_)) => a,
        (Elem::Ptr(_), Elem::Scalar(_)) => pointer_as_int(llvm, a),
        (Elem::Scalar(_), Elem::Ptr(_)) => {
            if let V::IntValue(i) = a {
                llvm.int_to_ptr(i).into()
            } else {
                a
            }
        }
        (Elem::Scalar(from), Elem::Scalar(to)) => number(llvm, from, to, rounding, a),
    }
}

fn number<'ctx>(llvm: &Llvm<'ctx>, from: Scalar, to: Scalar, rounding: Rounding, a: V<'ctx>) -> V<'ctx> {
    if from == to {
        return a;
    }
    match (from.is_float(), to.is_float()) {
        (false, false) if to == Scalar::I1 => llvm.icmp(IntPredicate::NE, a, a.get_type().const_zero()),
        (false, false) => {
            let op = match () {
                () if to.bits() < from.bits() => Op::Trunc,
                () if from.is_signed_int() => Op::SExt,
                () => Op::ZExt,
            };
            llvm.cast(op, a, llvm.int_type(to.bits()).into())
        }
        (false, true) => int_to_float(llvm, from, to, a),
        (true, false) => float_to_int(llvm, from, to, a),
        (true, true) => float_to_float(llvm, from, to, rounding, a),
    }
}

fn int_to_float<'ctx>(llvm: &Llvm<'ctx>, from: Scalar, to: Scalar, a: V<'ctx>) -> V<'ctx> {
    let op = if from.is_signed_int() { Op::SIToFP } else { Op::UIToFP };
    if to.bits() >= 32 {
        return llvm.cast(op, a, register_type(llvm, Elem::Scalar(to)));
    }
    // Narrow floats are computed in `f32`, and rounded from there.
    narrow(llvm, to, llvm.cast(op, a, llvm.f32().into()), Rounding::Nearest)
}

/// Towards zero; what does not fit gives the nearest that does, NaN gives zero.
fn float_to_int<'ctx>(llvm: &Llvm<'ctx>, from: Scalar, to: Scalar, a: V<'ctx>) -> V<'ctx> {
    let a = if from.compute_type() == from { a } else { to_f32(llvm, from, a) };
    if to == Scalar::I1 {
        return llvm.fcmp(FloatPredicate::UNE, a, a.get_type().const_zero());
    }
    if lanes(a).is_some() {
        return float_vector_to_int(llvm, from.compute_type(), to, a);
    }
    let name = if to.is_signed_int() { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
    let result = llvm.like(a, llvm.int_type(to.bits()).into());
    llvm.intrinsic(name, &[result, a.get_type()], &[a]).expect("a value")
}

/// The same for vectors, whose lanes LLVM would convert one by one.
fn float_vector_to_int<'ctx>(llvm: &Llvm<'ctx>, from: Scalar, to: Scalar, a: V<'ctx>) -> V<'ctx> {
    let float = if from == Scalar::F64 { llvm.context.f64_type() } else { llvm.f32() };
    let constant = |value: f64| llvm.splat_like(float.const_float(value).into(), a);
    // Powers of two, so that both floats have them: the first number that is too large, and the least.
    let signed = to.is_signed_int();
    let beyond = constant(2f64.powi((to.bits() - u32::from(signed)).cast_signed()));
    let least = constant(if signed { -2f64.powi((to.bits() - 1).cast_signed()) } else { 0.0 });
    let below = llvm.fcmp(FloatPredicate::OLT, a, beyond);
    let number = llvm.select(below, a, a.get_type().const_zero());
    let number = llvm.select(llvm.fcmp(FloatPredicate::OGT, number, least), number, least);
    // CPUs convert to 32 bits and more.
    let wide = llvm.int_type(to.bits().max(32));
    let wide = llvm.cast(if signed { Op::FPToSI } else { Op::FPToUI }, number, wide.into());
    let ty = llvm.int_type(to.bits());
    let result = if to.bits() < 32 { llvm.cast(Op::Trunc, wide, ty.into()) } else { wide };
    let greatest = ty.const_int(u64::MAX >> (64 - to.bits() + u32::from(signed)), false);
    let too_large = llvm.fcmp(FloatPredicate::OGE, a, beyond);
    llvm.select(too_large, llvm.splat_like(greatest.into(), result), result)
}

fn float_to_float<'ctx>(llvm: &Llvm<'ctx>, from: Scalar, to: Scalar, rounding: Rounding, a: V<'ctx>) -> V<'ctx> {
    match (from, to) {
        (Scalar::F64, Scalar::F32) if rounding == Rounding::Nearest => llvm.cast(Op::FPTrunc, a, llvm.f32().into()),
        (Scalar::F64, Scalar::F32) => {
            // Rounding to odd differs from rounding towards zero in the last bit only, which is set if inexact.
            towards_zero_f32(llvm, a)
        }
        (Scalar::F64, _) => narrow(llvm, to, to_odd_f32(llvm, a), rounding),
        (_, Scalar::F64) => {
            let single = if from == Scalar::F32 { a } else { to_f32(llvm, from, a) };
            llvm.cast(Op::FPExt, single, llvm.context.f64_type().into())
        }
        _ => {
            let single = if from == Scalar::F32 { a } else { to_f32(llvm, from, a) };
            narrow(llvm, to, single, rounding)
        }
    }
}

fn towards_zero_f32<'ctx>(llvm: &Llvm<'ctx>, a: V<'ctx>) -> V<'ctx> {
    let (f32, f64) = (llvm.f32().into(), llvm.context.f64_type().into());
    let near = llvm.cast(Op::FPTrunc, a, f32);
    let back = llvm.cast(Op::FPExt, near, f64);
    let size = |v: V<'ctx>| llvm.intrinsic("llvm.fabs", &[v.get_type()], &[v]).expect("a value");
    let too_far = llvm.cast(Op::ZExt, llvm.fcmp(FloatPredicate::OGT, size(back), size(a)), llvm.i32().into());
    let raw = llvm.cast(Op::BitCast, near, llvm.i32().into());
    llvm.cast(Op::BitCast, llvm.bin(Op::Sub, raw, too_far), f32)
}
