//! What is compiled in of each argument: the rules of Triton's launcher, as a table.

use shoal::{Args, Backend, Tensor, args};

use crate::launches::kernel;

/// How a parameter is specialised for one argument.
fn spec(declaration: &str, args: Args<'_>) -> String {
    let text = format!("{declaration}:\n    pass\n");
    let specs = kernel(&text, Backend::Cpu).specialise(&args).unwrap();
    specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}

const OPEN: &str = "@shoal.jit\ndef k(x)";

#[test]
fn integers_go_by_their_value() {
    for (value, expected) in [
        (0i128, "i32:16"),
        (1, "1"),
        (2, "i32"),
        (16, "i32:16"),
        (-16, "i32:16"),
        (17, "i32"),
        (i128::from(i32::MAX), "i32"),
        (i128::from(i32::MIN), "i32:16"),
        (1 << 31, "i64:16"),
        ((1 << 31) + 1, "i64"),
        (i128::from(i64::MAX), "i64"),
        (1 << 63, "u64:16"),
        (i128::from(u64::MAX), "u64"),
    ] {
        assert_eq!(spec(OPEN, args!(value)), expected, "{value}");
    }
}

#[test]
fn other_values() {
    assert_eq!(spec(OPEN, args!(true)), "i1");
    assert_eq!(spec(OPEN, args!(1.0)), "fp32");
    assert_eq!(spec(OPEN, args!(())), "None");
    assert_eq!(spec(OPEN, args!((1, 16, 2.0))), "(1, i32:16, fp32)");
    assert_eq!(spec("@shoal.jit\ndef k(x: tl.constexpr)", args!(16)), "16");
    assert_eq!(spec("@shoal.jit\ndef k(x: tl.constexpr)", args!(true)), "True");
}

#[test]
fn pointers_go_by_type_and_alignment() {
    let tensor = Tensor::from_slice(&[0u8; 64]).unwrap();
    assert_eq!(spec(OPEN, args!(&tensor)), "*u8:16");
    let bytes = tensor.as_slice::<u8>().unwrap();
    assert_eq!(spec(OPEN, args!(&bytes[16..])), "*ku8:16");
    assert_eq!(spec(OPEN, args!(&bytes[4..])), "*ku8");
    assert_eq!(spec("@shoal.jit\ndef k(x: tl.const)", args!(&tensor)), "*ku8:16");
    assert_eq!(spec("@shoal.jit\ndef k(x: '*u8')", args!(&bytes[1..])), "*ku8");
    let mut bytes = [0u8; 4];
    assert!(spec(OPEN, args!(&mut bytes[..])).starts_with("*u8"));
}

#[test]
fn annotations_decide_the_type() {
    assert_eq!(spec("@shoal.jit\ndef k(x: tl.int64)", args!(32)), "i64:16");
    assert_eq!(spec("@shoal.jit\ndef k(x: tl.int64)", args!(1)), "i64");
    assert_eq!(spec("@shoal.jit\ndef k(x: tl.float64)", args!(1.0)), "fp64");
    assert_eq!(spec("@shoal.jit\ndef k(x: tl.float32)", args!(16)), "fp32");
}

#[test]
fn specialisation_can_be_turned_off() {
    let value = "@shoal.jit(do_not_specialize=['x'])\ndef k(x)";
    assert_eq!(spec(value, args!(1)), "i32");
    assert_eq!(spec(value, args!(16)), "i32");
    let alignment = "@shoal.jit(do_not_specialize_on_alignment=['x'])\ndef k(x)";
    assert_eq!(spec(alignment, args!(1)), "1");
    assert_eq!(spec(alignment, args!(16)), "i32");
    let tensor = Tensor::from_slice(&[0.0f32]).unwrap();
    assert_eq!(spec(alignment, args!(&tensor)), "*fp32");
}

#[test]
fn defaults_count_as_arguments() {
    let text = "@shoal.jit\ndef k(x, y=1, z=32, W: tl.constexpr = 'a')";
    assert_eq!(spec(text, args!(2)), "i32 | 1 | i32:16 | 'a'");
    assert_eq!(spec(text, args!(2, W = 3, y = 5)), "i32 | i32 | i32:16 | 3");
}
