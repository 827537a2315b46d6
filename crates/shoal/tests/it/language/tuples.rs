//! Reference 1.10: tuples, named tuples and aggregates.

use shoal::args;

use super::harness::{case, with};

#[test]
fn tuples_as_values() {
    let body = "
    t = (n, 2.5, tl.arange(0, 4))
    a, b, c = t
    tl.static_assert(len(t) == 3)
    u = t + (7,)
    tl.store(out, a + b)
    tl.store(out + 1 + tl.arange(0, 4), c + u[-1])
    nested = ((n, (n + 1, n + 2)), n + 3)
    (p, (q, r)), s = nested
    tl.store(out + 5, p * 1000 + q * 100 + r * 10 + s)
    doubled = [v * 2 for v in (n, n + 1, n + 2)]
    tl.store(out + 6, doubled[0] + doubled[1] + doubled[2])
    picked = [i for i in range(6) if i % 2 == 1]
    tl.store(out + 7, picked[0] + picked[1] * 10 + picked[2] * 100)
    a, b = b, a
    tl.store(out + 8, a - b)
    repeated = (n,) * 3
    tl.store(out + 9, repeated[0] + repeated[1] + repeated[2])
    tl.store(out + 10, t[1:][0])
";
    let expected = [5.5f32, 7.0, 8.0, 9.0, 10.0, 3456.0, 24.0, 531.0, -0.5, 9.0, 2.5];
    case("n, out", body).gives(args!(3), &expected);
}

#[test]
fn dictionaries_with_keys_known_at_compile_time() {
    let definitions = "
@shoal.jit
def scaled(x, scale, shift):
    return x * scale + shift

@shoal.jit
def first(d):
    return d['x']
";
    let body = "
    d = {'x': n, 'y': tl.arange(0, 4), 3: 7}
    tl.store(out, d['x'] + d[3])
    tl.store(out + 1 + tl.arange(0, 4), d['y'])
    tl.store(out + 5, len(d) + d.get('z', 40))
    more = {**d, 'x': 100}
    tl.store(out + 6, first(more) + first(d))
    options = {'shift': 5, 'scale': n}
    tl.store(out + 7, scaled(10, **options))
    if 'y' in d and 'z' not in d:
        tl.store(out + 8, 1)
    for key in tl.static_range(0, 1):
        options = {'shift': 6, 'scale': 2}
    tl.store(out + 9, scaled(1, **options))
";
    let expected = [10, 0, 1, 2, 3, 43, 103, 35, 1, 8];
    with(definitions, "n, out", body).gives(args!(3), &expected);
    case("n, out", "    d = {'x': 1}\n    tl.store(out, d['w'])").refused(args!(3), &["no key", "'w'"]);
    case("n, out", "    d = {n: 1}").refused(args!(3), &["key", "compile time"]);
}

#[test]
fn tuples_as_arguments() {
    let x = [1.0f32, 2.0, 3.0];
    let body = "
    pointer, (scale, shift) = pack
    v = tl.load(pointer + 1) * scale + shift
    for item in tl.static_range(len(numbers)):
        v += numbers[item]
    tl.store(out, v)
";
    case("pack, numbers, out", body).gives(args!((&x[..], (10, 0.5)), (100, 1, 3)), &[124.5f32]);
}

#[test]
fn tuples_through_calls_and_loops() {
    let functions = "
@shoal.jit
def both(a, b):
    return a + b, a - b


@shoal.jit
def swap(pair):
    return pair[1], pair[0]
";
    let body = "
    s, d = both(n, 2)
    pair = swap((s, d))
    state = (0, 1)
    for i in range(n):
        state = (state[1], state[0] + state[1])
    if n > 3:
        pair = (pair[1], pair[0])
    tl.store(out, pair[0] * 100 + pair[1])
    tl.store(out + 1, state[0])
    tl.store(out + 2, both(*pair)[0])
";
    with(functions, "n, out", body).gives(args!(10), &[1208, 55, 20]);
    with(functions, "n, out", body).gives(args!(2), &[4, 1, 4]);
}

