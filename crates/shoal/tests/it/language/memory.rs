//! Reference 1.4: loads and stores.

use half::{bf16, f16};
use shoal::{Args, DType, Tensor, args};

use super::harness::{case, floats, integers};

#[test]
fn masks_and_what_stands_for_the_rest() {
    let x: Vec<i32> = (10..18).collect();
    let body = "
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=-1))
    tl.store(out + 8 + i, tl.load(x + i, i % 2 == 0, 2.9))
    tl.store(out + 16 + i, i, mask=i >= n)
    tl.store(out + 24 + i, tl.load(x + i, mask=(i < n) & (i > 2), other=i))
    tl.store(out + 32 + i, tl.load(x + i, mask=n > 3, other=0))
    tl.store(out + 40 + i, tl.load(x + i, mask=n > 5, other=0))
";
    let mut expected = vec![10, 11, 12, 13, 14, -1, -1, -1];
    expected.extend([10, 2, 12, 2, 14, 2, 16, 2]);
    expected.extend([-1, -1, -1, -1, -1, 5, 6, 7]);
    expected.extend([0, 1, 2, 13, 14, 5, 6, 7]);
    expected.extend(&x);
    expected.extend([0; 8]);
    case("x, n, out", body).gives(args!(&x, 5), &expected);
}

#[test]
fn a_mask_keeps_programs_inside_their_memory() {
    let x = floats(1000, 1);
    let body = "
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
";
    let expected: Vec<f32> = x.iter().map(|v| v * 2.0).collect();
    case("x, n, out", body).grid(16, 1, 1).gives(args!(&x, 1000), &expected);
}

#[test]
fn scalars() {
    let body = "
    tl.store(out, tl.load(x) + tl.load(x + n))
    tl.store(out + 1, tl.load(x + 1, mask=n > 5, other=7.0))
    tl.store(out + 2, 1.0, mask=n > 5)
    if tl.load(x) > 0:
        tl.store(out + 2, 3)
    tl.store(out + 3 + tl.arange(0, 4), tl.load(x))
";
    case("x, n, out", body).gives(args!(&[1.5f32, 2.5, 4.0][..], 2), &[5.5f32, 7.0, 3.0, 1.5, 1.5, 1.5, 1.5]);
}

#[test]
fn places_may_be_anything() {
    let x = integers(64, 5);
    let index: Vec<i32> = integers(16, 6).into_iter().map(|v| v & 63).collect();
    let body = "
    i = tl.arange(0, 16)
    at = tl.load(index + i)
    tl.store(out + i, tl.load(x + at))
    tl.store(out + 16 + (15 - i), tl.load(x + i * 4))
    tl.store(out + 32 + i.to(tl.uint8), tl.load((x + 63) - i.to(tl.int64)))
    tl.store(out + 48 + i, tl.load(i.to(tl.int16) + x))
";
    let mut expected: Vec<i32> = index.iter().map(|&at| x[at as usize]).collect();
    expected.extend((0..16).rev().map(|i| x[i * 4]));
    expected.extend((0..16).map(|i| x[63 - i]));
    expected.extend(&x[..16]);
    case("x, index, out", body).gives(args!(&x, &index), &expected);
}

#[test]
fn two_dimensions_with_strides_of_run_time() {
    let x = floats(37 * 11, 7);
    let body = "
    r, c = tl.arange(0, 16), tl.arange(0, 8)
    at = r[:, None] * stride_r + c[None, :] * stride_c
    mask = (r < rows)[:, None] & (c < 7)[None, :]
    tl.store(out + r[:, None] * 8 + c[None, :], tl.load(x + at, mask=mask, other=0.0))
";
    let expected = |row: usize, column: usize| {
        let element = move |at: usize| (at / 8 < 13 && at % 8 < 7).then(|| at / 8 * row + at % 8 * column);
        (0..128).map(|at| element(at).map_or(0.0, |at| x[at])).collect::<Vec<f32>>()
    };
    let kernel = case("x, rows, stride_r, stride_c, out", body);
    kernel.gives(args!(&x, 13, 11, 1), &expected(11, 1));
    kernel.gives(args!(&x, 13, 1, 37), &expected(1, 37));
    kernel.gives(args!(&x, 13, 16, 2), &expected(16, 2));
    kernel.gives(args!(&x, 13, 0, 0), &expected(0, 0));
}

