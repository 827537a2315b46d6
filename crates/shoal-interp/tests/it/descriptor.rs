use shoal_interp::{Arg, Error, Memory};

use crate::support::{alloc_f32, int, launch, read_f32};

/// Copies the block at (%r, %c) of a tensor made in the kernel, through one passed in.
pub(crate) const COPY: &str = "kernel @k(%x: ptr<f32>, %d: desc<2x4xf32>, %r: i32, %c: i32) {
    %rows = const {value = 3} () : i32
    %columns = const {value = 5} () : i32
    %row = const {value = 5} () : i64
    %one = const {value = 1} () : i64
    %s = make_desc (%x, %rows, %columns, %row, %one) : desc<2x4xf32, nan>
    %t = desc_load (%s, %r, %c) : tile<2x4xf32>
    %zero = const {value = 0} () : i32
    desc_store (%d, %t, %zero, %zero)
    return ()
}";

fn copy(row: i64, column: i64, shape: [i64; 2]) -> (Result<shoal_interp::Report, Error>, Vec<f32>) {
    let mut memory = Memory::new();
    let x = alloc_f32(&mut memory, &(0..15).map(|i| i as f32).collect::<Vec<_>>());
    let y = alloc_f32(&mut memory, &[-1.0; 8]);
    let desc = Arg::Desc { base: y, shape: shape.to_vec(), strides: vec![4, 1] };
    let result = launch(COPY, [1, 1, 1], &[Arg::Pointer(x), desc, int(row), int(column)], &mut memory);
    let out = read_f32(&memory, y);
    (result, out)
}

#[test]
fn blocks_inside_are_read_and_written() {
    let (result, out) = copy(1, 1, [2, 4]);
    result.unwrap();
    assert_eq!(out, [6.0, 7.0, 8.0, 9.0, 11.0, 12.0, 13.0, 14.0]);
}

#[test]
fn edges_pad_reads_and_drop_writes() {
    let (result, out) = copy(2, 3, [2, 3]);
    result.unwrap();
    assert_eq!(out[..2], [13.0, 14.0]);
    assert!(out[2].is_nan(), "beyond the last column");
    assert_eq!(out[3], -1.0, "the target has three columns");
    assert!(out[4..7].iter().all(|v| v.is_nan()), "beyond the last row");
    let (result, out) = copy(-1, -2, [2, 4]);
    result.unwrap();
    assert!(out[..6].iter().all(|v| v.is_nan()), "negative offsets are outside as well");
    assert_eq!(out[6..], [0.0, 1.0]);
}

#[test]
fn a_descriptor_larger_than_its_memory_is_caught() {
    let mut memory = Memory::new();
    let x = alloc_f32(&mut memory, &[0.0; 15]);
    let y = alloc_f32(&mut memory, &[0.0; 4]);
    let desc = Arg::Desc { base: y, shape: vec![2, 4], strides: vec![4, 1] };
    let error = launch(COPY, [1, 1, 1], &[Arg::Pointer(x), desc, int(0), int(0)], &mut memory).unwrap_err();
    let Error::OutOfBounds { element, .. } = &error else { panic!("{error}") };
    assert_eq!(element.as_slice(), [1, 0]);
}

#[test]
fn a_descriptor_knows_the_extents_of_its_tensor() {
    let source = "kernel @k(%d: desc<2x4xf32>, %s: ptr<i32>, %l: ptr<i64>) {
        %n = desc_size {dim = 1} (%d) : i32
        %r = desc_stride {dim = 0} (%d) : i64
        store (%s, %n)
        store (%l, %r)
        return ()
    }";
    let mut memory = Memory::new();
    let x = alloc_f32(&mut memory, &[0.0; 40]);
    let (size, stride) = (memory.alloc_from(&[0; 4]), memory.alloc_from(&[0; 8]));
    let desc = Arg::Desc { base: x, shape: vec![2, 7], strides: vec![11, 1] };
    launch(source, [1, 1, 1], &[desc, Arg::Pointer(size), Arg::Pointer(stride)], &mut memory).unwrap();
    assert_eq!(memory.bytes(size).unwrap(), 7i32.to_le_bytes());
    assert_eq!(memory.bytes(stride).unwrap(), 11i64.to_le_bytes());
}
