//! Reference 1.6: mathematics, in the language and in `libdevice`.

use shoal::args;

use super::harness::{case, floats, with};

/// What a kernel's expression must be.
type Real = fn(f64) -> f64;
type Whole = fn(i32) -> i64;

/// Numbers of the same type as `x`: `libdevice` takes arguments of one type only.
const PROLOGUE: &str = "
    i = tl.arange(0, 16)
    x = tl.load(a + i)
    zero = x * 0
    one, two, three, part = zero + 1, zero + 2, zero + 3, zero + 0.75
";

/// Functions of one number, held against f64 at 16 places of a range: f32 and f64 versions.
fn functions(range: (f64, f64), table: &[(&str, Real)]) {
    let x: Vec<f64> =
        (0..16).map(|at| f64::from((range.0 + (range.1 - range.0) * f64::from(at) / 15.0) as f32)).collect();
    for (wide, tolerance) in [(false, 3e-6), (true, 1e-13)] {
        let body: String = std::iter::once(PROLOGUE.to_owned())
            .chain(
                table
                    .iter()
                    .enumerate()
                    .map(|(at, (value, _))| format!("    tl.store(out + {} + i, {value})\n", at * 16)),
            )
            .collect();
        let expected: Vec<f64> = table.iter().flat_map(|(_, f)| x.iter().map(|&x| f(x))).collect();
        let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        if wide {
            case("a, out", &body).near::<f64>(args!(&x), tolerance, &expected);
        } else {
            case("a, out", &body).near::<f32>(args!(&narrow), tolerance, &expected);
        }
    }
}

#[test]
fn functions_of_the_language() {
    functions(
        (-3.0, 3.0),
        &[
            ("tl.exp(x)", f64::exp),
            ("tl.exp2(x)", f64::exp2),
            ("tl.sin(x)", f64::sin),
            ("tl.cos(x)", f64::cos),
            ("tl.floor(x)", f64::floor),
            ("tl.ceil(x)", f64::ceil),
            ("tl.abs(x)", f64::abs),
            ("tl.math.exp(x)", f64::exp),
            ("x.exp()", f64::exp),
            ("tl.sigmoid(x)", |x| 1.0 / (1.0 + (-x).exp())),
            ("tl.fma(x, x, 2.0)", |x| x * x + 2.0),
        ],
    );
    functions(
        (0.01, 50.0),
        &[
            ("tl.log(x)", f64::ln),
            ("tl.log2(x)", f64::log2),
            ("tl.sqrt(x)", f64::sqrt),
            ("tl.rsqrt(x)", |x| 1.0 / x.sqrt()),
            ("tl.fdiv(1.0, x)", |x| 1.0 / x),
        ],
    );
}

/// Values that are known, because Rust has no such function.
#[test]
fn erf_by_its_values() {
    let x = [0.0f32, 0.5, 1.0, -1.5, 3.0, 0.1, -0.25, 6.0];
    let expected = [
        0.0,
        0.520_499_877_8,
        0.842_700_792_9,
        -0.966_105_146_5,
        0.999_977_909_5,
        0.112_462_916,
        -0.276_326_390_2,
        1.0,
    ];
    let body = "    i = tl.arange(0, 8)\n    tl.store(out + i, tl.erf(tl.load(x + i)))";
    case("x, out", body).near::<f32>(args!(&x[..]), 1e-6, &expected);
    let wide = x.map(f64::from);
    case("x, out", body).near::<f64>(args!(&wide[..]), 1e-8, &expected);
}

#[test]
fn softmax_along_each_dimension() {
    let x = floats(64, 5);
    let body = "
    at = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    m = tl.load(x + at)
    tl.store(out + at, tl.softmax(m))
    tl.store(out + 64 + at, tl.softmax(m, dim=1, keep_dims=True))
";
    let wide = |at: usize| f64::from(x[at]).exp();
    let columns = (0..64).map(|at| wide(at) / (0..8).map(|r| wide(r * 8 + at % 8)).sum::<f64>());
    let rows = (0..64).map(|at| wide(at) / (0..8).map(|c| wide(at / 8 * 8 + c)).sum::<f64>());
    case("x, out", body).near::<f32>(args!(&x), 1e-6, &columns.chain(rows).collect::<Vec<_>>());
}

