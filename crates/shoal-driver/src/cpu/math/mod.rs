//! Math functions that generated code calls instead of inlining, as plain safe functions on `f64`.
//!
//! What the `libm` crate has is taken from there; the rest is here: functions of the error function in
//! [`error_function`], modified Bessel functions in [`bessel`], short ones in this file. All are accurate to a few
//! units in the last place over their whole range. The `f32` variants that kernels call compute in `f64` and round
//! once, except where that would not be exact.

pub mod bessel;
pub mod error_function;

use core::f64::consts::PI;

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
    libm::copysign(1.0, x) * sign * magnitude
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

/// Length of a vector of three.
#[must_use]
pub fn norm3d(a: f64, b: f64, c: f64) -> f64 {
    norm(&[a, b, c])
}

/// Length of a vector of four.
#[must_use]
pub fn norm4d(a: f64, b: f64, c: f64, d: f64) -> f64 {
    norm(&[a, b, c, d])
}

/// Length of a vector, without overflow on the way.
fn norm(v: &[f64]) -> f64 {
    // As `hypot` has it, an infinity wins over a NaN.
    if v.iter().any(|x| x.is_infinite()) {
        return f64::INFINITY;
    }
    let largest = v.iter().fold(0.0, |m: f64, x| if x.is_nan() { f64::NAN } else { m.max(libm::fabs(*x)) });
    if v.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    if largest == 0.0 {
        return 0.0;
    }
    // Scaled by a power of two, which is exact.
    let exponent = libm::ilogb(largest);
    let sum: f64 = v.iter().map(|&x| libm::scalbn(x, -exponent)).map(|x| x * x).sum();
    libm::scalbn(libm::sqrt(sum), exponent)
}

/// `x - y` if that is positive, else zero; NaN if either is. Rounds as subtraction of its type does.
#[must_use]
pub fn fdim(x: f64, y: f64) -> f64 {
    if x <= y { 0.0 } else { x - y }
}

/// [`fdim`] of `f32`, whose differences are not those of `f64` rounded.
#[must_use]
pub fn fdim32(x: f32, y: f32) -> f32 {
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
        assert!((sinpi(1e15 + 0.25) - 0.5f64.sqrt()).abs() < 1e-15);
        assert!(sinpi(f64::INFINITY).is_nan() && cospi(f64::NAN).is_nan());
    }

    #[test]
    fn positive_differences() {
        assert_eq!((fdim(3.0, 1.0), fdim(1.0, 3.0), fdim32(3.0, 1.0)), (2.0, 0.0, 2.0));
        assert_eq!((fdim(f64::INFINITY, f64::INFINITY), fdim32(f32::INFINITY, 0.0)), (0.0, f32::INFINITY));
        assert!(fdim(f64::NAN, 1.0).is_nan() && fdim32(1.0, f32::NAN).is_nan());
    }

    #[test]
    fn norms_do_not_overflow() {
        assert_eq!(norm3d(1.0, 2.0, 2.0), 3.0);
        assert_eq!(norm4d(3e300, 3e300, 3e300, 3e300), 6e300);
        assert_eq!(norm3d(0.0, 0.0, 0.0), 0.0);
        assert_eq!(norm3d(f64::NAN, f64::INFINITY, 0.0), f64::INFINITY);
        assert!(norm3d(f64::NAN, 1.0, 0.0).is_nan());
        assert_eq!(norm3d(3e-310, 4e-310, 0.0), 5e-310);
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