#[test]
fn stored_values_take_the_type_of_the_memory() {
    let body = "    tl.store(out + tl.arange(0, 4), tl.load(x + tl.arange(0, 4)))";
    let x = [1.7f32, -2.2, 100.6, 0.3];
    case("x, out", body).gives(args!(&x[..]), &[1i32, -2, 100, 0]);
    case("x, out", body).gives(args!(&x[..]), &[1i8, -2, 100, 0]);
    case("x, out", body).gives(args!(&x[..]), &x.map(f16::from_f32));
    case("x, out", body).gives(args!(&x[..]), &x.map(bf16::from_f32));
    case("x, out", body).gives(args!(&x[..]), &x.map(f64::from));
    case("x, out", body).gives(args!(&[1i64 << 33, -1, 2, 3][..]), &[0i32, -1, 2, 3]);
    case("x, out", body).gives(args!(&[255u8, 1, 2, 3][..]), &[255.0f32, 1.0, 2.0, 3.0]);
}

#[test]
fn truth_values_in_memory() {
    let mut flags = Tensor::zeros(DType::I1, &[4]).unwrap();
    flags.bytes_mut().copy_from_slice(&[1, 0, 0, 1]);
    let body = "
    i = tl.arange(0, 4)
    f = tl.load(x + i)
    tl.static_assert(f.dtype == tl.int1)
    tl.store(out + i, tl.where(f, i + 1, -i))
    tl.store(x + i, i == 2)
";
    let expected = [1, -1, -2, 4];
    for backend in super::harness::BACKENDS {
        flags.bytes_mut().copy_from_slice(&[1, 0, 0, 1]);
        let out = case("x, out", body).run::<i32>(backend, &args!(&flags), &[], 4).unwrap();
        assert_eq!(out, expected, "{backend:?}");
        assert_eq!(flags.bytes(), [0, 0, 1, 0], "{backend:?}");
    }
}

#[test]
fn hints_of_accesses_change_nothing() {
    let x = floats(8, 8);
    let loads = [
        "",
        ", cache_modifier='.ca'",
        ", cache_modifier='.cg'",
        ", cache_modifier='.cs'",
        ", cache_modifier='.cv'",
        ", eviction_policy='evict_first'",
        ", eviction_policy='evict_last'",
        ", volatile=True",
    ];
    let stores = [
        "",
        ", cache_modifier='.wb'",
        ", cache_modifier='.cg'",
        ", cache_modifier='.cs'",
        ", cache_modifier='.wt'",
        ", eviction_policy='evict_last'",
    ];
    let mut body = String::from("    i = tl.arange(0, 8)\n    v = tl.zeros([8], tl.float32)\n");
    for load in loads {
        body.push_str(&format!("    v += tl.load(x + i{load})\n"));
    }
    for (at, store) in stores.iter().enumerate() {
        body.push_str(&format!("    tl.store(out + {} + i, v{store})\n", 8 * at));
    }
    let sum: Vec<f32> = x.iter().map(|&v| (0..8).fold(0.0, |sum, _| sum + v)).collect();
    case("x, out", &body).gives(args!(&x), &sum.repeat(6));
    case("out", "    tl.store(out, 1, cache_modifier='.ca')").refused(args!(), &[".ca", "kernel.py:9"]);
    case("out", "    x = tl.load(out, cache_modifier='.wb')").refused(args!(), &[".wb"]);
    case("out", "    x = tl.load(out, eviction_policy='now')").refused(args!(), &["now"]);
}

#[test]
fn pointers_are_values() {
    let body = "
    i = tl.arange(0, 4)
    p = x.to(tl.pointer_type(tl.float32))
    tl.store(out + i, tl.load(p + i))
    address = x.to(tl.int64)
    again = (address + 4).to(tl.pointer_type(tl.float32))
    tl.store(out + 4 + i, tl.load(again + i, mask=i < 3, other=0.0))
    q = p if n > 3 else again
    tl.store(out + 8, tl.load(q))
    r = tl.where(i < 2, p + i, p)
    tl.store(out + 9 + i, tl.load(r))
    for _ in range(2):
        p += 1
    tl.store(out + 13, tl.load(p))
";
    let x = [1.0f32, 2.0, 3.0, 4.0];
    let bits = x.map(|v| v.to_bits().cast_signed());
    let expected = [1.0f32, 2.0, 3.0, 4.0, 2.0, 3.0, 4.0, 0.0, 1.0, 1.0, 2.0, 1.0, 1.0, 3.0];
    case("x, n, out", body).gives(args!(&bits[..], 5), &expected);
}

