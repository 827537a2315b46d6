//! Whole kernels against references.

use crate::run::{Arg, run};

fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(12345);
    let mut next = move || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

const ADD: &str = r"
kernel @add(%0: ptr<f32> {divisible = [16]}, %1: ptr<f32>, %2: ptr<f32>, %3: i32) {
  %4 = program_id {axis = 0} () : i32
  %5 = const {value = 256} () : i32
  %6 = mul (%4, %5) : i32
  %7 = splat (%6) : tile<256xi32>
  %8 = iota {start = 0} () : tile<256xi32>
  %9 = add (%7, %8) : tile<256xi32>
  %10 = splat (%3) : tile<256xi32>
  %11 = cmp {is = lt} (%9, %10) : tile<256xi1>
  %12 = splat (%0) : tile<256xptr<f32>>
  %13 = ptr_add (%12, %9) : tile<256xptr<f32>>
  %14 = load (%13, %11) : tile<256xf32>
  %15 = splat (%1) : tile<256xptr<f32>>
  %16 = ptr_add (%15, %9) : tile<256xptr<f32>>
  %17 = load (%16, %11) : tile<256xf32>
  %18 = add (%14, %17) : tile<256xf32>
  %19 = splat (%2) : tile<256xptr<f32>>
  %20 = ptr_add (%19, %9) : tile<256xptr<f32>>
  store (%20, %18, %11)
  return ()
}
";

#[test]
fn vector_add_with_a_ragged_end() {
    let (mut x, mut y) = (numbers(1000, 1), numbers(1000, 2));
    let mut out = vec![f32::NAN; 1024];
    let expected: Vec<f32> = x.iter().zip(&y).map(|(a, b)| a + b).collect();
    run(ADD, [4, 1, 1], &mut [Arg::F32(&mut x), Arg::F32(&mut y), Arg::F32(&mut out), Arg::Int(1000)]);
    assert_eq!(out[..1000], expected);
    assert!(out[1000..].iter().all(|v| v.is_nan()), "nothing is written beyond the end");
}

const ROW_SUM_MAX: &str = r"
kernel @rows(%0: ptr<f32>, %1: ptr<f32>, %2: ptr<f32>) {
  %3 = iota {start = 0} () : tile<32xi32>
  %4 = reshape (%3) : tile<32x1xi32>
  %5 = const {value = 256} () : tile<32x1xi32>
  %6 = mul (%4, %5) : tile<32x1xi32>
  %7 = iota {start = 0} () : tile<256xi32>
  %8 = reshape (%7) : tile<1x256xi32>
  %9 = broadcast (%6) : tile<32x256xi32>
  %10 = broadcast (%8) : tile<32x256xi32>
  %11 = add (%9, %10) : tile<32x256xi32>
  %12 = splat (%0) : tile<32x256xptr<f32>>
  %13 = ptr_add (%12, %11) : tile<32x256xptr<f32>>
  %14 = load (%13) : tile<32x256xf32>
  %15 = reduce {axis = 1} (%14) : tile<32xf32> do (%16: f32, %17: f32) {
    %18 = add (%16, %17) : f32
    yield (%18)
  }
  %19 = splat (%1) : tile<32xptr<f32>>
  %20 = ptr_add (%19, %3) : tile<32xptr<f32>>
  store (%20, %15)
  %21 = reduce {axis = 0} (%14) : tile<256xf32> do (%22: f32, %23: f32) {
    %24 = max (%22, %23) : f32
    yield (%24)
  }
  %25 = splat (%2) : tile<256xptr<f32>>
  %26 = ptr_add (%25, %7) : tile<256xptr<f32>>
  store (%26, %21)
  return ()
}
";

#[test]
fn reductions_along_both_axes() {
    let mut x = numbers(32 * 256, 3);
    let (mut sums, mut tops) = (vec![f32::NAN; 32], vec![f32::NAN; 256]);
    run(ROW_SUM_MAX, [1, 1, 1], &mut [Arg::F32(&mut x), Arg::F32(&mut sums), Arg::F32(&mut tops)]);
    for (row, &sum) in x.chunks(256).zip(&sums) {
        let mut lanes: Vec<f32> = row[..64].to_vec();
        for block in row[64..].chunks(64) {
            lanes.iter_mut().zip(block).for_each(|(l, v)| *l += v);
        }
        while lanes.len() > 1 {
            let high = lanes.split_off(lanes.len() / 2);
            lanes.iter_mut().zip(&high).for_each(|(l, h)| *l += h);
        }
        assert_eq!(sum, lanes[0]);
    }
    for (column, &top) in tops.iter().enumerate() {
        let expected = (0..32).map(|row| x[row * 256 + column]).fold(f32::MIN, f32::max);
        assert_eq!(top, expected);
    }
}

