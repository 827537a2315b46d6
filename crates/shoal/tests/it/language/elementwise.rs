//! Reference 1.6: operators and elementwise functions.

use half::{bf16, f16};
use shoal::{Element, args};

use super::harness::{case, every, floats, holds, integers};

/// Stores `value` of tiles `x` and `y` with 32 elements.
fn pairs<A: Element, B: Element, T: Element + PartialEq>(value: &str, x: &[A], y: &[B], expected: impl Fn(A, B) -> T) {
    let body = format!(
        "
    i = tl.arange(0, 32)
    x = tl.load(a + i)
    y = tl.load(b + i)
    tl.store(out + i, {value})
"
    );
    let expected: Vec<T> = x.iter().zip(y).map(|(&x, &y)| expected(x, y)).collect();
    case("a, b, out", &body).gives(args!(x, y), &expected);
}

#[test]
fn arithmetic_of_integers() {
    let x = integers(32, 1);
    let y: Vec<i32> = integers(32, 2).into_iter().map(|v| (v >> 20) | 1).collect();
    pairs("x + y", &x, &y, i32::wrapping_add);
    pairs("x - y", &x, &y, i32::wrapping_sub);
    pairs("x * y", &x, &y, i32::wrapping_mul);
    // As in C, not as in Python.
    pairs("x // y", &x, &y, i32::wrapping_div);
    pairs("x % y", &x, &y, i32::wrapping_rem);
    pairs("x & y", &x, &y, |x, y| x & y);
    pairs("x | y", &x, &y, |x, y| x | y);
    pairs("x ^ y", &x, &y, |x, y| x ^ y);
    pairs("~x + -y", &x, &y, |x, y| (!x).wrapping_sub(y));
    pairs("x << (y & 31)", &x, &y, |x, y| x << (y & 31));
    pairs("x >> (y & 31)", &x, &y, |x, y| x >> (y & 31));
    pairs("tl.cdiv(x >> 4, y & 15 | 1)", &x, &y, |x, y| ((x >> 4) + (y & 15 | 1) - 1) / (y & 15 | 1));
    let (u, v): (Vec<u32>, Vec<u32>) = (x.iter().map(|v| *v as u32).collect(), y.iter().map(|v| *v as u32).collect());
    pairs("x // y", &u, &v, |x, y| x / y);
    pairs("x % y", &u, &v, |x, y| x % y);
    pairs("x >> (y & 31)", &u, &v, |x, y| x >> (y & 31));
    pairs("tl.umulhi(x, y)", &u, &v, |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32);
    let (p, q): (Vec<i8>, Vec<i8>) = (x.iter().map(|v| *v as i8).collect(), y.iter().map(|v| *v as i8 | 1).collect());
    pairs("x + y", &p, &q, i8::wrapping_add);
    pairs("x * y", &p, &q, i8::wrapping_mul);
    pairs("x // y", &p, &q, i8::wrapping_div);
    let (s, t): (Vec<i64>, Vec<i64>) =
        (x.iter().map(|v| i64::from(*v) << 17).collect(), y.iter().map(|v| i64::from(*v)).collect());
    pairs("x // y", &s, &t, i64::wrapping_div);
    pairs("x * y", &s, &t, i64::wrapping_mul);
}

#[test]
fn arithmetic_of_floats() {
    let (x, y) = (floats(32, 1), floats(32, 2));
    pairs("x + y", &x, &y, |x, y| x + y);
    pairs("x * y", &x, &y, |x, y| x * y);
    pairs("x % y", &x, &y, |x, y| x % y);
    pairs("-x", &x, &y, |x: f32, _: f32| -x);
    pairs("tl.div_rn(x, y)", &x, &y, |x, y| x / y);
    pairs("tl.fdiv(x, y, ieee_rounding=True)", &x, &y, |x, y| x / y);
    pairs("tl.sqrt_rn(tl.abs(x))", &x, &y, |x: f32, _: f32| x.abs().sqrt());
    pairs("tl.fma(x, y, 1.0)", &x, &y, |x, y| x.mul_add(y, 1.0));
    let (h, g): (Vec<f16>, Vec<f16>) =
        (x.iter().map(|v| f16::from_f32(*v)).collect(), y.iter().map(|v| f16::from_f32(*v)).collect());
    pairs("x + y", &h, &g, |x, y| f16::from_f32(x.to_f32() + y.to_f32()));
    pairs("x * 2", &h, &g, |x, _| f16::from_f32(x.to_f32() * 2.0));
    let (b, c): (Vec<bf16>, Vec<bf16>) =
        (x.iter().map(|v| bf16::from_f32(*v)).collect(), y.iter().map(|v| bf16::from_f32(*v)).collect());
    pairs("x * y", &b, &c, |x, y| bf16::from_f32(x.to_f32() * y.to_f32()));
    pairs("x - y", &b, &c, |x, y| bf16::from_f32(x.to_f32() - y.to_f32()));
}

