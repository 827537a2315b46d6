//! Reference 1.4: tensor descriptors, made in the kernel and on the host.

use half::f16;
use shoal::{Access, DType, Memory, Tensor, TensorDescriptor, args};

use super::harness::{BACKENDS, case, floats};

/// A block of a row-major matrix, with something else beyond its edges.
fn block(x: &[f32], [rows, columns]: [i64; 2], at: [i64; 2], [height, width]: [i64; 2], beyond: f32) -> Vec<f32> {
    let mut all = Vec::new();
    for r in at[0]..at[0] + height {
        for c in at[1]..at[1] + width {
            let inside = (0..rows).contains(&r) && (0..columns).contains(&c);
            all.push(if inside { x[(r * columns + c) as usize] } else { beyond });
        }
    }
    all
}

#[test]
fn made_in_the_kernel() {
    let x = floats(20 * 12, 1);
    let body = "
    d = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[8, 4])
    at = tl.arange(0, 8)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + at, d.load([r, c]))
";
    for at in [[0, 0], [4, 8], [16, 9], [-3, -2], [100, 0], [19, 11]] {
        let expected = block(&x, [20, 12], at, [8, 4], 0.0);
        case("x, rows, columns, r, c, out", body).gives(args!(&x, 20, 12, at[0], at[1]), &expected);
    }
}

#[test]
fn padding_with_nan() {
    let x = floats(6 * 8, 2);
    let body = "
    d = tl.make_tensor_descriptor(x, [6, 8], [8, 1], [8, 4], padding_option='nan')
    at = tl.arange(0, 8)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + at, tl.load_tensor_descriptor(d, [2, 6]))
";
    case("x, out", body).gives(args!(&x), &block(&x, [6, 8], [2, 6], [8, 4], f32::NAN));
}

#[test]
fn stores_stay_inside() {
    let body = "
    d = tl.make_tensor_descriptor(out, [rows, 8], [8, 1], [4, 8])
    v = tl.arange(0, 32).reshape(4, 8)
    d.store([rows - 2, 4], v)
    tl.store_tensor_descriptor(d, [-3, -4], v + 100)
";
    let mut expected = vec![-1i32; 48];
    for r in 0..2 {
        for c in 0..4 {
            expected[(4 + r) * 8 + 4 + c] = (r * 8 + c) as i32;
        }
    }
    expected[..4].copy_from_slice(&[128, 129, 130, 131]);
    case("rows, out", body).gives(args!(6), &expected);
}

#[test]
fn from_one_to_five_dimensions() {
    let x: Vec<i32> = (0..256).collect();
    let one = "
    d = tl.make_tensor_descriptor(x, [100], [1], [16])
    tl.store(out + tl.arange(0, 16), d.load([90]))
";
    let expected: Vec<i32> = (90..106).map(|v| if v < 100 { v } else { 0 }).collect();
    case("x, out", one).gives(args!(&x), &expected);
    let three = "
    d = tl.make_tensor_descriptor(x, [3, 5, 8], [64, 8, 1], [2, 2, 4])
    tl.store(out + tl.arange(0, 16), d.load([2, 4, 4]).reshape(16))
";
    let expected: Vec<i32> = (0..16).map(|at| if at < 4 { 2 * 64 + 4 * 8 + 4 + at } else { 0 }).collect();
    case("x, out", three).gives(args!(&x), &expected);
    let five = "
    d = tl.make_tensor_descriptor(x, [2, 2, 2, 4, 8], [128, 64, 32, 8, 1], [1, 2, 1, 2, 4])
    tl.store(out + tl.arange(0, 16), d.load([1, 0, 1, 2, 4]).reshape(16))
";
    let element = |at: i32| 128 + at / 8 * 64 + 32 + (2 + at / 4 % 2) * 8 + 4 + at % 4;
    case("x, out", five).gives(args!(&x), &(0..16).map(element).collect::<Vec<_>>());
}

#[test]
fn attributes_and_implicit_casts() {
    let x = floats(64, 3);
    let body = "
    d = tl.make_tensor_descriptor(x, [8, n], [n, 1], [4, 8])
    o = tl.make_tensor_descriptor(out, [4, 8], [8, 1], [4, 8])
    tl.static_assert(d.dtype == tl.float32)
    tl.static_assert(d.block_shape[0] == 4 and d.block_shape[1] == 8)
    o.store([0, 0], d.load([d.shape[0].to(tl.int32) - 4, 0]) * 2)
";
    let expected: Vec<f16> = x[32..].iter().map(|v| f16::from_f32(v * 2.0)).collect();
    case("x, n, out", body).gives(args!(&x, 8), &expected);
}