const MATMUL: &str = r"
kernel @matmul(%0: ptr<f32>, %1: ptr<f32>, %2: ptr<f32>, %3: i32) {
  %4 = iota {start = 0} () : tile<32xi32>
  %5 = reshape (%4) : tile<32x1xi32>
  %6 = reshape (%4) : tile<1x32xi32>
  %7 = splat (%3) : tile<32x1xi32>
  %8 = mul (%5, %7) : tile<32x1xi32>
  %9 = broadcast (%8) : tile<32x32xi32>
  %10 = broadcast (%6) : tile<32x32xi32>
  %11 = add (%9, %10) : tile<32x32xi32>
  %12 = splat (%0) : tile<32x32xptr<f32>>
  %13 = ptr_add (%12, %11) : tile<32x32xptr<f32>>
  %14 = const {value = 32} () : tile<32x1xi32>
  %15 = mul (%5, %14) : tile<32x1xi32>
  %16 = broadcast (%15) : tile<32x32xi32>
  %17 = add (%16, %10) : tile<32x32xi32>
  %18 = splat (%1) : tile<32x32xptr<f32>>
  %19 = ptr_add (%18, %17) : tile<32x32xptr<f32>>
  %20 = const {value = 0.0} () : tile<32x32xf32>
  %21 = const {value = 0} () : i32
  %22 = const {value = 32} () : i32
  %23 = for (%21, %3, %22, %20) : tile<32x32xf32> do (%24: i32, %25: tile<32x32xf32>) {
    %26 = splat (%24) : tile<32x32xi32>
    %27 = ptr_add (%13, %26) : tile<32x32xptr<f32>>
    %28 = load (%27) : tile<32x32xf32>
    %29 = mul (%24, %22) : i32
    %30 = splat (%29) : tile<32x32xi32>
    %31 = ptr_add (%19, %30) : tile<32x32xptr<f32>>
    %32 = load (%31) : tile<32x32xf32>
    %33 = dot {precision = ieee} (%28, %32, %25) : tile<32x32xf32>
    yield (%33)
  }
  %34 = splat (%2) : tile<32x32xptr<f32>>
  %35 = ptr_add (%34, %17) : tile<32x32xptr<f32>>
  store (%35, %23)
  return ()
}
";

#[test]
fn matmul_accumulates_over_a_loop() {
    let k = 96;
    let (mut a, mut b) = (numbers(32 * k, 4), numbers(k * 32, 5));
    let mut c = vec![f32::NAN; 32 * 32];
    run(MATMUL, [1, 1, 1], &mut [Arg::F32(&mut a), Arg::F32(&mut b), Arg::F32(&mut c), Arg::Int(k as i32)]);
    for m in 0..32 {
        for n in 0..32 {
            let expected = (0..k).fold(0f32, |acc, i| a[m * k + i].mul_add(b[i * 32 + n], acc));
            assert_eq!(c[m * 32 + n], expected, "[{m}, {n}]");
        }
    }
}

const SPIN_LOCK: &str = r"
kernel @count(%0: ptr<i32>, %1: ptr<i32>) {
  %2 = const {value = 0} () : i32
  %3 = const {value = 1} () : i32
  while () do () {
    %4 = atomic_cas {sem = acquire, scope = gpu} (%0, %2, %3) : i32
    %5 = cmp {is = eq} (%4, %3) : i1
    condition (%5)
  } do () {
    yield ()
  }
  %6 = load (%1) : i32
  %7 = add (%6, %3) : i32
  store (%1, %7)
  %8 = atomic_rmw {op = xchg, sem = release, scope = gpu} (%0, %2) : i32
  return ()
}
";

#[test]
fn a_spin_lock_between_programs() {
    let (mut lock, mut count) = (vec![0], vec![0]);
    run(SPIN_LOCK, [200, 1, 1], &mut [Arg::I32(&mut lock), Arg::I32(&mut count)]);
    assert_eq!((lock[0], count[0]), (0, 200));
}

const OVERLAP: &str = r"
kernel @shift(%0: ptr<i32>) {
  %1 = iota {start = 0} () : tile<128xi32>
  %2 = splat (%0) : tile<128xptr<i32>>
  %3 = ptr_add (%2, %1) : tile<128xptr<i32>>
  %4 = load (%3) : tile<128xi32>
  %5 = const {value = 1} () : tile<128xi32>
  %6 = add (%1, %5) : tile<128xi32>
  %7 = ptr_add (%2, %6) : tile<128xptr<i32>>
  store (%7, %4)
  return ()
}
";

#[test]
fn a_load_is_done_before_an_overlapping_store() {
    let mut data: Vec<i32> = (0..129).collect();
    run(OVERLAP, [1, 1, 1], &mut [Arg::I32(&mut data)]);
    let expected: Vec<i32> = std::iter::once(0).chain(0..128).collect();
    assert_eq!(data, expected);
}
