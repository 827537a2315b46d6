//! Functions of mathematics.
//!
//! `f64` is the definition; `f32` is the `f64` result rounded, which for `sqrt` and the functions that round to
//! integers is the correctly rounded one.

use std::f64::consts::PI;

use super::arithmetic::{map, zip};
use super::bessel::{cyl_bessel_i0, cyl_bessel_i1};
use super::error_function::{erfcinv, erfcx, erfinv, normcdf, normcdfinv};
use super::float::NonFinite;
use super::format::{Format, Real, layout, with_format};
use crate::op::MathFn;
use crate::types::Scalar;

/// How a function is computed.
enum Rule {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    /// Rounds in the type itself, as subtraction does.
    PositiveDifference,
    /// Depends on which numbers the type has.
    NextAfter,
    /// Moves a bit.
    CopySign,
}

/// [`super::math`] for each element of type `ty`. Missing operand slices count as empty.
pub fn math_slice(function: MathFn, ty: Scalar, args: &[&[u64]], out: &mut [u64]) {
    let a = args.first().copied().unwrap_or(&[]);
    let b = args.get(1).copied().unwrap_or(&[]);
    with_format!(ty, F => float::<F>(function, a, b, out), else out.copy_from_slice(a));
}

fn float<F: Format>(function: MathFn, a: &[u64], b: &[u64], out: &mut [u64]) {
    let value = |x| F::load(x).to_f64();
    match rule(function) {
        Rule::One(f) => map(a, out, |x| F::store(F::Real::from_f64(f(value(x))))),
        Rule::Two(f) => zip(a, b, out, |x, y| F::store(F::Real::from_f64(f(value(x), value(y))))),
        Rule::PositiveDifference => zip(a, b, out, |x, y| {
            let (x, y) = (F::load(x), F::load(y));
            F::store(if x <= y { F::Real::ZERO } else { x - y })
        }),
        Rule::NextAfter => zip(a, b, out, next_after::<F>),
        Rule::CopySign => {
            let sign = 1u64 << (F::SCALAR.bits() - 1);
            let without_negative_zero = layout(F::SCALAR).non_finite == NonFinite::SignNan;
            zip(a, b, out, |x, y| if without_negative_zero && x & !sign == 0 { x } else { (x & !sign) | (y & sign) });
        }
    }
}

fn rule(function: MathFn) -> Rule {
    use Rule::{One, Two};
    match function {
        MathFn::Acos => One(libm::acos),
        MathFn::Acosh => One(libm::acosh),
        MathFn::Asin => One(libm::asin),
        MathFn::Asinh => One(libm::asinh),
        MathFn::Atan => One(libm::atan),
        MathFn::Atan2 => Two(libm::atan2),
        MathFn::Atanh => One(libm::atanh),
        MathFn::Cbrt => One(libm::cbrt),
        MathFn::Ceil => One(libm::ceil),
        MathFn::Copysign => Rule::CopySign,
        MathFn::Cos => One(libm::cos),
        MathFn::Cosh => One(libm::cosh),
        MathFn::Cospi => One(cospi),
        MathFn::CylBesselI0 => One(cyl_bessel_i0),
        MathFn::CylBesselI1 => One(cyl_bessel_i1),
        MathFn::Erf => One(libm::erf),
        MathFn::Erfc => One(libm::erfc),
        MathFn::Erfcinv => One(erfcinv),
        MathFn::Erfcx => One(erfcx),
        MathFn::Erfinv => One(erfinv),
        MathFn::Exp => One(libm::exp),
        MathFn::Exp10 => One(libm::exp10),
        MathFn::Exp2 => One(libm::exp2),
        MathFn::Expm1 => One(libm::expm1),
        MathFn::Fdim => Rule::PositiveDifference,
        MathFn::Floor => One(libm::floor),
        MathFn::Fmod => Two(libm::fmod),
        MathFn::Hypot => Two(libm::hypot),
        MathFn::J0 => One(libm::j0),
        MathFn::J1 => One(libm::j1),
        MathFn::Jn => Two(|n, x| of_order(libm::jn, n, x)),
        MathFn::Lgamma => One(libm::lgamma),
        MathFn::Log => One(libm::log),
        MathFn::Log10 => One(libm::log10),
        MathFn::Log1p => One(libm::log1p),
        MathFn::Log2 => One(libm::log2),
        MathFn::Logb => One(logb),
        MathFn::Nextafter => Rule::NextAfter,
        MathFn::Normcdf => One(normcdf),
        MathFn::Normcdfinv => One(normcdfinv),
        MathFn::Pow => Two(libm::pow),
        MathFn::Rcbrt => One(|x| 1.0 / libm::cbrt(x)),
        MathFn::Remainder => Two(libm::remainder),
        MathFn::Rhypot => Two(|x, y| 1.0 / libm::hypot(x, y)),
        MathFn::Rint => One(libm::rint),
        MathFn::Round => One(libm::round),
        MathFn::Rsqrt => One(|x| 1.0 / libm::sqrt(x)),
        MathFn::Sin => One(libm::sin),
        MathFn::Sinh => One(libm::sinh),
        MathFn::Sinpi => One(sinpi),
        MathFn::Sqrt | MathFn::SqrtRn => One(libm::sqrt),
        MathFn::Tan => One(libm::tan),
        MathFn::Tanh => One(libm::tanh),
        MathFn::Tgamma => One(libm::tgamma),
        MathFn::Trunc => One(libm::trunc),
        MathFn::Y0 => One(libm::y0),
        MathFn::Y1 => One(libm::y1),
        MathFn::Yn => Two(|n, x| of_order(libm::yn, n, x)),
    }
}

/// A Bessel function by its order. The time grows with the order, so absurd ones are refused with NaN.
fn of_order(bessel: fn(i32, f64) -> f64, order: f64, x: f64) -> f64 {
    if order.abs() <= f64::from(1 << 20) { bessel(order as i32, x) } else { f64::NAN }
}

/// The exponent of a number as a number.
fn logb(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_finite() {
        f64::from(libm::ilogb(x))
    } else {
        x * x
    }
}

/// `sin(pi x)`: exact reduction first, so that it is zero at every integer.
fn sinpi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let turn = libm::remainder(x, 2.0);
    let size = turn.abs();
    let value = if size <= 0.25 {
        libm::sin(PI * size)
    } else if size <= 0.75 {
        libm::cos(PI * (0.5 - size))
    } else {
        libm::sin(PI * (1.0 - size))
    };
    value.copysign(if turn == 0.0 { x } else { turn })
}

/// `cos(pi x)`, likewise.
fn cospi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let size = libm::remainder(x, 2.0).abs();
    if size <= 0.25 {
        libm::cos(PI * size)
    } else if size <= 0.75 {
        libm::sin(PI * (0.5 - size))
    } else {
        -libm::cos(PI * (1.0 - size))
    }
}

/// The next number of the format from `x` towards `y`: one step of the magnitude's bits.
fn next_after<F: Format>(x: u64, y: u64) -> u64 {
    let (from, to) = (F::load(x), F::load(y));
    let sign = 1u64 << (F::SCALAR.bits() - 1);
    if from.is_nan() {
        x
    } else if to.is_nan() || from == to {
        y
    } else if from == F::Real::ZERO {
        1 | if to < from { sign } else { 0 }
    } else if (to > from) == (x & sign == 0) {
        x + 1
    } else if x - 1 == sign && layout(F::SCALAR).non_finite == NonFinite::SignNan {
        0
    } else {
        x - 1
    }
}
