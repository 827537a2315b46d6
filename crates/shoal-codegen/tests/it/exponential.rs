//! `exp` and `exp2` against `f64`, on a dense sample of `f32` inputs, on every kind of vector unit.

use shoal_abi::CpuTarget;
use shoal_codegen::cpu;

use crate::run::{Arg, run_as};

/// Applies a function to as many elements as there are, `lanes` at a time.
fn applied(target: &CpuTarget, function: &str, lanes: u32, x: &mut [f32]) -> Vec<f32> {
    let text = format!(
        "kernel @apply(%0: ptr<f32>, %1: ptr<f32>) {{
           %2 = program_id {{axis = 0}} () : i32
           %3 = const {{value = {lanes}}} () : i32
           %4 = mul (%2, %3) : i32
           %5 = iota {{start = 0}} () : tile<{lanes}xi32>
           %6 = splat (%4) : tile<{lanes}xi32>
           %7 = add (%5, %6) : tile<{lanes}xi32>
           %8 = splat (%0) : tile<{lanes}xptr<f32>>
           %9 = ptr_add (%8, %7) : tile<{lanes}xptr<f32>>
           %10 = load (%9) : tile<{lanes}xf32>
           %11 = math {{fn = {function}}} (%10) : tile<{lanes}xf32>
           %12 = splat (%1) : tile<{lanes}xptr<f32>>
           %13 = ptr_add (%12, %7) : tile<{lanes}xptr<f32>>
           store (%13, %11)
           return ()
         }}"
    );
    let mut out = vec![f32::NAN; x.len()];
    let programs = x.len() as u32 / lanes;
    run_as(target, &text, [programs, 1, 1], &mut [Arg::F32(x), Arg::F32(&mut out)]);
    out
}

/// Every 4,001st bit pattern, what is near the ends, and what most programs compute.
fn inputs() -> Vec<f32> {
    let mut all: Vec<f32> = (0..u32::MAX).step_by(4_001).map(f32::from_bits).collect();
    for i in -40_000..40_000 {
        all.push(i as f32 / 256.0);
        all.push(i as f32 / 39_999.0);
    }
    all.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, f32::MIN_POSITIVE]);
    all.extend([88.722_84, 88.722_85, -87.336_54, -103.97, -103.98, -104.0, 127.999_99, 128.0, -149.0, -149.5, -150.0]);
    while !all.len().is_multiple_of(64) {
        all.push(0.5);
    }
    all
}

/// The distance between a result and the exact value, in units of the last place of the latter.
fn ulps(found: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if found.to_bits() == rounded.to_bits() || (found.is_nan() && rounded.is_nan()) {
        return 0.0;
    }
    if found.is_nan() || rounded.is_nan() || found.is_infinite() || rounded.is_infinite() {
        return f64::INFINITY;
    }
    let exponent = (exact.abs().log2().floor() as i32).max(-126);
    (f64::from(found) - exact).abs() / 2f64.powi(exponent - 23)
}

fn check(function: &str, exact: fn(f64) -> f64) {
    let mut x = inputs();
    let found = applied(&cpu::host(), function, 64, &mut x);
    for (&x, &y) in x.iter().zip(&found) {
        let error = ulps(y, exact(f64::from(x)));
        assert!(error <= 1.0, "{function}({x:e}) = {y:e}, not {:e}: {error} ulp", exact(f64::from(x)));
    }
    let same = |what: &str, other: &[f32]| {
        for ((&x, &a), &b) in x.iter().zip(&found).zip(other) {
            let equal = a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(equal, "{function}({x:e}) is {a:e} on this machine and {b:e} {what}");
        }
    };
    let few = &mut x.clone();
    for lanes in [1, 2, 4, 8] {
        same(&format!("in {lanes} lanes"), &applied(&cpu::host(), function, lanes, few));
    }
    if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        same("with AVX2", &applied(&CpuTarget::new("x86-64-v3", ""), function, 64, few));
    }
}

#[test]
fn exp_is_accurate() {
    check("exp", f64::exp);
}

#[test]
fn exp2_is_accurate() {
    check("exp2", f64::exp2);
}