#[test]
fn division_of_integers_gives_floats() {
    let x: Vec<i32> = integers(32, 1).into_iter().map(|v| v >> 16).collect();
    let y: Vec<i32> = integers(32, 2).into_iter().map(|v| (v >> 24) | 1).collect();
    let body = "
    i = tl.arange(0, 32)
    q = tl.load(a + i) / tl.load(b + i)
    tl.static_assert(q.dtype == tl.float32)
    tl.store(out + i, q)
";
    let expected: Vec<f64> = x.iter().zip(&y).map(|(&x, &y)| f64::from(x) / f64::from(y)).collect();
    case("a, b, out", body).near::<f32>(args!(&x, &y), 1e-6, &expected);
}

#[test]
fn comparisons_and_choices() {
    let (x, y) = (integers(32, 3), integers(32, 4));
    pairs("x < y", &x, &y, |x, y| i8::from(x < y));
    pairs("(x >= y) & (x != 3)", &x, &y, |x, y| i8::from(x >= y));
    pairs("tl.where(x > y, x, y)", &x, &y, i32::max);
    pairs("tl.where(x == y, 1, 2)", &x, &x, |_, _| 1);
    pairs("not (x < y)", &x, &y, |x, y| i8::from(x >= y));
    pairs("0 < x < y", &x, &y, |x, y| i8::from(0 < x && x < y));
    pairs("tl.minimum(x, y)", &x, &y, i32::min);
    pairs("tl.maximum(x, 7)", &x, &y, |x, _| x.max(7));
    pairs("tl.abs(x)", &x, &y, |x: i32, _: i32| x.wrapping_abs());
    let u: Vec<u32> = x.iter().map(|v| *v as u32).collect();
    let v: Vec<u32> = y.iter().map(|v| *v as u32).collect();
    pairs("x < y", &u, &v, |x, y| i8::from(x < y));
    pairs("tl.maximum(x, y)", &u, &v, u32::max);
    // A number takes the type of the tile it is compared with.
    let bytes: Vec<i8> = x.iter().map(|v| *v as i8).collect();
    pairs("x > 3", &bytes, &bytes, |x, _| i8::from(x > 3));
    pairs("x.to(tl.int1) == True", &bytes, &bytes, |x, _| i8::from(x != 0));
}

#[test]
fn floats_that_are_no_numbers() {
    let nan = f32::NAN;
    let x: Vec<f32> = [1.0, nan, 2.0, nan, -0.0, 0.0, f32::INFINITY, -1.0].repeat(4);
    let y: Vec<f32> = [nan, 1.0, 3.0, nan, 0.0, -0.0, nan, f32::NEG_INFINITY].repeat(4);
    pairs("tl.minimum(x, y)", &x, &y, f32::min);
    pairs("tl.maximum(x, y)", &x, &y, f32::max);
    let all = "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)";
    pairs(all, &x, &y, |x: f32, y: f32| if x.is_nan() || y.is_nan() { f32::NAN } else { x.max(y) });
    pairs("x < y", &x, &y, |x: f32, y: f32| i8::from(x < y));
    pairs("x != y", &x, &y, |x: f32, y: f32| i8::from(x != y));
    pairs("x == y", &x, &y, |x: f32, y: f32| i8::from(x == y));
    pairs("tl.clamp(x, -0.5, 1.5)", &x, &y, |x: f32, _: f32| if x.is_nan() { -0.5 } else { x.clamp(-0.5, 1.5) });
    let clamp_all = "tl.clamp(x, -0.5, 1.5, propagate_nan=tl.PropagateNan.ALL)";
    pairs(clamp_all, &x, &y, |x: f32, _: f32| if x.is_nan() { x } else { x.clamp(-0.5, 1.5) });
    pairs("tl.where(x != x, 0.0, x)", &x, &y, |x: f32, _: f32| if x.is_nan() { 0.0 } else { x });
}

