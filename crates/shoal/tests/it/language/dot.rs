//! Reference 1.3: products of matrices.

use half::{bf16, f16};
use shoal::{Args, DType, Tensor, args};

use super::harness::{case, floats, integers};

const DOT: &str = "
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + k[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], {})
";

const PARAMS: &str = "x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr";

fn dot(value: &str) -> super::harness::Case {
    case(PARAMS, &DOT.replace("{}", value))
}

/// The product of row-major matrices, computed in f64.
fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let element = |at: usize| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum();
    (0..m * n).map(element).collect()
}

fn operands(dtype: DType, [m, n, k]: [usize; 3]) -> (Tensor, Tensor) {
    let values = |count, seed| floats(count, seed).into_iter().map(f64::from).collect::<Vec<_>>();
    let a = Tensor::from_f64(dtype, &[m, k], &values(m * k, 1)).unwrap();
    let b = Tensor::from_f64(dtype, &[k, n], &values(k * n, 2)).unwrap();
    (a, b)
}

fn sized<'a>(a: &'a Tensor, b: &'a Tensor, [m, n, k]: [usize; 3]) -> Args<'a> {
    args!(a, b, M = m, N = n, K = k)
}

#[test]
fn every_type_of_operands() {
    let sizes = [16, 32, 16];
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F8E5M2, DType::F8E4M3] {
        let (a, b) = operands(dtype, sizes);
        dot("tl.dot(a, b)").near::<f32>(sized(&a, &b, sizes), 1e-5, &product(&a.to_f64(), &b.to_f64(), sizes));
    }
    let (a, b) = operands(DType::F64, sizes);
    dot("tl.dot(a, b)").near::<f64>(sized(&a, &b, sizes), 1e-13, &product(&a.to_f64(), &b.to_f64(), sizes));
    let (a, b) = operands(DType::F8E5M2, sizes);
    let (_, c) = operands(DType::F8E4M3, sizes);
    dot("tl.dot(a, b)").near::<f32>(sized(&a, &c, sizes), 1e-5, &product(&a.to_f64(), &c.to_f64(), sizes));
    drop(b);
}

#[test]
fn bytes_are_multiplied_into_words() {
    let sizes = [16, 16, 32];
    let bytes = |seed| integers(512, seed).into_iter().map(|v| v as i8).collect::<Vec<_>>();
    let (a, b) = (bytes(1), bytes(2));
    let wide = |values: &[i8]| values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let expected: Vec<i32> = product(&wide(&a), &wide(&b), sizes).into_iter().map(|v| v as i32).collect();
    dot("tl.dot(a, b)").gives(args!(&a, &b, M = 16, N = 16, K = 32), &expected);
    let more: Vec<i32> = expected.iter().map(|v| v + 7).collect();
    dot("tl.dot(a, b, acc=tl.full([M, N], 7, tl.int32))").gives(args!(&a, &b, M = 16, N = 16, K = 32), &more);
}

#[test]
fn accumulators_and_result_types() {
    let sizes = [16, 16, 16];
    let (a, b) = operands(DType::F16, sizes);
    let expected = product(&a.to_f64(), &b.to_f64(), sizes);
    let more: Vec<f64> = expected.iter().map(|v| v + 2.5).collect();
    dot("tl.dot(a, b, tl.full([M, N], 2.5, tl.float32))").near::<f32>(sized(&a, &b, sizes), 1e-5, &more);
    dot("tl.full([M, N], 2.5, tl.float32) + tl.dot(a, b)").near::<f32>(sized(&a, &b, sizes), 1e-5, &more);
    // Summed in `f32`, in the order of `k` but for GPUs, and rounded once.
    let rounded = |start: f32| -> Vec<f16> {
        let (a, b) = (a.to_f64(), b.to_f64());
        let sum = |row: usize, col: usize| {
            (0..16).fold(start, |sum, k| (a[row * 16 + k] as f32).mul_add(b[k * 16 + col] as f32, sum))
        };
        (0..256).map(|at| f16::from_f32(sum(at / 16, at % 16))).collect()
    };
    dot("tl.dot(a, b, out_dtype=tl.float16)").gives_in_order(sized(&a, &b, sizes), 1e-3, &rounded(0.0));
    dot("tl.dot(a, b, acc=tl.full([M, N], 2.5, tl.float16), out_dtype=tl.float16)").gives_in_order(
        sized(&a, &b, sizes),
        1e-3,
        &rounded(2.5),
    );
    dot("tl.dot(a, b).to(tl.bfloat16)").near::<bf16>(sized(&a, &b, sizes), 1e-2, &expected);
}

