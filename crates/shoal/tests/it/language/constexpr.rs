//! Reference 1.12: what is known when a kernel is compiled.

use shoal::args;

use super::harness::{case, holds, with};

#[test]
fn arithmetic_is_pythons() {
    holds(
        "A: tl.constexpr = 7\nB: tl.constexpr = -2\nF: tl.constexpr = 2.5",
        &[
            "A // B == -4",
            "A % B == -1",
            "A / B == -3.5",
            "A ** 3 == 343",
            "2 ** 100 > 1 << 99",
            "A << 3 == 56",
            "-A >> 1 == -4",
            "A & 3 == 3",
            "(A | 8) ^ 1 == 14",
            "~A == -8",
            "not (A < B)",
            "F * 2 == 5",
            "int(F) == 2",
            "float(A) == 7.0",
            "min(A, B) == -2 and max(A, B, 9) == 9",
            "abs(B) == 2",
            "(A if A > 3 else B) == 7",
            "A is not None",
            "(None is None) and True",
            "len((1, 2, 3)) == 3",
            "(1, 2, 3)[1] == 2",
            "(1, 2, 3)[-2:] == (2, 3)",
            "'abc' == 'abc'",
            "f'{A}-{F}' == '7-2.5'",
            "1 < A < 10",
            "A == 7 or undefined_is_never_looked_at",
            "isinstance(A, int)",
            "hasattr(tl.float32, 'itemsize')",
            "getattr(tl.float32, 'itemsize') == 4",
            "math.sqrt(16) == 4.0",
            "math.ceil(math.log2(100)) == 7",
            "math.pi > 3.14",
            "float('inf') > 1e300",
            "bool(A)",
            "tl.constexpr(3) + 1 == 4",
        ],
    );
}

#[test]
fn plain_names_are_values_of_run_time() {
    let body = "
    a = 3
    tl.static_assert(a.dtype == tl.int32)
    b = 2.5
    tl.static_assert(b.dtype == tl.float32)
    C: tl.constexpr = 16
    d: tl.constexpr
    d = C // 2
    t = tl.float16
    tl.store(out + tl.arange(0, d), tl.full([d], a, t) + b + C)
";
    case("out", body).gives(args!(), &[21.5f32; 8]);
}

#[test]
fn globals_and_functions_of_compile_time() {
    let definitions = "
LIMIT = tl.constexpr(5)
SCALE: tl.constexpr = 3


@shoal.constexpr_function
def log2(n):
    bits = 0
    while n > 1:
        n = n // 2
        bits += 1
    return bits


@shoal.constexpr_function
def strides(shape):
    all = []
    step = 1
    for size in shape[::-1]:
        all = [step] + all
        step *= size
    return all
";
    let body = "
    tl.static_assert(log2(N) == 4)
    tl.static_assert(strides((2, 3, 4)) == (12, 4, 1))
    tl.store(out, LIMIT * SCALE + log2(N))
    x = tl.zeros([2 ** log2(N)], tl.int32)
    tl.store(out + 1, x.numel)
";
    with(definitions, "out, N: tl.constexpr", body).gives(args!(N = 16), &[19, 16]);
    let plain = with("LIMIT = 5", "out", "    tl.store(out, LIMIT)");
    plain.refused(args!(), &["LIMIT", "constexpr"]);
    plain.options(|o| o.allow_plain_globals = true).gives(args!(), &[5]);
}

#[test]
fn only_the_taken_branch_is_looked_at() {
    let body = "
    if KIND == 'sum':
        r = x + 1
    elif KIND == 'none':
        r = x
    else:
        r = undefined_function(x)
    if not FLAG:
        tl.static_assert(False, 'not looked at')
    r = r * 2 if FLAG else broken(r)
    if nothing is not None:
        r += tl.load(nothing)
    tl.store(out, r)
";
    let kernel = case("x, nothing, out, KIND: tl.constexpr, FLAG: tl.constexpr", body);
    kernel.gives(args!(5, (), KIND = "sum", FLAG = true), &[12]);
    kernel.gives(args!(5, (), KIND = "none", FLAG = 1), &[10]);
    kernel.refused(args!(5, (), KIND = "other", FLAG = true), &["undefined_function", "kernel.py:14"]);
}

#[test]
fn defaults_of_parameters() {
    let body = "    tl.store(out, x + SCALE + extra)";
    let kernel = case("x, out, extra=4, SCALE: tl.constexpr = 10", body);
    kernel.gives(args!(1), &[15]);
    kernel.gives(args!(1, SCALE = 20), &[25]);
    kernel.gives(args!(1, SCALE = 20, extra = 0), &[21]);
}

#[test]
fn wrong_use() {
    let wrong = |body: &str, words: &[&str]| case("n, out, N: tl.constexpr", body).refused(args!(3, N = 4), words);
    wrong("    x: tl.constexpr = 3\n    x: tl.constexpr = 4", &["x", "kernel.py:10"]);
    wrong("    x = tl.zeros([n], tl.int32)", &["constexpr", "kernel.py:9"]);
    wrong("    x: tl.constexpr = 1 // 0", &["zero"]);
    wrong("    x: tl.constexpr = (1, 2)[5]", &["5"]);
    wrong("    x: tl.constexpr = 1 << 100000000000", &[]);
    wrong("    x: tl.constexpr = 10 ** 10 ** 10", &[]);
    wrong("    x = unknown", &["unknown"]);
    wrong("    x = n.unknown", &["unknown"]);
    wrong("    x = tl.unknown", &["unknown"]);
}
