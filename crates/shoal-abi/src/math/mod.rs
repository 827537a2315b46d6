//! Functions of mathematics, each defined once as a function on `f64`: the interpreter and constant folding call them,
//! and so does generated code for those that it does not inline.
//!
//! What the `libm` crate has is taken from there; the rest is here: relatives of the error function, modified Bessel
//! functions, short ones in this file. All are accurate to a few units in the last place over their whole range. The
//! `f32` variants that kernels call compute in `f64` and round once, except [`fdim_f32`] and [`nextafter_f32`], for
//! which that would not be exact.
//!
//! This module is also compiled by itself, without the standard library, as code for GPUs: it needs `core` and `libm` alone.

mod bessel;
mod error_function;

pub use bessel::{cyl_bessel_i0, cyl_bessel_i1, jn, yn};
use core::f64::consts::PI;
pub use error_function::{erfcinv, erfcx, erfinv, normcdf, normcdfinv};
pub use libm::{
    acos, asin, asinh, atan, atan2, atanh, cbrt, ceil, copysign, cos, cosh, erf, erfc, exp, exp2, exp10, expm1, floor,
    fmod, hypot, j0, j1, lgamma, log, log1p, log2, log10, nextafter, nextafterf as nextafter_f32, pow, remainder, rint,
    round, sin, sinh, sqrt, tan, tanh, tgamma, trunc, y0, y1,
};

/// Hands the names of all functions to another macro, by the number of operands.
#[macro_export]
macro_rules! math_functions {
    ($then:ident) => {
        $then! {
            (x): acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv
                erfcx erfinv exp exp10 exp2 expm1 floor j0 j1 lgamma log log10 log1p log2 logb normcdf normcdfinv rcbrt
                rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1;
            (x, y): atan2 copysign fdim fmod hypot jn nextafter pow remainder rhypot yn;
        }
    };
}

/// A function that generated code may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MathFunction {
    /// Its name.
    pub name: &'static str,
    /// Numbers it takes.
    pub arity: usize,
}

macro_rules! table {
    ($($params:tt: $($name:ident)*;)*) => {
        &[$($(MathFunction { name: stringify!($name), arity: table!(@count $params) }),*),*]
    };
    (@count (x)) => { 1 };
    (@count (x, y)) => { 2 };
}

/// All functions.
pub const FUNCTIONS: &[MathFunction] = math_functions!(table);

/// `cos(πx)`, exact at multiples of one half.
#[must_use]
pub fn cospi(x: f64) -> f64 {
    // |x| reduced to [0, 2] exactly; cosine is even.
    let r = libm::fmod(libm::fabs(x), 2.0);
    let r = if r > 1.0 { 2.0 - r } else { r };
    match r {
        _ if r <= 0.25 => libm::cos(PI * r),
        _ if r == 0.5 => 0.0,
        _ if r < 0.75 => libm::sin(PI * (0.5 - r)),
        _ => -libm::cos(PI * (1.0 - r)),
    }
}

/// `sin(πx)`, exact at multiples of one half.
#[must_use]
pub fn sinpi(x: f64) -> f64 {
    let r = libm::fmod(libm::fabs(x), 2.0);
    let (r, sign) = if r >= 1.0 { (r - 1.0, -1.0) } else { (r, 1.0) };
    // Symmetric about one half.
    let r = if r > 0.5 { 1.0 - r } else { r };
    let magnitude = if r <= 0.25 { libm::sin(PI * r) } else { libm::cos(PI * (0.5 - r)) };
    // Zeros keep the sign of `x`.
    if magnitude == 0.0 { libm::copysign(0.0, x) } else { libm::copysign(1.0, x) * sign * magnitude }
}

