//! Reference 1.7: reductions and scans, with functions of the language and of the user.

use half::{bf16, f16};
use shoal::args;

use super::harness::{case, floats, holds, integers, with};

const LOAD: &str = "    at = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]\n    m = tl.load(x + at)\n";

/// Reductions of an 8x16 tile along both axes and altogether.
fn reduced<T: shoal::Element + PartialEq>(function: &str, x: &[T], fold: impl Fn(&mut dyn Iterator<Item = T>) -> T) {
    let body = format!(
        "{LOAD}
    tl.store(out + tl.arange(0, 8), tl.{function}(m, axis=1))
    tl.store(out + 8 + tl.arange(0, 16), tl.{function}(m, 0))
    tl.store(out + 24 + tl.arange(0, 8)[:, None], tl.{function}(m, axis=-1, keep_dims=True))
    tl.store(out + 32, tl.{function}(m, axis=None))
    tl.store(out + 33, tl.{function}(tl.{function}(m, 1), 0))
"
    );
    let rows: Vec<T> = (0..8).map(|r| fold(&mut x[r * 16..][..16].iter().copied())).collect();
    let columns = (0..16).map(|c| fold(&mut (0..8).map(|r| x[r * 16 + c])));
    let all = fold(&mut x.iter().copied());
    let mut expected = rows.clone();
    expected.extend(columns);
    expected.extend(rows);
    expected.extend([all, all]);
    case("x, out", &body).gives(args!(x), &expected);
}

#[test]
fn reductions_of_integers() {
    let x = integers(128, 1);
    reduced("sum", &x, |v| v.fold(0, i32::wrapping_add));
    reduced("max", &x, |v| v.max().unwrap());
    reduced("min", &x, |v| v.min().unwrap());
    reduced("xor_sum", &x, |v| v.fold(0, |a, b| a ^ b));
    reduced("reduce_or", &x, |v| v.fold(0, |a, b| a | b));
    let unsigned: Vec<u32> = x.iter().map(|v| *v as u32).collect();
    reduced("max", &unsigned, |v| v.max().unwrap());
    let long: Vec<i64> = x.iter().map(|v| i64::from(*v) << 20).collect();
    reduced("sum", &long, |v| v.sum());
}

#[test]
fn reductions_of_floats() {
    // Multiples of a power of two, so that the order of additions does not matter.
    let x: Vec<f32> = integers(128, 2).into_iter().map(|v| (v >> 20) as f32 / 8.0).collect();
    reduced("sum", &x, |v| v.sum());
    reduced("max", &x, |v| v.fold(f32::NEG_INFINITY, f32::max));
    reduced("min", &x, |v| v.fold(f32::INFINITY, f32::min));
    let wide: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    reduced("sum", &wide, |v| v.sum());
    let small: Vec<f16> = x.iter().map(|v| f16::from_f32((*v / 64.0).round())).collect();
    reduced("sum", &small, |v| f16::from_f32(v.map(f16::to_f32).sum()));
    let long = floats(4096, 3);
    let total: f64 = long.iter().map(|v| f64::from(*v)).sum();
    case("x, out", "    tl.store(out, tl.sum(tl.load(x + tl.arange(0, 4096))))").near::<f32>(
        args!(&long),
        1e-4,
        &[total],
    );
}

