//! Element definitions against independent ones: the standard library, the `half` crate, wide integers, and values
//! computed with 60 or more digits.

use half::{bf16, f16};
use proptest::prelude::*;

use super::*;

fn int(ty: Scalar, value: i128) -> Const {
    Const::from_bits(ty, value as u64)
}

fn float(ty: Scalar, value: f64) -> Const {
    Const::from_f64(ty, value)
}

/// Equal bits, or both NaN.
fn same(a: Const, b: Const) -> bool {
    a == b || (a.ty() == b.ty() && a.ty().is_float() && a.as_f64().is_nan() && b.as_f64().is_nan())
}

const INTS: [Scalar; 9] =
    [Scalar::I1, Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64];

const FLOATS: [Scalar; 9] = [
    Scalar::F8E4M3,
    Scalar::F8E5M2,
    Scalar::F8E4B15,
    Scalar::F8E4M3Fnuz,
    Scalar::F8E5M2Fnuz,
    Scalar::F16,
    Scalar::BF16,
    Scalar::F32,
    Scalar::F64,
];

/// Integer operations in 128 bits, where nothing wraps.
fn wide(op: BinaryOp, ty: Scalar, a: i128, b: i128) -> i128 {
    let bits = ty.bits();
    let shift = if ty.is_signed_int() && b < 0 { u32::MAX } else { u32::try_from(b).unwrap_or(u32::MAX) };
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::DivRn => a.checked_div(b).unwrap_or(0),
        BinaryOp::Rem => a.checked_rem(b).unwrap_or(0),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => {
            if shift < bits {
                a << shift
            } else {
                0
            }
        }
        BinaryOp::Shr => a >> shift.min(127),
        BinaryOp::Min | BinaryOp::MinNan => a.min(b),
        BinaryOp::Max | BinaryOp::MaxNan => a.max(b),
        BinaryOp::MulHi if ty == Scalar::U64 => ((a as u128 * b as u128) >> 64) as i128,
        BinaryOp::MulHi => (a * b) >> bits,
    }
}

