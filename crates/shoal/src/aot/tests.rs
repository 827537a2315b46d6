//! What signatures become, and the text of what is written, from descriptions made by hand: no code is compiled.

use insta::assert_snapshot;

use super::family::{Family, Variant};
use super::merge::{Merged, merge, sort};
use super::signature::Signature;
use crate::{Kernel, Module};

const SCALE: &str = "
import shoal
import shoal.language as tl

@shoal.jit
def scale(x, out, n, factor, bias, BLOCK: tl.constexpr, KIND: tl.constexpr = 'plain'):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)
";

const DESCRIPTION: &str =
    "shoal-kernel 1 name=scale params=8/8 waits=never fails=yes cpu scratch=64 amx=no features=avx2,fma";

fn kernel() -> Kernel {
    Module::from_source("scale.py", SCALE).unwrap().kernel("scale").unwrap()
}

fn merged(signatures: &[&str]) -> Result<Merged, crate::Error> {
    let kernel = kernel();
    let read: Vec<Signature> = signatures.iter().map(|s| Signature::read(&kernel, s).unwrap()).collect();
    merge(&read)
}

/// A family of these signatures, with a few bytes in the place of code.
fn family(signatures: &[&str]) -> Family {
    let merged = merged(signatures).unwrap();
    let variant = |(signature, (configuration, slots)): (&&str, (usize, Vec<_>))| Variant {
        signature: (*signature).to_owned(),
        configuration,
        slots,
        description: DESCRIPTION.parse().unwrap(),
        object: vec![0x7f, b'E', b'L', b'F'],
    };
    let mut variants: Vec<Variant> = signatures.iter().zip(merged.of_signature).map(variant).collect();
    sort(&mut variants);
    Family {
        name: "scale".into(),
        kernel: "scale".into(),
        source: "scale.py".into(),
        params: merged.params,
        constants: merged.constants,
        configurations: merged.configurations,
        variants,
        linked: Vec::new(),
        notes: Vec::new(),
    }
}

fn wrong(signatures: &[&str]) -> String {
    merged(signatures).unwrap_err().to_string()
}

#[test]
fn one_signature_as_c_and_rust() {
    let family = family(&["*kfp16:16, *fp16:16, i32, fp16, None, 128"]);
    assert_snapshot!("one.h", family.c_header());
    assert_snapshot!("one.c", family.c_source());
    assert_snapshot!("one.rs", family.rust_module().unwrap());
}

#[test]
fn several_signatures_and_configurations_as_c_and_rust() {
    let family = family(&[
        "*kfp32, *fp32, i64, fp32, None, 128",
        "*kfp32:16, *fp32:16, i32:16, fp32, *fp32:16, 128",
        "*kfp32:16, *fp32:16, i32:1, fp32, *fp32:16, 128",
        "*kfp32, *fp32, i64, fp32, *fp32, BLOCK=256, KIND='odd'",
    ]);
    assert_snapshot!("several.h", family.c_header());
    assert_snapshot!("several.c", family.c_source());
    assert_snapshot!("several.rs", family.rust_module().unwrap());
}

