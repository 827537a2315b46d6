//! Whole kernels, large enough that the interpreter's speed is felt.

use shoal_interp::{Arg, Memory};

use crate::support::{alloc_f32, launch, read_f32};

/// One 64 x 64 block of a 128 x 128 product for each program, in steps of 32 along `k`.
pub(crate) const MATMUL: &str = "kernel @k(%a: ptr<f32>, %b: ptr<f32>, %c: ptr<f32>) {
    %px = program_id {axis = 0} () : i32
    %py = program_id {axis = 1} () : i32
    %size = const {value = 64} () : i32
    %row0 = mul (%py, %size) : i32
    %col0 = mul (%px, %size) : i32
    %i64 = iota {start = 0} () : tile<64xi32>
    %i32 = iota {start = 0} () : tile<32xi32>
    %row0s = splat (%row0) : tile<64xi32>
    %rows = add (%row0s, %i64) : tile<64xi32>
    %col0s = splat (%col0) : tile<64xi32>
    %cols = add (%col0s, %i64) : tile<64xi32>
    %n = const {value = 128} () : tile<64x1xi32>
    %nk = const {value = 128} () : tile<32x1xi32>
    %row_column = reshape (%rows) : tile<64x1xi32>
    %row_offset = mul (%row_column, %n) : tile<64x1xi32>
    %col_row = reshape (%cols) : tile<1x64xi32>
    %k_row = reshape (%i32) : tile<1x32xi32>
    %k_column = reshape (%i32) : tile<32x1xi32>
    %zero = const {value = 0} () : i32
    %end = const {value = 128} () : i32
    %step = const {value = 32} () : i32
    %acc0 = const {value = 0.0} () : tile<64x64xf32>
    %acc = for (%zero, %end, %step, %acc0) : tile<64x64xf32> do (%k0: i32, %sum: tile<64x64xf32>) {
        %k0r = splat (%k0) : tile<1x32xi32>
        %kr = add (%k0r, %k_row) : tile<1x32xi32>
        %ar = broadcast (%row_offset) : tile<64x32xi32>
        %ak = broadcast (%kr) : tile<64x32xi32>
        %ao = add (%ar, %ak) : tile<64x32xi32>
        %as = splat (%a) : tile<64x32xptr<f32>>
        %ap = ptr_add (%as, %ao) : tile<64x32xptr<f32>>
        %at = load (%ap) : tile<64x32xf32>
        %k0c = splat (%k0) : tile<32x1xi32>
        %kc = add (%k0c, %k_column) : tile<32x1xi32>
        %kn = mul (%kc, %nk) : tile<32x1xi32>
        %bk = broadcast (%kn) : tile<32x64xi32>
        %bc = broadcast (%col_row) : tile<32x64xi32>
        %bo = add (%bk, %bc) : tile<32x64xi32>
        %bs = splat (%b) : tile<32x64xptr<f32>>
        %bp = ptr_add (%bs, %bo) : tile<32x64xptr<f32>>
        %bt = load (%bp) : tile<32x64xf32>
        %next = dot {precision = ieee} (%at, %bt, %sum) : tile<64x64xf32>
        yield (%next)
    }
    %cr = broadcast (%row_offset) : tile<64x64xi32>
    %cc = broadcast (%col_row) : tile<64x64xi32>
    %co = add (%cr, %cc) : tile<64x64xi32>
    %cs = splat (%c) : tile<64x64xptr<f32>>
    %cp = ptr_add (%cs, %co) : tile<64x64xptr<f32>>
    store (%cp, %acc)
    return ()
}";

#[test]
fn blocked_matmul_is_the_plain_sum_in_order() {
    const N: usize = 128;
    let mut memory = Memory::new();
    let x: Vec<f32> = (0..N * N).map(|i| (i % 97) as f32 / 97.0 - 0.5).collect();
    let y: Vec<f32> = (0..N * N).map(|i| (i % 89) as f32 / 89.0 - 0.5).collect();
    let (a, b, c) = (alloc_f32(&mut memory, &x), alloc_f32(&mut memory, &y), memory.alloc(4 * N * N));
    let args = [a, b, c].map(Arg::Pointer);
    launch(MATMUL, [2, 2, 1], &args, &mut memory).unwrap();
    let expected: Vec<f32> =
        (0..N * N).map(|o| (0..N).fold(0.0f32, |sum, k| x[o / N * N + k].mul_add(y[k * N + o % N], sum))).collect();
    assert_eq!(read_f32(&memory, c), expected);
}

/// Softmax of a row for each program: two reductions, an exponential, a division.
pub(crate) const SOFTMAX: &str = "kernel @k(%x: ptr<f32>) {
    %pid = program_id {axis = 0} () : i32
    %size = const {value = 1024} () : i32
    %start = mul (%pid, %size) : i32
    %row = ptr_add (%x, %start) : ptr<f32>
    %i = iota {start = 0} () : tile<1024xi32>
    %rs = splat (%row) : tile<1024xptr<f32>>
    %p = ptr_add (%rs, %i) : tile<1024xptr<f32>>
    %v = load (%p) : tile<1024xf32>
    %m = reduce {axis = 0} (%v) : f32 do (%a: f32, %b: f32) {
        %w = max (%a, %b) : f32
        yield (%w)
    }
    %ms = splat (%m) : tile<1024xf32>
    %d = sub (%v, %ms) : tile<1024xf32>
    %e = math {fn = exp} (%d) : tile<1024xf32>
    %s = reduce {axis = 0} (%e) : f32 do (%a2: f32, %b2: f32) {
        %w2 = add (%a2, %b2) : f32
        yield (%w2)
    }
    %ss = splat (%s) : tile<1024xf32>
    %r = div (%e, %ss) : tile<1024xf32>
    store (%p, %r)
    return ()
}";

#[test]
fn softmax_rows_sum_to_one() {
    const ROWS: usize = 100;
    let mut memory = Memory::new();
    let x = alloc_f32(&mut memory, &(0..ROWS * 1024).map(|i| (i % 113) as f32 / 10.0).collect::<Vec<_>>());
    launch(SOFTMAX, [ROWS as u32, 1, 1], &[Arg::Pointer(x)], &mut memory).unwrap();
    for row in read_f32(&memory, x).chunks(1024) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        assert!(row.iter().all(|&v| v > 0.0));
    }
}
