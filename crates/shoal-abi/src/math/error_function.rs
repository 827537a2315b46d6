//! Relatives of the error function: its scaled complement, its inverses, and the normal distribution.

use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

/// What `FRAC_1_SQRT_2` leaves of 1/√2.
const FRAC_1_SQRT_2_REST: f64 = -4.833_646_656_726_457e-17;
const SQRT_PI_INVERSE: f64 = FRAC_2_SQRT_PI / 2.0;

/// `exp(x²)` without the error that rounding `x²` would bring.
fn exp_square(x: f64) -> f64 {
    let square = x * x;
    let rest = libm::fma(x, x, -square);
    let value = libm::exp(square);
    if value.is_finite() { libm::fma(value, rest, value) } else { value }
}

/// `exp(x²) erfc(x)`: what is left of `erfc` for large arguments.
#[must_use]
pub fn erfcx(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x < 10.0 {
        exp_square(x) * libm::erfc(x)
    } else if x < 1e8 {
        // The asymptotic series 1 - 1/(2x²) + 1·3/(2x²)² - …, here to the last bit after at most 14 terms.
        let step = 1.0 / (2.0 * x * x);
        let series = (1..=14).rev().fold(1.0, |sum, k| 1.0 - f64::from(2 * k - 1) * step * sum);
        SQRT_PI_INVERSE / x * series
    } else {
        SQRT_PI_INVERSE / x
    }
}

/// The `x` with `erf(x) = y`.
#[must_use]
pub fn erfinv(y: f64) -> f64 {
    if y.is_nan() || libm::fabs(y) > 1.0 {
        f64::NAN
    } else if libm::fabs(y) > 0.5 {
        // 1 - |y| is exact here.
        libm::copysign(erfcinv_tail(1.0 - libm::fabs(y)), y)
    } else {
        erfinv_center(y)
    }
}

/// The `x` with `erfc(x) = q`.
#[must_use]
pub fn erfcinv(q: f64) -> f64 {
    if q.is_nan() || !(0.0..=2.0).contains(&q) {
        f64::NAN
    } else if q < 0.5 {
        erfcinv_tail(q)
    } else if q > 1.5 {
        // 2 - q is exact here.
        -erfcinv_tail(2.0 - q)
    } else {
        // 1 - q is exact here.
        erfinv_center(1.0 - q)
    }
}

/// `erfinv` for |y| ≤ 1/2: the first terms of its series, then Halley steps.
fn erfinv_center(y: f64) -> f64 {
    if libm::fabs(y) < 1e-9 {
        // The next term is y³ times a constant: beyond the last bit.
        return y / FRAC_2_SQRT_PI;
    }
    let z = y / FRAC_2_SQRT_PI;
    let z2 = z * z;
    let mut x = z * (1.0 + z2 * (1.0 / 3.0 + z2 * (7.0 / 30.0 + z2 * (127.0 / 630.0))));
    for _ in 0..2 {
        let step = (libm::erf(x) - y) / (FRAC_2_SQRT_PI * libm::exp(-x * x));
        x -= step / libm::fma(x, step, 1.0);
    }
    x
}

/// `erfcinv` for q ≤ 1/2. Newton steps on the logarithm, which stays accurate where `erfc` itself underflows.
fn erfcinv_tail(q: f64) -> f64 {
    if q == 0.0 {
        return f64::INFINITY;
    }
    let target = libm::log(q);
    // A rational approximation of the normal quantile that is good to three digits.
    let t = libm::sqrt(-2.0 * (target - core::f64::consts::LN_2));
    let mut x = (t - (2.307_53 + 0.270_61 * t) / (1.0 + t * (0.992_29 + 0.044_81 * t))) * FRAC_1_SQRT_2;
    for _ in 0..4 {
        let scaled = erfcx(x);
        let square = x * x;
        let rest = libm::fma(x, x, -square);
        // d/dx ln erfc(x) = -2/√π / erfcx(x)
        let error = (libm::log(scaled) - target - square) - rest;
        x += error * scaled / FRAC_2_SQRT_PI;
    }
    x
}

/// The cumulative normal distribution.
#[must_use]
pub fn normcdf(x: f64) -> f64 {
    // z = -x/√2 in two parts: far in the tail the rounding of z alone would cost three digits.
    let z = -x * FRAC_1_SQRT_2;
    let value = libm::erfc(z);
    if !z.is_finite() || libm::fabs(z) < 1.0 || value == 0.0 {
        return 0.5 * value;
    }
    let rest = libm::fma(-x, FRAC_1_SQRT_2, -z) - x * FRAC_1_SQRT_2_REST;
    0.5 * (value - FRAC_2_SQRT_PI * libm::exp(-z * z) * rest)
}

/// The inverse of the cumulative normal distribution.
#[must_use]
pub fn normcdfinv(p: f64) -> f64 {
    -SQRT_2 * erfcinv(2.0 * p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::tests_support::assert_close;

    #[test]
    fn erfcx_over_its_range() {
        assert_close("erfcx", erfcx, include!("references/erfcx.in"), 8.0);
    }

    #[test]
    fn inverses_over_their_range() {
        assert_close("erfinv", erfinv, include!("references/erfinv.in"), 6.0);
        assert_close("erfcinv", erfcinv, include!("references/erfcinv.in"), 6.0);
        assert_close("normcdfinv", normcdfinv, include!("references/normcdfinv.in"), 8.0);
    }

    #[test]
    fn normal_distribution_over_its_range() {
        assert_close("normcdf", normcdf, include!("references/normcdf.in"), 8.0);
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!((erfinv(1.0), erfinv(-1.0)), (f64::INFINITY, f64::NEG_INFINITY));
        assert_eq!((erfcinv(0.0), erfcinv(2.0)), (f64::INFINITY, f64::NEG_INFINITY));
        assert_eq!((normcdf(f64::INFINITY), normcdf(f64::NEG_INFINITY)), (1.0, 0.0));
        assert!(erfinv(1.1).is_nan() && erfcinv(-0.1).is_nan() && normcdfinv(2.0).is_nan());
        assert_eq!((erfcx(f64::INFINITY), erfcx(-30.0)), (0.0, f64::INFINITY));
        assert!(erfinv(-0.0).is_sign_negative() && erfinv(-0.0) == 0.0);
    }
}
