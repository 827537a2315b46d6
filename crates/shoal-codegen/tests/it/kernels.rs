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

/// `c = a @ b`, or `a @ bᵀ`, of matrices whose rows are a run-time distance apart.
fn product(b_by_rows: bool) -> String {
    // The tile of addresses of a matrix of this shape.
    let at = |first: u32, base: &str, stride: &str, rows: u32, cols: u32| {
        let n = |i: u32| format!("%{}", first + i);
        let (all, row, col) = (format!("{rows}x{cols}"), format!("{rows}x1"), format!("1x{cols}"));
        format!(
            "{} = iota {{start = 0}} () : tile<{rows}xi32>
             {} = reshape ({}) : tile<{row}xi32>
             {} = splat ({stride}) : tile<{row}xi32>
             {} = mul ({}, {}) : tile<{row}xi32>
             {} = broadcast ({}) : tile<{all}xi32>
             {} = iota {{start = 0}} () : tile<{cols}xi32> {{contiguous = [{cols}]}}
             {} = reshape ({}) : tile<{col}xi32> {{contiguous = [1, {cols}]}}
             {} = broadcast ({}) : tile<{all}xi32> {{contiguous = [1, {cols}]}}
             {} = add ({}, {}) : tile<{all}xi32> {{contiguous = [1, {cols}]}}
             {} = splat ({base}) : tile<{all}xptr<f32>>
             {} = ptr_add ({}, {}) : tile<{all}xptr<f32>> {{contiguous = [1, {cols}]}}\n",
            n(0),
            n(1),
            n(0),
            n(2),
            n(3),
            n(1),
            n(2),
            n(4),
            n(3),
            n(5),
            n(6),
            n(5),
            n(7),
            n(6),
            n(8),
            n(4),
            n(7),
            n(9),
            n(10),
            n(9),
            n(8),
        )
    };
    let (b, factor) = if b_by_rows {
        (at(20, "%1", "%4", 32, 64), "%60 = load (%30) : tile<32x64xf32>".to_owned())
    } else {
        let turned = "%61 = load (%30) : tile<64x32xf32>\n%60 = transpose {perm = [1, 0]} (%61) : tile<32x64xf32>";
        (at(20, "%1", "%4", 64, 32), turned.to_owned())
    };
    format!(
        "kernel @product(%0: ptr<f32>, %1: ptr<f32>, %2: ptr<f32>, %3: i32, %4: i32, %5: i32) {{
           {}{b}{}
           %62 = load (%16) : tile<16x32xf32>
           {factor}
           %63 = const {{value = 0.0}} () : tile<16x64xf32>
           %64 = dot {{precision = ieee}} (%62, %60, %63) : tile<16x64xf32>
           store (%50, %64)
           return ()
         }}",
        at(6, "%0", "%3", 16, 32),
        at(40, "%2", "%5", 16, 64),
    )
}

#[test]
fn products_of_matrices_where_they_lie() {
    let (m, n, k) = (16, 64, 32);
    for b_by_rows in [true, false] {
        let (b_rows, b_cols) = if b_by_rows { (k, n) } else { (n, k) };
        // Rows that follow each other, and rows that do not.
        for gap in [0, 7] {
            let (a_stride, b_stride, c_stride) = (k + gap, b_cols + gap, n + gap);
            let mut a = numbers(m * a_stride, 1);
            let mut b = numbers(b_rows * b_stride, 2);
            let mut c = vec![f32::NAN; m * c_stride];
            let [sa, sb, sc] = [a_stride, b_stride, c_stride].map(|stride| Arg::Int(stride as i32));
            let args = &mut [Arg::F32(&mut a), Arg::F32(&mut b), Arg::F32(&mut c), sa, sb, sc];
            run(&product(b_by_rows), [1, 1, 1], args);
            for row in 0..m {
                for col in 0..n {
                    let factor = |i: usize| if b_by_rows { b[i * b_stride + col] } else { b[col * b_stride + i] };
                    let sum = (0..k).fold(0.0f32, |sum, i| a[row * a_stride + i].mul_add(factor(i), sum));
                    let found = c[row * c_stride + col];
                    assert!((found - sum).abs() <= 1e-5, "{b_by_rows}, {gap}, [{row}, {col}]: {found}, not {sum}");
                }
            }
        }
    }
}

/// A loop over rows that finds the largest of each and takes it off: every row is read by two loops.
const CENTRE: &str = r"
kernel @centre(%0: ptr<f32>, %1: ptr<f32>, %2: i32, %3: i32) {
  %4 = iota {start = 0} () : tile<512xi32> {contiguous = [512]}
  %5 = const {value = 0} () : i32
  %6 = const {value = 1} () : i32
  for (%5, %2, %6) do (%7: i32) {
    %8 = mul (%7, %3) : i32
    %9 = ptr_add (%0, %8) : ptr<f32>
    %10 = splat (%9) : tile<512xptr<f32>>
    %11 = ptr_add (%10, %4) : tile<512xptr<f32>> {contiguous = [512]}
    %12 = load (%11) : tile<512xf32>
    %13 = reduce {axis = 0} (%12) : f32 do (%14: f32, %15: f32) {
      %16 = max (%14, %15) : f32
      yield (%16)
    }
    %17 = splat (%13) : tile<512xf32>
    %18 = sub (%12, %17) : tile<512xf32>
    %19 = ptr_add (%1, %8) : ptr<f32>
    %20 = splat (%19) : tile<512xptr<f32>>
    %21 = ptr_add (%20, %4) : tile<512xptr<f32>> {contiguous = [512]}
    store (%21, %18)
    yield ()
  }
  return ()
}
";

#[test]
fn rows_that_two_loops_read() {
    let (rows, cols) = (9, 512);
    let mut x = numbers(rows * cols, 3);
    let mut out = vec![f32::NAN; rows * cols];
    let sizes = [rows, cols].map(|n| n as i32);
    let args = &mut [Arg::F32(&mut x), Arg::F32(&mut out), Arg::Int(sizes[0]), Arg::Int(sizes[1])];
    run(CENTRE, [1, 1, 1], args);
    let expected: Vec<f32> = x
        .chunks(cols)
        .flat_map(|row| {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            row.iter().map(move |x| x - largest)
        })
        .collect();
    assert_eq!(out, expected);
}

const LAID_OUT: &str = r"
kernel @twice(%0: ptr<i32>) {
  %1 = iota {start = 0} () : tile<4xi32, #layout<lane=[[1],[2]], out=[4]>>
  %2 = splat (%0) : tile<4xptr<i32>, #layout<lane=[[1],[2]], out=[4]>>
  %3 = ptr_add (%2, %1) : tile<4xptr<i32>, #layout<lane=[[1],[2]], out=[4]>>
  %4 = load (%3) : tile<4xi32, #layout<lane=[[1],[2]], out=[4]>>
  %5 = convert_layout (%4) : tile<4xi32, #layout<register=[[2],[1]], out=[4]>>
  %6 = add (%5, %5) : tile<4xi32, #layout<register=[[2],[1]], out=[4]>>
  %7 = convert_layout (%6) : tile<4xi32, #layout<lane=[[1],[2]], out=[4]>>
  store (%3, %7)
  return ()
}
";

#[test]
fn layouts_mean_nothing_to_a_cpu() {
    let mut data = vec![1, 2, 3, 4];
    run(LAID_OUT, [1, 1, 1], &mut [Arg::I32(&mut data)]);
    assert_eq!(data, [2, 4, 6, 8]);
}