proptest! {
    #[test]
    fn integers_are_wide_integers_cut_to_width(which in 0..9usize, op in 0..BinaryOp::ALL.len(), a: u64, b: u64, small in 0..70u64) {
        let (ty, op) = (INTS[which], BinaryOp::ALL[op]);
        for b in [b, small, 0, u64::MAX] {
            let (x, y) = (Const::from_bits(ty, a), Const::from_bits(ty, b));
            let expected = int(ty, wide(op, ty, x.as_int().unwrap(), y.as_int().unwrap()));
            prop_assert_eq!(binary(op, x, y), expected, "{} {} {} at {}", x, op, y, ty);
        }
    }

    #[test]
    fn integer_comparison_and_unary_follow_the_value(which in 0..9usize, a: u64, b: u64) {
        let ty = INTS[which];
        let (x, y) = (Const::from_bits(ty, a), Const::from_bits(ty, b));
        let (u, v) = (x.as_int().unwrap(), y.as_int().unwrap());
        prop_assert_eq!(compare(CmpOp::Lt, x, y), Const::bool(u < v));
        prop_assert_eq!(compare(CmpOp::Le, x, y), Const::bool(u <= v));
        prop_assert_eq!(compare(CmpOp::Gt, x, y), Const::bool(u > v));
        prop_assert_eq!(compare(CmpOp::Ge, x, y), Const::bool(u >= v));
        prop_assert_eq!(compare(CmpOp::Eq, x, y), Const::bool(u == v));
        prop_assert_eq!(compare(CmpOp::Ne, x, y), Const::bool(u != v));
        prop_assert_eq!(unary(UnaryOp::Neg, x), int(ty, -u));
        prop_assert_eq!(unary(UnaryOp::Abs, x), int(ty, u.abs()));
        prop_assert_eq!(unary(UnaryOp::Not, x), int(ty, !u));
        prop_assert_eq!(unary(UnaryOp::Popc, x), int(ty, i128::from(x.bits().count_ones())));
        let leading = (0..ty.bits()).rev().take_while(|&i| x.bits() >> i & 1 == 0).count();
        prop_assert_eq!(unary(UnaryOp::Clz, x), int(ty, leading as i128));
        let reversed = (0..ty.bits()).fold(0u64, |r, i| r << 1 | (x.bits() >> i & 1));
        prop_assert_eq!(unary(UnaryOp::Brev, x), Const::from_bits(ty, reversed));
    }

    #[test]
    fn integers_convert_by_value(from in 0..9usize, to in 0..9usize, a: u64) {
        let (x, to) = (Const::from_bits(INTS[from], a), INTS[to]);
        let expected = if to == Scalar::I1 { Const::bool(!x.is_zero()) } else { int(to, x.as_int().unwrap()) };
        prop_assert_eq!(cast(x, to, Rounding::Nearest), expected);
    }

    #[test]
    fn f32_and_f64_arithmetic_is_the_machines(a: u32, b: u32, c: u64, d: u64) {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        let single = |v: f32| Const::from_bits(Scalar::F32, u64::from(v.to_bits()));
        let (cx, cy) = (single(x), single(y));
        for (op, expected) in [
            (BinaryOp::Add, x + y), (BinaryOp::Sub, x - y), (BinaryOp::Mul, x * y), (BinaryOp::Div, x / y),
            (BinaryOp::DivRn, x / y), (BinaryOp::Rem, x % y),
        ] {
            prop_assert!(same(binary(op, cx, cy), single(expected)), "{} {} {}", x, op, y);
        }
        prop_assert!(same(fma(cx, cy, cx), single(x.mul_add(y, x))));
        let (u, v) = (f64::from_bits(c), f64::from_bits(d));
        let double = |v: f64| Const::from_bits(Scalar::F64, v.to_bits());
        prop_assert!(same(binary(BinaryOp::Mul, double(u), double(v)), double(u * v)));
        prop_assert!(same(cast(double(u), Scalar::F32, Rounding::Nearest), single(u as f32)));
        prop_assert!(same(cast(cx, Scalar::F64, Rounding::Nearest), double(f64::from(x))));
    }

    #[test]
    fn halves_compute_in_f32_and_round(a: u16, b: u16) {
        let (x, y) = (f16::from_bits(a).to_f32(), f16::from_bits(b).to_f32());
        let half = |v: f32| Const::from_bits(Scalar::F16, u64::from(f16::from_f32(v).to_bits()));
        prop_assert!(same(binary(BinaryOp::Add, half(x), half(y)), half(x + y)));
        prop_assert!(same(binary(BinaryOp::Div, half(x), half(y)), half(x / y)));
        let (x, y) = (bf16::from_bits(a).to_f32(), bf16::from_bits(b).to_f32());
        let brain = |v: f32| Const::from_bits(Scalar::BF16, u64::from(bf16::from_f32(v).to_bits()));
        prop_assert!(same(binary(BinaryOp::Mul, brain(x), brain(y)), brain(x * y)));
        prop_assert!(same(binary(BinaryOp::Sub, brain(x), brain(y)), brain(x - y)));
    }

    #[test]
    fn conversions_between_floats_round_once(from in 0..9usize, to in 0..9usize, a: u64) {
        let (x, to) = (Const::from_bits(FLOATS[from], a), FLOATS[to]);
        for rounding in [Rounding::Nearest, Rounding::Zero] {
            let expected = if x.ty() == to {
                x
            } else {
                Const::from_bits(to, encode_float(to.float_format().unwrap(), x.as_f64(), rounding))
            };
            prop_assert!(same(cast(x, to, rounding), expected), "{} {} to {} {}", x.ty(), x, to, rounding);
        }
    }

    #[test]
    fn floats_saturate_to_integers(from in 0..9usize, to in 1..9usize, a: u64) {
        let (x, to) = (Const::from_bits(FLOATS[from], a), INTS[to]);
        let value = x.as_f64();
        let expected = match to {
            Scalar::I8 => i128::from(value as i8),
            Scalar::I16 => i128::from(value as i16),
            Scalar::I32 => i128::from(value as i32),
            Scalar::I64 => i128::from(value as i64),
            Scalar::U8 => i128::from(value as u8),
            Scalar::U16 => i128::from(value as u16),
            Scalar::U32 => i128::from(value as u32),
            Scalar::U64 => i128::from(value as u64),
            Scalar::I1
            | Scalar::F8E4M3
            | Scalar::F8E5M2
            | Scalar::F8E4B15
            | Scalar::F8E4M3Fnuz
            | Scalar::F8E5M2Fnuz
            | Scalar::F16
            | Scalar::BF16
            | Scalar::F32
            | Scalar::F64 => unreachable!("{to} is not drawn"),
        };
        prop_assert_eq!(cast(x, to, Rounding::Nearest), int(to, expected), "{} to {}", value, to);
    }

    #[test]
    fn next_after_is_the_neighbour(a: u32, b: u32) {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        let single = |v: f32| Const::from_bits(Scalar::F32, u64::from(v.to_bits()));
        let next = math(MathFn::Nextafter, &[single(x), single(y)]);
        prop_assert!(same(next, single(libm::nextafterf(x, y))));
    }
}

