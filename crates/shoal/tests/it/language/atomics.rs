//! Reference 1.5: atomic operations.

use half::{bf16, f16};
use shoal::{Args, args};

use super::harness::{BACKENDS, case, integers};

/// Eight programs update eight counters each; old values are not looked at.
fn counted<T: shoal::Element + PartialEq>(op: &str, initial: &[T], expected: &[T]) {
    let body = format!("    i = tl.arange(0, 8)\n    p = tl.program_id(0)\n    {op}\n");
    case("out", &body).grid(8, 1, 1).updates(Args::new(), initial, expected);
}

#[test]
fn sums_of_many_programs() {
    counted("tl.atomic_add(out + i, i + p)", &[0i32; 8], &[28, 36, 44, 52, 60, 68, 76, 84]);
    counted(
        "tl.atomic_add(out + i, (i + p).to(tl.int64))",
        &[1i64 << 40; 8],
        &[28i64, 36, 44, 52, 60, 68, 76, 84].map(|v| v + (1 << 40)),
    );
    counted("tl.atomic_add(out + i, i + p)", &[0u32; 8], &[28, 36, 44, 52, 60, 68, 76, 84]);
    counted("tl.atomic_add(out + i, 0.5)", &[1.0f32; 8], &[5.0; 8]);
    counted("tl.atomic_add(out + i, 0.5)", &[1.0f64; 8], &[5.0; 8]);
    counted("tl.atomic_add(out + i, 0.5)", &[f16::ONE; 8], &[f16::from_f32(5.0); 8]);
    counted("tl.atomic_add(out + i, 0.5)", &[bf16::ONE; 8], &[bf16::from_f32(5.0); 8]);
    // All elements of a tile may meet at one place.
    counted("tl.atomic_add(out + i * 0, 1)", &[0i32; 1], &[64]);
    counted("tl.atomic_add(out + i, 1, mask=i < 3)", &[0i32; 4], &[8, 8, 8, 0]);
    counted("tl.atomic_add(out, 1, mask=p < 3)", &[0i32; 1], &[3]);
    counted("(out + i).atomic_add(i)", &[0i32; 8], &[0, 8, 16, 24, 32, 40, 48, 56]);
}

#[test]
fn greatest_and_least() {
    counted("tl.atomic_max(out + i, i * p - 20)", &[-5i32; 8], &[-5, -5, -5, 1, 8, 15, 22, 29]);
    counted("tl.atomic_min(out + i, i * p - 20)", &[-5i32; 8], &[-20; 8]);
    counted("tl.atomic_max(out + i, (i * p).to(tl.uint32))", &[10u32; 8], &[10, 10, 14, 21, 28, 35, 42, 49]);
    counted("tl.atomic_min(out + i, (i - p).to(tl.int64))", &[0i64; 8], &[-7, -6, -5, -4, -3, -2, -1, 0]);
    counted("tl.atomic_max(out + i, i * 0.5 - p)", &[-2.0f32; 8], &[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]);
    counted(
        "tl.atomic_min(out + i, i * 0.5 - p)",
        &[f32::INFINITY; 8],
        &[-7.0, -6.5, -6.0, -5.5, -5.0, -4.5, -4.0, -3.5],
    );
    counted(
        "tl.atomic_max(out + i, (i * 0.5 - p).to(tl.float64))",
        &[-2.0f64; 8],
        &[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5],
    );
}

#[test]
fn bits() {
    counted("tl.atomic_or(out + i, 1 << p)", &[0x100i32; 8], &[0x1ff; 8]);
    counted("tl.atomic_and(out + i, ~(1 << p))", &[0x1ffi32; 8], &[0x100; 8]);
    counted("tl.atomic_xor(out + i, (1 << p) | 1)", &[0i32; 8], &[0xfe; 8]);
    counted("tl.atomic_xor(out + i, (i.to(tl.int64) << p))", &[0i64; 8], &[0, 255, 510, 257, 1020, 771, 514, 765]);
}

#[test]
fn old_values_are_a_permutation() {
    let body = "
    ticket = tl.atomic_add(out, 1)
    tl.store(out + 1 + ticket, tl.program_id(0))
";
    for backend in BACKENDS {
        let found = case("out", body).grid(16, 1, 1).run(backend, &args!(), &[0i32], 17).unwrap();
        let mut programs = found[1..].to_vec();
        programs.sort_unstable();
        assert_eq!(found[0], 16, "{backend:?}");
        assert_eq!(programs, (0..16).collect::<Vec<_>>(), "{backend:?}");
    }
    let one = "
    i = tl.arange(0, 4)
    tl.store(out + 4 + i, tl.atomic_add(out + i, 10))
    tl.store(out + 8 + i, tl.atomic_xchg(out + i, i))
    tl.store(out + 12 + i, tl.atomic_max(out + i, 2))
    tl.store(out + 16 + i, tl.atomic_cas(out + i, 2, 9))
";
    let expected = [9, 9, 9, 3, 1, 2, 3, 4, 11, 12, 13, 14, 0, 1, 2, 3, 2, 2, 2, 3];
    case("out", one).updates(args!(), &[1, 2, 3, 4], &expected);
}