#[test]
fn every_precision() {
    let sizes = [16, 16, 32];
    let (a, b) = operands(DType::F32, sizes);
    let expected = product(&a.to_f64(), &b.to_f64(), sizes);
    for (precision, tolerance) in [("ieee", 1e-5), ("tf32", 4e-2), ("tf32x3", 1e-4), ("bf16x3", 1e-2), ("bf16x6", 1e-4)]
    {
        let value = format!("tl.dot(a, b, input_precision='{precision}')");
        dot(&value).near::<f32>(sized(&a, &b, sizes), tolerance, &expected);
    }
    dot("tl.dot(a, b, allow_tf32=False)").near::<f32>(sized(&a, &b, sizes), 1e-5, &expected);
    dot("tl.dot(a, b, max_num_imprecise_acc=16)").near::<f32>(sized(&a, &b, sizes), 1e-5, &expected);
    dot("tl.dot(a, b, input_precision='exact')").refused(sized(&a, &b, sizes), &["exact", "ieee"]);
}

#[test]
fn small_and_odd_sizes() {
    for sizes in [[1, 1, 16], [1, 32, 16], [32, 1, 16], [2, 4, 64], [64, 32, 8], [4, 4, 4], [1, 1, 1]] {
        let (a, b) = operands(DType::F32, sizes);
        dot("tl.dot(a, b)").near::<f32>(sized(&a, &b, sizes), 1e-5, &product(&a.to_f64(), &b.to_f64(), sizes));
    }
}

#[test]
fn operands_that_are_computed() {
    let sizes = [16, 16, 16];
    let (a, b) = operands(DType::F32, sizes);
    let (x, y) = (a.to_f64(), b.to_f64());
    let squared: Vec<f64> = x.iter().map(|v| v * 2.0 + 1.0).collect();
    dot("tl.dot(a * 2 + 1, b)").near::<f32>(sized(&a, &b, sizes), 1e-5, &product(&squared, &y, sizes));
    let transposed: Vec<f64> = (0..256).map(|at| y[at % 16 * 16 + at / 16]).collect();
    dot("tl.dot(a, tl.trans(b))").near::<f32>(sized(&a, &b, sizes), 1e-5, &product(&x, &transposed, sizes));
    let first = product(&x, &y, sizes);
    dot("tl.dot(tl.dot(a, b), b)").near::<f32>(sized(&a, &b, sizes), 1e-4, &product(&first, &y, sizes));
}

#[test]
fn a_loop_over_k() {
    let body = "
    m, n = tl.arange(0, 16), tl.arange(0, 16)
    acc = tl.zeros([16, 16], tl.float32)
    for start in range(0, k_size, 16):
        k = start + tl.arange(0, 16)
        a = tl.load(x + m[:, None] * k_size + k[None, :], mask=k[None, :] < k_size, other=0.0)
        b = tl.load(y + k[:, None] * 16 + n[None, :], mask=k[:, None] < k_size, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(out + m[:, None] * 16 + n[None, :], acc)
";
    let sizes = [16, 16, 77];
    let (a, b) = operands(DType::F32, sizes);
    case("x, y, k_size, out", body).near::<f32>(args!(&a, &b, 77), 1e-5, &product(&a.to_f64(), &b.to_f64(), sizes));
}

/// A loop over `k` in steps of 32, of matrices of small integers, so that all sums are exact.
const SUMS: &str = "
    m, n = tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, k_size, 32):
        k = start + tl.arange(0, 32)
        a = tl.load(x + m[:, None] * k_size + k[None, :])
        b = tl.load(y + k[:, None] * 64 + n[None, :])
        acc = tl.dot(a, b, acc)
    at = out + m[:, None] * 64 + n[None, :]
