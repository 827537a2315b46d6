//! `shoal::kernel!`: kernel files as modules of typed functions.

use shoal::half::f16;
use shoal::{Error, Module, args};

shoal::kernel!(pub mod typed = "tests/kernels/shift.py",
    shift = "*kfp16, *fp16, fp32, i32, BLOCK=16, FACTOR=3",
    fill = "*fp64, fp64, i32",
);
shoal::kernel!("tests/kernels/shift.py");

#[test]
fn signatures_give_types_and_compile_constants_in() {
    let x: Vec<f16> = (0..40).map(|i| f16::from_f32(i as f32)).collect();
    let mut out = vec![f16::ZERO; 40];
    typed::shift(3, &x, &mut out, 0.5, 40).unwrap();
    for (i, value) in out.iter().enumerate() {
        assert_eq!(value.to_f32(), i as f32 * 3.0 + 0.5);
    }
    // A float that `f32` does not hold, and a constant that is passed.
    let mut out = [0.0f64; 9];
    typed::fill((2,), &mut out, 0.1, 9, 8).unwrap();
    assert_eq!(out, [0.1; 9]);
}

#[test]
fn without_signatures_anything_a_launch_takes_can_be_passed() {
    let x = vec![1i32, 2, 3];
    let mut out = vec![0i32; 3];
    shift::shift(1, &x, &mut out, 10, 3, 4).unwrap();
    assert_eq!(out, [12, 14, 16]);
    let x = vec![1.5f32; 3];
    let mut out = vec![0f32; 3];
    shift::shift(1, &x, &mut out, 0.25, 3, 4).unwrap();
    assert_eq!(out, [3.25; 3]);
}

#[test]
fn mistakes_of_a_launch_are_errors_as_ever() {
    let error = shift::shift(1, 7, 7, 0, 3, 4).unwrap_err();
    assert!(matches!(error, Error::Compile(_)), "{error}");
    assert!(error.to_string().contains("tests/kernels/shift.py:"), "{error}");
}

#[test]
fn files_travel_with_those_they_import() {
    let helpers = include_str!("../kernels/helpers.py");
    let module = Module::from_sources(
        "nowhere/shift.py",
        include_str!("../kernels/shift.py"),
        &[("nowhere/helpers.py", helpers)],
    )
    .unwrap();
    let mut out = vec![0f32; 3];
    module.launch("shift", 1, args!(&[1.0f32, 2.0, 3.0][..], &mut out, 0, 3, 4)).unwrap();
    assert_eq!(out, [2.0, 4.0, 6.0]);
}
