//! The error function's relatives that `libm` does not have.
//!
//! Inverses start from an elementary approximation and are refined by Halley's method on the function itself, whose
//! error they inherit: a few units in the last place.

use std::f64::consts::{FRAC_2_SQRT_PI, PI, SQRT_2};

/// `exp(x^2) erfc(x)`, which does not underflow where `erfc` does.
pub(super) fn erfcx(x: f64) -> f64 {
    if x < 10.0 {
        // The square's rounding error would be magnified by the exponential: carry it along.
        let square = x * x;
        let rest = x.mul_add(x, -square);
        let product = libm::exp(square) * libm::erfc(x);
        return if product.is_finite() { rest.mul_add(product, product) } else { product };
    }
    // The asymptotic series 1 - 1/(2x^2) + 3/(2x^2)^2 - 15/(2x^2)^3 + …, past 10 exact long before it diverges.
    let step = 0.5 / (x * x);
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..30 {
        term *= -f64::from(2 * k - 1) * step;
        sum += term;
        if term.abs() < 1e-18 {
            break;
        }
    }
    sum / (x * PI.sqrt())
}

/// The `x` with `erf(x) = y`.
pub(super) fn erfinv(y: f64) -> f64 {
    if y.is_nan() || y.abs() > 1.0 {
        return f64::NAN;
    }
    if y.abs() > 0.5 {
        // The distance to 1 is exact here, and what matters.
        return upper_inverse(1.0 - y.abs()).copysign(y);
    }
    if y == 0.0 {
        return y;
    }
    let mut x = rough_inverse(libm::log1p(-y * y)).copysign(y);
    for _ in 0..3 {
        let newton = (libm::erf(x) - y) / (FRAC_2_SQRT_PI * libm::exp(-x * x));
        x -= newton / (1.0 + x * newton);
    }
    x
}

/// The `x` with `erfc(x) = q`.
pub(super) fn erfcinv(q: f64) -> f64 {
    if q.is_nan() || !(0.0..=2.0).contains(&q) {
        f64::NAN
    } else if q < 0.5 {
        upper_inverse(q)
    } else if q <= 1.5 {
        erfinv(1.0 - q)
    } else {
        -upper_inverse(2.0 - q)
    }
}

/// The `x` with `erfc(x) = q` for `q` up to a half.
fn upper_inverse(q: f64) -> f64 {
    if q == 0.0 {
        return f64::INFINITY;
    }
    let mut x = rough_inverse(libm::log(q) + libm::log(2.0 - q));
    for _ in 0..8 {
        // (erfc(x) - q) / erfc'(x), written with `erfcx` and half exponents so that nothing under- or overflows.
        let half = libm::exp(x * x / 2.0);
        let newton = (q * half * half - erfcx(x)) / FRAC_2_SQRT_PI;
        let step = newton / (1.0 + x * newton);
        x -= step;
        if step.abs() <= 1e-16 * x {
            break;
        }
    }
    x
}

/// An approximation of `erfinv(y)` to some thousandths, from `log(1 - y^2)` (after Winitzki).
fn rough_inverse(log: f64) -> f64 {
    const A: f64 = 0.147;
    let half = 2.0 / (PI * A) + log / 2.0;
    ((half * half - log / A).sqrt() - half).sqrt()
}

/// The normal distribution up to `x`.
pub(super) fn normcdf(x: f64) -> f64 {
    if !x.is_finite() {
        return 0.5 * libm::erfc(-x);
    }
    // `-x / sqrt(2)` with what its rounding loses, because far out `erfc` magnifies it by the square of `x`.
    let t = -x / SQRT_2;
    let rest = (-t.mul_add(SQRT_2, x) - t * SQRT_2_REST) / SQRT_2;
    0.5 * (libm::erfc(t) - rest * FRAC_2_SQRT_PI * libm::exp(-t * t))
}

/// The square root of two beyond what `SQRT_2` holds.
const SQRT_2_REST: f64 = -9.667_293_313_452_913e-17;

/// The `x` with `normcdf(x) = p`.
pub(super) fn normcdfinv(p: f64) -> f64 {
    -SQRT_2 * erfcinv(2.0 * p)
}