/// Functions `x -> a * x + b`, one after the other: associative, but their order matters.
#[test]
fn what_does_not_commute_is_combined_in_order() {
    let functions = "
@shoal.jit
def then(a, b, c, d):
    return a * c, b * c + d

@shoal.jit
def last(a, b):
    return b
";
    let body = "
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    a, b = tl.load(x + at), tl.load(y + at)
    f, t = tl.reduce((a, b), 1, then)
    tl.store(out + tl.arange(0, ROWS), f ^ t)
    f, t = tl.reduce((a, b), 0, then)
    tl.store(out + ROWS + tl.arange(0, COLUMNS), f ^ t)
    f, t = tl.reduce((a, b), None, then)
    tl.store(out + ROWS + COLUMNS, f ^ t)
    tl.store(out + ROWS + COLUMNS + 1, tl.reduce(b, None, last))
    f, t = tl.associative_scan((a, b), 1, then)
    tl.store(out + ROWS + COLUMNS + 2 + at, f ^ t)
";
    for [rows, columns] in [[1, 1], [4, 2], [2, 64], [8, 128], [1, 2048], [256, 1], [64, 32]] {
        let (x, y): (Vec<i32>, Vec<i32>) =
            (integers(rows * columns, 5).into_iter().map(|v| v | 1).collect(), integers(rows * columns, 6));
        let all = |elements: &mut dyn Iterator<Item = usize>| {
            let functions = elements.map(|at| (x[at], y[at]));
            let turn = |f: (i32, i32), g: (i32, i32)| (f.0.wrapping_mul(g.0), f.1.wrapping_mul(g.0).wrapping_add(g.1));
            functions.reduce(turn).map(|(factor, term)| factor ^ term).unwrap()
        };
        let mut expected: Vec<i32> = (0..rows).map(|r| all(&mut (r * columns..(r + 1) * columns))).collect();
        expected.extend((0..columns).map(|c| all(&mut (0..rows).map(|r| r * columns + c))));
        expected.extend([all(&mut (0..rows * columns)), y[rows * columns - 1]]);
        expected.extend((0..rows * columns).map(|at| all(&mut (at / columns * columns..=at))));
        let constants = format!("    ROWS: tl.constexpr = {rows}\n    COLUMNS: tl.constexpr = {columns}\n{body}");
        for warps in [16, 4, 1] {
            with(functions, "x, y, out", &constants)
                .options(|options| options.gpu.num_warps = warps)
                .gives(args!(&x, &y), &expected);
        }
    }
}

#[test]
fn types_of_reductions() {
    holds(
        "s = tl.zeros([4], tl.int8)
u = tl.zeros([4], tl.uint8)
b = tl.zeros([4], tl.bfloat16)
h = tl.zeros([4], tl.float16)
t = s == s",
        &[
            "tl.sum(s).dtype == tl.int32",
            "tl.sum(u).dtype == tl.uint32",
            "tl.sum(t).dtype == tl.uint32",
            "tl.sum(b).dtype == tl.bfloat16",
            "tl.sum(h).dtype == tl.float16",
            "tl.sum(h, dtype=tl.float32).dtype == tl.float32",
            "tl.max(s).dtype == tl.int32",
            "tl.max(b).dtype == tl.float32",
            "tl.max(h).dtype == tl.float32",
            "tl.max(h, 0, return_indices=True)[0].dtype == tl.float16",
            "tl.argmax(h, 0).dtype == tl.int32",
            "tl.cumsum(b).dtype == tl.float32",
            "tl.cumsum(s).dtype == tl.int32",
            "tl.cumsum(h).dtype == tl.float16",
            "tl.sum(tl.zeros([4, 8], tl.int32), 0).shape == (8,)",
            "tl.sum(tl.zeros([4, 8], tl.int32), 1, keep_dims=True).shape == (4, 1)",
            "tl.sum(tl.zeros([4, 8], tl.int32), keep_dims=True).shape == (1, 1)",
        ],
    );
    let x: Vec<bf16> = floats(128, 4).into_iter().map(bf16::from_f32).collect();
    let most = x.iter().map(|v| v.to_f32()).fold(f32::NEG_INFINITY, f32::max);
    case("x, out", "    tl.store(out, tl.max(tl.load(x + tl.arange(0, 128))))").gives(args!(&x), &[most]);
}

#[test]
fn where_the_greatest_and_the_least_are() {
    let x: Vec<i32> = integers(128, 5).into_iter().map(|v| v & 7).collect();
    let body = format!(
        "{LOAD}
    i = tl.arange(0, 8)
    tl.store(out + i, tl.argmax(m, 1))
    tl.store(out + 8 + i, tl.argmin(m, axis=1))
    v, at = tl.max(m, 1, return_indices=True)
    tl.store(out + 16 + i, v * 100 + at)
    v, at = tl.min(m, 1, return_indices=True, return_indices_tie_break_left=True)
    tl.store(out + 24 + i, v * 100 + at)
    tl.store(out + 32 + tl.arange(0, 16), tl.argmax(m, 0))
    # Without a rule for ties, any place will do.
    at = tl.argmax(m, 1, tie_break_left=False)
    tl.store(out + 48 + i, tl.gather(m, at[:, None], 1).reshape(8))
"
    );
    let first = |values: Vec<i32>, best: i32| values.iter().position(|v| *v == best).unwrap() as i32;
    let row = |r: usize| x[r * 16..][..16].to_vec();
    let (most, least) = (|r| *row(r).iter().max().unwrap(), |r| *row(r).iter().min().unwrap());
    let mut expected: Vec<i32> = (0..8).map(|r| first(row(r), most(r))).collect();
    expected.extend((0..8).map(|r| first(row(r), least(r))));
    expected.extend((0..8).map(|r| most(r) * 100 + first(row(r), most(r))));
    expected.extend((0..8).map(|r| least(r) * 100 + first(row(r), least(r))));
    let column = |c: usize| (0..8).map(|r| x[r * 16 + c]).collect::<Vec<_>>();
    expected.extend((0..16).map(|c| first(column(c), *column(c).iter().max().unwrap())));
    expected.extend((0..8).map(most));
    case("x, out", &body).gives(args!(&x), &expected);
}

