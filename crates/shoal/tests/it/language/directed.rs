//! Reference 1.6: results of `libdevice` that are rounded towards zero, down and up, held against the processor's own
//! rounding, bit by bit.

use std::arch::asm;

use shoal::{Args, Element, args};

use super::harness::{BACKENDS, case, integers};

/// Endings of names, with the number that asks the processor for the same.
const DIRECTIONS: [(&str, u32); 3] = [("rz", 3), ("rd", 1), ("ru", 2)];

/// How many operands each test looks at; one program takes `TILE` of them.
const COUNT: usize = 4096;
const TILE: usize = 256;

/// An instruction under a rounding mode.
macro_rules! under {
    ($mode:expr, $instruction:literal, $x:expr, $y:expr, $z:expr) => {{
        // All exceptions masked, and the mode in its two bits.
        let (ours, usual) = (0x1f80u32 | $mode << 13, 0x1f80u32);
        let mut result = $x;
        // SAFETY: one instruction on registers, which does not trap; the mode is put back to what Rust asks for.
        unsafe {
            asm!(
                "ldmxcsr [{ours}]",
                $instruction,
                "ldmxcsr [{usual}]",
                "/* {y} {z} */",
                ours = in(reg) &raw const ours,
                usual = in(reg) &raw const usual,
                x = inout(xmm_reg) result,
                y = in(xmm_reg) $y,
                z = in(xmm_reg) $z,
                options(nostack),
            );
        }
        result
    }};
}

/// What a test needs of a float type.
macro_rules! float_type {
    ($module:ident, $ty:ident, $bits:ident, $mantissa:literal, $bias:literal,
     $add:literal, $sub:literal, $mul:literal, $div:literal, $sqrt:literal, $fma:literal) => {
        mod $module {
            use super::*;

            /// A number from an exponent, which is held within its range, and random bits.
            fn number(exponent: i64, random: u64) -> $ty {
                let exponent = (exponent + $bias).clamp(0, 2 * $bias) as u64;
                let mantissa = (random >> 1) & ((1 << $mantissa) - 1);
                $ty::from_bits(((random & 1) << ($bits::BITS - 1) | exponent << $mantissa | mantissa) as $bits)
            }

            fn nudged(x: $ty, random: u64) -> $ty {
                $ty::from_bits(x.to_bits().wrapping_add((random % 5) as $bits).wrapping_sub(2))
            }

            /// Operands of all kinds: any bits, close to one another, cancelling, special, at both ends of the range.
            fn operands() -> [Vec<$ty>; 3] {
                let special = [
                    0.0,
                    -0.0,
                    1.0,
                    -1.0,
                    $ty::INFINITY,
                    $ty::NEG_INFINITY,
                    $ty::NAN,
                    $ty::MAX,
                    $ty::MIN,
                    $ty::MIN_POSITIVE,
                    -$ty::MIN_POSITIVE,
                    $ty::from_bits(1),
                    -$ty::from_bits(1),
                    $ty::EPSILON,
                    4.0,
                    1.5,
                ];
                let words = integers(COUNT * 8, 77);
                let mut all = [vec![], vec![], vec![]];
                for (at, words) in words.chunks(8).enumerate() {
                    let word = |at: usize| (words[2 * at] as u32 as u64) << 32 | words[2 * at + 1] as u32 as u64;
                    let (p, q, r, s) = (word(0), word(1), word(2), word(3));
                    let (some, near) = ((s % (2 * $bias)) as i64 - $bias, |w: u64| (w >> 40) as i64 % 70);
                    let (x, y, z) = match at % 8 {
                        0 => ($ty::from_bits(p as $bits), $ty::from_bits(q as $bits), $ty::from_bits(r as $bits)),
                        1 => (number(s as i64 % 4, p), number((s >> 8) as i64 % 4, q), number((s >> 16) as i64 % 4, r)),
                        2 => (number(some, p), number(some + near(q) - 35, q), number(some + near(r) - 35, r)),
                        3 => {
                            let (x, y) = (number(some / 2, p), number(near(q) - 35, q));
                            (x, y, nudged(-(x * y), r))
                        }
                        4 => {
                            let x = number(some, p);
                            (x, nudged(-x, q), number(some - near(r), r))
                        }
                        5 => (special[p as usize % 16], special[q as usize % 16], special[r as usize % 16]),
                        6 => {
                            let least = 1 - $bias - $mantissa;
                            (number(some, p), number(least - some + near(q) - 35, q), number(least + near(r) % 60, r))
                        }
                        _ => (number(some, p), number($bias - some + near(q) % 3, q), number($bias - near(r) % 3, r)),
                    };
                    for (list, value) in all.iter_mut().zip([x, y, z]) {
                        list.push(value);
                    }
                }
                all
            }

            fn held(name: &str, params: &str, wanted: impl Fn(u32, $ty, $ty, $ty) -> $ty) {
                let [x, y, z] = operands();
                let wanted =
                    DIRECTIONS.map(|(_, mode)| (0..COUNT).map(|at| wanted(mode, x[at], y[at], z[at])).collect());
                compare(
                    name,
                    params,
                    args!(&x, &y, &z),
                    wanted,
                    |v: $ty| if v.is_nan() { None } else { Some(v.to_bits()) },
                );
            }

            #[test]
            fn sums() {
                held("add", "x, y", |mode, x, y, z| under!(mode, $add, x, y, z));
                held("sub", "x, y", |mode, x, y, z| under!(mode, $sub, x, y, z));
            }

            #[test]
            fn products() {
                held("mul", "x, y", |mode, x, y, z| under!(mode, $mul, x, y, z));
            }

            #[test]
            fn quotients() {
                held("div", "x, y", |mode, x, y, z| under!(mode, $div, x, y, z));
                held("rcp", "y", |mode, _, y, z| under!(mode, $div, 1.0 as $ty, y, z));
            }

            #[test]
            fn roots() {
                held("sqrt", "y", |mode, x, y, z| under!(mode, $sqrt, x, y, z));
            }

            #[test]
            fn fused() {
                if std::arch::is_x86_feature_detected!("fma") {
                    held("fma", "x, y, z", |mode, x, y, z| under!(mode, $fma, x, y, z));
                }
            }
        }
    };
}

