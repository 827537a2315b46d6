//! Kernels that are deep, long or large in one way go through all stages for a CPU and for a GPU, or are refused, and
//! soon: time must not double with each step, and nothing may end the process.

use super::fuzz::{GPU, LONGEST, Seed, compile};
use crate::random_kernels::choices::Choices;
use crate::thread_time::thread_time;

/// Compiles a kernel with the parameters `n` and `out`.
fn survives(body: &str) {
    survives_with("n, out", "i32, *i32:16", body);
}

fn survives_with(params: &str, signature: &str, body: &str) {
    let text = format!("{HEAD}@shoal.jit\ndef k({params}):\n{body}");
    let seed = Seed { text: text.clone(), kernel: "k".into(), signature: Some(signature.into()) };
    for target in [shoal::host_target(), &GPU] {
        let (_, took) = thread_time(|| compile(&seed, &text, &mut Choices::new(0), target, true));
        assert!(took < LONGEST, "{took:?} on {target} for {text:.600}");
    }
}

const HEAD: &str = "import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import tid


";

/// Statements one inside the other; `line` writes the head of each.
fn nested(depth: usize, line: impl Fn(usize) -> String, inside: &str) -> String {
    let heads: String = (0..depth).map(|d| format!("{}{}\n", "  ".repeat(d + 2), line(d))).collect();
    format!("{heads}{}{inside}\n", "  ".repeat(depth + 2))
}

fn ifs(depth: usize) -> String {
    nested(depth, |d| format!("if n > {d}:"), "tl.store(out, n)")
}

#[test]
fn deep_control_flow() {
    for depth in [20, 90] {
        survives(&ifs(depth));
        survives(&nested(depth, |d| format!("for i{d} in range(n):"), "tl.store(out, n)"));
        survives(&format!(
            "    x = tl.arange(0, 64)\n{}    tl.store(out + tl.arange(0, 64), x)\n",
            nested(depth, |d| format!("for i{d} in range(n):"), "x = x + i0")
        ));
        survives(&format!(
            "    x = n\n{}    tl.store(out, x)\n",
            nested(depth, |d| format!("while x > {d}:"), "x = x - 1")
        ));
    }
    // Inlined into each other: some hundred levels, and some thousand.
    for again in [2, 20] {
        survives(&format!(
            "{}\n\n\n@shoal.jit\ndef inner(n, out, D: tl.constexpr):\n{}{}if D > 0:\n{}inner(n, out, D - 1)\n",
            ifs(80).replace("tl.store(out, n)", &format!("inner(n, out, {again})")),
            ifs(80),
            "  ".repeat(82),
            "  ".repeat(83)
        ));
    }
}

/// Lanes that go different ways, one decision inside the other.
#[test]
fn deep_divergence() {
    let around = |inside: String| format!("    t = tid(0)\n    x = t\n{inside}    tl.store(out + t, x)\n");
    for depth in [10, 20, 60] {
        survives(&around(nested(depth, |d| format!("if x % {} != {d}:", d + 2), "x = x + 1")));
        survives(&around(nested(depth, |d| format!("while x % {} != {d}:", d + 2), "x = x + 1")));
    }
    let choices = |d| format!("if x % {} == {d}:\n{}x = x + 3\n{}else:", d + 2, "  ".repeat(d + 3), "  ".repeat(d + 2));
    survives(&around(nested(20, choices, "x = x - 1")));
}

#[test]
fn long_sequences() {
    let repeated = |line: &str, times: usize| line.repeat(times);
    let on_tile = |lines: String| {
        format!("    i = tl.arange(0, 64)\n    x = tl.load(out + i)\n{lines}    tl.store(out + i, x)\n")
    };
    survives(&format!("    x = n{}\n    tl.store(out, x)\n", repeated(" + n", 1_000)));
    survives(&format!("    x = n{}\n    tl.store(out, x)\n", repeated(" + n * 3", 10_000)));
    survives(&format!("    x = n\n{}    tl.store(out, x)\n", repeated("    x = x * 3 + n\n", 3_000)));
    survives(&on_tile(repeated("    x = x * 3 + n\n", 500)));
    survives(&(0..200).map(|i| format!("    if n == {i}:\n        return\n")).collect::<String>());
    survives(&on_tile((0..1_000).map(|i| format!("    if n == {i}:\n        x = x + {i}\n")).collect()));
    survives(&on_tile((0..400).map(|i| format!("    for j in range(n):\n        x = x * {i} + j\n")).collect()));
    survives(&format!("    t = ({})\n    tl.store(out, t[2500])\n", repeated("n, ", 3_000)));
    survives(
        &(0..100).map(|i| format!("    tl.store(out + {i}, tl.sum(tl.arange(0, 64) + n * {i}))\n")).collect::<String>(),
    );
    let helpers: String = (0..300).map(|i| format!("\n\n@shoal.jit\ndef f{i}(x):\n    return x * 3 + {i}\n")).collect();
    let calls: String = (0..300).map(|i| format!("    x = f{i}(x)\n")).collect();
    survives(&format!("    x = n\n{calls}    tl.store(out, x)\n{helpers}"));
}