/// The inverse of `cosh` on numbers from 1 on; NaN below.
#[must_use]
pub fn acosh(x: f64) -> f64 {
    // Below -2 the formula in `libm` cancels to nothing, and its logarithm is a number.
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// `1 / cbrt(x)`.
#[must_use]
pub fn rcbrt(x: f64) -> f64 {
    1.0 / libm::cbrt(x)
}

/// The exponent of `x` as a number: -∞ for zero, ∞ for infinities.
#[must_use]
pub fn logb(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_nan() {
        x
    } else if x.is_infinite() {
        f64::INFINITY
    } else {
        f64::from(libm::ilogb(x))
    }
}

/// `1 / hypot(x, y)`.
#[must_use]
pub fn rhypot(x: f64, y: f64) -> f64 {
    1.0 / libm::hypot(x, y)
}

/// `x - y` if that is positive, else zero; NaN if either is. Rounds as subtraction of its type does.
#[must_use]
pub fn fdim(x: f64, y: f64) -> f64 {
    if x <= y { 0.0 } else { x - y }
}

/// [`fdim`] of `f32`, whose differences are not those of `f64` rounded.
#[must_use]
pub fn fdim_f32(x: f32, y: f32) -> f32 {
    if x <= y { 0.0 } else { x - y }
}

/// `1 / sqrt(x)`.
#[must_use]
pub fn rsqrt(x: f64) -> f64 {
    1.0 / libm::sqrt(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pi_functions_are_exact_at_halves() {
        for n in -8i32..=8 {
            let x = f64::from(n) / 2.0;
            let (sin, cos) = match n.rem_euclid(4) {
                0 => (0.0, 1.0),
                1 => (1.0, 0.0),
                2 => (0.0, -1.0),
                _ => (-1.0, 0.0),
            };
            assert_eq!((sinpi(x), cospi(x)), (sin, cos), "at {x}");
        }
        assert!(sinpi(3.0).is_sign_positive() && sinpi(-2.0).is_sign_negative());
        assert!((sinpi(1e15 + 0.25) - 0.5f64.sqrt()).abs() < 1e-15);
        assert!(sinpi(f64::INFINITY).is_nan() && cospi(f64::NAN).is_nan());
    }

    #[test]
    fn acosh_is_not_a_number_below_one() {
        let mut size = 1.0;
        while f64::is_finite(size) {
            assert!(acosh(-size).is_nan(), "at {}", -size);
            assert!(acosh(size).is_finite(), "at {size}");
            size *= 1.75;
        }
        for x in [f64::NEG_INFINITY, f64::NAN, f64::MIN, 0.0, -0.0, 0.999] {
            assert!(acosh(x).is_nan(), "at {x}");
        }
        assert_eq!((acosh(1.0), acosh(f64::INFINITY)), (0.0, f64::INFINITY));
    }

    #[test]
    fn positive_differences() {
        assert_eq!((fdim(3.0, 1.0), fdim(1.0, 3.0), fdim_f32(3.0, 1.0)), (2.0, 0.0, 2.0));
        assert_eq!((fdim(f64::INFINITY, f64::INFINITY), fdim_f32(f32::INFINITY, 0.0)), (0.0, f32::INFINITY));
        assert!(fdim(f64::NAN, 1.0).is_nan() && fdim_f32(1.0, f32::NAN).is_nan());
    }

    #[test]
    fn exponents_of_odd_numbers() {
        assert_eq!(logb(0.0), f64::NEG_INFINITY);
        assert_eq!(logb(f64::NEG_INFINITY), f64::INFINITY);
        assert_eq!(logb(10.0), 3.0);
        assert_eq!(logb(f64::from_bits(1)), -1074.0);
    }
}

/// Compares functions with references computed at 60 digits.
#[cfg(test)]
mod tests_support {
    /// Checks `f` at each `(x, f(x))` to within `ulps` units in the last place.
    pub(super) fn assert_close<const N: usize>(name: &str, f: impl Fn(f64) -> f64, table: [(f64, f64); N], ulps: f64) {
        for (x, expected) in table {
            let got = f(x);
            let ulp = (f64::from_bits(expected.abs().to_bits() + 1) - expected.abs()).max(f64::from_bits(1));
            let error = (got - expected).abs() / ulp;
            assert!(error <= ulps, "{name}({x:e}) = {got:e}, expected {expected:e}: off by {error} ulp");
        }
    }
}
