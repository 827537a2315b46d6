//! Reference 1.7: sorting.

use half::f16;
use shoal::{Element, args};

use super::harness::{case, floats, integers};

fn sorted<T: Element + PartialEq>(x: &[T], order: impl Fn(&T, &T) -> std::cmp::Ordering) {
    let body = "
    at = tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :]
    m = tl.load(x + at)
    tl.store(out + at, tl.sort(m))
    tl.store(out + 64 + at, tl.sort(m, dim=1, descending=True))
";
    let mut rows = x.to_vec();
    rows.chunks_mut(16).for_each(|row| row.sort_by(&order));
    let mut falling = rows.clone();
    falling.chunks_mut(16).for_each(<[T]>::reverse);
    case("x, out", body).gives(args!(x), &[rows, falling].concat());
}

#[test]
fn sort_of_every_kind_of_number() {
    let x = integers(64, 1);
    sorted(&x, Ord::cmp);
    sorted(&x.iter().map(|v| *v as u32).collect::<Vec<_>>(), Ord::cmp);
    sorted(&x.iter().map(|v| *v as i8).collect::<Vec<_>>(), Ord::cmp);
    sorted(&x.iter().map(|v| i64::from(*v) << 20).collect::<Vec<_>>(), Ord::cmp);
    sorted(&floats(64, 2), f32::total_cmp);
    sorted(&floats(64, 3).into_iter().map(f16::from_f32).collect::<Vec<_>>(), f16::total_cmp);
    sorted(&floats(64, 4).into_iter().map(f64::from).collect::<Vec<_>>(), f64::total_cmp);
    let mut special = floats(64, 5);
    special[..6].copy_from_slice(&[f32::INFINITY, f32::NEG_INFINITY, 0.0, 0.0, 1e-40, -1e-40]);
    sorted(&special, f32::total_cmp);
}

#[test]
fn one_long_row_and_one_short() {
    let x = integers(512, 6);
    let mut expected = x.clone();
    expected.sort_unstable();
    case("x, out", "    i = tl.arange(0, 512)\n    tl.store(out + i, tl.sort(tl.load(x + i)))")
        .gives(args!(&x), &expected);
    case("x, out", "    i = tl.arange(0, 1)\n    tl.store(out + i, tl.load(x + i).sort())").gives(args!(&x), &x[..1]);
    let pair = "    i = tl.arange(0, 2)\n    tl.store(out + i, tl.load(x + i).sort())";
    case("x, out", pair).gives(args!(&[5, 3][..]), &[3, 5]);
}

#[test]
fn greatest_and_least_in_order() {
    let x = floats(64, 7);
    let body = "
    m = tl.load(x + tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :])
    k = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + k, tl.topk(m, 4))
    tl.store(out + 16 + k, tl.topk(m, 4, descending=False))
    tl.store(out + 32 + tl.arange(0, 4)[:, None], tl.topk(m, 1))
";
    let mut rows = x.clone();
    rows.chunks_mut(16).for_each(|row| row.sort_by(f32::total_cmp));
    let most = rows.chunks(16).flat_map(|row| row.iter().rev().take(4).copied().collect::<Vec<_>>());
    let least = rows.chunks(16).flat_map(|row| row[..4].to_vec());
    let one = rows.chunks(16).map(|row| row[15]);
    case("x, out", body).gives(args!(&x), &most.chain(least).chain(one).collect::<Vec<_>>());
}

#[test]
fn a_merge_of_rising_and_falling_numbers() {
    let x = [1, 5, 9, 12, 11, 7, 3, 2];
    let body = "
    i = tl.arange(0, 8)
    tl.store(out + i, tl.bitonic_merge(tl.load(x + i)))
    tl.store(out + 8 + i, tl.bitonic_merge(tl.load(x + i), descending=True))
";
    case("x, out", body).gives(args!(&x[..]), &[1, 2, 3, 5, 7, 9, 11, 12, 12, 11, 9, 7, 5, 3, 2, 1]);
}

#[test]
fn wrong_sorts() {
    case("out", "    x = tl.topk(tl.arange(0, 8), 3)").refused(args!(), &["power of two", "kernel.py:9"]);
    case("out", "    x = tl.topk(tl.arange(0, 8), 16)").refused(args!(), &["topk"]);
    case("out", "    x = tl.sort(tl.arange(0, 8), 2)").refused(args!(), &["dimension"]);
}