#[test]
fn libdevice_on_all_numbers() {
    functions(
        (-2.9, 2.9),
        &[
            ("libdevice.sin(x)", f64::sin),
            ("libdevice.cos(x)", f64::cos),
            ("libdevice.tanh(x)", f64::tanh),
            ("libdevice.sinh(x)", f64::sinh),
            ("libdevice.cosh(x)", f64::cosh),
            ("libdevice.atan(x)", f64::atan),
            ("libdevice.asinh(x)", f64::asinh),
            ("libdevice.exp(x)", f64::exp),
            ("libdevice.exp2(x)", f64::exp2),
            ("libdevice.exp10(x)", |x| 10f64.powf(x)),
            ("libdevice.expm1(x)", f64::exp_m1),
            ("libdevice.cbrt(x)", f64::cbrt),
            ("libdevice.floor(x)", f64::floor),
            ("libdevice.ceil(x)", f64::ceil),
            ("libdevice.trunc(x)", f64::trunc),
            ("libdevice.rint(x)", f64::round_ties_even),
            ("libdevice.nearbyint(x)", f64::round_ties_even),
            ("libdevice.round(x)", f64::round),
            ("libdevice.abs(x)", f64::abs),
            ("libdevice.sinpi(x)", |x| (x * std::f64::consts::PI).sin()),
            ("libdevice.cospi(x)", |x| (x * std::f64::consts::PI).cos()),
            ("libdevice.copysign(two, x)", |x| 2f64.copysign(x)),
            ("libdevice.hypot(x, two)", |x| x.hypot(2.0)),
            ("libdevice.atan2(x, -one)", |x| x.atan2(-1.0)),
            ("libdevice.fmod(x, part)", |x| x % 0.75),
            ("libdevice.remainder(x, part)", |x| x - 0.75 * (x / 0.75).round_ties_even()),
            ("libdevice.fma(x, x, one)", |x| x.mul_add(x, 1.0)),
            ("libdevice.fdim(x, one)", |x| (x - 1.0).max(0.0)),
            ("libdevice.norm3d(x, one, two)", |x| (x * x + 5.0).sqrt()),
            ("libdevice.rnorm3d(x, one, two)", |x| 1.0 / (x * x + 5.0).sqrt()),
            ("libdevice.norm4d(x, one, two, three)", |x| (x * x + 14.0).sqrt()),
            ("libdevice.rnorm4d(x, one, two, three)", |x| 1.0 / (x * x + 14.0).sqrt()),
            ("libdevice.rhypot(x, two)", |x| 1.0 / x.hypot(2.0)),
            ("libdevice.ldexp(x, 3)", |x| x * 8.0),
            ("libdevice.scalbn(x, -2)", |x| x / 4.0),
            ("libdevice.isnan(x)", |_| 0.0),
            ("libdevice.isinf(x)", |_| 0.0),
            ("libdevice.signbit(x) * 3", |x| f64::from(3 * u8::from(x.is_sign_negative()))),
            ("libdevice.llrint(x)", f64::round_ties_even),
            ("libdevice.llround(x)", f64::round),
            ("libdevice.pow(x, 3)", |x| x.powi(3)),
            ("libdevice.erf(x) + libdevice.erfc(x)", |_| 1.0),
            ("libdevice.erfcx(x) / (libdevice.exp(x * x) * libdevice.erfc(x))", |_| 1.0),
            ("libdevice.normcdf(x) + libdevice.normcdf(-x)", |_| 1.0),
        ],
    );
}