#[test]
fn made_on_the_host() {
    let values = floats(10 * 6, 4);
    let x = Tensor::from_slice(&values).unwrap().reshaped(&[10, 6]).unwrap();
    let body = "
    r = tl.program_id(0) * 4
    v = d.load([r, 2])
    tl.static_assert(v.shape == (4, 4))
    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + tl.program_id(0) * 16 + at, v)
";
    let zero = TensorDescriptor::of(&x, &[4, 4]).unwrap();
    let nan = TensorDescriptor::of(&x, &[4, 4]).unwrap().padded_with_nan();
    let expected = |beyond| [0, 4, 8].map(|r| block(&values, [10, 6], [r, 2], [4, 4], beyond)).concat();
    case("d, out", body).grid(3, 1, 1).gives(args!(&zero), &expected(0.0));
    case("d, out", body).grid(3, 1, 1).gives(args!(&nan), &expected(f32::NAN));
    for backend in BACKENDS {
        let target = Tensor::poisoned(shoal::DType::F32, &[4, 5]).unwrap();
        let d = TensorDescriptor::new(&target, &[4, 3], &[5, 1], &[4, 4]).unwrap();
        case("d, out", "    d.store([1, 0], tl.full([4, 4], 3.0, tl.float32))")
            .run::<i8>(backend, &args!(&d), &[], 1)
            .unwrap();
        let written: Vec<bool> = target.as_slice::<f32>().unwrap().iter().map(|v| *v == 3.0).collect();
        let expected: Vec<bool> = (0..20).map(|at| at / 5 > 0 && at % 5 < 3).collect();
        assert_eq!(written, expected, "{backend:?}");
    }
}

#[test]
fn extents_of_a_descriptor_made_on_the_host() {
    let x = Tensor::from_slice(&floats(80, 5)).unwrap();
    let wide = TensorDescriptor::new(&x, &[3, 2, 6], &[24, 8, 1], &[1, 2, 4]).unwrap();
    let body = "
    for i in tl.static_range(3):
        tl.store(out + i, d.shape[i])
        tl.store(out + 3 + i, d.strides[i])
";
    case("d, out", body).gives(args!(&wide), &[3i64, 2, 6, 24, 8, 1]);
    // Which descriptor it is turns out in the branch, and its extents come along.
    let chosen = "
    e = tl.make_tensor_descriptor(x, [n, 5, 7], [64, 16, 1], [1, 2, 4])
    c = d
    for i in range(n):
        if i == 1:
            c = e
    tl.store(out, c.shape[0])
    tl.store(out + 1, c.shape[2])
    tl.store(out + 2, c.strides[1])
    tl.store(out + 3, c.strides[2])
";
    case("d, x, n, out", chosen).gives(args!(&wide, &x, 1), &[3i64, 6, 8, 1]);
    case("d, x, n, out", chosen).gives(args!(&wide, &x, 4), &[4i64, 7, 16, 1]);
}

#[test]
fn descriptors_in_loops_and_calls() {
    let helpers = "
@shoal.jit
def row_sum(d, r):
    return tl.sum(d.load([r, 0]))
";
    let body = "
    d = tl.make_tensor_descriptor(x, [8, 16], [16, 1], [1, 16])
    total = 0.0
    for r in range(n):
        total += row_sum(d, r)
    tl.store(out, total)
";
    let x: Vec<f32> = (0..128).map(|v| v as f32).collect();
    super::harness::with(helpers, "x, n, out", body).gives(args!(&x, 5), &[(0..80).sum::<i32>() as f32]);
}

#[test]
fn wrong_descriptors() {
    let x = [0.0f32; 64];
    let wrong = |statement: &str, words: &[&str]| {
        let body = format!("    d = tl.make_tensor_descriptor(x, [8, 8], [8, 1], [4, 8])\n    y = {statement}");
        case("x, n, out", &body).refused(args!(&x[..], 3), words);
    };
    wrong("tl.make_tensor_descriptor(x, [8, 8], [1, 8], [4, 8])", &["stride"]);
    wrong("tl.make_tensor_descriptor(x, [8, 8], [8, 1], [4])", &["1", "2"]);
    wrong("tl.make_tensor_descriptor(x, [8, 8], [8, 1], [3, 8])", &["power of two"]);
    wrong("tl.make_tensor_descriptor(x, [8, 8], [8, 1], [4, 2])", &["16"]);
    wrong("tl.make_tensor_descriptor(x, [8, 8], [8, 1], [4, 8], padding_option='one')", &["one"]);
    let constant = "
    d = tl.make_tensor_descriptor(x, [8, 8], [8, 1], [4, 8])
    d.store([0, 0], d.load([4, 0]))
";
    case("x: tl.const, out", constant).refused(args!(&x[..]), &["tl.const", "kernel.py:10"]);
    wrong("d.load([0])", &["2"]);
    wrong("d.store([0, 0], tl.zeros([4, 4], tl.float32))", &["4"]);
    wrong("d.gather(tl.arange(0, 8), 0)", &["gather", "[1, columns]"]);
    wrong("d.scatter(tl.zeros([8, 8], tl.float32), tl.arange(0, 8), 0)", &["scatter"]);
    wrong("d.atomic_add([0, 0], tl.zeros([4, 8], tl.float32))", &["tl.const"]);
    let bytes = "
    d = tl.make_tensor_descriptor(out, [4, 16], [16, 1], [4, 16])
    d.atomic_add([0, 0], tl.zeros([4, 16], tl.int8))
";
    case("out", bytes).refused(args!(), &["atomic_add", "int8"]);
}