float_type!(
    single,
    f32,
    u32,
    23,
    127,
    "addss {x}, {y}",
    "subss {x}, {y}",
    "mulss {x}, {y}",
    "divss {x}, {y}",
    "sqrtss {x}, {y}",
    "vfmadd213ss {x}, {y}, {z}"
);
float_type!(
    double,
    f64,
    u64,
    52,
    1023,
    "addsd {x}, {y}",
    "subsd {x}, {y}",
    "mulsd {x}, {y}",
    "divsd {x}, {y}",
    "sqrtsd {x}, {y}",
    "vfmadd213sd {x}, {y}, {z}"
);

/// The three directions of a name against what they must give; `key` is what has to agree.
fn compare<T: Element, K: PartialEq>(name: &str, params: &str, args: Args<'_>, wanted: [Vec<T>; 3], key: fn(T) -> K) {
    let mut body = format!("    i = tl.program_id(0) * {TILE} + tl.arange(0, {TILE})\n");
    body.push_str("    x, y, z = tl.load(a + i), tl.load(b + i), tl.load(c + i)\n");
    for (at, (ending, _)) in DIRECTIONS.iter().enumerate() {
        body.push_str(&format!("    tl.store(out + {} + i, libdevice.{name}_{ending}({params}))\n", at * COUNT));
    }
    let case = case("a, b, c, out", &body).grid((COUNT / TILE) as u32, 1, 1);
    for backend in BACKENDS {
        let found: Vec<T> = case.run(backend, &args, &[], 3 * COUNT).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (at, (&found, &wanted)) in found.iter().zip(wanted.iter().flatten()).enumerate() {
            let (ending, _) = DIRECTIONS[at / COUNT];
            let place = at % COUNT;
            assert!(
                key(found) == key(wanted),
                "{backend:?}: {name}_{ending} of operands {place}: {found:?}, not {wanted:?}"
            );
        }
    }
}

