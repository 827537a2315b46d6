//! Elementwise arithmetic on scalars and vectors. `shoal_ir::numeric` is the definition.

use inkwell::values::InstructionOpcode as Op;
use inkwell::{FloatPredicate, IntPredicate};
use shoal_ir::numeric::NonFinite;
use shoal_ir::op::{BinaryOp, CmpOp, MathFn, UnaryOp};
use shoal_ir::{Elem, Extreme, Nan, Scalar};

use super::convert::{from_f32, to_f32};
use super::lane_call::math_call;
use super::llvm::{Llvm, V, lanes};
use super::value_type::register_type;

/// Runs `body` in the type a float computes in: 8- and 16-bit floats in `f32`, with one rounding at the end.
pub(crate) fn in_compute_type<'ctx>(
    llvm: &Llvm<'ctx>,
    ty: Scalar,
    operands: &[V<'ctx>],
    body: impl Fn(Scalar, &[V<'ctx>]) -> V<'ctx>,
) -> V<'ctx> {
    if ty.compute_type() == ty {
        return body(ty, operands);
    }
    let wide: Vec<V<'ctx>> = operands.iter().map(|&v| to_f32(llvm, ty, v)).collect();
    from_f32(llvm, ty, body(Scalar::F32, &wide))
}

pub(crate) fn unary<'ctx>(llvm: &Llvm<'ctx>, op: UnaryOp, ty: Scalar, a: V<'ctx>) -> V<'ctx> {
    let zero = || a.get_type().const_zero();
    match op {
        UnaryOp::Neg | UnaryOp::Abs if ty.is_fp8() => change_sign(llvm, op, ty, a),
        UnaryOp::Neg if ty.is_float() => in_compute_type(llvm, ty, &[a], |_, v| llvm.fneg(v[0])),
        UnaryOp::Neg => llvm.bin(Op::Sub, zero(), a),
        UnaryOp::Not => llvm.not(a),
        UnaryOp::Abs if ty.is_float() => in_compute_type(llvm, ty, &[a], |_, v| call1(llvm, "llvm.fabs", v[0])),
        UnaryOp::Abs if ty.is_signed_int() => intrinsic_with_flag(llvm, "llvm.abs", a),
        UnaryOp::Abs => a,
        UnaryOp::Clz => intrinsic_with_flag(llvm, "llvm.ctlz", a),
        UnaryOp::Popc => call1(llvm, "llvm.ctpop", a),
        UnaryOp::Brev if ty == Scalar::I1 => a,
        UnaryOp::Brev => call1(llvm, "llvm.bitreverse", a),
    }
}

/// The sign changed in the bits of an 8-bit float: through `f32` an infinity would saturate. A format without negative
/// zero keeps its zero and its NaN, which is where that would be.
fn change_sign<'ctx>(llvm: &Llvm<'ctx>, op: UnaryOp, ty: Scalar, a: V<'ctx>) -> V<'ctx> {
    let constant = |value: u64| -> V<'ctx> { llvm.splat_like(llvm.int_type(8).const_int(value, false).into(), a) };
    let magnitude = llvm.bin(Op::And, a, constant(0x7f));
    let changed = if op == UnaryOp::Abs { magnitude } else { llvm.bin(Op::Xor, a, constant(0x80)) };
    unless_bare(llvm, ty, a, changed)
}

/// An 8-bit float with another sign; as it was, if its format has one zero and one NaN and it is one of them.
fn unless_bare<'ctx>(llvm: &Llvm<'ctx>, ty: Scalar, a: V<'ctx>, changed: V<'ctx>) -> V<'ctx> {
    let constant = |value: u64| -> V<'ctx> { llvm.splat_like(llvm.int_type(8).const_int(value, false).into(), a) };
    match ty.float_format().map(|format| format.non_finite) {
        Some(NonFinite::SignNan) => {
            let magnitude = llvm.bin(Op::And, a, constant(0x7f));
            llvm.select(llvm.icmp(IntPredicate::EQ, magnitude, constant(0)), a, changed)
        }
        Some(NonFinite::Ieee | NonFinite::AllOnesNan | NonFinite::Saturating) | None => changed,
    }
}