#[test]
fn libdevice_on_positive_numbers() {
    functions(
        (0.05, 9.5),
        &[
            ("libdevice.log(x)", f64::ln),
            ("libdevice.log2(x)", f64::log2),
            ("libdevice.log10(x)", f64::log10),
            ("libdevice.log1p(x)", f64::ln_1p),
            ("libdevice.sqrt(x)", f64::sqrt),
            ("libdevice.rsqrt(x)", |x| 1.0 / x.sqrt()),
            ("libdevice.rcbrt(x)", |x| 1.0 / x.cbrt()),
            ("libdevice.acosh(x + 1.0)", |x| (x + 1.0).acosh()),
            ("libdevice.pow(x, one + part)", |x| x.powf(1.75)),
            ("libdevice.logb(x)", |x| x.log2().floor()),
            ("libdevice.ilogb(x)", |x| x.log2().floor()),
            ("libdevice.div_rn(two, x)", |x| 2.0 / x),
            ("libdevice.rcp_rn(x)", |x| 1.0 / x),
            ("libdevice.sqrt_rn(x)", f64::sqrt),
            ("libdevice.add_rn(x, one)", |x| x + 1.0),
            ("libdevice.mul_rn(x, three)", |x| x * 3.0),
            ("libdevice.sub_rn(x, one)", |x| x - 1.0),
            // The gamma function follows its recurrence.
            ("libdevice.tgamma(x + 1.0) / (x * libdevice.tgamma(x))", |_| 1.0),
            ("libdevice.exp(libdevice.lgamma(x + 1.0) - libdevice.lgamma(x)) / x", |_| 1.0),
            // Bessel functions by a Wronskian: J1 Y0 - J0 Y1 = 2 / (pi x).
            ("(libdevice.j1(x) * libdevice.y0(x) - libdevice.j0(x) * libdevice.y1(x)) * x", |_| {
                2.0 / std::f64::consts::PI
            }),
        ],
    );
    functions(
        (0.1, 1.5),
        &[
            // Bessel functions of all orders by their recurrence: J3 + J1 = 4 / x J2, and the same for Y.
            ("(libdevice.jn(3, x) + libdevice.jn(1, x)) * x / libdevice.jn(2, x)", |_| 4.0),
            ("(libdevice.yn(3, x) + libdevice.y1(x)) * x / libdevice.yn(2, x)", |_| 4.0),
        ],
    );
    functions(
        (-0.95, 0.95),
        &[
            ("libdevice.asin(x)", f64::asin),
            ("libdevice.acos(x)", f64::acos),
            ("libdevice.atanh(x)", f64::atanh),
            ("libdevice.tan(x)", f64::tan),
            ("libdevice.erf(libdevice.erfinv(x))", |x| x),
            ("libdevice.erfc(libdevice.erfcinv(x + 1.0)) - 1.0", |x| x),
            ("libdevice.normcdf(libdevice.normcdfinv(x * 0.5 + 0.5)) * 2.0 - 1.0", |x| x),
        ],
    );
}

#[test]
fn fast_versions_are_close() {
    let x: Vec<f32> = (0..16).map(|at| 0.1 + at as f32 * 0.09).collect();
    let table: [(&str, Real); 10] = [
        ("libdevice.fast_expf(x)", f64::exp),
        ("libdevice.fast_logf(x)", f64::ln),
        ("libdevice.fast_log2f(x)", f64::log2),
        ("libdevice.fast_log10f(x)", f64::log10),
        ("libdevice.fast_sinf(x)", f64::sin),
        ("libdevice.fast_cosf(x)", f64::cos),
        ("libdevice.fast_tanhf(x)", f64::tanh),
        ("libdevice.fast_exp10f(x)", |x| 10f64.powf(x)),
        ("libdevice.fast_powf(x, 2.5)", |x| x.powf(2.5)),
        ("libdevice.fast_dividef(1.0, x)", |x| 1.0 / x),
    ];
    let mut body = String::from("    i = tl.arange(0, 16)\n    x = tl.load(a + i)\n");
    for (at, (value, _)) in table.iter().enumerate() {
        body.push_str(&format!("    tl.store(out + {} + i, {value})\n", at * 16));
    }
    let expected: Vec<f64> = table.iter().flat_map(|(_, f)| x.iter().map(|&x| f(f64::from(x)))).collect();
    case("a, out", &body).near::<f32>(args!(&x), 1e-5, &expected);
}

#[test]
fn libdevice_on_integers() {
    let x = super::harness::integers(16, 9);
    let table: [(&str, Whole); 10] = [
        ("libdevice.clz(x)", |x| i64::from(x.leading_zeros())),
        ("libdevice.popc(x)", |x| i64::from(x.count_ones())),
        ("libdevice.brev(x)", |x| i64::from(x.reverse_bits())),
        ("libdevice.ffs(x)", |x| i64::from(if x == 0 { 0 } else { x.trailing_zeros() + 1 })),
        ("libdevice.abs(x)", |x| i64::from(x.wrapping_abs())),
        ("libdevice.mulhi(x, 12345)", |x| (i64::from(x) * 12345) >> 32),
        ("libdevice.hadd(x, 7)", |x| (i64::from(x) + 7) >> 1),
        ("libdevice.rhadd(x, 7)", |x| (i64::from(x) + 8) >> 1),
        ("libdevice.byte_perm(x, 0, 0x0123)", |x| i64::from(x.swap_bytes())),
        ("libdevice.float_as_int(libdevice.int_as_float(x))", i64::from),
    ];
    let mut body = String::from("    i = tl.arange(0, 16)\n    x = tl.load(a + i)\n");
    for (at, (value, _)) in table.iter().enumerate() {
        body.push_str(&format!("    tl.store(out + {} + i, {value})\n", at * 16));
    }
    let expected: Vec<i64> = table.iter().flat_map(|(_, f)| x.iter().map(|&x| f(x))).collect();
    case("a, out", &body).gives(args!(&x), &expected);
}

