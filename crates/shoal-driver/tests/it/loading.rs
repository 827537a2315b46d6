//! The loader: relocations, sections, symbols, errors.

use crate::objects::{compile, info, kernel, options, pointers};
use shoal_driver::{
    Buffer,
    cpu::{Code, CpuDevice, LoadError, LoadedKernel},
};
use std::sync::Arc;

/// Runs `k` once on a buffer of eight doubles.
fn run(code: Code) -> Vec<f64> {
    let kernel = LoadedKernel::new(Arc::new(code), info(1)).unwrap();
    let out = Buffer::zeroed(64).unwrap();
    let device = CpuDevice::new(1).unwrap();
    // SAFETY: the kernels in this file write up to eight doubles.
    unsafe { device.launch(&kernel, [1, 1, 1], &pointers(&[out.as_ptr()]), &options()) }.unwrap();
    out.as_slice().to_vec()
}

/// Constants, variables, zeroed variables, tables of pointers, calls within and out of the object, by stub and slot.
const SECTIONS: &str = r#"
#include <string.h>
double shoal_exp_f64(double); double shoal_pow_f64(double, double); double shoal_jn_f64(double, double);
static const double table[4] = {1, 2, 3, 4};
static double variable = 5; static double zeroed[1000]; double exported = 7;
static double twice(double x) { return 2 * x; }
static double thrice(double x) { return 3 * x; }
static double (*const functions[2])(double) = {twice, thrice};
__attribute__((noinline)) double helper(double x) { return x + exported; }
ENTRY(k) {
    volatile double *out = ARG(double *, 0);
    volatile int one = 1;
    out[0] = table[one + 1]; out[1] = variable++; zeroed[one] += 2; out[2] = zeroed[one];
    out[3] = functions[one](10); out[4] = helper(1); out[5] = shoal_exp_f64(0.0 * one); out[6] = shoal_pow_f64(2, 10);
    double (*far)(double, double) = shoal_jn_f64; out[7] = far(one, 0.0);
}"#;

#[test]
fn sections_and_relocations_work() {
    let expected = [3.0, 5.0, 2.0, 30.0, 8.0, 1.0, 1024.0, 0.0];
    for flags in [&[][..], &["-fno-plt"], &["-O0"], &["-ffunction-sections", "-fdata-sections"], &["-mno-relax"][..0]] {
        assert_eq!(run(Code::load(&compile(SECTIONS, flags)).unwrap()), expected, "{flags:?}");
    }
}

#[test]
fn each_load_has_its_own_variables() {
    let object = compile(SECTIONS, &[]);
    for _ in 0..3 {
        assert_eq!(run(Code::load(&object).unwrap())[1], 5.0);
    }
}

#[test]
fn unknown_symbols_are_listed() {
    let source = "void zebra(void); void aardvark(void); ENTRY(k) { zebra(); aardvark(); zebra(); }";
    let error = Code::load(&compile(source, &[])).unwrap_err();
    assert_eq!(error, LoadError::UnknownSymbols(vec!["aardvark".into(), "zebra".into()]));
    assert_eq!(error.to_string(), "unknown symbols: aardvark, zebra");
}

#[test]
fn a_resolver_can_provide_symbols() {
    extern "C" fn answer() -> f64 {
        42.0
    }
    let object = compile("double answer(void); ENTRY(k) { ARG(double *, 0)[0] = answer(); }", &[]);
    let resolve = |name: &str| (name == "answer").then_some(answer as *const ());
    assert_eq!(run(Code::load_with(&object, &resolve).unwrap())[0], 42.0);
}

#[test]
fn what_cannot_be_loaded_is_said_so() {
    let tls = compile("static __thread int t; ENTRY(k) { t++; shoal_yield(ctx, (void *)(uint64_t)t); }", &[]);
    assert!(matches!(Code::load(&tls).unwrap_err(), LoadError::Unsupported(_)));
    let absolute = compile("int x[4]; ENTRY(k) { x[first] = 1; }", &["-fno-pic", "-mcmodel=small"]);
    let error = Code::load(&absolute).unwrap_err().to_string();
    assert!(error.contains("position-independent"), "{error}");
    assert!(matches!(Code::load(b"not an object").unwrap_err(), LoadError::Malformed(_)));
    assert!(matches!(Code::load(&[]).unwrap_err(), LoadError::Malformed(_)));
}

#[test]
fn entries_are_global_functions() {
    let code = Code::load(&compile(SECTIONS, &[])).unwrap();
    assert!(code.entry("k").is_some());
    assert!(code.entry("exported").is_none());
    assert!(code.entry("twice").is_none());
    assert!(code.entry("nothing").is_none());
    let error = LoadedKernel::new(Arc::new(code), shoal_abi::KernelDescription { name: "gone".into(), ..info(0) });
    assert_eq!(error.unwrap_err().to_string(), "the compiled code has no kernel named `gone`");
}

#[test]
fn code_lives_as_long_as_its_kernels() {
    let kernel = kernel("ENTRY(k) { ARG(double *, 0)[0] = 1; }", info(1));
    let copy = kernel.clone();
    drop(kernel);
    let out = Buffer::zeroed(8).unwrap();
    // SAFETY: the kernel writes one double.
    unsafe { CpuDevice::new(1).unwrap().launch(&copy, [1, 1, 1], &pointers(&[out.as_ptr()]), &options()) }.unwrap();
    assert_eq!(out.as_slice::<f64>(), &[1.0]);
}
