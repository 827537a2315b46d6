//! The modified Bessel functions of order 0 and 1, which `libm` does not have.

use std::f64::consts::PI;

/// Up to here the power series is summed; its terms are all positive, so nothing cancels.
const SERIES_END: f64 = 30.0;

/// Order 0: even.
pub(super) fn cyl_bessel_i0(x: f64) -> f64 {
    let x = x.abs();
    if x < SERIES_END { power_series(x, 0.0) } else { asymptotic(x, 0.0) }
}

/// Order 1: odd.
pub(super) fn cyl_bessel_i1(x: f64) -> f64 {
    let size = x.abs();
    let value = if size < SERIES_END { size / 2.0 * power_series(size, 1.0) } else { asymptotic(size, 1.0) };
    value.copysign(x)
}

/// The sum of `(x/2)^(2k) / (k! (k + order)!)`.
fn power_series(x: f64, order: f64) -> f64 {
    let square = x * x / 4.0;
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
    while term > sum * 1e-18 {
        term *= square / (k * (k + order));
        sum += term;
        k += 1.0;
    }
    sum
}

/// `exp(x) / sqrt(2 pi x)` times its asymptotic series, which at 30 and above is exact long before it diverges.
fn asymptotic(x: f64, order: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    let (mut term, mut sum, mut k) = (1.0f64, 1.0, 1.0);
    while term.abs() > 1e-18 && k < 40.0 {
        let odd = 2.0 * k - 1.0;
        term *= (odd * odd - 4.0 * order * order) / (8.0 * k * x);
        sum += term;
        k += 1.0;
    }
    // In two halves: the exponential alone overflows a little before the function does.
    let half = libm::exp(x / 2.0);
    half / (2.0 * PI * x).sqrt() * sum * half
}