#[test]
fn zeros_in_order_and_signalling_nans() {
    // A number on one side at least: which NaN comes of two is nobody's business.
    let [signalling, quiet] = [f32::from_bits(0x7fa0_0000), f32::NAN];
    let x: Vec<f32> = [signalling, -1.0, 0.0, -0.0, quiet, -0.0, -signalling, 3.0].repeat(4);
    let y: Vec<f32> = [2.0, signalling, -0.0, 0.0, -0.0, -0.0, 0.0, quiet].repeat(4);
    let less = |x: f32, y: f32| y.is_nan() || x < y || x == y && x.is_sign_negative();
    let least = |x: f32, y: f32| if less(x, y) { x } else { y };
    let most = |x: f32, y: f32| if less(-x, -y) { x } else { y };
    let bits = |value: &str| format!("({value}).to(tl.int32, bitcast=True)");
    pairs(&bits("tl.minimum(x, y)"), &x, &y, |x, y| least(x, y).to_bits() as i32);
    pairs(&bits("tl.maximum(x, y)"), &x, &y, |x, y| most(x, y).to_bits() as i32);
    pairs(&bits("tl.minimum(x, 0.0)"), &x, &y, |x, _: f32| least(x, 0.0).to_bits() as i32);
    pairs(&bits("tl.maximum(x, -0.0)"), &x, &y, |x, _: f32| most(x, -0.0).to_bits() as i32);
    pairs(&bits("tl.maximum(tl.maximum(y, x), x)"), &x, &y, |x, y| most(x, y).to_bits() as i32);
    let narrow = |of: &[f32]| of.iter().map(|v| bf16::from_bits((v.to_bits() >> 16) as u16)).collect::<Vec<_>>();
    let bits = |value: &str| format!("({value}).to(tl.int16, bitcast=True)");
    let upper = |v: f32| (v.to_bits() >> 16) as i16;
    let wide = |v: bf16| f32::from_bits(u32::from(v.to_bits()) << 16);
    pairs(&bits("tl.minimum(x, y)"), &narrow(&x), &narrow(&y), |x, y| upper(least(wide(x), wide(y))));
    pairs(&bits("tl.maximum(x, y)"), &narrow(&x), &narrow(&y), |x, y| upper(most(wide(x), wide(y))));
}

#[test]
fn rounding_to_bf16() {
    // Ties, what is carried into the exponent, infinity, NaN, and numbers below the normal ones.
    let uppers =
        [0x0000, 0x0001, 0x0040, 0x007f, 0x0080, 0x3f80, 0x3fff, 0x7f7f, 0x7f80, 0x7fa0, 0x8000, 0x8001, 0xff7f];
    let lowers = [0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xffff];
    let of = |upper: u32| lowers.map(|lower| f32::from_bits(upper << 16 | lower));
    for normal in [false, true] {
        let all: Vec<f32> = uppers.into_iter().flat_map(of).filter(|v| !normal || !v.is_subnormal()).collect();
        let x: Vec<f32> = all.iter().copied().cycle().take(all.len().next_multiple_of(32)).collect();
        for x in x.chunks(32) {
            pairs("x.to(tl.bfloat16)", x, x, |x: f32, _: f32| bf16::from_f32(x));
        }
    }
}

#[test]
fn types_of_results() {
    holds(
        "h = tl.zeros([2], tl.float16)
b = tl.zeros([2], tl.bfloat16)
f = tl.zeros([2], tl.float32)
d = tl.zeros([2], tl.float64)
s = tl.zeros([2], tl.int8)
i = tl.zeros([2], tl.int32)
l = tl.zeros([2], tl.int64)
u = tl.zeros([2], tl.uint32)
c = tl.zeros([2], tl.uint8)
t = i == i",
        &[
            "(h + 1.0).dtype == tl.float16",
            "(h * 2).dtype == tl.float16",
            "(h / 2).dtype == tl.float32",
            "(s + 1).dtype == tl.int8",
            "(s + 1.5).dtype == tl.float32",
            "(s / 2).dtype == tl.float32",
            "(s // 2).dtype == tl.int8",
            "(s + tl.program_id(0)).dtype == tl.int32",
            "(u - 1).dtype == tl.uint32",
            "(u + i).dtype == tl.uint32",
            "(c + s).dtype == tl.uint8",
            "(u + l).dtype == tl.int64",
            "(h + b).dtype == tl.float16",
            "(b + b).dtype == tl.bfloat16",
            "(b + f).dtype == tl.float32",
            "(b + i).dtype == tl.float32",
            "(f + d).dtype == tl.float64",
            "(h + i).dtype == tl.float16",
            "(t + 1).dtype == tl.int32",
            "(t & t).dtype == tl.int1",
            "(i < l).dtype == tl.int1",
            "tl.maximum(b, b).dtype == tl.bfloat16",
            "tl.where(t, h, f).dtype == tl.float32",
            "tl.where(t, 1, 2.0).dtype == tl.float32",
            "(-h).dtype == tl.float16",
        ],
    );
}