#[test]
fn libdevice_conversions() {
    let x: Vec<f32> = vec![-2.5, -1.5, -0.7, 0.5, 1.5, 2.5, 3.49, 1000.5];
    let table: [(&str, Real); 8] = [
        ("libdevice.float2int_rn(x)", f64::round_ties_even),
        ("libdevice.float2int_rz(x)", f64::trunc),
        ("libdevice.float2int_rd(x)", f64::floor),
        ("libdevice.float2int_ru(x)", f64::ceil),
        ("libdevice.float2ll_rn(x)", f64::round_ties_even),
        ("libdevice.double2ll_rd(x.to(tl.float64))", f64::floor),
        ("libdevice.double2int_ru(x.to(tl.float64))", f64::ceil),
        ("libdevice.int2float_rn(libdevice.float2int_rz(x))", f64::trunc),
    ];
    let mut body = String::from("    i = tl.arange(0, 8)\n    x = tl.load(a + i)\n");
    for (at, (value, _)) in table.iter().enumerate() {
        body.push_str(&format!("    tl.store(out + {} + i, {value})\n", at * 8));
    }
    let expected: Vec<f64> = table.iter().flat_map(|(_, f)| x.iter().map(|&x| f(f64::from(x)))).collect();
    case("a, out", &body).gives(args!(&x), &expected);
}

#[test]
fn libdevice_is_reached_by_all_its_names() {
    let head =
        "from triton.language.extra.cuda import libdevice as lib\nimport triton.language.extra.libdevice as other\n";
    let body =
        "    tl.store(out, lib.sqrt(x) + other.sqrt(x) + tl.extra.libdevice.sqrt(x) + tl.extra.cuda.libdevice.sqrt(x))";
    with(head, "x, out", body).gives(args!(4.0), &[8.0f32]);
    case("x, out", "    tl.store(out, libdevice.squirt(x))").refused(args!(4.0), &["squirt"]);
    case("x, out", "    tl.store(out, libdevice.sqrt(x.to(tl.float16)))").refused(args!(4.0), &["float16"]);
    case("x: tl.float64, out", "    tl.store(out, libdevice.pow(x, 1.5))").refused(args!(4.0), &["fp64", "fp32"]);
}

#[test]
fn huge_numbers_are_reduced_exactly() {
    let x: Vec<f32> = (0..16).map(|at| (-1f32).powi(at) * 1.3 * 2f32.powi(7 + 8 * at)).collect();
    let table: [(&str, Real); 7] = [
        ("libdevice.sin(x)", f64::sin),
        ("libdevice.cos(x)", f64::cos),
        ("libdevice.isnan(libdevice.acosh(x)) * 1.0", |x| f64::from(u8::from(x < 1.0))),
        ("libdevice.isnan(libdevice.sin(x * float('inf'))) * 1.0", |_| 1.0),
        ("libdevice.isnan(libdevice.cos(x * float('inf'))) * 1.0", |_| 1.0),
        ("libdevice.isnan(libdevice.cos(x * float('nan'))) * 1.0", |_| 1.0),
        ("libdevice.isnan(libdevice.acosh(x * float('nan'))) * 1.0", |_| 1.0),
    ];
    let mut body = String::from("    i = tl.arange(0, 16)\n    x = tl.load(a + i)\n");
    for (at, (value, _)) in table.iter().enumerate() {
        body.push_str(&format!("    tl.store(out + {} + i, {value})\n", at * 16));
    }
    let expected: Vec<f64> = table.iter().flat_map(|(_, f)| x.iter().map(|&x| f(f64::from(x)))).collect();
    case("a, out", &body).near::<f32>(args!(&x), 1e-6, &expected);
}
