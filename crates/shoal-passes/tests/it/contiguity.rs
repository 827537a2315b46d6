//! What the contiguity analysis finds, and whether it holds.

use shoal_ir::{Elem, Scalar, Type};
use shoal_passes::contiguity::{AxisInfo, analyze};

use crate::text;

/// Whether what is known of a tile is true of these elements.
pub(crate) fn holds(info: &AxisInfo, ty: &Type, elements: &[u64]) -> Result<(), String> {
    let Some(elem) = ty.elem() else { return Ok(()) };
    if elem.scalar().is_some_and(Scalar::is_float) {
        return Ok(());
    }
    let stride = elem.ptr().map_or(1, |p| i128::from(p.element().bytes()));
    let signed = |bits: u64| match elem {
        Elem::Scalar(s) => shoal_ir::Const::from_bits(s, bits).as_int().unwrap_or(0),
        Elem::Ptr(_) => i128::from(bits),
    };
    let numbers: Vec<i128> = elements.iter().map(|&bits| signed(bits)).collect();
    if info.non_negative && numbers.iter().any(|&n| n < 0) {
        return Err("a number is negative".to_owned());
    }
    let shape: Vec<usize> =
        if ty.shape().is_empty() { vec![1] } else { ty.shape().iter().map(|&d| d as usize).collect() };
    for dim in 0..shape.len() {
        let inner: usize = shape[dim + 1..].iter().product();
        for (flat, &n) in numbers.iter().enumerate() {
            let index = flat / inner % shape[dim];
            let start_of = |run: u64| numbers[flat - index % run as usize * inner];
            let contiguity = info.contiguity[dim];
            let first = start_of(contiguity);
            if n - first != (index as i128 % i128::from(contiguity)) * stride {
                return Err(format!("dimension {dim} is not contiguous at {index}"));
            }
            if first % i128::from(info.divisibility[dim]) != 0 {
                return Err(format!("dimension {dim} is not divisible at {index}"));
            }
            if n != start_of(info.constancy[dim]) {
                return Err(format!("dimension {dim} is not constant at {index}"));
            }
        }
    }
    Ok(())
}

/// What is known of the operand of the only store.
fn of_stored_pointer(source: &str) -> AxisInfo {
    let module = text::module(source);
    let func = &module.funcs[0];
    let infos = analyze(func);
    let store = func.walk().into_iter().find(|&op| matches!(func.op(op).kind, shoal_ir::OpKind::Store { .. }));
    infos.info(func.op(store.expect("a store")).operands()[0]).clone()
}

#[test]
fn a_block_of_a_vector_is_one_run() {
    let info = of_stored_pointer(
        "kernel @k(%p: ptr<f32> {divisible = [16]}, %v: f32) {
           %pid = program_id {axis = 0} () : i32
           %c = const {value = 128} () : i32
           %start = mul (%pid, %c) : i32
           %iota = iota {start = 0} () : tile<128xi32>
           %starts = splat (%start) : tile<128xi32>
           %offsets = add (%starts, %iota) : tile<128xi32>
           %ps = splat (%p) : tile<128xptr<f32>>
           %q = ptr_add (%ps, %offsets) : tile<128xptr<f32>>
           %vs = splat (%v) : tile<128xf32>
           store (%q, %vs)
           return ()
         }",
    );
    assert_eq!((info.contiguity[0], info.divisibility[0]), (128, 16));
}

#[test]
fn wrapped_rows_of_a_matrix_keep_runs_as_long_as_what_divides_its_width() {
    let info = of_stored_pointer(
        "kernel @k(%p: ptr<bf16> {divisible = [16]}, %n: i32 {divisible = [16]}, %v: bf16) {
           %pid = program_id {axis = 0} () : i32
           %c = const {value = 64} () : i32
           %start = mul (%pid, %c) : i32
           %iota = iota {start = 0} () : tile<64xi32>
           %starts = splat (%start) : tile<64xi32>
           %sum = add (%starts, %iota) : tile<64xi32>
           %ns = splat (%n) : tile<64xi32>
           %columns = rem (%sum, %ns) : tile<64xi32>
           %row = reshape (%columns) : tile<1x64xi32>
           %all = broadcast (%row) : tile<4x64xi32>
           %ps = splat (%p) : tile<4x64xptr<bf16>>
           %q = ptr_add (%ps, %all) : tile<4x64xptr<bf16>>
           %vs = splat (%v) : tile<4x64xbf16>
           store (%q, %vs)
           return ()
         }",
    );
    assert_eq!(info.contiguity.as_slice(), [1, 16]);
    assert_eq!(info.constancy.as_slice(), [4, 1]);
    assert_eq!(info.divisibility[1], 16);
}

#[test]
fn a_carried_pointer_keeps_what_every_step_keeps() {
    let info = of_stored_pointer(
        "kernel @k(%p: ptr<f32> {divisible = [16]}, %n: i32, %v: f32) {
           %zero = const {value = 0} () : i32
           %one = const {value = 1} () : i32
           %iota = iota {start = 0} () : tile<32xi32>
           %ps = splat (%p) : tile<32xptr<f32>>
           %q = ptr_add (%ps, %iota) : tile<32xptr<f32>>
           %vs = splat (%v) : tile<32xf32>
           %step = const {value = 2} () : tile<32xi32>
           %r = for (%zero, %n, %one, %q) : tile<32xptr<f32>> do (%i: i32, %x: tile<32xptr<f32>>) {
             store (%x, %vs)
             %y = ptr_add (%x, %step) : tile<32xptr<f32>>
             yield (%y)
           }
           return ()
         }",
    );
    assert_eq!((info.contiguity[0], info.divisibility[0]), (32, 8));
}
