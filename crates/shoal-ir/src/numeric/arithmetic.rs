//! Arithmetic, comparison and selection as loops over element bits.
//!
//! Slices of one call have one length; only as many elements as the shortest has are computed.

use shoal_abi::float_format::NonFinite;

use super::format::{Format, Real, layout, with_format};
use super::integer::{self, Int};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::types::Scalar;

/// `out[i] = f(a[i])`.
pub(super) fn map(a: &[u64], out: &mut [u64], f: impl Fn(u64) -> u64) {
    for (out, &a) in out.iter_mut().zip(a) {
        *out = f(a);
    }
}

/// `out[i] = f(a[i], b[i])`.
pub(super) fn zip(a: &[u64], b: &[u64], out: &mut [u64], f: impl Fn(u64, u64) -> u64) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = f(a, b);
    }
}

/// [`super::unary`] for each element of type `ty`.
pub fn unary_slice(op: UnaryOp, ty: Scalar, a: &[u64], out: &mut [u64]) {
    match op {
        UnaryOp::Neg if ty.is_float() => change_sign(ty, a, out, |bits, sign| bits ^ sign),
        UnaryOp::Abs if ty.is_float() => change_sign(ty, a, out, |bits, sign| bits & !sign),
        UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Clz | UnaryOp::Popc | UnaryOp::Brev => {
            integer::unary(op, Int::of(ty), a, out);
        }
    }
}

/// Changes sign bits; a format without negative zero keeps its zero and its NaN, which is where that would be.
fn change_sign(ty: Scalar, a: &[u64], out: &mut [u64], f: impl Fn(u64, u64) -> u64) {
    let sign = 1u64 << (ty.bits() - 1);
    match layout(ty).non_finite {
        NonFinite::SignNan => map(a, out, |x| if x & !sign == 0 { x } else { f(x, sign) }),
        NonFinite::Ieee | NonFinite::AllOnesNan | NonFinite::Saturating => map(a, out, |x| f(x, sign)),
    }
}

/// [`super::binary`] for each pair of elements of type `ty`.
pub fn binary_slice(op: BinaryOp, ty: Scalar, a: &[u64], b: &[u64], out: &mut [u64]) {
    with_format!(ty, F => binary_float::<F>(op, a, b, out), else integer::binary(op, Int::of(ty), a, b, out));
}

fn binary_float<F: Format>(op: BinaryOp, a: &[u64], b: &[u64], out: &mut [u64]) {
    match op {
        BinaryOp::Add => compute::<F>(a, b, out, |x, y| x + y),
        BinaryOp::Sub => compute::<F>(a, b, out, |x, y| x - y),
        BinaryOp::Mul => compute::<F>(a, b, out, |x, y| x * y),
        BinaryOp::Div | BinaryOp::DivRn => compute::<F>(a, b, out, |x, y| x / y),
        BinaryOp::Rem => compute::<F>(a, b, out, |x, y| x % y),
        BinaryOp::Min => choose::<F>(a, b, out, |x, y| is_less(x, y) || y.is_nan()),
        BinaryOp::Max => choose::<F>(a, b, out, |x, y| is_less(y, x) || y.is_nan()),
        BinaryOp::MinNan => choose::<F>(a, b, out, |x, y| is_less(x, y) || x.is_nan()),
        BinaryOp::MaxNan => choose::<F>(a, b, out, |x, y| is_less(y, x) || x.is_nan()),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::MulHi => {
            integer::binary(op, Int::of(F::SCALAR), a, b, out);
        }
    }
}

fn compute<F: Format>(a: &[u64], b: &[u64], out: &mut [u64], f: impl Fn(F::Real, F::Real) -> F::Real) {
    zip(a, b, out, |x, y| F::store(f(F::load(x), F::load(y))));
}

/// The bits of `a` where `first` holds, else those of `b`.
fn choose<F: Format>(a: &[u64], b: &[u64], out: &mut [u64], first: impl Fn(F::Real, F::Real) -> bool) {
    zip(a, b, out, |x, y| if first(F::load(x), F::load(y)) { x } else { y });
}

/// Whether one number is less than another, -0 being less than +0.
fn is_less<R: Real>(x: R, y: R) -> bool {
    x < y || (x == y && x.to_f64().is_sign_negative() && y.to_f64().is_sign_positive())
}

/// [`super::compare`] for each pair of elements of type `ty`; pointers compare as `u64`.
pub fn compare_slice(op: CmpOp, ty: Scalar, a: &[u64], b: &[u64], out: &mut [u64]) {
    with_format!(ty, F => compare_float::<F>(op, a, b, out), else integer::compare(op, Int::of(ty), a, b, out));
}

fn compare_float<F: Format>(op: CmpOp, a: &[u64], b: &[u64], out: &mut [u64]) {
    fn each<F: Format>(a: &[u64], b: &[u64], out: &mut [u64], f: impl Fn(&F::Real, &F::Real) -> bool) {
        zip(a, b, out, |x, y| u64::from(f(&F::load(x), &F::load(y))));
    }
    match op {
        CmpOp::Eq => each::<F>(a, b, out, F::Real::eq),
        CmpOp::Ne => each::<F>(a, b, out, F::Real::ne),
        CmpOp::Lt => each::<F>(a, b, out, F::Real::lt),
        CmpOp::Le => each::<F>(a, b, out, F::Real::le),
        CmpOp::Gt => each::<F>(a, b, out, F::Real::gt),
        CmpOp::Ge => each::<F>(a, b, out, F::Real::ge),
    }
}

/// [`super::select`] for each element.
pub fn select_slice(condition: &[u64], a: &[u64], b: &[u64], out: &mut [u64]) {
    for (((out, &c), &a), &b) in out.iter_mut().zip(condition).zip(a).zip(b) {
        *out = if c != 0 { a } else { b };
    }
}

/// [`super::fma`] for each element of type `ty`. On integers: a wrapping product and sum.
pub fn fma_slice(ty: Scalar, a: &[u64], b: &[u64], c: &[u64], out: &mut [u64]) {
    with_format!(ty, F => fma_float::<F>(a, b, c, out), else {
        let mask = Int::of(ty).mask();
        zip(a, b, out, u64::wrapping_mul);
        out.iter_mut().zip(c).for_each(|(out, &c)| *out = out.wrapping_add(c) & mask);
    });
}

fn fma_float<F: Format>(a: &[u64], b: &[u64], c: &[u64], out: &mut [u64]) {
    for (((out, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
        *out = F::store(F::load(a).mul_add(F::load(b), F::load(c)));
    }
}