";

fn signs(count: usize, seed: i64) -> Vec<bf16> {
    (0..count as i64).map(|at| bf16::from_f32(((at * 7 + at / 5 * seed + at / 64) % 3 - 1) as f32)).collect()
}

/// The same numbers for units that multiply `f32`.
fn wider(values: &[bf16]) -> Vec<f32> {
    values.iter().map(|v| v.to_f32()).collect()
}

fn sums(a: &[bf16], b: &[bf16], k: usize) -> Vec<f64> {
    let wide = |values: &[bf16]| values.iter().map(|v| v.to_f64()).collect::<Vec<_>>();
    product(&wide(a), &wide(b), [64, 64, k])
}

/// Rounds of a loop: none, one, fewer and as many as are multiplied at once, and more.
const ROUNDS: [usize; 6] = [0, 1, 3, 32, 33, 65];

#[test]
fn sums_that_are_stored_as_they_come() {
    let body = format!("{SUMS}    tl.store(at, (acc + tl.load(z + n)[None, :]) * 2, mask=n[None, :] < 50)\n");
    let bias: Vec<f32> = (0..64u8).map(f32::from).collect();
    for k in ROUNDS.map(|rounds| 32 * rounds) {
        let (a, b) = (signs(64 * k, 3), signs(64 * k, 11));
        let value = |(at, sum): (usize, f64)| if at % 64 < 50 { (sum as f32 + bias[at % 64]) * 2.0 } else { f32::NAN };
        let expected: Vec<f32> = sums(&a, &b, k).into_iter().enumerate().map(value).collect();
        let kernel = case("x, y, z, k_size, out", &body);
        kernel.gives(args!(&a, &b, &bias, k as i32), &expected);
        let (a, b) = (wider(&a), wider(&b));
        kernel.gives(args!(&a, &b, &bias, k as i32), &expected);
    }
}

#[test]
fn sums_that_are_read_twice() {
    let body = format!("{SUMS}    tl.store(at, acc)\n    tl.store(at + 64 * 64, acc + 1)\n");
    for k in ROUNDS.map(|rounds| 32 * rounds) {
        let (a, b) = (signs(64 * k, 3), signs(64 * k, 11));
        let sums: Vec<f32> = sums(&a, &b, k).into_iter().map(|sum| sum as f32).collect();
        let expected: Vec<f32> = sums.iter().copied().chain(sums.iter().map(|sum| sum + 1.0)).collect();
        let kernel = case("x, y, k_size, out", &body);
        kernel.gives(args!(&a, &b, k as i32), &expected);
        let (a, b) = (wider(&a), wider(&b));
        kernel.gives(args!(&a, &b, k as i32), &expected);
    }
}

#[test]
fn sums_that_one_store_adds() {
    let one_loop = "
    m, n = tl.arange(0, 64), tl.arange(0, 64)
    first, second = tl.zeros([64, 64], tl.float32), tl.zeros([64, 64], tl.float32)
    for start in range(0, k_size, 32):
        k = start + tl.arange(0, 32)
        a = tl.load(x + m[:, None] * k_size + k[None, :])
        b = tl.load(y + k[:, None] * 64 + n[None, :])
        first = tl.dot(a, b, first)
        c = tl.load(z + m[:, None] * k_size + k[None, :])
        d = tl.load(y + k[:, None] * 64 + n[None, :])
        second = tl.dot(c, d, second)
    tl.store(out + m[:, None] * 64 + n[None, :], first + second * 2)
";
    let two_loops = format!(
        "{SUMS}    first = acc\n{}    tl.store(at, first + acc * 2)\n",
        SUMS.replace("tl.load(x +", "tl.load(z +")
    );
    for k in ROUNDS.map(|rounds| 32 * rounds) {
        let (a, b, c) = (signs(64 * k, 3), signs(64 * k, 11), signs(64 * k, 5));
        let both = sums(&a, &b, k).into_iter().zip(sums(&c, &b, k));
        let expected: Vec<f32> = both.map(|(first, second)| (first + second * 2.0) as f32).collect();
        let (wide_a, wide_b, wide_c) = (wider(&a), wider(&b), wider(&c));
        for body in [one_loop, &two_loops] {
            case("x, y, z, k_size, out", body).gives(args!(&a, &b, &c, k as i32), &expected);
            case("x, y, z, k_size, out", body).gives(args!(&wide_a, &wide_b, &wide_c, k as i32), &expected);
        }
    }
}