#[test]
fn edges_have_their_documented_values() {
    let i8s = |v| int(Scalar::I8, v);
    assert_eq!(binary(BinaryOp::Div, i8s(-128), i8s(-1)), i8s(-128));
    assert_eq!(binary(BinaryOp::Rem, i8s(-128), i8s(-1)), i8s(0));
    assert_eq!(binary(BinaryOp::Div, i8s(5), i8s(0)), i8s(0));
    assert_eq!(binary(BinaryOp::Shr, i8s(-1), i8s(8)), i8s(-1));
    assert_eq!(binary(BinaryOp::Shl, i8s(1), i8s(8)), i8s(0));
    let f = |v| float(Scalar::F32, v);
    let nan = f(f64::NAN);
    assert_eq!(binary(BinaryOp::Min, nan, f(1.0)), f(1.0));
    assert_eq!(binary(BinaryOp::Max, f(1.0), nan), f(1.0));
    assert!(binary(BinaryOp::MinNan, f(1.0), nan).as_f64().is_nan());
    assert!(binary(BinaryOp::MaxNan, nan, f(1.0)).as_f64().is_nan());
    for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
        for ty in [Scalar::F64, Scalar::F32, Scalar::F16, Scalar::BF16, Scalar::F8E5M2, Scalar::F8E4M3] {
            for (op, zero) in
                [(BinaryOp::Min, -0.0), (BinaryOp::MinNan, -0.0), (BinaryOp::Max, 0.0), (BinaryOp::MaxNan, 0.0)]
            {
                assert_eq!(binary(op, float(ty, a), float(ty, b)), float(ty, zero), "{op} of {a} and {b} at {ty}");
            }
        }
    }
    assert_eq!(cast(nan, Scalar::I32, Rounding::Nearest), int(Scalar::I32, 0));
    assert_eq!(cast(f(1e30), Scalar::I32, Rounding::Nearest), int(Scalar::I32, i128::from(i32::MAX)));
    assert_eq!(cast(f(-3.0), Scalar::U16, Rounding::Nearest), int(Scalar::U16, 0));
    assert_eq!(cast(nan, Scalar::I1, Rounding::Nearest), Const::bool(true));
    assert_eq!(cast(f(-0.0), Scalar::I1, Rounding::Nearest), Const::bool(false));
    assert_eq!(cast(f(0.5), Scalar::I1, Rounding::Nearest), Const::bool(true));
    assert_eq!(cast(f(1.0 + 1.0 / 512.0), Scalar::BF16, Rounding::Zero), float(Scalar::BF16, 1.0));
    // 2049 and a bit: through f32 it would round to the tie and then down.
    let near_tie = float(Scalar::F64, 2049.0 + 2f64.powi(-40));
    assert_eq!(cast(near_tie, Scalar::F16, Rounding::Nearest), float(Scalar::F16, 2050.0));
    assert_eq!(select(Const::bool(true), f(1.0), f(2.0)), f(1.0));
    assert_eq!(select(Const::bool(false), f(1.0), f(2.0)), f(2.0));
    assert_eq!(bitcast(f(1.0), Scalar::I32), int(Scalar::I32, 0x3f80_0000));
}

