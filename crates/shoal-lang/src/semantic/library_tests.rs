//! The library in the kernel language: every function lowers to valid IR, for the types it takes.

use std::collections::BTreeSet;

use shoal_source::SourceMap;

use crate::{Program, Specialization};

/// Lowers a kernel with this body over a pointer `x` of a type, and gives what `static_print` said.
fn said(dtype: &str, body: &str) -> Vec<String> {
    let mut text = String::from("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, n):\n");
    for line in body.lines() {
        text.push_str("    ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let mut sources = SourceMap::default();
    let program = Program::parse(&mut sources, "test.py", &text).expect("valid syntax");
    let args = program.signature("kernel", &format!("*{dtype}, i32")).expect("a signature");
    let lowered = match program.lower("kernel", &Specialization { args, ..Default::default() }) {
        Ok(lowered) => lowered,
        Err(problems) => panic!("{dtype}: {problems:?}\n{text}"),
    };
    if let Err(problems) = shoal_ir::verify::verify(&lowered.module) {
        panic!("{dtype}: {problems:?}\n{text}");
    }
    lowered.notes.iter().map(|note| note.message.clone()).collect()
}

const DTYPES: [&str; 8] = ["i8", "u8", "i32", "u32", "i64", "fp16", "bf16", "fp32"];

/// The types of expressions over a tile `t` of each type, as the table says them.
fn types(expressions: &str, expected: &[(&str, &str)]) {
    for (dtype, types) in expected {
        let prints: String =
            expressions.split(';').map(|e| format!("tl.static_print(({}).dtype)\n", e.trim())).collect();
        let body = format!("t = tl.load(x + tl.arange(0, 16))\n{prints}");
        assert_eq!(said(dtype, &body).join(" "), *types, "{dtype}: {expressions}");
    }
}

#[test]
fn reductions_promote_as_documented() {
    types(
        "tl.sum(t); tl.max(t); tl.min(t, 0); tl.cumsum(t); tl.cumprod(t, 0, True); tl.max(t, 0, return_indices=True)[0]",
        &[
            ("i8", "int32 int32 int32 int32 int32 int8"),
            ("u8", "uint32 int32 int32 uint32 uint32 uint8"),
            ("i64", "int64 int64 int64 int64 int64 int64"),
            ("fp16", "fp16 fp32 fp32 fp16 fp16 fp16"),
            ("bf16", "bf16 fp32 fp32 fp32 fp32 fp32"),
            ("fp32", "fp32 fp32 fp32 fp32 fp32 fp32"),
        ],
    );
    types("tl.sum(t, dtype=tl.float64); tl.argmax(t, 0); tl.argmin(t, 0, False)", &[("fp16", "fp64 int32 int32")]);
    types("tl.xor_sum(t); tl.reduce_or(t, 0)", &[("i8", "int8 int8"), ("u32", "uint32 uint32")]);
}

#[test]
fn order_functions_keep_types_and_shapes() {
    for dtype in DTYPES.into_iter().chain(["fp64", "fp8e5", "i1"]) {
        let body = "t = tl.load(x + tl.arange(0, 64)).reshape(4, 16)\n\
                    s = tl.sort(t)\n\
                    tl.static_assert(s.dtype == t.dtype and s.shape == (4, 16))\n\
                    d = tl.sort(t, 0, True)\n\
                    m = tl.bitonic_merge(t)\n\
                    f = tl.flip(t, 0)\n\
                    tl.static_assert(f.dtype == t.dtype and m.dtype == t.dtype and d.shape == (4, 16))\n\
                    k = tl.topk(s, 4)\n\
                    tl.static_assert(k.shape == (4, 4))\n\
                    one = tl.topk(t, 1)\n\
                    tl.static_assert(one.shape == (4, 1) and one.dtype == k.dtype)\n\
                    tl.store(x + tl.arange(0, 64), tl.ravel(f))";
        said(dtype, body);
    }
    types("tl.topk(t, 4); tl.topk(t, 16); tl.topk(t, 1)", &[("bf16", "fp32 bf16 fp32"), ("u8", "int32 uint8 int32")]);
}

/// Loops keep the network small: its size does not depend on the tile's.
#[test]
fn sorting_does_not_grow_with_the_tile() {
    let operations = |size: u32| {
        let text = format!(
            "import triton\nimport triton.language as tl\n@triton.jit\ndef kernel(x):\n    p = x + tl.arange(0, {size})\n    tl.store(p, tl.sort(tl.load(p)))\n"
        );
        let mut sources = SourceMap::default();
        let program = Program::parse(&mut sources, "test.py", &text).expect("valid syntax");
        let args = program.signature("kernel", "*fp32").expect("a signature");
        let lowered = program.lower("kernel", &Specialization { args, ..Default::default() }).expect("it lowers");
        lowered.module.funcs.iter().map(|f| f.walk().len()).sum::<usize>()
    };
    assert_eq!(operations(16), operations(4096));
}

#[test]
fn shapes_and_activations() {
    let body = "t = tl.load(x + tl.arange(0, 64)).reshape(4, 16)\n\
                tl.static_assert(tl.interleave(t, t).shape == (4, 32))\n\
                tl.static_assert(tl.interleave(n, n).shape == (2,))\n\
                tl.static_assert(tl.ravel(t).shape == (64,))\n\
                tl.static_assert(tl.zeros_like(t).shape == t.shape)\n\
                tl.static_assert(tl.zeros((2, 2), tl.int8).dtype == tl.int8)\n\
                tl.static_assert(tl.softmax(t).shape == t.shape)\n\
                tl.static_assert(tl.softmax(t, 1).dtype == tl.float32)\n\
                tl.static_assert(tl.sigmoid(t).dtype == tl.float32)\n\
                tl.static_assert(tl.max(t, 1, keep_dims=True).shape == (4, 1))\n\
                tl.static_assert(tl.sum(t, keep_dims=True).shape == (1, 1))\n\
                tl.static_assert(tl.cdiv(n, 16).dtype == tl.int32)\n\
                i, j = tl.swizzle2d(n, n, 8, 8, 4)\n\
                tl.static_assert(i.dtype == tl.int32)\n\
                BLOCKS: tl.constexpr = tl.cdiv(100, 16)\n\
                tl.static_assert(BLOCKS == 7)\n\
                tl.static_assert(triton.next_power_of_2(100) == 128)\n\
                tl.static_assert(t.sum(1).shape == (4,))";
    said("fp32", body);
}

#[test]
fn random_numbers_have_their_types() {
    let body = "i = tl.arange(0, 16)\n\
                tl.static_assert(tl.rand(7, i).dtype == tl.float32)\n\
                tl.static_assert(tl.randn(n, i).dtype == tl.float32)\n\
                tl.static_assert(tl.randint(n, i.to(tl.int64)).dtype == tl.uint32)\n\
                a, b, c, d = tl.randint4x(n, i)\n\
                e, f, g, h = tl.rand4x(n, i)\n\
                p, q, r, s = tl.randn4x(n, i)\n\
                tl.static_assert(s.shape == (16,) and h.shape == (16,) and d.shape == (16,))\n\
                wide = i.to(tl.uint64)\n\
                v, _, _, _ = tl.philox(n, wide, wide, wide, wide)\n\
                tl.static_assert(v.dtype == tl.uint64)\n\
                tl.static_assert(tl.uint_to_uniform_float(v).dtype == tl.float32)";
    said("fp32", body);
}

/// Mistakes in calls of library functions end at the user's line.
#[test]
fn failed_assertions_name_the_call() {
    let text = "import triton\nimport triton.language as tl\n@triton.jit\ndef kernel(x):\n    p = x + tl.arange(0, 16)\n    tl.store(p, tl.topk(tl.load(p), 32))\n";
    let mut sources = SourceMap::default();
    let program = Program::parse(&mut sources, "test.py", text).expect("valid syntax");
    let args = program.signature("kernel", "*fp32").expect("a signature");
    let problems = program.lower("kernel", &Specialization { args, ..Default::default() }).expect_err("32 is too many");
    let messages: BTreeSet<&str> = problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(messages, BTreeSet::from(["compile-time assertion failed"]));
    assert!(problems.iter().all(|p| sources.name(p.span.file) == "test.py"), "the error is shown at the user's call");
}
