//! Products of matrices in microscaling formats, held against products of the decoded numbers in `f64`.

use shoal::{Tensor, args};

use super::harness::{Case, case, integers};

/// Rows, columns and the summed dimension of all products here.
const SIZES: [usize; 3] = [16, 32, 64];
const GROUP: usize = 32;

/// A number with a sign, exponent bits, mantissa bits and a bias, and no special values.
fn decoded(code: u32, exponent: u32, mantissa: u32, bias: i32) -> f64 {
    let field = (code >> mantissa) & ((1 << exponent) - 1);
    let fraction = f64::from(code & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
    let magnitude = match field {
        0 => fraction * 2f64.powi(1 - bias),
        field => (1.0 + fraction) * 2f64.powi(field as i32 - bias),
    };
    if code >> (exponent + mantissa) & 1 == 1 { -magnitude } else { magnitude }
}

/// One operand: what the kernel gets, and its numbers row by row.
struct Operand {
    memory: Tensor,
    numbers: Vec<f64>,
}

/// Random elements of a matrix, in the order of its rows; those of four bits are packed along a dimension.
fn operand(format: &str, [rows, columns]: [usize; 2], packed_dim: usize, seed: u64) -> Operand {
    let codes: Vec<u32> = integers(rows * columns, seed).into_iter().map(|v| v as u32).collect();
    let (memory, numbers) = match format {
        "e2m1" => {
            let codes: Vec<u32> = codes.iter().map(|c| c & 15).collect();
            let at = |r: usize, c: usize| codes[r * columns + c] as u8;
            let (height, width) = if packed_dim == 0 { (rows / 2, columns) } else { (rows, columns / 2) };
            let bytes: Vec<u8> = (0..height * width)
                .map(|i| (i / width, i % width))
                .map(|(r, c)| match packed_dim {
                    0 => at(2 * r, c) | at(2 * r + 1, c) << 4,
                    _ => at(r, 2 * c) | at(r, 2 * c + 1) << 4,
                })
                .collect();
            (Tensor::from_slice(&bytes), codes.iter().map(|&c| decoded(c, 2, 1, 1)).collect())
        }
        "e4m3" | "e5m2" => {
            // Neither the greatest exponents, so that sums stay comparable, nor what is not a number.
            let bits: Vec<u8> = codes.iter().map(|c| (c & 0xb7) as u8).collect();
            let (exponent, mantissa, bias) = if format == "e4m3" { (4, 3, 7) } else { (5, 2, 15) };
            let numbers = bits.iter().map(|&c| decoded(u32::from(c), exponent, mantissa, bias)).collect();
            (Tensor::from_slice(&bits), numbers)
        }
        _ => {
            let (exponent, mantissa, bias) = if format == "bf16" { (8, 7, 127) } else { (5, 10, 15) };
            // Numbers below two in either format.
            let bits: Vec<u16> = codes.iter().map(|c| (c & 0xbfff) as u16).collect();
            let numbers = bits.iter().map(|&c| decoded(u32::from(c), exponent, mantissa, bias)).collect();
            (Tensor::from_slice(&bits), numbers)
        }
    };
    Operand { memory: memory.expect("memory for a tensor"), numbers }
}

/// Scales `[length, k / 32]` between 2^-4 and 2^3.
fn scales(length: usize, seed: u64) -> Vec<u8> {
    integers(length * SIZES[2] / GROUP, seed).into_iter().map(|v| 123 + (v as u8 & 7)).collect()
}

fn kernel(lhs: &str, rhs: &str, lhs_pack: bool, rhs_pack: bool, more: &str) -> Case {
    let [m, n, k] = SIZES;
    let half = |format: &str, pack: bool| if format == "e2m1" && pack { 2 } else { 1 };
    let across = |format: &str, pack: bool| if format == "e2m1" && !pack { 2 } else { 1 };
    let (lm, lk) = (m / across(lhs, lhs_pack), k / half(lhs, lhs_pack));
    let (rk, rn) = (k / half(rhs, rhs_pack), n / across(rhs, rhs_pack));
    let python = |flag: bool| if flag { "True" } else { "False" };
    case(
        "x, y, xs, ys, out",
        &format!(
            "
    a = tl.load(x + tl.arange(0, {lm})[:, None] * {lk} + tl.arange(0, {lk})[None, :])
    b = tl.load(y + tl.arange(0, {rk})[:, None] * {rn} + tl.arange(0, {rn})[None, :])
    groups = tl.arange(0, {groups})[None, :]
    sa = None
    if xs is not None:
        sa = tl.load(xs + tl.arange(0, {m})[:, None] * {groups} + groups)
    sb = None
    if ys is not None:
        sb = tl.load(ys + tl.arange(0, {n})[:, None] * {groups} + groups)
    c = tl.dot_scaled(a, sa, '{lhs}', b, sb, '{rhs}', lhs_k_pack={}, rhs_k_pack={}{more})
    tl.store(out + tl.arange(0, {m})[:, None] * {n} + tl.arange(0, {n})[None, :], c)
",
            python(lhs_pack),
            python(rhs_pack),
            groups = k / GROUP,
        ),
    )
}

fn product(a: &Operand, b: &Operand, scale_a: Option<&[u8]>, scale_b: Option<&[u8]>) -> Vec<f64> {
    let [m, n, k] = SIZES;
    let factor = |scales: Option<&[u8]>, at: usize, l: usize| {
        scales.map_or(1.0, |s| 2f64.powi(i32::from(s[at * (k / GROUP) + l / GROUP]) - 127))
    };
    let mut all = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let term =
                |l: usize| a.numbers[i * k + l] * factor(scale_a, i, l) * b.numbers[l * n + j] * factor(scale_b, j, l);
            all.push((0..k).map(term).sum());
        }
    }
    all
}