#[test]
fn a_table_of_addresses() {
    // Programs find their inputs through addresses in memory, as in grouped kernels. Only native code: the interpreter
    // has addresses of its own.
    let (a, b) = (Tensor::from_slice(&[1.0f32, 2.0]).unwrap(), Tensor::from_slice(&[30.0f32, 40.0]).unwrap());
    let table = [a.as_ptr() as u64, b.as_ptr() as u64];
    let body = "
    p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, 2)
    tl.store(out + tl.program_id(0) * 2 + i, tl.load(p + i))
";
    let kernel = case("table, out", body).grid(2, 1, 1);
    let found = kernel.run::<f32>(shoal::Backend::Cpu, &args!(&table[..]), &[], 4).unwrap();
    assert_eq!(found, [1.0, 2.0, 30.0, 40.0]);
}

#[test]
fn wrong_accesses() {
    let x = Tensor::from_slice(&[0.0f32; 16]).unwrap();
    let wrong = |statement: &str, words: &[&str]| {
        let body = format!("    i = tl.arange(0, 8)\n    {statement}");
        let mut words = words.to_vec();
        words.push("kernel.py:10");
        case("x, n, out", &body).refused(args!(&x, 3), &words);
    };
    wrong("y = tl.load(x + i, other=0.0)", &["other", "mask"]);
    wrong("y = tl.load(i)", &["pointer"]);
    wrong("y = tl.load(n)", &["pointer"]);
    wrong("tl.store(x + n, i)", &["8"]);
    wrong("tl.store(x + i, tl.zeros([4], tl.float32))", &["4", "8"]);
    wrong("y = tl.load(x + i, mask=tl.arange(0, 4) < 2)", &["4", "8"]);
    wrong("y = tl.load(x + i, mask=i)", &["mask"]);
    wrong("y = x + 1.5", &["fp32"]);
    wrong("y = x - x", &["pointer"]);
    wrong("y = x * 2", &["pointer"]);
    let constant = case("x: tl.const, out", "    tl.store(x, 1.0)");
    constant.refused(args!(&x), &["const", "kernel.py:9"]);
    case("x: tl.const, out", "    tl.store(out, tl.load(x + 1))").gives(args!(&[1.0f32, 2.0][..]), &[2.0f32]);
}

#[test]
fn stores_reach_later_loads() {
    let body = "
    i = tl.arange(0, 8)
    tl.store(out + i, i)
    tl.debug_barrier()
    v = tl.load(out + (7 - i))
    tl.debug_barrier()
    tl.store(out + i, v * 2)
    tl.debug_barrier()
    tl.store(out + 8, tl.load(out))
";
    case("out", body).gives(Args::new(), &[14, 12, 10, 8, 6, 4, 2, 0, 14]);
}

#[test]
fn accesses_happen_in_the_order_of_the_program() {
    // Each element is stored and loaded by different threads of a GPU.
    let body = "
    i = tl.arange(0, 1024)
    tl.store(out + i, i)
    tl.store(out + i, tl.load(out + 1023 - i) + tl.load(out + (i + 64) % 1024))
    for turn in range(3):
        v = tl.load(out + (i * 5 + turn) % 1024)
        tl.store(out + (i + 300) % 1024, v)
    tl.store(out + 7, tl.load(out + 900) + 1)
    tl.store(out + i, tl.load(out + 1023 - i))
";
    let mut expected: Vec<i32> = (0..1024).map(|i| 1023 - i + (i + 64) % 1024).collect();
    for turn in 0..3 {
        let loaded: Vec<i32> = (0..1024).map(|i| expected[(i * 5 + turn) % 1024]).collect();
        (0..1024).for_each(|i| expected[(i + 300) % 1024] = loaded[i]);
    }
    expected[7] = expected[900] + 1;
    expected.reverse();
    case("out", body).gives(Args::new(), &expected);
}