#[test]
fn unrolled_loops() {
    let unrolled = |rounds: u32, start: &str, line: &str| {
        survives(&format!(
            "    j = tl.arange(0, 256)\n    x = {start} + tl.load(out)\n    for i in tl.static_range({rounds}):\n        \
             {line}\n    tl.store(out + j, tl.reshape(x, [256]))\n"
        ));
    };
    // As much as goes through the slower parts of LLVM.
    unrolled(200, "tl.full([16, 16], 1.0, tl.float32)", "x = tl.dot(x, x)");
    survives(&format!(
        "    x = n\n    for i in tl.static_range(1300):\n{}    tl.store(out, x)\n",
        "        if x > i:\n            x += n\n            tl.store(out + i, x)\n"
    ));
    // As much as is compiled, and more.
    for rounds in [100, 2_000] {
        unrolled(rounds, "tl.full([16, 16], 1.0, tl.float32)", "x = tl.dot(x, x)");
        unrolled(rounds, "tl.full([256], 1.0, tl.float32)", "x = tl.exp(x)");
        unrolled(rounds, "tl.full([256], 1, tl.int32)", "x = tl.cumsum(x, 0)");
        unrolled(rounds, "tl.full([256], 1, tl.int32)", "x = x + tl.sum(x, 0)");
    }
    unrolled(20_000, "tl.full([256], 1.0, tl.float32)", "x = tl.exp(x)");
    for rounds in [300, 65_536] {
        survives(&format!(
            "    for i in tl.static_range({rounds}):\n        if n == i:\n            tl.store(out, i)\n            return\n"
        ));
    }
    survives("    for i in tl.static_range(100000):\n        tl.store(out + i, n)\n");
    survives("    for j in range(3):\n        for i in tl.static_range(65536):\n            tl.store(out + i, j)\n");
}

#[test]
fn functions_that_call_themselves() {
    survives(
        "    inner(n, out, 40)\n\n\n@shoal.jit\ndef inner(n, out, D: tl.constexpr):\n    if D > 0:\n        \
         inner(n, out, D - 1)\n        inner(n, out, D - 1)\n    tl.store(out, n)\n",
    );
    survives("    tl.store(out, f(n))\n\n\n@shoal.jit\ndef f(x):\n    return f(x) + 1\n");
    survives(
        "    tl.store(out, fib(40) + n)\n\n\n@shoal.constexpr_function\ndef fib(x):\n    return x if x < 2 else \
         fib(x - 1) + fib(x - 2)\n",
    );
}

#[test]
fn large_tiles() {
    survives("    x = tl.zeros([1048576], tl.float32) + n\n    tl.store(out, tl.sum(x))\n");
    survives("    x = tl.arange(0, 1048576)\n    tl.store(out + x, tl.sort(x))\n");
    survives("    x = tl.arange(0, 4096)\n    y = x[:, None] * x[None, :]\n");
    for elements in [1u32 << 16, 1 << 18] {
        let side = elements.isqrt();
        survives(&format!("    i = tl.arange(0, {elements})\n    tl.store(out + i, tl.load(out + i) + n)\n"));
        survives(&format!("    i = tl.arange(0, {elements})\n    tl.store(out + i, tl.cumsum(tl.load(out + i), 0))\n"));
        survives(&format!(
            "    i = tl.arange(0, {elements})\n    x = tl.reshape(tl.load(out + i), [{side}, {side}])\n    \
             tl.store(out + i, tl.reshape(tl.trans(x), [{elements}]))\n"
        ));
    }
}

#[test]
fn large_values_at_compile_time() {
    for value in [
        "(1,) * 1000000000",
        "() * 1000000000000",
        "'ab' * 1000000000",
        "[i for i in range(1000000000)]",
        "10 ** 10 ** 8",
        "1 << (1 << 40)",
    ] {
        survives(&format!("    t: tl.constexpr = {value}\n    tl.store(out, n)\n"));
    }
    for doubling in ["s + s", "(s, s)"] {
        survives(&format!(
            "    s = (1, 2)\n    for i in tl.static_range(60):\n        s = {doubling}\n    tl.store(out, n)\n"
        ));
    }
    survives(&format!("    tl.device_print('{}', n)\n", "x".repeat(100_000)));
}

#[test]
fn many_parameters() {
    let names: Vec<String> = (0..2_000).map(|i| format!("a{i}")).collect();
    let body = format!("    tl.store(out, {})\n", names.join(" + "));
    survives_with(&format!("{}, out", names.join(", ")), &format!("{}*i32", "i32, ".repeat(2_000)), &body);
}

#[test]
fn long_assembly() {
    let lines: String = (0..10_000).map(|i| format!("add.s32 $0, $1, {i};\\n")).collect();
    let call = format!("tl.inline_asm_elementwise('{lines}', '=r,r', [n], dtype=tl.int32, is_pure=True, pack=1)");
    survives(&format!("    x = {call}\n    tl.store(out, x)\n"));
}
