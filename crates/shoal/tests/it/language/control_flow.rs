//! Reference 1.13: statements.

use shoal::args;

use super::harness::{case, with};

/// A kernel `(n, out)` with one result for each `n`.
fn for_each(body: &str, pairs: &[(i32, i32)]) {
    for &(n, expected) in pairs {
        case("n, out", body).gives(args!(n), &[expected]);
    }
}

#[test]
fn for_loops() {
    for_each(
        "    s = 0\n    for i in range(n):\n        s += i\n    tl.store(out, s)",
        &[(10, 45), (0, 0), (-5, 0), (1, 0)],
    );
    for_each(
        "    s = 0\n    for i in range(2, n, 3):\n        s = s * 10 + i\n    tl.store(out, s)",
        &[(10, 258), (2, 0)],
    );
    for_each(
        "    s = 0\n    for i in range(n, 0, -2):\n        s = s * 10 + i\n    tl.store(out, s)",
        &[(7, 7531), (0, 0)],
    );
    for_each(
        "    s = 0\n    for i in range(n):\n        for j in range(i):\n            s += i * j\n    tl.store(out, s)",
        &[(5, 35), (2, 0)],
    );
    for_each("    s = 0\n    for i in range(n, n + 3):\n        s += i\n    tl.store(out, s)", &[(5, 18)]);
    // The bound may be wide, and then so is the counter.
    let wide = "
    last = tl.to_tensor(n).to(tl.int64) + (1 << 40)
    s = 0
    for i in range(1 << 40, last):
        tl.static_assert(i.dtype == tl.int64)
        s += 1
    tl.store(out, s)
";
    for_each(wide, &[(3, 3)]);
}

#[test]
fn options_of_loops() {
    for options in [
        "num_stages=3",
        "loop_unroll_factor=4",
        "flatten=True",
        "warp_specialize=False",
        "disallow_acc_multi_buffer=True",
        "disable_licm=True",
        "step=2, num_stages=1",
    ] {
        let body =
            format!("    s = 0\n    for i in tl.range(0, n, {options}):\n        s += i * i\n    tl.store(out, s)",);
        let step = if options.starts_with("step") { 2 } else { 1 };
        let expected = (0..11).step_by(step).map(|i| i * i).sum();
        for_each(&body, &[(11, expected), (0, 0)]);
    }
}

#[test]
fn unrolled_loops_count_at_compile_time() {
    let body = "
    s = 0
    for i in tl.static_range(4):
        tl.static_assert(i < 4)
        s += tl.sum(tl.zeros([2 ** i], tl.int32) + 1)
    for i in tl.static_range(10, 4, -3):
        s = s * 100 + i
    tl.store(out, s)
";
    for_each(body, &[(0, 151_007)]);
}

#[test]
fn while_loops() {
    for_each(
        "    steps = 0\n    while n != 1:\n        n = n // 2 if n % 2 == 0 else 3 * n + 1\n        steps += 1\n    tl.store(out, steps)",
        &[(27, 111), (2, 1), (6, 8)],
    );
    for_each(
        "    i = 0\n    while (i < n) & (i * i < 50):\n        i += 1\n    tl.store(out, i)",
        &[(5, 5), (100, 8), (-1, 0)],
    );
    for_each(
        "    i = 0\n    while tl.condition(i < n, disable_licm=True):\n        i += 2\n    tl.store(out, i)",
        &[(5, 6)],
    );
    let nested = "
    total = 0
    i = 0
    while i < n:
        j = 0
        while j < i:
            total += 1
            j += 1
        i += 1
    tl.store(out, total)
";
    for_each(nested, &[(5, 10), (0, 0)]);
}

#[test]
fn branches() {
    let body = "
    if n > 10:
        r = 1
        if n > 100:
            r = 2
            if n % 2 == 0:
                r = 3
        elif n == 50:
            r = 4
    elif n < 0:
        r = 5
    else:
        r = 6
    tl.store(out, r)
";
    for_each(body, &[(11, 1), (101, 2), (102, 3), (50, 4), (-1, 5), (10, 6)]);
    let kept = "
    x = n
    y = 7
    if n > 3:
        x = x * 2
    else:
        y = x + 1
    tl.store(out, x * 100 + y)
";
    for_each(kept, &[(4, 807), (3, 304)]);
    let effects = "
    tl.store(out, 0)
    if n > 3:
        tl.store(out, 1)
    if (n > 5) and (n < 9):
        tl.store(out, 2)
    if n == 1 or not n < 20:
        tl.store(out, 3)
";
    for_each(effects, &[(2, 0), (4, 1), (6, 2), (20, 3), (1, 3)]);
}

#[test]
fn branches_inside_loops_carry_values() {
    let body = "
    even = 0
    odd = 0
    last = -1
    for i in range(n):
        if i % 2 == 0:
            even += i
            last = i
        else:
            odd += i
    tl.store(out, even * 10000 + odd * 100 + last)
";
    for_each(body, &[(10, 202_508), (1, 0), (0, -1)]);
    let tiles = "
    acc = tl.zeros([4], tl.int32)
    for i in range(n):
        acc = tl.where(tl.arange(0, 4) == i % 4, acc + i, acc)
        if i > 5:
            acc += 1
    tl.store(out, tl.max(acc))
";
    for_each(tiles, &[(8, 12), (3, 2)]);
}