#[test]
fn formats_without_negative_zero_keep_their_zero() {
    let zero = Const::zero(Scalar::F8E4M3Fnuz);
    assert_eq!(unary(UnaryOp::Neg, zero), zero);
    let nan = Const::from_bits(Scalar::F8E4M3Fnuz, 0x80);
    assert!(unary(UnaryOp::Abs, nan).as_f64().is_nan());
    let least = Const::from_bits(Scalar::F8E4M3Fnuz, 0x81);
    assert_eq!(math(MathFn::Nextafter, &[least, Const::one(Scalar::F8E4M3Fnuz)]), zero);
    assert_eq!(unary(UnaryOp::Neg, Const::one(Scalar::F8E4M3Fnuz)).as_f64(), -1.0);
}

#[test]
fn f32_roots_are_correctly_rounded() {
    let mut state = 7u32;
    for _ in 0..20_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let x = f32::from_bits(state & 0x7fff_ffff);
        let root = math(MathFn::SqrtRn, &[Const::from_bits(Scalar::F32, u64::from(x.to_bits()))]);
        assert!(same(root, Const::from_bits(Scalar::F32, u64::from(x.sqrt().to_bits()))), "{x}");
    }
}

#[test]
fn functions_that_round_are_exact() {
    let half = |f: MathFn, v: f64| math(f, &[float(Scalar::F16, v)]).as_f64();
    assert_eq!(half(MathFn::Rint, 2.5), 2.0);
    assert_eq!(half(MathFn::Round, 2.5), 3.0);
    assert_eq!(half(MathFn::Floor, -2.5), -3.0);
    assert_eq!(half(MathFn::Ceil, -2.5), -2.0);
    assert_eq!(half(MathFn::Trunc, -2.5), -2.0);
    assert_eq!(half(MathFn::Logb, 0.375), -2.0);
    let two = |f: MathFn, a: f64, b: f64| math(f, &[float(Scalar::F64, a), float(Scalar::F64, b)]).as_f64();
    assert_eq!(two(MathFn::Copysign, 3.0, -0.0), -3.0);
    assert_eq!(two(MathFn::Fdim, 5.0, 2.0), 3.0);
    assert_eq!(two(MathFn::Fdim, 2.0, 5.0), 0.0);
    assert_eq!(two(MathFn::Fmod, -7.5, 2.0), -1.5);
    assert_eq!(two(MathFn::Remainder, 7.5, 2.0), -0.5);
    assert_eq!(two(MathFn::Hypot, 3.0, 4.0), 5.0);
    assert_eq!(two(MathFn::Rhypot, 3.0, 4.0), 0.2);
    assert_eq!(two(MathFn::Pow, 2.0, 10.0), 1024.0);
    assert_eq!(two(MathFn::Atan2, 0.0, -1.0), std::f64::consts::PI);
}

#[test]
fn every_function_has_a_value_in_every_format() {
    for ty in FLOATS {
        for &function in MathFn::ALL {
            let x = math(function, &[float(ty, 0.5), float(ty, 0.25)]);
            assert_eq!(x.ty(), ty);
            // Only the inverse hyperbolic cosine is undefined at one half.
            assert_eq!(
                x.as_f64().is_nan(),
                function == MathFn::Acosh && ty.float_format().unwrap().non_finite != NonFinite::Saturating,
                "{function} {ty}"
            );
        }
    }
}