#[test]
fn named_tuples() {
    let definitions = "
from typing import NamedTuple


class Point(NamedTuple):
    x: tl.tensor
    y: tl.tensor = 1


@shoal.jit
def shifted(p, by):
    return Point(p.x + by, p.y)
";
    let body = "
    p = Point(n, y=2.5)
    q = shifted(p, 10)
    tl.store(out, q.x + q.y)
    x, y = q
    tl.store(out + 1, x * y)
    r = Point(n)
    tl.store(out + 2, r[0] + r.y)
    for i in range(3):
        p = Point(p.x + 1, p.y * 2)
    tl.store(out + 3, p.x + p.y)
";
    with(definitions, "n, out", body).gives(args!(3), &[15.5f32, 32.5, 4.0, 26.0]);
}

#[test]
fn aggregates() {
    let definitions = "
@shoal.aggregate
class Complex:
    re: tl.tensor
    im: tl.tensor

    @shoal.jit
    def __init__(self, re, im):
        self.re = re
        self.im = im

    @shoal.jit
    def __mul__(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    @shoal.jit
    def norm2(self):
        return self.re * self.re + self.im * self.im


@shoal.jit
def square(z):
    return z * z
";
    let plain = definitions
        .replace("    @shoal.jit\n    def __init__(self, re, im):\n        self.re = re\n        self.im = im\n\n", "");
    let body = "
    z = Complex(1.0, 2.0)
    z = square(z)
    tl.store(out, z.re)
    tl.store(out + 1, z.im)
    for i in range(2):
        z = z * Complex(0.0, 1.0)
    tl.store(out + 2, z.re)
    tl.store(out + 3, z.norm2())
    w = tl.aggregate_replace(z, im=7.0)
    tl.store(out + 4, w.im + w.re)
";
    with(&plain, "out", body).gives(args!(), &[-3.0f32, 4.0, 3.0, 25.0, 10.0]);
    let without = body.replace("    w = tl.aggregate_replace(z, im=7.0)\n    tl.store(out + 4, w.im + w.re)\n", "");
    with(definitions, "out", &without).gives(args!(), &[-3.0f32, 4.0, 3.0, 25.0]);
}

#[test]
fn aggregates_that_compute_their_fields() {
    let definitions = "
@shoal.aggregate
class Span:
    start: tl.tensor
    size: tl.tensor
    WIDTH: tl.constexpr

    @shoal.constexpr_function
    def __init__(self, start, end, WIDTH=4):
        length = end - start
        self.start = start
        self.size = length * 2
        self.WIDTH = WIDTH

    @shoal.jit
    def last(self):
        return self.start + self.size // 2 - 1
";
    let body = "
    s = Span(n, n + 10)
    tl.store(out, s.size)
    tl.store(out + 1, s.last())
    tl.store(out + 2, tl.zeros([s.WIDTH], tl.int32).numel)
    tl.store(out + 3, Span(0, 1, WIDTH=8).WIDTH)
";
    with(definitions, "n, out", body).gives(args!(3), &[20, 12, 4, 8]);
    let wrong = definitions.replace("        self.size = length * 2\n", "");
    with(&wrong, "n, out", "    s = Span(n, n)").refused(args!(3), &["size"]);
    let unknown = definitions.replace("self.size = length * 2", "self.length = length");
    with(&unknown, "n, out", "    s = Span(n, n)").refused(args!(3), &["length"]);
}

#[test]
fn wrong_tuples() {
    let wrong = |body: &str, words: &[&str]| case("n, out", body).refused(args!(3), words);
    wrong("    a, b = (1, 2, 3)", &["3", "2", "kernel.py:9"]);
    wrong("    a, b = n", &["kernel.py:9"]);
    wrong("    t = (1, 2)\n    x = t[2]", &["2", "kernel.py:10"]);
    wrong("    t = (1, 2)\n    x = t[n]", &["constexpr"]);
    wrong("    t = (1, 2)\n    t[0] = 3", &["kernel.py:10"]);
    wrong("    t = (1, 2)\n    x = t + 1", &[]);
    wrong("    t = (1, 2)\n    for i in range(n):\n        t = (1, 2, 3)", &["t"]);
}
