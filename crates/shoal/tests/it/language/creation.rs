//! Reference 1.1: the place of a program, and tiles from nothing.

use half::{bf16, f16};
use shoal::args;

use super::harness::{case, every, holds};

#[test]
fn programs_know_their_place_in_the_grid() {
    let body = "
    x, y, z = tl.program_id(0), tl.program_id(axis=1), tl.program_id(2)
    nx, ny, nz = tl.num_programs(0), tl.num_programs(1), tl.num_programs(axis=2)
    at = (z * ny + y) * nx + x
    tl.store(out + at, x + 10 * y + 100 * z + 1000 * nx + 10000 * ny + 100000 * nz)
";
    let mut expected = Vec::new();
    for z in 0..4 {
        for y in 0..3 {
            expected.extend((0..2).map(|x| x + 10 * y + 100 * z + 2000 + 30000 + 400_000));
        }
    }
    case("out", body).grid(2, 3, 4).gives(args!(), &expected);
    case("out", "    tl.store(out, tl.program_id(3))").refused(args!(), &["program_id", "kernel.py:9"]);
    case("out, n", "    tl.store(out, tl.program_id(n))").refused(args!(n = 2), &["axis", "constexpr"]);
}

#[test]
fn arange_starts_anywhere_and_has_a_power_of_two_of_elements() {
    case("out", "    tl.store(out + tl.arange(0, 8), tl.arange(7, 15))").gives(args!(), &[7, 8, 9, 10, 11, 12, 13, 14]);
    case("out", "    tl.store(out + tl.arange(0, 4), tl.arange(-3, 1))").gives(args!(), &[-3, -2, -1, 0]);
    case("N: tl.constexpr, out", "    tl.store(out + tl.arange(0, N), tl.arange(start=0, end=N))")
        .gives(args!(1), &[0i64]);
    holds("a = tl.arange(3, 4)", &["a.dtype == tl.int32", "a.shape == (1,)", "a.numel == 1"]);
    for (range, word) in
        [("0, 3", "power of two"), ("4, 4", "4"), ("4, 0", "4"), ("0, n", "constexpr"), ("0, 1 << 21", "1048576")]
    {
        case("out, n", &format!("    x = tl.arange({range})")).refused(args!(n = 4), &[word, "kernel.py:9"]);
    }
}

#[test]
fn full_zeros_and_zeros_like() {
    let body = "
    at = tl.arange(0, 4)
    tl.store(out + at, tl.full((4,), 2.5, tl.float32))
    tl.store(out + 4 + at, tl.full([4], n, dtype=tl.float32))
    tl.store(out + 8 + at, tl.zeros((4,), tl.float32))
    tl.store(out + 12 + at, tl.zeros_like(at))
    tl.store(out + 16 + at, tl.full([2, 2], 3, tl.int8).reshape(4))
    tl.store(out + 20, tl.full((), 7, tl.float32))
";
    let mut expected = vec![2.5f32; 4];
    for value in [9.0, 0.0, 0.0, 3.0] {
        expected.extend([value; 4]);
    }
    expected.push(7.0);
    case("n, out", body).gives(args!(9), &expected);
    case("out", "    x = tl.full([3], 0, tl.int32)").refused(args!(), &["power of two", "3"]);
    case("out", "    x = tl.zeros([1024, 2048], tl.int8)").refused(args!(), &["1048576"]);
}

#[test]
fn full_of_every_type() {
    case("out", "    tl.store(out + tl.arange(0, 2), tl.full([2], -3, tl.int8))").gives(args!(), &[-3i8; 2]);
    case("out", "    tl.store(out + tl.arange(0, 2), tl.full([2], 40000, tl.uint16))").gives(args!(), &[40000u16; 2]);
    case("out", "    tl.store(out + tl.arange(0, 2), tl.full([2], 1 << 40, tl.int64))")
        .gives(args!(), &[1i64 << 40; 2]);
    case("out", "    tl.store(out + tl.arange(0, 2), tl.full([2], (1 << 64) - 1, tl.uint64))")
        .gives(args!(), &[u64::MAX; 2]);
    case("out", "    tl.store(out + tl.arange(0, 2), tl.full([2], 0.1, tl.float16))")
        .gives(args!(), &[f16::from_f64(0.1); 2]);
    case("out", "    tl.store(out + tl.arange(0, 2), tl.full([2], 0.1, tl.bfloat16))")
        .gives(args!(), &[bf16::from_f64(0.1); 2]);
    case("out", "    tl.store(out + tl.arange(0, 2), tl.full([2], 0.1, tl.float64))").gives(args!(), &[0.1f64; 2]);
}