/// The first float with the sign of the second. 8-bit floats are not computed with: through `f32` an infinity would saturate.
pub(crate) fn copysign<'ctx>(llvm: &Llvm<'ctx>, ty: Scalar, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    if !ty.is_fp8() {
        return in_compute_type(llvm, ty, &[a, b], |_, v| call2(llvm, "llvm.copysign", v[0], v[1]));
    }
    let constant = |value: u64| -> V<'ctx> { llvm.splat_like(llvm.int_type(8).const_int(value, false).into(), a) };
    let (magnitude, sign) = (llvm.bin(Op::And, a, constant(0x7f)), llvm.bin(Op::And, b, constant(0x80)));
    unless_bare(llvm, ty, a, llvm.bin(Op::Or, magnitude, sign))
}

/// One of two 8-bit floats as it is: through `f32` an infinity would saturate. `None` for operations that compute.
fn pick_fp8<'ctx>(llvm: &Llvm<'ctx>, op: BinaryOp, ty: Scalar, a: V<'ctx>, b: V<'ctx>) -> Option<V<'ctx>> {
    let (which, nan) = op.extreme()?;
    let (x, y) = (to_f32(llvm, ty, a), to_f32(llvm, ty, b));
    let wins = match which {
        Extreme::Min => llvm.fcmp(FloatPredicate::OLT, x, y),
        Extreme::Max => llvm.fcmp(FloatPredicate::OGT, x, y),
    };
    let decides = match nan {
        Nan::Ignore => y,
        Nan::Propagate => x,
    };
    let is_nan = llvm.fcmp(FloatPredicate::UNO, decides, decides);
    let picked = llvm.select(llvm.bin(Op::Or, wins, is_nan), a, b);
    Some(llvm.select(llvm.fcmp(FloatPredicate::OEQ, x, y), of_equals(llvm, which, a, b), picked))
}

pub(crate) fn call1<'ctx>(llvm: &Llvm<'ctx>, name: &str, a: V<'ctx>) -> V<'ctx> {
    llvm.intrinsic(name, &[a.get_type()], &[a]).expect("a value")
}

pub(crate) fn call2<'ctx>(llvm: &Llvm<'ctx>, name: &str, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    llvm.intrinsic(name, &[a.get_type()], &[a, b]).expect("a value")
}

/// An intrinsic whose second operand says whether an edge case is poison; it never is.
fn intrinsic_with_flag<'ctx>(llvm: &Llvm<'ctx>, name: &str, a: V<'ctx>) -> V<'ctx> {
    llvm.intrinsic(name, &[a.get_type()], &[a, llvm.i1().const_zero().into()]).expect("a value")
}

pub(crate) fn binary<'ctx>(llvm: &Llvm<'ctx>, op: BinaryOp, ty: Scalar, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    if ty.is_fp8()
        && let Some(picked) = pick_fp8(llvm, op, ty, a, b)
    {
        return picked;
    }
    if ty.is_float() {
        return in_compute_type(llvm, ty, &[a, b], |ty, v| float_binary(llvm, op, ty, v[0], v[1]));
    }
    let signed = ty.is_signed_int();
    match op {
        BinaryOp::Add => llvm.bin(Op::Add, a, b),
        BinaryOp::Sub => llvm.bin(Op::Sub, a, b),
        BinaryOp::Mul => llvm.bin(Op::Mul, a, b),
        BinaryOp::And => llvm.bin(Op::And, a, b),
        BinaryOp::Or => llvm.bin(Op::Or, a, b),
        BinaryOp::Xor => llvm.bin(Op::Xor, a, b),
        BinaryOp::Div | BinaryOp::DivRn | BinaryOp::Rem => divide(llvm, op, ty, a, b),
        BinaryOp::Shl | BinaryOp::Shr => shift(llvm, op, ty, a, b),
        BinaryOp::Min | BinaryOp::MinNan => {
            let less = llvm.icmp(if signed { IntPredicate::SLT } else { IntPredicate::ULT }, a, b);
            llvm.select(less, a, b)
        }
        BinaryOp::Max | BinaryOp::MaxNan => {
            let greater = llvm.icmp(if signed { IntPredicate::SGT } else { IntPredicate::UGT }, a, b);
            llvm.select(greater, a, b)
        }
        BinaryOp::MulHi => multiply_high(llvm, ty, a, b),
    }
}