#[test]
fn functions_of_the_user() {
    let functions = "
@shoal.jit
def product(a, b):
    return a * b


@shoal.jit
def argmax(a, i, b, j):
    better = (a > b) | ((a == b) & (i < j))
    return tl.where(better, a, b), tl.where(better, i, j)


@shoal.jit
def welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    delta = mean_b - mean_a
    n = n_a + n_b
    return mean_a + delta * n_b / n, m2_a + m2_b + delta * delta * n_a * n_b / n, n


@shoal.jit
def absmax(a, b):
    if tl.abs(a) > tl.abs(b):
        return a
    else:
        return b
";
    let x: Vec<f32> = (1..129).map(|v| v as f32 / 64.0).collect();
    let whole: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    let body = "
    v = tl.load(x + tl.arange(0, 128))
    mean, m2, n = tl.reduce((v, tl.zeros([128], tl.float32), tl.full([128], 1.0, tl.float32)), 0, welford)
    tl.store(out, mean)
    tl.store(out + 1, m2)
    tl.store(out + 2, n)
    best, at = tl.reduce((-v, tl.arange(0, 128)), axis=0, combine_fn=argmax)
    tl.store(out + 3, best)
    tl.store(out + 4, at)
    tl.store(out + 5, tl.reduce(v.reshape(8, 16), 1, product).reshape(4, 2).split()[0].sum())
    tl.store(out + 6, tl.reduce(v - 1.7, None, absmax))
";
    let mean = whole.iter().sum::<f64>() / 128.0;
    let m2 = whole.iter().map(|v| (v - mean).powi(2)).sum();
    let products: f64 = (0..8).step_by(2).map(|r| whole[r * 16..][..16].iter().product::<f64>()).sum();
    let expected = [mean, m2, 128.0, -1.0 / 64.0, 0.0, products, 1.0 / 64.0 - 1.7];
    with(functions, "x, out", body).near::<f32>(args!(&x), 1e-4, &expected);
}

/// `(x + tl.zeros((1,), …)).dtype` is how generated code asks for the type of what may be a number of Python's.
#[test]
fn functions_on_elements_may_look_at_the_type_of_a_tile() {
    let functions = "
@shoal.jit
def promoted(x):
    return x + tl.zeros((1,), tl.int1)

@shoal.jit
def is_floating(x):
    return promoted(x).dtype.is_floating()

@shoal.jit
def greater(a, b):
    wins = a > b
    if is_floating(a):
        wins |= a != a
    return tl.where(wins, a, b)
";
    let body = "
    at = tl.arange(0, 64)
    v = tl.load(x + at)
    tl.store(out + at, tl.associative_scan(v, 0, greater))
    tl.store(out + 64, tl.reduce(v, 0, greater))
";
    let x = integers(64, 9);
    let mut expected = prefixes(&x, false, i32::max);
    expected.push(expected[63]);
    with(functions, "x, out", body).gives(args!(&x), &expected);
}

/// Sums of prefixes, from the front or the back.
fn prefixes(x: &[i32], reverse: bool, combine: fn(i32, i32) -> i32) -> Vec<i32> {
    let mut x = x.to_vec();
    if reverse {
        x.reverse();
    }
    for at in 1..x.len() {
        x[at] = combine(x[at - 1], x[at]);
    }
    if reverse {
        x.reverse();
    }
    x
}