#[test]
fn variants_that_know_more_are_tried_first() {
    let family = family(&[
        "*fp32, *fp32, i64, fp32, None, 128",
        "*fp32, *fp32, i32, fp32, None, 128",
        "*fp32:16, *fp32, i32, fp32, None, 128",
        "*fp32:16, *fp32:16, i32:16, fp32, None, 128",
        "*fp32, *fp32, i32:1, fp32, None, 128",
    ]);
    assert_snapshot!(family.signatures().join("\n"), @r"
    *fp32, *fp32, i32:1, fp32, None, 128
    *fp32:16, *fp32:16, i32:16, fp32, None, 128
    *fp32:16, *fp32, i32, fp32, None, 128
    *fp32, *fp32, i32, fp32, None, 128
    *fp32, *fp32, i64, fp32, None, 128
    ");
}

#[test]
fn signatures_that_do_not_go_together_are_told_apart() {
    let said = [
        wrong(&[]),
        wrong(&["*fp32, *fp32, i32, fp32, None, 128", "*fp16, *fp32, i32, fp32, None, 128"]),
        wrong(&["*fp32, *fp32, i32, fp32, None, 128", "*fp32, *fp32, u32, fp32, None, 128"]),
        wrong(&["*fp32, *fp32, i32, fp32, None, 128", "*fp32, *fp32, i32, 1.5, None, 128"]),
        wrong(&[
            "*fp32, *fp32, i32, fp32, None, 128",
            "*fp32, *fp32, i32, fp32, 7, 128",
            "*fp32, *fp32, i32, fp32, *i8, 1",
        ]),
        wrong(&["*fp32, *fp32, i32, fp32, None, 128", "*fp32, *fp32, i32, fp32, (i32, i32), 128"]),
        wrong(&["*fp32, *fp32, i32, fp32, None, 128", "*fp32, *fp32, i32, fp32, None, BLOCK=128"]),
    ];
    assert_snapshot!(said.join("\n"), @r"
    there is no signature to compile for
    `x` is *fp32 in one signature and *fp16 in another; compile them apart, with different `--name`s
    `n` is i32 in one signature and u32 in another; compile them apart, with different `--name`s
    `factor` is 1.5 in one signature and fp32 in another, which 1.5 is not
    `bias` is 7 in one signature and *i8 in another, which 7 is not
    `*fp32, *fp32, i32, fp32, None, 128, 'plain'` and `*fp32, *fp32, i32, fp32, (i32, i32), 128, 'plain'` pass tuples or descriptors of different shapes, so no one function takes the arguments of both
    the signature `*fp32, *fp32, i32, fp32, None, 128, 'plain'` is given twice
    ");
}

#[test]
fn what_rust_has_no_type_for_is_told() {
    let family = family(&["*fp32, **fp32, i32, fp32, None, 128"]);
    assert!(family.c_header().contains("float **out"));
    assert_snapshot!(family.rust_module().unwrap_err(), @"`out` is a pointer to pointers, which has no type in Rust; emit C, or pass it another way");
}

#[test]
fn torch_passes_arguments_by_their_places() {
    let family = family(&["*kfp16:16, *fp16:16, i32, fp16, None, 128"]);
    let source = family.torch_source(&["x", "out", "n", "factor", "bias", "BLOCK", "KIND"]).unwrap();
    let launcher = source.split_once("#include <stdlib.h>").unwrap().1;
    assert_snapshot!(launcher, @r#"
    void run_from_nativert(uint32_t x, uint32_t y, uint32_t z, int threads, void **args, void *name) {
        shoal_grid grid = { x, y, z };
        (void)threads, (void)args, (void)name;
        if (scale_launch(grid, args[0], args[1], *(int64_t *)args[2], *(float *)args[3]) != SHOAL_OK) {
            fprintf(stderr, "%s\n", scale_error());
            abort();
        }
    }
    "#);
}

#[test]
fn torch_passes_whole_parameters_alone() {
    let family = family(&["*fp32, *fp32, (i32, i32), fp32, None, 128"]);
    let parameters = ["x", "out", "n", "factor", "bias", "BLOCK", "KIND"];
    assert_snapshot!(family.torch_source(&parameters).unwrap_err(), @"`n_0` is part of a parameter, and AOTInductor passes only whole ones");
}

#[test]
fn tuples_and_descriptors_are_passed_in_parts() {
    let family = family(&["*fp32, tensordesc<fp16[16, 16]>, (i32, (fp32, 3)), fp32, None, 128"]);
    let header = family.c_header();
    let launch = header.lines().find(|line| line.contains("_launch(")).unwrap();
    assert_snapshot!(launch, @"shoal_status scale_launch(shoal_grid grid, float *x, shoal_fp16 *out, int32_t out_size_0, int32_t out_size_1, int64_t out_stride_0, int32_t n_0, float n_1_0, float factor);");
}
