//! Modified Bessel functions of the first kind, orders 0 and 1.

use core::f64::consts::PI;

/// From here on the asymptotic series is accurate.
const FAR: f64 = 30.0;
/// Terms of the power series that count below `FAR`.
const TERMS: i32 = 64;

/// `I₀(x)`.
#[must_use]
pub fn cyl_bessel_i0(x: f64) -> f64 {
    let x = libm::fabs(x);
    if x < FAR {
        // Σ (x²/4)ᵏ / k!², nested.
        let q = x * x / 4.0;
        (1..=TERMS).rev().map(f64::from).fold(1.0, |sum, k| 1.0 + q / (k * k) * sum)
    } else {
        far(x, 0.0)
    }
}

/// `I₁(x)`.
#[must_use]
pub fn cyl_bessel_i1(x: f64) -> f64 {
    let magnitude = libm::fabs(x);
    let value = if magnitude < FAR {
        // x/2 Σ (x²/4)ᵏ / (k! (k+1)!), nested.
        let q = magnitude * magnitude / 4.0;
        let sum = (1..=TERMS).rev().map(f64::from).fold(1.0, |sum, k| 1.0 + q / (k * (k + 1.0)) * sum);
        magnitude / 2.0 * sum
    } else {
        far(magnitude, 4.0)
    };
    if x.is_nan() { x } else { libm::copysign(value, x) }
}

/// The asymptotic series for large `x`, where `mu` is four times the square of the order.
fn far(x: f64, mu: f64) -> f64 {
    if !x.is_finite() {
        return x;
    }
    let series = (1..=24).rev().map(f64::from).fold(1.0, |sum, k| {
        let odd = 2.0 * k - 1.0;
        1.0 - (mu - odd * odd) / (8.0 * x * k) * sum
    });
    // In two factors, because exp(x) overflows a little earlier than the function.
    let root = libm::exp(x / 2.0);
    root * (series / libm::sqrt(2.0 * PI * x)) * root
}

/// Bessel function of the first kind; the order is an integer.
#[must_use]
pub fn jn(order: f64, x: f64) -> f64 {
    of_order(libm::jn, order, x)
}

/// Bessel function of the second kind; the order is an integer.
#[must_use]
pub fn yn(order: f64, x: f64) -> f64 {
    of_order(libm::yn, order, x)
}

/// The time grows with the order, so absurd ones are refused with NaN.
fn of_order(bessel: fn(i32, f64) -> f64, order: f64, x: f64) -> f64 {
    if order.abs() <= f64::from(1 << 20) { bessel(order as i32, x) } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::{cyl_bessel_i0 as i0, cyl_bessel_i1 as i1};
    use crate::math::tests_support::assert_close;

    #[test]
    fn bessel_functions_over_their_range() {
        assert_close("i0", i0, include!("references/i0.in"), 10.0);
        assert_close("i1", i1, include!("references/i1.in"), 10.0);
    }

    #[test]
    fn odd_arguments() {
        assert_eq!((i0(0.0), i1(0.0), i1(-2.0)), (1.0, 0.0, -i1(2.0)));
        assert_eq!((i0(f64::NEG_INFINITY), i1(f64::NEG_INFINITY)), (f64::INFINITY, f64::NEG_INFINITY));
        assert!(i0(f64::NAN).is_nan() && i1(f64::NAN).is_nan());
    }
}