/// Arguments and values from arithmetic with 60 or more digits.
#[expect(clippy::approx_constant, reason = "some values happen to be constants")]
const EXACT: &[(&str, &[(f64, f64)])] = &[
    (
        "erfcx",
        &[
            (-5.5, 27_443_409_954_929.71),
            (-1.25, 9.173_643_447_482_844),
            (-0.001, 1.001_129_379_919_848_6),
            (0.0, 1.0),
            (0.3, 0.734_599_334_567_655_1),
            (1.0, 0.427_583_576_155_807),
            (3.7, 0.147_434_997_537_185_1),
            (9.99, 0.056_196_640_706_858_82),
            (10.01, 0.056_085_454_355_001_924),
            (25.0, 0.022_549_572_432_641_36),
            (1_000.0, 0.000_564_189_301_453_387_6),
        ],
    ),
    (
        "erfinv",
        &[
            (1e-200, 8.862_269_254_527_58e-201),
            (1e-09, 8.862_269_254_527_58e-10),
            (-0.1, -0.088_855_990_494_257_69),
            (0.3, 0.272_462_714_726_754_3),
            (0.5, 0.476_936_276_204_469_9),
            (-0.500_001, -0.476_937_388_789_879_24),
            (0.9, 1.163_087_153_676_674_3),
            (0.999, 2.326_753_765_513_524_6),
            (0.999_999_999_9, 4.572_824_958_544_925),
            (-0.999_999_999_999_999_9, -5.863_584_748_755_167_6),
        ],
    ),
    (
        "erfcinv",
        &[
            (1e-300, 26.209_469_960_516_124),
            (5e-324, 27.213_293_210_812_95),
            (1e-30, 8.148_616_223_169_865),
            (0.001, 2.326_753_765_513_524_6),
            (0.2, 0.906_193_802_436_823_2),
            (0.49, 0.488_122_050_515_958_8),
            (0.51, 0.465_868_600_235_057_33),
            (0.7, 0.272_462_714_726_754_4),
            (1.2, -0.179_143_454_621_291_64),
            (1.6, -0.595_116_081_449_995),
            (1.999, -2.326_753_765_513_546_4),
            (1.999_999_999_999_9, -5.261_587_049_848_343),
        ],
    ),
    (
        "normcdf",
        &[
            (-37.123, 5.978_884_495_233_919e-302),
            (-20.7, 1.731_851_879_019_737_8e-95),
            (-5.1, 1.698_267_407_147_601_4e-07),
            (-1.0, 0.158_655_253_931_457_05),
            (-1e-08, 0.499_999_996_010_577_2),
            (0.0, 0.5),
            (0.4, 0.655_421_741_610_324_2),
            (3.3, 0.999_516_575_857_616_2),
            (9.0, 1.0),
        ],
    ),
    (
        "normcdfinv",
        &[
            (1e-300, -37.047_096_299_361_2),
            (1e-12, -7.034_483_825_301_132),
            (0.01, -2.326_347_874_040_841),
            (0.25, -0.674_489_750_196_081_7),
            (0.3, -0.524_400_512_708_040_8),
            (0.6, 0.253_347_103_135_799_7),
            (0.9, 1.281_551_565_544_600_6),
            (0.999_999, 4.753_424_308_817_087),
        ],
    ),
    (
        "cyl_bessel_i0",
        &[
            (0.0, 1.0),
            (1e-09, 1.0),
            (0.5, 1.063_483_370_741_323_6),
            (-2.0, 2.279_585_302_336_067_3),
            (7.7, 323.087_508_156_769_56),
            (29.9, 708_478_330_489.014_5),
            (30.1, 862_432_920_031.779_2),
            (100.0, 1.073_751_707_131_073_8e42),
            (700.0, 1.529_593_347_671_873_7e302),
            (712.0, 2.468_411_057_762_752_3e307),
        ],
    ),
    (
        "cyl_bessel_i1",
        &[
            (0.0, 0.0),
            (1e-09, 5e-10),
            (0.5, 0.257_894_305_390_896_3),
            (-2.0, -1.590_636_854_637_329),
            (7.7, 301.312_359_662_176_16),
            (29.9, 696_528_308_361.092_7),
            (30.1, 847_983_630_191.541_4),
            (100.0, 1.068_369_390_338_162_5e42),
            (700.0, 1.528_500_390_233_900_6e302),
            (712.0, 2.466_677_013_524_615_3e307),
        ],
    ),
    (
        "sinpi",
        &[
            (0.1, 0.309_016_994_374_947_45),
            (-0.3, -0.809_016_994_374_947_5),
            (0.7, 0.809_016_994_374_947_5),
            (0.999_9, 0.000_314_159_260_191_231_95),
            (1.5, -1.0),
            (-2.25, -0.707_106_781_186_547_6),
            (1_000_000.125, 0.382_683_432_365_089_8),
            (1.0, 0.0),
            (-7.0, 0.0),
        ],
    ),
    (
        "cospi",
        &[
            (0.1, 0.951_056_516_295_153_5),
            (-0.3, 0.587_785_252_292_473_1),
            (0.7, -0.587_785_252_292_473),
            (0.999_9, -0.999_999_950_651_978_4),
            (1.5, 0.0),
            (-2.25, 0.707_106_781_186_547_6),
            (1_000_000.125, 0.923_879_532_511_286_7),
            (1.0, -1.0),
            (-7.0, -1.0),
        ],
    ),
    (
        "rcbrt",
        &[
            (0.001, 10.0),
            (2.0, 0.793_700_525_984_099_8),
            (-27.0, -0.333_333_333_333_333_3),
            (1e200, 2.154_434_690_031_883_8e-67),
        ],
    ),
    (
        "exp10",
        &[
            (-3.5, 0.000_316_227_766_016_837_94),
            (0.1, 1.258_925_411_794_167_3),
            (2.0, 100.0),
            (300.25, 1.778_279_410_038_923e300),
        ],
    ),
    (
        "lgamma",
        &[
            (0.5, 0.572_364_942_924_700_1),
            (3.3, 0.987_098_577_894_734_4),
            (100.0, 359.134_205_369_575_4),
            (-1.5, 0.860_047_015_376_481),
        ],
    ),
    (
        "tgamma",
        &[
            (0.5, 1.772_453_850_905_516),
            (3.3, 2.683_437_381_955_768_4),
            (100.0, 9.332_621_544_394_415e155),
            (-1.5, 2.363_271_801_207_355),
        ],
    ),
    ("rsqrt", &[(0.001, 31.622_776_601_683_793), (2.0, 0.707_106_781_186_547_6), (3e300, 5.773_502_691_896_258e-151)]),
];

