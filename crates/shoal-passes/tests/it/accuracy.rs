//! Expanded functions against `f64`, on a dense sample of `f32` inputs and at the ends.

use std::f32::consts::{FRAC_PI_2, PI};

use shoal_abi::{CpuTarget, Target};
use shoal_ir::op::MathFn;
use shoal_ir::{Builder, Const, Func, FuncKind, Module, OpKind, Scalar, Type};
use shoal_passes::expand_math::expand_math;
use shoal_source::Span;

use crate::evaluate::Evaluator;
use crate::text::verified;

/// How many inputs are evaluated at once.
const LANES: usize = 1 << 12;

/// `func @f(x: tile) -> tile` that applies a function, expanded.
fn expanded(function: MathFn, number: Scalar) -> Func {
    let mut func = Func::new("f", FuncKind::Device, Span::NONE);
    let ty = Type::tile(number, &[LANES as u32]);
    let body = func.body();
    let x = func.add_param(body, ty.clone());
    func.results = vec![ty];
    let mut b = Builder::at_end(&mut func, body, Span::NONE);
    let value = b.value(OpKind::Math(function), &[x]);
    b.op(OpKind::Return, [value], [], []);
    let mut module = Module { funcs: vec![func] };
    expand_math(&mut module, &Target::Cpu(CpuTarget::generic()));
    verified(&module);
    let func = module.funcs.remove(0);
    let left = func.walk().iter().filter(|&&op| func.op(op).kind == OpKind::Math(function)).count();
    assert_eq!(left, 0, "{function} is expanded");
    func
}

/// Every 6,007th bit pattern and what is near the ends.
fn inputs() -> Vec<f32> {
    let mut all: Vec<f32> = (0..u32::MAX).step_by(6_007).map(f32::from_bits).collect();
    for i in -40_000..40_000 {
        all.push(i as f32 / 256.0);
        all.push(1.0 + i as f32 / 131_072.0);
        all.push(f32::from_bits((i + 40_000) as u32 * 97));
    }
    let mut x = 1.0;
    for _ in 0..160 {
        all.extend([x, -x, 1.0 / x, -1.0 / x, x * 1.5, x * FRAC_PI_2, x * PI]);
        x *= 2.0;
        if x.is_infinite() {
            x = 1.0;
        }
    }
    all.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, f32::MIN_POSITIVE]);
    all.extend([88.722_84, 88.722_85, -87.336_54, -103.97, -103.98, -104.0, 127.999_99, 128.0, -149.0, -149.5, -150.0]);
    while !all.len().is_multiple_of(LANES) {
        all.push(0.5);
    }
    all
}

fn evaluate(func: &Func, inputs: &[f32]) -> Vec<f32> {
    inputs
        .chunks(LANES)
        .flat_map(|chunk| {
            let argument: Vec<u64> = chunk.iter().map(|x| u64::from(x.to_bits())).collect();
            let out = Evaluator::call(func, argument).remove(0);
            out.into_iter().map(|bits| f32::from_bits(bits as u32))
        })
        .collect()
}

/// The distance between a result and the exact value, in units of the last place of the latter.
fn ulps(found: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if found.to_bits() == rounded.to_bits() || (found.is_nan() && rounded.is_nan()) {
        return 0.0;
    }
    if found.is_nan() || rounded.is_nan() || (found == 0.0 && rounded == 0.0) {
        return f64::INFINITY;
    }
    let clamped = |x: f32| if x.is_infinite() { x.signum() as f64 * 2f64.powi(128) } else { f64::from(x) };
    let exponent = if rounded.is_infinite() { 127 } else { (exact.abs().log2().floor() as i32).max(-126) };
    let exact = if exact.abs() > 2f64.powi(128) { exact.signum() * 2f64.powi(128) } else { exact };
    (clamped(found) - exact).abs() / 2f64.powi(exponent - 23)
}

fn check(function: MathFn, exact: fn(f64) -> f64, limit: f64, domain: fn(f32) -> bool) {
    let func = expanded(function, Scalar::F32);
    let inputs = inputs();
    let mut worst = (0.0, 0.0f32, 0.0f32);
    for (&x, found) in inputs.iter().zip(evaluate(&func, &inputs)) {
        if domain(x) {
            let error = ulps(found, exact(f64::from(x)));
            if error > worst.0 {
                worst = (error, x, found);
            }
        }
    }
    println!("{function}: {:.3} ulp at {:e}", worst.0, worst.1);
    let (error, x, found) = worst;
    assert!(error <= limit, "{function}({x:e}) = {found:e}, not {:e}: {error} ulp", exact(f64::from(x)));
}

fn anywhere(_: f32) -> bool {
    true
}

#[test]
fn exp10_is_accurate() {
    check(MathFn::Exp10, |x| 10f64.powf(x), 1.5, anywhere);
}

#[test]
fn expm1_is_accurate() {
    check(MathFn::Expm1, f64::exp_m1, 2.0, anywhere);
}

#[test]
fn log10_is_accurate() {
    check(MathFn::Log10, f64::log10, 1.5, anywhere);
}

#[test]
fn log1p_is_accurate() {
    check(MathFn::Log1p, f64::ln_1p, 2.0, anywhere);
}

#[test]
fn log_is_accurate() {
    check(MathFn::Log, f64::ln, 1.0, anywhere);
}

#[test]
fn log2_is_accurate() {
    check(MathFn::Log2, f64::log2, 1.5, anywhere);
}

#[test]
fn sin_is_accurate() {
    check(MathFn::Sin, f64::sin, 1.5, anywhere);
}

#[test]
fn cos_is_accurate() {
    check(MathFn::Cos, f64::cos, 1.5, anywhere);
}

#[test]
fn tanh_is_accurate() {
    check(MathFn::Tanh, f64::tanh, 2.0, anywhere);
}

#[test]
fn erf_is_accurate() {
    let erf = |x: f64| numeric_erf(x);
    check(MathFn::Erf, erf, 1.5, anywhere);
}

/// The IR's own definition, in `f64`.
fn numeric_erf(x: f64) -> f64 {
    shoal_ir::numeric::math(MathFn::Erf, &[Const::from_f64(Scalar::F64, x)]).as_f64()
}

#[test]
fn rsqrt_is_accurate() {
    check(MathFn::Rsqrt, |x| 1.0 / x.sqrt(), 1.5, anywhere);
}

#[test]
fn narrow_floats_are_computed_in_f32() {
    for number in [Scalar::F16, Scalar::BF16] {
        let func = expanded(MathFn::Log, number);
        let argument: Vec<u64> = (0..LANES as u64).map(|i| i * 16).collect();
        let out = Evaluator::call(&func, argument.clone()).remove(0);
        for (&x, &found) in argument.iter().zip(&out) {
            let exact = Const::from_f64(number, Const::from_bits(number, x).as_f64().ln());
            let found = Const::from_bits(number, found);
            let same = exact == found || (exact.as_f64().is_nan() && found.as_f64().is_nan());
            assert!(same, "{number}: log({x:#x}) = {found}, not {exact}");
        }
    }
}