#[test]
fn sums_that_take_the_place_of_a_factor() {
    let body =
        format!("{}    tl.store(at, acc.to(y.dtype.element_ty))\n", SUMS.replace("tl.load(x +", "tl.load(out +"));
    let (a, b) = (signs(64 * 64, 3), signs(64 * 64, 11));
    let expected: Vec<bf16> = sums(&a, &b, 64).into_iter().map(bf16::from_f64).collect();
    let kernel = case("y, k_size, out", &body);
    kernel.updates(args!(&b, 64), &a, &expected);
    let b = wider(&b);
    kernel.updates(args!(&b, 64), &wider(&a), &wider(&expected));
}

#[test]
fn sums_with_a_long_way_to_memory() {
    let step = "    for i in tl.static_range(150):\n        acc = tl.where(acc > i % 7, acc - 3, acc + 2)\n";
    let body = format!("{SUMS}{step}    tl.store(at, acc)\n");
    let (a, b) = (signs(64 * 96, 3), signs(64 * 96, 11));
    let walk = |sum: f64| (0..150).fold(sum as f32, |v, i| if v > (i % 7) as f32 { v - 3.0 } else { v + 2.0 });
    let expected: Vec<f32> = sums(&a, &b, 96).into_iter().map(walk).collect();
    case("x, y, k_size, out", &body).gives(args!(&a, &b, 96), &expected);
}

#[test]
fn batches_of_matrices() {
    let body = "
    at = tl.arange(0, 512).reshape(BATCH, 16, 16)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, tl.dot(a, b))
";
    let (x, y) = (floats(512, 3), floats(512, 4));
    let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let (a, b) = (wide(&x), wide(&y));
    let mut expected = product(&a[..256], &b[..256], [16, 16, 16]);
    expected.extend(product(&a[256..], &b[256..], [16, 16, 16]));
    case("x, y, out, BATCH: tl.constexpr", body).near::<f32>(args!(&x, &y, BATCH = 2), 1e-5, &expected);
    // More dimensions are more batches.
    let body = body.replace("BATCH,", "1, BATCH, 1,");
    case("x, y, out, BATCH: tl.constexpr", &body).near::<f32>(args!(&x, &y, BATCH = 2), 1e-5, &expected);
}

#[test]
fn wrong_products() {
    let wrong = |value: &str, words: &[&str]| {
        let body =
            format!("    h = tl.zeros([16, 16], tl.float16)\n    f = tl.zeros([16, 16], tl.float32)\n    x = {value}");
        case("out", &body).refused(args!(), words);
    };
    wrong("tl.dot(h, f)", &["fp16", "fp32", "kernel.py:11"]);
    wrong("tl.dot(f, tl.zeros([32, 16], tl.float32))", &["16", "32"]);
    wrong("tl.dot(f, tl.arange(0, 16))", &["rank"]);
    wrong("tl.dot(h, h, out_dtype=tl.bfloat16)", &["bfloat16"]);
    wrong("tl.dot(h, h, acc=tl.zeros([16, 32], tl.float32))", &["32"]);
    wrong("tl.dot(f, f, acc=h)", &["fp16"]);
    wrong("tl.dot(f.to(tl.uint8), f.to(tl.uint8))", &["int8"]);
    wrong("tl.dot(f.to(tl.int32), f.to(tl.int32))", &["int32"]);
    wrong("tl.dot(f, tl.zeros([2, 16, 16], tl.float32))", &["rank"]);
}