fn float_binary<'ctx>(llvm: &Llvm<'ctx>, op: BinaryOp, ty: Scalar, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    match op {
        BinaryOp::Add => llvm.bin(Op::FAdd, a, b),
        BinaryOp::Sub => llvm.bin(Op::FSub, a, b),
        BinaryOp::Mul => llvm.bin(Op::FMul, a, b),
        BinaryOp::Div | BinaryOp::DivRn => llvm.bin(Op::FDiv, a, b),
        BinaryOp::Rem => math_call(llvm, MathFn::Fmod, ty, &[a, b]),
        BinaryOp::Min => number_of_two(llvm, Extreme::Min, ty, a, b),
        BinaryOp::Max => number_of_two(llvm, Extreme::Max, ty, a, b),
        BinaryOp::MinNan => nan_or(llvm, a, b, number_of_two(llvm, Extreme::Min, ty, a, b)),
        BinaryOp::MaxNan => nan_or(llvm, a, b, number_of_two(llvm, Extreme::Max, ty, a, b)),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::MulHi => {
            unreachable!("the verifier keeps {op} to integers")
        }
    }
}

/// The lesser or the greater; the other one if one is NaN. In this form LLVM makes one comparison and one (masked) maximum of
/// it, and as many more for zeros, where its own `maximumnum` takes longer from operand to result.
fn number_of_two<'ctx>(llvm: &Llvm<'ctx>, which: Extreme, ty: Scalar, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    let wins = match which {
        Extreme::Min => FloatPredicate::OLT,
        Extreme::Max => FloatPredicate::OGT,
    };
    let picked = llvm.select(llvm.fcmp(wins, a, b), a, b);
    let picked = llvm.select(llvm.fcmp(FloatPredicate::ORD, b, b), picked, a);
    if constants(b).is_some_and(|numbers| wins_ties(which, &numbers)) {
        return picked;
    }
    let [x, y] = [a, b].map(|v| llvm.cast(Op::BitCast, v, llvm.int_type(ty.bits()).into()));
    let zero = llvm.cast(Op::BitCast, of_equals(llvm, which, x, y), register_type(llvm, Elem::Scalar(ty)));
    llvm.select(llvm.fcmp(FloatPredicate::OEQ, a, b), zero, picked)
}

/// The bits of the lesser or the greater of two floats that are equal, whose bits these are: zeros alone may differ, by sign.
fn of_equals<'ctx>(llvm: &Llvm<'ctx>, which: Extreme, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    match which {
        Extreme::Min => llvm.bin(Op::Or, a, b),
        Extreme::Max => llvm.bin(Op::And, a, b),
    }
}

/// Whether each of these numbers is the right one of it and a number that is equal to it.
pub(crate) fn wins_ties(which: Extreme, numbers: &[f64]) -> bool {
    let losing = |zero: &f64| *zero == 0.0 && (which == Extreme::Max) == zero.is_sign_negative();
    !numbers.iter().any(losing)
}

/// The numbers of a constant of floats.
pub(crate) fn constants(value: V<'_>) -> Option<Vec<f64>> {
    if let V::FloatValue(number) = value {
        return Some(vec![number.get_constant()?.0]);
    }
    let V::VectorValue(vector) = value else { return None };
    if vector.is_null() {
        return Some(vec![0.0]);
    }
    if !vector.is_constant_data_vector() {
        return None;
    }
    (0..vector.get_type().get_size()).map(|lane| constants(vector.get_element_as_constant(lane))?.pop()).collect()
}

fn nan_or<'ctx>(llvm: &Llvm<'ctx>, a: V<'ctx>, b: V<'ctx>, number: V<'ctx>) -> V<'ctx> {
    let nan = llvm.bin(Op::FAdd, a, b);
    llvm.select(llvm.fcmp(FloatPredicate::UNO, a, b), nan, number)
}

/// Integer division never traps: by zero it gives zero, and the least integer over minus one wraps.
fn divide<'ctx>(llvm: &Llvm<'ctx>, op: BinaryOp, ty: Scalar, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    let zero = b.get_type().const_zero();
    let constant =
        |value: u64| -> V<'ctx> { llvm.splat_like(llvm.int_type(ty.bits()).const_int(value, true).into(), b) };
    let by_zero = llvm.icmp(IntPredicate::EQ, b, zero);
    let mut bad = by_zero;
    if ty.is_signed_int() {
        let least = llvm.icmp(IntPredicate::EQ, a, constant(1 << (ty.bits() - 1)));
        let minus_one = llvm.icmp(IntPredicate::EQ, b, constant(u64::MAX));
        bad = llvm.bin(Op::Or, bad, llvm.bin(Op::And, least, minus_one));
    }
    let divisor = llvm.select(bad, constant(1), b);
    let quotient = if lanes(a).is_some() && ty.bits() <= 32 {
        divide_as_f64(llvm, ty, a, divisor)
    } else {
        llvm.bin(if ty.is_signed_int() { Op::SDiv } else { Op::UDiv }, a, divisor)
    };
    let result =
        if op == BinaryOp::Rem { llvm.bin(Op::Sub, a, llvm.bin(Op::Mul, quotient, divisor)) } else { quotient };
    llvm.select(by_zero, zero, result)
}