#[test]
fn early_returns() {
    let body = "
    tl.store(out, 0)
    if n > 10:
        tl.store(out, 1)
        if n > 20:
            return
        tl.store(out, 2)
        return
    if n < 0:
        return
    tl.store(out, 3)
";
    for_each(body, &[(21, 1), (11, 2), (-1, 0), (5, 3)]);
    let functions = "
@shoal.jit
def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@shoal.jit
def nested(x):
    if x > 10:
        if x > 20:
            return x * 2
        else:
            return x * 3
    y = x + 1
    if y == 5:
        return y * 100
    return y
";
    for (n, expected) in [(5, 1 + 60), (-5, -1 - 40), (0, 10), (21, 1 + 420), (11, 1 + 330), (4, 1 + 5000)] {
        with(functions, "n, out", "    tl.store(out, sign(n) + nested(n) * 10)").gives(args!(n), &[expected]);
    }
    let guarded = "
    at = tl.program_id(0)
    if at >= n:
        return
    tl.store(out + at, at)
";
    case("n, out", guarded).grid(8, 1, 1).gives(args!(3), &[0, 1, 2, -1, -1]);
}

#[test]
fn expressions_with_flow() {
    for_each("    tl.store(out, 10 if n > 3 else 20)", &[(4, 10), (3, 20)]);
    for_each("    tl.store(out, 1 if n > 3 else 2 if n > 1 else 3)", &[(4, 1), (2, 2), (0, 3)]);
    for_each(
        "    if (m := n * 2) > 6:\n        tl.store(out, m)\n    else:\n        tl.store(out, -m)",
        &[(4, 8), (1, -2)],
    );
    for_each("    tl.store(out, 1 < n < 5)", &[(1, 0), (2, 1), (5, 0)]);
    for_each("    tl.store(out, 0 <= n <= 3 != n)", &[(2, 1), (3, 0), (-1, 0)]);
    for_each(
        "    x = n\n    x += 1\n    x *= 3\n    x -= 2\n    x //= 2\n    x %= 7\n    x <<= 2\n    x |= 1\n    x ^= 3\n    tl.store(out, x)",
        &[(5, 6)],
    );
    for_each("    tl.store(out, (n > 3) and (n < 6) or (n == 9))", &[(4, 1), (9, 1), (7, 0)]);
    for_each("    '''a text that says what the kernel does'''\n    pass\n    tl.store(out, n)", &[(4, 4)]);
}

#[test]
fn what_is_not_in_the_language() {
    let wrong = |body: &str, words: &[&str]| case("n, out", body).refused(args!(3), words);
    wrong("    for i in range(n):\n        break", &["break", "kernel.py:10"]);
    wrong("    for i in range(n):\n        continue", &["continue", "kernel.py:10"]);
    wrong("    for i in range(n):\n        pass\n    else:\n        pass", &["else"]);
    wrong("    while n > 3:\n        pass\n    else:\n        pass", &["else"]);
    wrong("    def f(x):\n        return x", &["def", "kernel.py:9"]);
    wrong("    f = lambda x: x", &["lambda"]);
    wrong("    try:\n        pass\n    except:\n        pass", &["try"]);
    wrong("    with n:\n        pass", &["with"]);
    wrong("    del n", &["del"]);
    wrong("    global n", &["global"]);
    wrong("    x = {a: 2 for a in (1, 2)}", &["kernel.py:9"]);
    wrong("    x = {1, 2}", &["kernel.py:9"]);
    wrong("    n.x = 3", &["kernel.py:9"]);
    wrong("    raise ValueError('x')", &["raise"]);
    wrong("    import math", &["import"]);
    wrong("    yield n", &["yield"]);
    wrong("    x = n in (1, 2)", &["in"]);
    wrong("    x = await n", &["await"]);
}

#[test]
fn types_must_stay_in_loops_and_branches() {
    let wrong = |body: &str, words: &[&str]| case("n, out", body).refused(args!(3), words);
    wrong("    acc = 0\n    for i in range(n):\n        acc += 1.5", &["acc", "i32", "fp32"]);
    wrong(
        "    acc = tl.zeros([4], tl.int32)\n    for i in range(n):\n        acc = tl.zeros([8], tl.int32)",
        &["acc", "4", "8"],
    );
    wrong("    x = 0\n    while x < n:\n        x = x + 1.5", &["x"]);
    wrong("    if n > 2:\n        x = 1\n    else:\n        x = 1.5\n    tl.store(out, x)", &["x"]);
    wrong("    if n > 2:\n        x = 1\n    tl.store(out, x)", &["x"]);
    wrong("    for i in range(n):\n        x = i\n    tl.store(out, x)", &["x"]);
    wrong("    if tl.arange(0, 4) > n:\n        pass", &["4"]);
    wrong("    for i in range(n):\n        return", &["return"]);
    wrong("    x = 1 if n > 2 else 1.5", &[]);
    wrong("    for i in range(0, n, 0):\n        pass", &["0"]);
}

/// A name that is announced with `None` may get a value on one side of an `if` that nobody asks for afterwards.
#[test]
fn names_announced_with_none() {
    let body = "
    found = None
    if n > 3:
        found = n * 2
        tl.store(out, found)
    else:
        tl.store(out, -1)
";
    case("n, out", body).gives(args!(5), &[10]);
    case("n, out", body).gives(args!(2), &[-1]);
    let used = "
    found = None
    if n > 3:
        found = n * 2
    tl.store(out, found)
";
    case("n, out", used).refused(args!(5), &["`found`", "`None`"]);
}

/// So many accesses in a row are compiled without ordering them; what they do stays the same.
#[test]
fn thousands_of_unrolled_accesses() {
    let body = "
    for i in tl.static_range(5000):
        tl.store(out + i, tl.load(out + i) * n + i)
";
    let before: Vec<i32> = (0..5000).map(|i| i % 7).collect();
    let after: Vec<i32> = (0..5000).map(|i| (i % 7) * 5 + i).collect();
    case("n, out", body).updates(args!(5), &before, &after);
}