#[test]
fn extremes_of_zeros_and_signalling_nans() {
    let signalling = f32::from_bits(0x7fa0_0000);
    // The first row and the first column are NaN; of what is left, zeros are the extremes.
    let number = |at: usize| match at {
        _ if at < 16 || at.is_multiple_of(16) => signalling,
        _ if at == 16 * 5 + 3 => 0.0,
        _ => -0.0,
    };
    let x: Vec<f32> = (0..128).map(number).collect();
    let y: Vec<f32> = x.iter().map(|v| -v).collect();
    let body = format!(
        "{LOAD}
    n = tl.load(y + at)
    tl.store(out, tl.max(m, axis=None).to(tl.int32, bitcast=True))
    tl.store(out + 1, tl.min(n, axis=None).to(tl.int32, bitcast=True))
    tl.store(out + 2 + tl.arange(0, 16), tl.max(m, 0).to(tl.int32, bitcast=True), mask=tl.arange(0, 16) > 0)
    tl.store(out + 18 + tl.arange(0, 8), tl.min(n, 1).to(tl.int32, bitcast=True), mask=tl.arange(0, 8) > 0)
"
    );
    let bits = |v: f32| v.to_bits() as i32;
    let mut expected = vec![bits(0.0), bits(-0.0)];
    expected.extend((0..16).map(|c| if c == 0 { -1 } else { bits(if c == 3 { 0.0 } else { -0.0 }) }));
    expected.extend((0..8).map(|r| if r == 0 { -1 } else { bits(if r == 5 { -0.0 } else { 0.0 }) }));
    case("x, y, out", &body).gives(args!(&x, &y), &expected);
    // More than the lanes that run beside each other, all of which begin with NaN.
    let long: Vec<f32> = (0..1024).map(|at| if at < 64 { signalling } else { -1.0 - (at % 7) as f32 }).collect();
    case("x, out", "    tl.store(out, tl.max(tl.load(x + tl.arange(0, 1024))))").gives(args!(&long), &[-1f32]);
}

#[test]
fn scans() {
    let x: Vec<i32> = integers(128, 6).into_iter().map(|v| (v >> 28) | 1).collect();
    let functions = "
@shoal.jit
def most(a, b):
    return tl.maximum(a, b)
";
    let body = format!(
        "{LOAD}
    tl.store(out + at, tl.cumsum(m, 1))
    tl.store(out + 128 + at, tl.cumsum(m, axis=1, reverse=True))
    tl.store(out + 256 + at, m.cumprod(1))
    tl.store(out + 384 + at, tl.associative_scan(m, 1, most))
    tl.store(out + 512 + at, tl.trans(tl.cumsum(tl.trans(m), 0)))
    tl.store(out + 640 + at, tl.associative_scan(m, -1, most, reverse=True))
"
    );
    let rows = |reverse, combine| x.chunks(16).flat_map(|row| prefixes(row, reverse, combine)).collect::<Vec<_>>();
    let expected = [
        rows(false, i32::wrapping_add),
        rows(true, i32::wrapping_add),
        rows(false, i32::wrapping_mul),
        rows(false, i32::max),
        rows(false, i32::wrapping_add),
        rows(true, i32::max),
    ];
    with(functions, "x, out", &body).gives(args!(&x), &expected.concat());
}