#[test]
fn compare_and_swap() {
    let body = "
    old = tl.atomic_cas(out, 5, 7)
    tl.store(out + 1, old)
    tl.store(out + 2, tl.atomic_cas(out, cmp=5, val=9))
";
    case("out", body).updates(args!(), &[5i32], &[7, 5, 7]);
    case("out", body).updates(args!(), &[5i64], &[7, 5, 7]);
    case("out", body).updates(args!(), &[6u64], &[6, 6, 6]);
    case("out", body).updates(args!(), &[5i16], &[7, 5, 7]);
    // A lock that programs take in turn.
    let lock = "
    while tl.atomic_cas(out, 0, 1) == 1:
        pass
    tl.store(out + 1, tl.load(out + 1) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(out, 0)
";
    case("out", lock).grid(12, 1, 1).updates(args!(), &[0, 0], &[0, 12]);
}

#[test]
fn orders_and_scopes() {
    let mut body = String::new();
    for sem in ["relaxed", "acquire", "release", "acq_rel"] {
        for scope in ["cta", "gpu", "sys"] {
            body.push_str(&format!("    tl.atomic_add(out, 1, sem='{sem}', scope='{scope}')\n"));
        }
    }
    case("out", &body).updates(args!(), &[0], &[12]);
    case("out", "    tl.atomic_add(out, 1, sem='seq_cst')").refused(args!(), &["seq_cst", "acq_rel"]);
    case("out", "    tl.atomic_add(out, 1, scope='grid')").refused(args!(), &["grid", "gpu"]);
}

#[test]
fn atomic_loads_and_stores() {
    let body = "
    i = tl.arange(0, 4)
    v = tl.atomic_load(out + i, sem='acquire')
    tl.atomic_store(out + 4 + i, v * 2, sem='release', scope='gpu')
    tl.atomic_store(out + 8, tl.atomic_load(out + 1) + 1)
    tl.atomic_store(out + 9 + i, i, mask=i < 2)
";
    case("out", body).updates(args!(), &[1, 2, 3, 4], &[1, 2, 3, 4, 2, 4, 6, 8, 3, 0, 1, -1, -1]);
}

#[test]
fn waiting_for_another_program() {
    // The first program waits for a flag that the last one sets, whatever the order in which they start.
    let body = "
    p = tl.program_id(0)
    if p == 0:
        ready = tl.atomic_poll(out, 3, sem='acquire', scope='gpu')
        tl.store(out + 1, tl.load(out + 2) + 1)
    if p == 7:
        tl.store(out + 2, 41)
        tl.atomic_xchg(out, 3, sem='release')
";
    case("out", body).grid(8, 1, 1).updates(args!(), &[0], &[3, 42, 41]);
    let spin = "
    p = tl.program_id(0)
    if p == 0:
        while tl.atomic_add(out, 0, sem='acquire') < 7:
            pass
        tl.store(out + 1, 1)
    else:
        tl.atomic_add(out, 1)
";
    case("out", spin).grid(8, 1, 1).updates(args!(), &[0], &[7, 1]);
}

#[test]
fn a_histogram_by_atomics() {
    let x: Vec<i32> = integers(256, 3).into_iter().map(|v| v & 15).collect();
    let body = "
    v = tl.load(x + tl.program_id(0) * 64 + tl.arange(0, 64))
    tl.atomic_add(out + v, 1, sem='relaxed')
";
    let mut expected = [0; 16];
    x.iter().for_each(|&v| expected[v as usize] += 1);
    case("x, out", body).grid(4, 1, 1).updates(args!(&x), &[0; 16], &expected);
}

#[test]
fn wrong_atomics() {
    let wrong = |statement: &str, memory: &str, words: &[&str]| {
        let body = format!("    p = out.to(tl.pointer_type(tl.{memory}))\n    {statement}");
        let mut words = words.to_vec();
        words.push("kernel.py:10");
        case("out", &body).refused(args!(), &words);
    };
    wrong("tl.atomic_add(p, 1)", "int8", &["i8"]);
    wrong("tl.atomic_add(p, 1)", "int16", &["i16"]);
    wrong("tl.atomic_max(p, 1.0)", "float16", &["fp16"]);
    wrong("tl.atomic_max(p, 1.0)", "bfloat16", &["bf16"]);
    wrong("tl.atomic_xor(p, 1)", "float32", &["fp32"]);
    wrong("tl.atomic_cas(p, 1, 2)", "int8", &["i8"]);
    wrong("tl.atomic_add(3, 1)", "int32", &["pointer"]);
}