const FORMATS: [&str; 5] = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"];

#[test]
fn every_pair_of_formats() {
    let [m, n, k] = SIZES;
    for (i, lhs) in FORMATS.into_iter().enumerate() {
        for (j, rhs) in FORMATS.into_iter().enumerate() {
            let (a, b) = (operand(lhs, [m, k], 1, i as u64), operand(rhs, [k, n], 0, 10 + j as u64));
            let (sa, sb) = (scales(m, 20), scales(n, 21));
            // Scales on both sides, on one, on the other, on none: in turn.
            let which = (i * FORMATS.len() + j) % 4;
            let (sa, sb) = (Some(&sa).filter(|_| which & 1 == 0), Some(&sb).filter(|_| which & 2 == 0));
            let expected = product(&a, &b, sa.map(Vec::as_slice), sb.map(Vec::as_slice));
            let most = expected.iter().fold(1.0, |most: f64, v| most.max(v.abs()));
            let args = args!(&a.memory, &b.memory, sa, sb);
            kernel(lhs, rhs, true, true, "").near::<f32>(args, 1e-5 * most, &expected);
        }
    }
}

#[test]
fn packed_along_the_other_dimension() {
    let [m, n, k] = SIZES;
    let (sa, sb) = (scales(m, 3), scales(n, 4));
    for (lhs_pack, rhs_pack) in [(false, true), (true, false), (false, false)] {
        let a = operand("e2m1", [m, k], usize::from(lhs_pack), 5);
        let b = operand("e2m1", [k, n], usize::from(!rhs_pack), 6);
        let expected = product(&a, &b, Some(&sa), Some(&sb));
        let args = args!(&a.memory, &b.memory, &sa, &sb);
        kernel("e2m1", "e2m1", lhs_pack, rhs_pack, ", fast_math=True").near::<f32>(args, 1e-4, &expected);
    }
}

#[test]
fn scales_at_their_ends() {
    let [m, n, k] = SIZES;
    let (a, b) = (operand("e2m1", [m, k], 1, 7), operand("bf16", [k, n], 0, 8));
    let mut sa = vec![127u8; m * k / GROUP];
    sa[0] = 255;
    sa[2] = 0;
    let mut expected = product(&a, &b, Some(&sa), None);
    expected[..n].fill(f64::NAN);
    let args = args!(&a.memory, &b.memory, &sa, None::<&Vec<u8>>);
    kernel("e2m1", "bf16", true, true, ", acc=tl.full([16, 32], 1.0, tl.float32)").near::<f32>(
        args,
        1e-4,
        &expected.iter().map(|v| v + 1.0).collect::<Vec<_>>(),
    );
}

#[test]
fn wrong_products() {
    let wrong = |value: &str, words: &[&str]| {
        let body = format!(
            "    h = tl.zeros([16, 32], tl.uint8)\n    f = tl.zeros([32, 16], tl.float32)\n    s = tl.zeros([16, 1], tl.uint8)\n    x = {value}"
        );
        case("out", &body).refused(args!(), words);
    };
    wrong("tl.dot_scaled(h, s, 'e3m2', h.T, s, 'e4m3')", &["e3m2", "e2m1"]);
    wrong("tl.dot_scaled(h, s, 'e4m3', f, None, 'bf16')", &["rhs", "bf16", "fp32"]);
    wrong("tl.dot_scaled(h, s.T, 'e4m3', h.T, s, 'e4m3')", &["lhs_scale", "[16, 1]"]);
    wrong("tl.dot_scaled(h, s, 'e4m3', h.T, s, 'e4m3', lhs_k_pack=False)", &["packed"]);
    wrong("tl.dot_scaled(h, s, 'e4m3', h, None, 'e4m3')", &["cannot be multiplied"]);
    wrong("tl.dot_scaled(h, s, 'e4m3', h.T, s, 'e4m3', out_dtype=tl.float16)", &["float32"]);
    wrong("tl.dot_scaled(h, f, 'e2m1', h.T, None, 'e2m1')", &["lhs_scale"]);
}