#[test]
fn a_scan_of_pairs_solves_a_recurrence() {
    let functions = "
@shoal.jit
def step(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1
";
    let (a, b) = (floats(64, 7), floats(64, 8));
    let body = "
    i = tl.arange(0, 64)
    _, h = tl.associative_scan((tl.load(a + i) * 0.25, tl.load(b + i)), 0, step)
    tl.store(out + i, h)
";
    let mut h = 0.0;
    let mut expected = Vec::new();
    for (a, b) in a.iter().zip(&b) {
        h = h * f64::from(*a) * 0.25 + f64::from(*b);
        expected.push(h);
    }
    with(functions, "a, b, out", body).near::<f32>(args!(&a, &b), 1e-5, &expected);
}

/// A function that does not commute, on tiles that registers, lanes and warps share in every way.
#[test]
fn order_is_kept_between_threads() {
    let functions = "
@shoal.jit
def after(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1
";
    for [rows, cols, axis] in
        [[1, 4096, 1], [8, 512, 1], [2, 2048, 1], [256, 16, 0], [64, 64, 0], [4, 8, 1], [512, 2, 0]]
    {
        let size = rows * cols;
        let a: Vec<i32> = integers(size, 11).into_iter().map(|v| v | 1).collect();
        let b = integers(size, 12);
        let body = format!(
            "
    at = tl.arange(0, {rows})[:, None] * {cols} + tl.arange(0, {cols})[None, :]
    pair = (tl.load(a + at), tl.load(b + at))
    tl.store(out + at, tl.associative_scan(pair, {axis}, after)[1])
    tl.store(out + {size} + at, tl.associative_scan(pair, {axis}, after, reverse=True)[1])
    total = tl.reduce(pair, {axis}, after)[1]
    tl.store(out + {} + tl.arange(0, {}), total)
",
            2 * size,
            size / [rows, cols][axis]
        );
        let (length, step) = if axis == 1 { (cols, 1) } else { (rows, cols) };
        let mut expected = vec![0i32; 2 * size + size / length];
        for row in 0..size / length {
            let first = if axis == 1 { row * cols } else { row };
            let along: Vec<usize> = (0..length).map(|i| first + i * step).collect();
            let mut scan = |order: &mut dyn Iterator<Item = usize>, base: usize| {
                order.fold(0i32, |sum, at| {
                    expected[base + at] = sum.wrapping_mul(a[at]).wrapping_add(b[at]);
                    expected[base + at]
                })
            };
            let total = scan(&mut along.iter().copied(), 0);
            scan(&mut along.iter().rev().copied(), size);
            expected[2 * size + row] = total;
        }
        with(functions, "a, b, out", &body).gives(args!(&a, &b), &expected);
    }
}

#[test]
fn combine_functions_may_read_memory() {
    // The products of the permutations of three things: associative, and they do not commute.
    let all = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let product = |a: i32, b: i32| {
        let [a, b] = [a, b].map(|at| all[at as usize]);
        all.iter().position(|p| *p == [0, 1, 2].map(|i| b[a[i]])).unwrap() as i32
    };
    let table: Vec<i32> = (0..36).map(|at| product(at / 6, at % 6)).collect();
    let x: Vec<i32> = integers(64, 3).into_iter().map(|v| v.rem_euclid(6)).collect();
    let functions = "
@shoal.jit
def times(a, p, b, q):
    return tl.load(p + a * 6 + b), p
";
    let body = "
    i = tl.arange(0, 64)
    pair = (tl.load(x + i), table + 0 * i)
    tl.store(out + i, tl.associative_scan(pair, 0, times)[0])
    tl.store(out + 64, tl.reduce(pair, 0, times)[0])
";
    let mut expected = vec![x[0]];
    for &v in &x[1..] {
        expected.push(product(*expected.last().unwrap(), v));
    }
    expected.push(expected[63]);
    with(functions, "x, table, out", body).gives(args!(&x, &table), &expected);
}

#[test]
fn histograms() {
    let x: Vec<i32> = integers(256, 9).into_iter().map(|v| v & 15).collect();
    let body = "
    v = tl.load(x + tl.arange(0, 256))
    tl.store(out + tl.arange(0, 16), tl.histogram(v, 16))
    tl.store(out + 16 + tl.arange(0, 16), tl.histogram(v, 16, mask=v % 2 == 0))
";
    let mut expected = [0; 32];
    for &v in &x {
        expected[v as usize] += 1;
        expected[16 + v as usize] += i32::from(v % 2 == 0);
    }
    case("x, out", body).gives(args!(&x), &expected);
}

#[test]
fn wrong_reductions() {
    let functions = "
@shoal.jit
def wrong_type(a, b):
    return (a + b).to(tl.float32)


@shoal.jit
def one(a):
    return a
";
    let wrong = |value: &str, words: &[&str]| {
        let body = format!("    m = tl.zeros([4, 8], tl.int32)\n    r = {value}");
        with(functions, "n, out", &body).refused(args!(3), words);
    };
    wrong("tl.sum(m, 2)", &["2"]);
    wrong("tl.sum(m, -3)", &["-3"]);
    wrong("tl.sum(m, n)", &["constexpr"]);
    wrong("tl.reduce(m, 0, wrong_type)", &["fp32"]);
    wrong("tl.reduce(m, 0, one)", &["one"]);
    wrong("tl.reduce((m, m[0:1]), 0, one)", &["sliced"]);
    wrong("tl.xor_sum(m.to(tl.float32))", &["integers"]);
    wrong("tl.histogram(m, 16)", &["dimension"]);
    wrong("tl.histogram(tl.arange(0, 8), 5)", &["power of two"]);
    wrong("tl.max(m, return_indices=True)", &["axis"]);
}
