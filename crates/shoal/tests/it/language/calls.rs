//! Reference 1.13: functions that kernels call.

use shoal::{Arg, args};

use super::harness::{case, with};

#[test]
fn ways_to_pass_arguments() {
    let functions = "
@shoal.jit
def place(a, b=2, *, c: tl.constexpr = 3):
    return a * 100 + b * 10 + c


@shoal.jit
def total(first, *rest):
    s = first
    for i in tl.static_range(len(rest)):
        s = s * 10 + rest[i]
    return s


@shoal.jit
def nothing(p):
    tl.store(p, 9)
";
    let body = "
    tl.store(out, place(n))
    tl.store(out + 1, place(n, 5))
    tl.store(out + 2, place(b=n, a=1, c=7))
    tl.store(out + 3, total(n))
    tl.store(out + 4, total(n, 2, 3))
    args = (4, 5)
    tl.store(out + 5, total(n, *args))
    nothing(out + 6)
    tl.store(out + 7, place(*args, c=6))
";
    with(functions, "n, out", body).gives(args!(8), &[823, 853, 187, 8, 823, 845, 9, 456]);
}

#[test]
fn callees_are_specialised_by_what_they_get() {
    let functions = "
@shoal.jit
def scaled(x, BY: tl.constexpr):
    if BY is None:
        return x
    else:
        return x * BY


@shoal.jit
def name_of(x):
    if x.dtype.is_floating():
        return 1
    elif len(x.shape) > 0:
        return 2
    else:
        return 3


@shoal.jit
def tree(x, DEPTH: tl.constexpr):
    if DEPTH == 0:
        return x
    else:
        return tree(x, DEPTH - 1) + tree(x * 2, DEPTH - 1)


@shoal.jit
def folded(x):
    if x.shape[0] == 1:
        return x.item()
    else:
        a, b = tl.split(x.reshape(x.shape[0] // 2, 2))
        return folded(a + b)
";
    let body = "
    tl.store(out, scaled(n, 3) + scaled(n, None))
    tl.store(out + 1, name_of(n) * 100 + name_of(n * 1.5) * 10 + name_of(tl.arange(0, 2)))
    tl.store(out + 2, tree(n, 3))
    tl.store(out + 3, folded(tl.arange(0, 16)))
";
    with(functions, "n, out", body).gives(args!(5), &[20, 312, 135, 120]);
}

#[test]
fn functions_as_arguments() {
    let functions = "
@shoal.jit
def twice(x):
    return x * 2


@shoal.jit
def apply(f: tl.constexpr, x):
    return f(f(x))
";
    let kernel = with(functions, "n, out, F: tl.constexpr", "    tl.store(out, apply(F, n) + apply(twice, n))");
    let mut args = args!(3);
    args.set("F", Arg::Function("twice".into()));
    kernel.gives(args, &[24]);
}

#[test]
fn noinline_functions() {
    let functions = "
@shoal.jit(noinline=True)
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@shoal.jit(noinline=True)
def stores(p, value):
    if value < 0:
        return
    tl.store(p, value)
";
    let body = "
    tl.store(out, collatz(n))
    stores(out + 1, collatz(n + 1))
    stores(out + 2, -1)
";
    with(functions, "n, out", body).gives(args!(26), &[10, 111, -1]);
}

#[test]
fn functions_with_loops_and_tiles() {
    let functions = "
@shoal.jit
def dot(x, y, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + i, mask=i < n, other=0.0) * tl.load(y + i, mask=i < n, other=0.0)
    return tl.sum(total)
";
    let x: Vec<f32> = (0..100).map(|v| v as f32).collect();
    let expected: f32 = (0..100).map(|v| (v * v) as f32).sum();
    with(functions, "x, n, out", "    tl.store(out, dot(x, x, n, BLOCK=16))").gives(args!(&x, 100), &[expected]);
}

#[test]
fn methods_and_free_functions_are_the_same() {
    let body = "
    v = tl.arange(0, 8)
    tl.store(out, v.sum())
    tl.store(out + 1, v.max() + v.min())
    tl.store(out + 2, v.to(tl.float32).exp().log().sum())
    tl.store(out + 3, v.reshape(2, 4).trans(1, 0).sum(axis=0).max())
    tl.store(out + 4, v.cdiv(2).sum())
    tl.store(out + 5, v.argmax(0))
    tl.store(out + 6, (out + 3).cast(tl.int64) != 0)
";
    case("out", body).near::<f32>(args!(), 1e-5, &[28.0, 7.0, 28.0, 22.0, 16.0, 7.0, 1.0]);
}

#[test]
fn wrong_calls() {
    let functions = "
@shoal.jit
def pair(a, b):
    return a, b


@shoal.jit
def endless(x):
    return endless(x)


@shoal.jit
def growing(x, N: tl.constexpr):
    return growing(x, N + 1)


@shoal.jit
def mixed(x):
    if x > 2:
        return 1
    return tl.zeros([4], tl.int32)


def not_a_kernel(x):
    return x


@shoal.jit
def inner_error(x):
    return x + undefined
";
    let wrong = |body: &str, words: &[&str]| with(functions, "n, out", body).refused(args!(3), words);
    wrong("    x = pair(1)", &["b"]);
    wrong("    x = pair(1, 2, 3)", &["3"]);
    wrong("    x = pair(1, c=2)", &["c"]);
    wrong("    x = pair(1, a=2)", &["a"]);
    wrong("    x = endless(n)", &["endless"]);
    wrong("    x = growing(n, 0)", &["growing"]);
    wrong("    x = mixed(n)", &["mixed"]);
    wrong("    x = not_a_kernel(n)", &["not_a_kernel"]);
    wrong("    x = n(3)", &[]);
    wrong("    x = inner_error(n)", &["undefined", "inner_error"]);
}