/// Vectors have no integer division, but `f64` holds every 32-bit quotient exactly enough to truncate.
fn divide_as_f64<'ctx>(llvm: &Llvm<'ctx>, ty: Scalar, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    let f64 = llvm.context.f64_type().into();
    let (to, from) = if ty.is_signed_int() { (Op::SIToFP, Op::FPToSI) } else { (Op::UIToFP, Op::FPToUI) };
    let quotient = llvm.bin(Op::FDiv, llvm.cast(to, a, f64), llvm.cast(to, b, f64));
    llvm.cast(from, quotient, llvm.int_type(ty.bits()).into())
}

/// Shifting by the width or more moves every bit out.
fn shift<'ctx>(llvm: &Llvm<'ctx>, op: BinaryOp, ty: Scalar, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    let like = |value: u32| llvm.splat_like(llvm.int_type(ty.bits()).const_int(u64::from(value), false).into(), b);
    if ty == Scalar::I1 {
        // The only shift that keeps a one-bit value is by zero.
        return llvm.bin(Op::And, a, llvm.not(b));
    }
    let inside = llvm.icmp(IntPredicate::ULT, b, like(ty.bits()));
    let bounded = llvm.select(inside, b, like(ty.bits() - 1));
    let right = op == BinaryOp::Shr;
    if right && ty.is_signed_int() {
        // An arithmetic shift by all but one bit leaves only copies of the sign, as shifting further would.
        return llvm.bin(Op::AShr, a, bounded);
    }
    let shifted = llvm.bin(if right { Op::LShr } else { Op::Shl }, a, bounded);
    llvm.select(inside, shifted, a.get_type().const_zero())
}

fn multiply_high<'ctx>(llvm: &Llvm<'ctx>, ty: Scalar, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    let wide = llvm.int_type(2 * ty.bits());
    let extend = if ty.is_signed_int() { Op::SExt } else { Op::ZExt };
    let (a, b) = (llvm.cast(extend, a, wide.into()), llvm.cast(extend, b, wide.into()));
    let product = llvm.bin(Op::Mul, a, b);
    let by = wide.const_int(u64::from(ty.bits()), false);
    let by = llvm.splat_like(by.into(), product);
    llvm.cast(Op::Trunc, llvm.bin(Op::LShr, product, by), llvm.int_type(ty.bits()).into())
}

pub(crate) fn compare<'ctx>(llvm: &Llvm<'ctx>, op: CmpOp, elem: Elem, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    let scalar = match elem {
        Elem::Scalar(s) => s,
        Elem::Ptr(_) => Scalar::U64,
    };
    if scalar.is_float() {
        let (a, b) =
            if scalar.compute_type() == scalar { (a, b) } else { (to_f32(llvm, scalar, a), to_f32(llvm, scalar, b)) };
        let predicate = match op {
            CmpOp::Eq => FloatPredicate::OEQ,
            CmpOp::Ne => FloatPredicate::UNE,
            CmpOp::Lt => FloatPredicate::OLT,
            CmpOp::Le => FloatPredicate::OLE,
            CmpOp::Gt => FloatPredicate::OGT,
            CmpOp::Ge => FloatPredicate::OGE,
        };
        return llvm.fcmp(predicate, a, b);
    }
    let signed = scalar.is_signed_int();
    let predicate = match op {
        CmpOp::Eq => IntPredicate::EQ,
        CmpOp::Ne => IntPredicate::NE,
        CmpOp::Lt if signed => IntPredicate::SLT,
        CmpOp::Lt => IntPredicate::ULT,
        CmpOp::Le if signed => IntPredicate::SLE,
        CmpOp::Le => IntPredicate::ULE,
        CmpOp::Gt if signed => IntPredicate::SGT,
        CmpOp::Gt => IntPredicate::UGT,
        CmpOp::Ge if signed => IntPredicate::SGE,
        CmpOp::Ge => IntPredicate::UGE,
    };
    llvm.icmp(predicate, a, b)
}

pub(crate) fn fma<'ctx>(llvm: &Llvm<'ctx>, ty: Scalar, operands: &[V<'ctx>]) -> V<'ctx> {
    in_compute_type(llvm, ty, operands, |_, v| llvm.intrinsic("llvm.fma", &[v[0].get_type()], v).expect("a value"))
}
