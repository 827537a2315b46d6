//! Functions of mathematics.
//!
//! `f64` is the definition; `f32` is the `f64` result rounded, which for `sqrt` and the functions that round to
//! integers is the correctly rounded one.

use shoal_abi::float_format::NonFinite;
use shoal_abi::math;

use super::arithmetic::{map, zip};
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
        MathFn::Acos => One(math::acos),
        MathFn::Acosh => One(math::acosh),
        MathFn::Asin => One(math::asin),
        MathFn::Asinh => One(math::asinh),
        MathFn::Atan => One(math::atan),
        MathFn::Atan2 => Two(math::atan2),
        MathFn::Atanh => One(math::atanh),
        MathFn::Cbrt => One(math::cbrt),
        MathFn::Ceil => One(math::ceil),
        MathFn::Copysign => Rule::CopySign,
        MathFn::Cos => One(math::cos),
        MathFn::Cosh => One(math::cosh),
        MathFn::Cospi => One(math::cospi),
        MathFn::CylBesselI0 => One(math::cyl_bessel_i0),
        MathFn::CylBesselI1 => One(math::cyl_bessel_i1),
        MathFn::Erf => One(math::erf),
        MathFn::Erfc => One(math::erfc),
        MathFn::Erfcinv => One(math::erfcinv),
        MathFn::Erfcx => One(math::erfcx),
        MathFn::Erfinv => One(math::erfinv),
        MathFn::Exp => One(math::exp),
        MathFn::Exp10 => One(math::exp10),
        MathFn::Exp2 => One(math::exp2),
        MathFn::Expm1 => One(math::expm1),
        MathFn::Fdim => Rule::PositiveDifference,
        MathFn::Floor => One(math::floor),
        MathFn::Fmod => Two(math::fmod),
        MathFn::Hypot => Two(math::hypot),
        MathFn::J0 => One(math::j0),
        MathFn::J1 => One(math::j1),
        MathFn::Jn => Two(math::jn),
        MathFn::Lgamma => One(math::lgamma),
        MathFn::Log => One(math::log),
        MathFn::Log10 => One(math::log10),
        MathFn::Log1p => One(math::log1p),
        MathFn::Log2 => One(math::log2),
        MathFn::Logb => One(math::logb),
        MathFn::Nextafter => Rule::NextAfter,
        MathFn::Normcdf => One(math::normcdf),
        MathFn::Normcdfinv => One(math::normcdfinv),
        MathFn::Pow => Two(math::pow),
        MathFn::Rcbrt => One(math::rcbrt),
        MathFn::Remainder => Two(math::remainder),
        MathFn::Rhypot => Two(math::rhypot),
        MathFn::Rint => One(math::rint),
        MathFn::Round => One(math::round),
        MathFn::Rsqrt => One(math::rsqrt),
        MathFn::Sin => One(math::sin),
        MathFn::Sinh => One(math::sinh),
        MathFn::Sinpi => One(math::sinpi),
        MathFn::Sqrt | MathFn::SqrtRn => One(math::sqrt),
        MathFn::Tan => One(math::tan),
        MathFn::Tanh => One(math::tanh),
        MathFn::Tgamma => One(math::tgamma),
        MathFn::Trunc => One(math::trunc),
        MathFn::Y0 => One(math::y0),
        MathFn::Y1 => One(math::y1),
        MathFn::Yn => Two(math::yn),
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