#[test]
fn wrong_operands() {
    let wrong = |value: &str, words: &[&str]| {
        let body = format!(
            "    i = tl.arange(0, 4)\n    f = i.to(tl.float32)\n    u = i.to(tl.uint32)\n    s = i.to(tl.int8)\n    x = {value}"
        );
        let mut words = words.to_vec();
        words.push("kernel.py:13");
        case("out", &body).refused(args!(), &words);
    };
    wrong("f & f", &["fp32"]);
    wrong("f // f", &["fp32"]);
    wrong("f << 1", &["fp32"]);
    wrong("~f", &["fp32"]);
    wrong("i // u", &["i32", "u32"]);
    wrong("i % u", &["u32"]);
    wrong("u - (-1)", &["-1"]);
    wrong("s + 1000", &["1000", "i8"]);
    wrong("i + None", &["None"]);
    wrong("i + 'a'", &["a"]);
    wrong("i ** 2", &["**"]);
    wrong("tl.exp(i)", &["i32"]);
    wrong("tl.exp(i.to(tl.float16))", &["float16", "float32"]);
    wrong("tl.umulhi(s, s)", &["i8"]);
    wrong("tl.where(i < 2, i)", &["y"]);
    wrong("tl.nothing(i)", &["nothing"]);
}

#[test]
fn library_functions_on_sizes() {
    every(&[
        ("tl.cdiv(10, 4)", 3),
        ("tl.cdiv(tl.to_tensor(12), 4)", 3),
        ("shoal.cdiv(7, 7)", 1),
        ("shoal.next_power_of_2(100)", 128),
        ("min(3, 5) + max(3, 5)", 8),
        ("min(tl.program_id(0), 5) + max(tl.program_id(0), 5, 6)", 6),
        ("abs(-4)", 4),
        ("len((1, 2, 3))", 3),
        ("int(3.7)", 3),
        ("tl.swizzle2d(1, 2, 4, 4, 2)[0] * 10 + tl.swizzle2d(1, 2, 4, 4, 2)[1]", 3),
    ]);
    let swizzled = "
    i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), 3, 4, 2)
    tl.store(out + tl.program_id(0) * 4 + tl.program_id(1), i * 10 + j)
";
    let place = |at: i32| {
        let (group, rows) = if at < 8 { (0, 2) } else { (1, 1) };
        let inside = at - group * 8;
        (group * 2 + inside % rows) * 10 + inside / rows
    };
    case("out", swizzled).grid(3, 4, 1).gives(args!(), &(0..12).map(place).collect::<Vec<_>>());
}

#[test]
fn overflow_can_be_caught() {
    let body = "    tl.store(out, x + y)";
    case("x, y, out", body).gives(args!(i32::MAX, 2), &[i32::MIN + 1]);
    let checked = case("x, y, out", body).options(|o| {
        o.debug = true;
        o.sanitize_overflow = true;
    });
    checked.gives(args!(5, 2), &[7]);
    checked.refused(args!(i32::MAX, 2), &["overflow"]);
    let free = case("x, y, out", "    tl.store(out, tl.add(x, y, sanitize_overflow=False))").options(|o| {
        o.debug = true;
        o.sanitize_overflow = true;
    });
    free.gives(args!(i32::MAX, 2), &[i32::MIN + 1]);
    // Functions that are applied to elements are not checked, and compile.
    let sums = "    o = tl.arange(0, 4)\n    tl.store(out + o, tl.cumsum(tl.load(x + o)) + tl.sum(tl.load(x + o)))";
    let applied = case("x, out", sums).options(|o| {
        o.debug = true;
        o.sanitize_overflow = true;
    });
    applied.gives(args!(&[1, 2, 3, 4][..]), &[11, 13, 16, 20]);
}