#[test]
fn functions_agree_with_many_digits() {
    for (name, cases) in EXACT {
        let function = MathFn::from_name(name).unwrap();
        for &(x, exact) in *cases {
            let value = math(function, &[float(Scalar::F64, x)]).as_f64();
            let error = if exact == 0.0 { value.abs() } else { ((value - exact) / exact).abs() };
            assert!(error <= 1e-14, "{name}({x:e}) = {value:e}, exactly {exact:e}: off by {error:e}");
            let single = math(function, &[float(Scalar::F32, x)]);
            let rounded = float(Scalar::F32, math(function, &[float(Scalar::F64, f64::from(x as f32))]).as_f64());
            assert!(same(single, rounded), "{name}({x:e}) in f32");
        }
    }
}

#[test]
fn domains_end_where_they_should() {
    let f = |function, x: f64| math(function, &[float(Scalar::F64, x)]).as_f64();
    assert_eq!(f(MathFn::Erfinv, 1.0), f64::INFINITY);
    assert_eq!(f(MathFn::Erfinv, -1.0), f64::NEG_INFINITY);
    assert!(f(MathFn::Erfinv, 1.5).is_nan());
    assert_eq!(f(MathFn::Erfcinv, 0.0), f64::INFINITY);
    assert_eq!(f(MathFn::Erfcinv, 2.0), f64::NEG_INFINITY);
    assert_eq!(f(MathFn::Normcdfinv, 0.5), 0.0);
    assert_eq!(f(MathFn::Normcdf, f64::INFINITY), 1.0);
    assert_eq!(f(MathFn::Normcdf, f64::NEG_INFINITY), 0.0);
    assert_eq!(f(MathFn::Erfcx, -30.0), f64::INFINITY);
    assert_eq!(f(MathFn::Erfcx, f64::INFINITY), 0.0);
    assert_eq!(f(MathFn::CylBesselI0, f64::INFINITY), f64::INFINITY);
    assert_eq!(f(MathFn::CylBesselI1, f64::NEG_INFINITY), f64::NEG_INFINITY);
    assert_eq!(f(MathFn::Logb, 0.0), f64::NEG_INFINITY);
    assert!(f(MathFn::Sinpi, f64::INFINITY).is_nan());
}