/// A number that is near `exact` on the side that a direction asks for.
macro_rules! chosen {
    ($mode:expr, $nearest:expr, $order:expr) => {{
        let (nearest, order) = ($nearest, $order);
        let down = $mode == 1 || ($mode == 3 && nearest.is_sign_positive());
        match order {
            Some(std::cmp::Ordering::Less) if !down => nearest.next_up(),
            Some(std::cmp::Ordering::Greater) if down => nearest.next_down(),
            _ => nearest,
        }
    }};
}

/// Integers of a type, at all sizes, as one of the float types.
macro_rules! from_integers {
    ($name:literal, $int:ty, $float:ty) => {{
        let words = integers(2 * COUNT, 5);
        let x: Vec<$int> = words
            .chunks(2)
            .enumerate()
            .map(|(at, w)| match at {
                0 => 0,
                1 => <$int>::MAX,
                2 => <$int>::MIN,
                _ => (((w[0] as i64) << 32 | w[1] as u32 as i64) as $int) >> (at as u32 % <$int>::BITS),
            })
            .collect();
        let wanted = DIRECTIONS.map(|(_, mode)| {
            let value = |&x: &$int| {
                let nearest = x as $float;
                chosen!(mode, nearest, (nearest as i128).partial_cmp(&i128::from(x)))
            };
            x.iter().map(value).collect()
        });
        compare($name, "x", args!(&x, &x, &x), wanted, <$float>::to_bits);
    }};
}

#[test]
fn integers_become_floats() {
    from_integers!("int2float", i32, f32);
    from_integers!("uint2float", u32, f32);
    from_integers!("ll2float", i64, f32);
    from_integers!("ull2float", u64, f32);
    from_integers!("ll2double", i64, f64);
    from_integers!("ull2double", u64, f64);
}

#[test]
fn doubles_become_floats() {
    let words = integers(2 * COUNT, 6);
    let x: Vec<f64> = words
        .chunks(2)
        .enumerate()
        .map(|(at, w)| {
            let any = f64::from_bits((w[0] as u32 as u64) << 32 | w[1] as u32 as u64);
            // Half of them at exponents that a float has, or almost has.
            if at % 2 == 0 {
                any
            } else {
                f64::from(f32::from_bits(w[0] as u32)) * (1.0 + f64::from(w[1]) * 2f64.powi(-56))
            }
        })
        .collect();
    let wanted = DIRECTIONS.map(|(_, mode)| {
        let value = |&x: &f64| {
            let nearest = x as f32;
            if x.is_infinite() { nearest } else { chosen!(mode, nearest, f64::from(nearest).partial_cmp(&x)) }
        };
        x.iter().map(value).collect()
    });
    compare("double2float", "x", args!(&x, &x, &x), wanted, |v: f32| if v.is_nan() { None } else { Some(v.to_bits()) });
}

#[test]
fn half_a_reciprocal() {
    let x: Vec<f64> = vec![1.0, -2.0, 3.0, 1e300, 1e-300, f64::INFINITY, 0.0, -0.0, 1e-310, -1e-310, f64::MAX, -0.7];
    let mut padded = x.clone();
    padded.resize(16, 5.0);
    let upper = |x: f64| f64::from_bits((1.0 / x).to_bits() >> 32 << 32);
    let mut wanted: Vec<f64> = padded.iter().map(|&x| upper(x)).collect();
    // Subnormal numbers count as zeros.
    (wanted[8], wanted[9], wanted[10]) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    case("a, out", "    i = tl.arange(0, 16)\n    tl.store(out + i, libdevice.rcp64h(tl.load(a + i)))")
        .gives(args!(&padded), &wanted);
}