#[test]
fn numbers_have_the_type_their_value_needs() {
    holds(
        "",
        &[
            "tl.to_tensor(1).dtype == tl.int32",
            "tl.to_tensor(-2147483648).dtype == tl.int32",
            "tl.to_tensor(2147483648).dtype == tl.uint32",
            "tl.to_tensor(4294967295).dtype == tl.uint32",
            "tl.to_tensor(4294967296).dtype == tl.int64",
            "tl.to_tensor(-2147483649).dtype == tl.int64",
            "tl.to_tensor(1 << 63).dtype == tl.uint64",
            "tl.to_tensor(1.0).dtype == tl.float32",
            "tl.to_tensor(0.0).dtype == tl.float32",
            "tl.to_tensor(1e300).dtype == tl.float64",
            "tl.to_tensor(float('inf')).dtype == tl.float32",
            "tl.to_tensor(True).dtype == tl.int1",
        ],
    );
}

#[test]
fn casts_of_numbers() {
    every(&[
        ("tl.cast(-2.7, tl.int32)", -2i64),
        ("tl.to_tensor(2.7).to(tl.int8)", 2),
        ("tl.to_tensor(300).to(tl.int8)", 44),
        ("tl.to_tensor(200).to(tl.int8)", -56),
        ("tl.to_tensor(200).to(tl.int8).to(tl.uint8)", 200),
        ("tl.to_tensor(200).to(tl.uint8).to(tl.int32)", 200),
        ("tl.to_tensor(-1).to(tl.uint32).to(tl.int64)", 4_294_967_295),
        ("tl.to_tensor(-1).to(tl.int64)", -1),
        ("tl.to_tensor(2).to(tl.int1)", 1),
        ("tl.to_tensor(0.5).to(tl.int1)", 1),
        ("tl.to_tensor(0).to(tl.int1)", 0),
        ("tl.to_tensor(True).to(tl.int32)", 1),
        ("tl.to_tensor(1.5).to(tl.int32, bitcast=True)", 0x3fc0_0000),
        ("tl.to_tensor(0x3FC0).to(tl.int16).to(tl.bfloat16, bitcast=True).to(tl.float32) * 2", 3),
        ("tl.to_tensor(3000000000).to(tl.float32)", 3_000_000_000),
        ("tl.to_tensor(3e9).to(tl.uint32)", 3_000_000_000),
        ("tl.to_tensor(65.5).to(tl.float16).to(tl.int16)", 65),
        ("tl.to_tensor(True).to(tl.float32) * 3", 3),
    ]);
}

#[test]
fn rounding_of_narrowing_casts() {
    let exact = 1.0 + 3.0 / 4096.0;
    let text = format!("tl.to_tensor({exact})");
    every(&[
        (&*format!("{text}.to(tl.float16).to(tl.float32)"), 1.0 + 1.0 / 1024.0),
        (&*format!("{text}.to(tl.float16, fp_downcast_rounding='rtne').to(tl.float32)"), 1.0 + 1.0 / 1024.0),
        (&*format!("{text}.to(tl.float16, fp_downcast_rounding='rtz').to(tl.float32)"), 1.0f32),
        ("tl.to_tensor(1.998).to(tl.bfloat16, fp_downcast_rounding='rtz').to(tl.float32)", 1.992_187_5),
        ("tl.to_tensor(1.998).to(tl.bfloat16).to(tl.float32)", 2.0),
    ]);
    case("out", "    x = tl.to_tensor(1).to(tl.float16, fp_downcast_rounding='rtz')").refused(args!(), &["rounding"]);
    case("out", "    x = tl.to_tensor(1.0).to(tl.float16, fp_downcast_rounding='up')").refused(args!(), &["up"]);
    case("out", "    x = tl.to_tensor(1.0).to(tl.int16, bitcast=True)").refused(args!(), &["16", "32"]);
}
