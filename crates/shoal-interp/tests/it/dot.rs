use shoal_ir::{Const, Scalar};

use crate::support::{eval, f32s, i32s};

/// `m x k` by `k x n` with elements that make rounding visible.
fn body(elem: &str, acc: &str, (m, k, n): (usize, usize, usize), precision: &str) -> String {
    format!(
        "%ia = iota {{start = 1}} () : tile<{mk}xi32>
        %fa = cast {{round = rtne}} (%ia) : tile<{mk}xf32>
        %ra = math {{fn = sqrt}} (%fa) : tile<{mk}xf32>
        %ca = cast {{round = rtne}} (%ra) : tile<{mk}x{elem}>
        %a = reshape (%ca) : tile<{m}x{k}x{elem}>
        %ib = iota {{start = 5}} () : tile<{kn}xi32>
        %fb = cast {{round = rtne}} (%ib) : tile<{kn}xf32>
        %rb = math {{fn = rsqrt}} (%fb) : tile<{kn}xf32>
        %cb = cast {{round = rtne}} (%rb) : tile<{kn}x{elem}>
        %b = reshape (%cb) : tile<{k}x{n}x{elem}>
        %acc = const {{value = 1.0}} () : tile<{m}x{n}x{acc}>
        %r = dot {{precision = {precision}}} (%a, %b, %acc) : tile<{m}x{n}x{acc}>",
        mk = m * k,
        kn = k * n
    )
}

fn inputs(ty: Scalar, (m, k, n): (usize, usize, usize)) -> (Vec<f64>, Vec<f64>) {
    let narrow = |v: f32| Const::from_f64(ty, f64::from(v)).as_f64();
    let a = (1..=m * k).map(|i| narrow(f64::from(i as f32).sqrt() as f32)).collect();
    let b = (5..5 + k * n).map(|i| narrow((1.0 / f64::from(i as f32).sqrt()) as f32)).collect();
    (a, b)
}

fn expected(ty: Scalar, (m, k, n): (usize, usize, usize)) -> Vec<f32> {
    let (a, b) = inputs(ty, (m, k, n));
    let element =
        |i: usize, j: usize| (0..k).fold(1.0f32, |acc, l| (a[i * k + l] as f32).mul_add(b[l * n + j] as f32, acc));
    (0..m * n).map(|o| element(o / n, o % n)).collect()
}

#[test]
fn products_are_fused_in_order_of_k() {
    let size = (4, 32, 8);
    for precision in ["ieee", "tf32", "bf16x3"] {
        assert_eq!(f32s(&eval(&body("f32", "f32", size, precision), "f32", 32)), expected(Scalar::F32, size));
    }
    assert_eq!(f32s(&eval(&body("f16", "f32", size, "ieee"), "f32", 32)), expected(Scalar::F16, size));
    assert_eq!(f32s(&eval(&body("bf16", "f32", size, "ieee"), "f32", 32)), expected(Scalar::BF16, size));
    assert_eq!(f32s(&eval(&body("f8e5m2", "f32", size, "ieee"), "f32", 32)), expected(Scalar::F8E5M2, size));
}

#[test]
fn a_narrow_accumulator_is_rounded_once() {
    let size = (2, 64, 4);
    let rounded: Vec<u64> =
        expected(Scalar::F16, size).iter().map(|&v| Const::from_f64(Scalar::F16, f64::from(v)).bits()).collect();
    assert_eq!(eval(&body("f16", "f16", size, "ieee"), "f16", 8), rounded);
}

#[test]
fn doubles_accumulate_in_double() {
    let size = (2, 16, 2);
    let (a, b) = inputs(Scalar::F64, size);
    let element = |i: usize, j: usize| (0..16).fold(1.0f64, |acc, l| a[i * 16 + l].mul_add(b[l * 2 + j], acc));
    let bits: Vec<u64> = (0..4).map(|o| element(o / 2, o % 2).to_bits()).collect();
    assert_eq!(eval(&body("f64", "f64", size, "ieee"), "f64", 4), bits);
}

#[test]
fn bytes_accumulate_in_integers_and_batches_are_apart() {
    let body = "%i = iota {start = -4} () : tile<8xi32>\n%c = cast {round = rtne} (%i) : tile<8xi8>
        %a = reshape (%c) : tile<2x2x2xi8>\n%b = transpose {perm = [0, 2, 1]} (%a) : tile<2x2x2xi8>
        %acc = const {value = 10} () : tile<2x2x2xi32>
        %r = dot {precision = ieee} (%a, %b, %acc) : tile<2x2x2xi32>";
    assert_eq!(i32s(&eval(body, "i32", 8)), [35, 21, 21, 15, 11, 13, 13, 23]);
}