#[test]
fn rows_are_picked_and_put_back() {
    let x = floats(10 * 16, 7);
    let rows = [3i64, 0, 9, 9, -1, 10, 5, 1];
    let index: Vec<i32> = rows.iter().map(|&r| r as i32).collect();
    let body = "
    d = tl.make_tensor_descriptor(x, [10, 16], [16, 1], [1, 8], padding_option=PAD)
    found = d.gather(tl.load(index + tl.arange(0, 8)), 12)
    tl.store(out + tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :], found)
";
    for (pad, beyond) in [("zero", 0.0), ("nan", f32::NAN)] {
        let expected: Vec<f32> = rows.iter().flat_map(|&r| block(&x, [10, 16], [r, 12], [1, 8], beyond)).collect();
        case("x, index, out, PAD: tl.constexpr", body).gives(args!(&x, &index, PAD = pad), &expected);
    }
    let body = "
    d = tl.make_tensor_descriptor(out, [10, 16], [16, 1], [1, 8])
    v = tl.arange(0, 64).reshape(8, 8)
    d.scatter(v, tl.load(index + tl.arange(0, 8)).to(tl.int16), 12)
";
    let rows = [3i32, 0, 9, -2, -1, 10, 5, 1];
    let mut expected = vec![-7i32; 160];
    for (i, &r) in rows.iter().enumerate().filter(|(_, r)| (0..10).contains(*r)) {
        for c in 0..4 {
            expected[r as usize * 16 + 12 + c] = (i * 8 + c) as i32;
        }
    }
    case("index, out", body).updates(args!(&rows[..]), &[-7i32; 160], &expected);
}

#[test]
fn blocks_are_combined_atomically() {
    let with = |name: &str| {
        format!(
            "
    d = tl.make_tensor_descriptor(out, [6, 8], [8, 1], [4, 8])
    v = tl.arange(0, 32).reshape(4, 8)
    d.{name}([4, -2], v)
    d.{name}([4, -2], v)
"
        )
    };
    let initial: Vec<i32> = (0..48).map(|v| v * 5 % 37).collect();
    type Combine = fn(i32, i32) -> i32;
    let combines: [(&str, Combine); 6] = [
        ("atomic_add", |a, b| a + b),
        ("atomic_min", i32::min),
        ("atomic_max", i32::max),
        ("atomic_and", |a, b| a & b),
        ("atomic_or", |a, b| a | b),
        ("atomic_xor", |a, b| a ^ b),
    ];
    for (name, combine) in combines {
        let mut expected = initial.clone();
        for at in (0..2).flat_map(|r| (2..8).map(move |c| (r, c))) {
            let place = &mut expected[(4 + at.0) * 8 + at.1 - 2];
            let value = (at.0 * 8 + at.1) as i32;
            *place = combine(combine(*place, value), value);
        }
        case("out", &with(name)).updates(args!(), &initial, &expected);
    }
    let floats = "
    d = tl.make_tensor_descriptor(out, [8], [1], [8])
    d.atomic_add([0], tl.arange(0, 8))
";
    let expected: Vec<f32> = (0..8).map(|v| 0.5 + v as f32).collect();
    case("out", floats).grid(1, 1, 1).updates(args!(), &[0.5f32; 8], &expected);
}

#[test]
fn memory_begins_at_a_multiple_of_sixteen_bytes() {
    let bytes = vec![0u8; 256 + 16];
    let aligned = bytes.as_ptr().align_offset(16);
    let over = |at: usize| {
        let address = bytes[at..].as_ptr().addr();
        // SAFETY: 128 bytes of the vector from there on, which outlives the descriptor; no kernel writes to them.
        let memory = unsafe { Memory::from_raw(address, 128, DType::U8, Access::ReadOnly) };
        TensorDescriptor::over(memory, &[8, 16], &[16, 1], &[8, 16])
    };
    assert!(over(aligned).is_ok());
    let why = over(aligned + 4).expect_err("it is promised to kernels").to_string();
    assert!(why.contains("multiple of 16 bytes"), "{why}");
}
