//! Reference 1.9: hints, printing, assertions.

use std::sync::{Arc, Mutex};

use shoal::{Backend, LaunchOptions, PrintSink, args};

use super::harness::{BACKENDS, Case, case, with};

/// What a kernel prints on a backend, sorted: programs print in any order.
fn printed(case: &Case, backend: Backend, x: &[f32]) -> Vec<String> {
    let text = Arc::new(Mutex::new(String::new()));
    let sink = text.clone();
    let print = PrintSink::new(move |line| sink.lock().unwrap().push_str(line));
    let case = case.clone().launching(LaunchOptions { print, ..LaunchOptions::default() });
    case.run::<i8>(backend, &args!(x), &[], 1).unwrap();
    let mut lines: Vec<String> = text.lock().unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn device_print() {
    let body = "
    p = tl.program_id(0)
    tl.device_print('value', tl.load(x + p * 2 + tl.arange(0, 2)))
    print('pair: ', p, p + 255, hex=True)
    print('only text')
";
    let expected = [
        "pid (0, 0, 0) idx () pair: (operand 0) 0x00000000",
        "pid (0, 0, 0) idx () pair: (operand 1) 0x000000ff",
        "pid (0, 0, 0) idx (0) value: 1.500000",
        "pid (0, 0, 0) idx (1) value: -2.000000",
        "pid (0, 0, 0) only text",
        "pid (1, 0, 0) idx () pair: (operand 0) 0x00000001",
        "pid (1, 0, 0) idx () pair: (operand 1) 0x00000100",
        "pid (1, 0, 0) idx (0) value: nan",
        "pid (1, 0, 0) idx (1) value: 0.250000",
        "pid (1, 0, 0) only text",
    ];
    for backend in BACKENDS {
        let lines = printed(&case("x, out", body).grid(2, 1, 1), backend, &[1.5, -2.0, f32::NAN, 0.25]);
        assert_eq!(lines, expected, "{backend:?}");
    }
    case("x, out", "    tl.device_print(x)").refused(args!(3), &["prefix", "kernel.py:9"]);
}

#[test]
fn device_assert_stops_in_debug_only() {
    let body = "
    i = tl.arange(0, 4)
    v = tl.load(x + tl.program_id(0) * 4 + i)
    tl.device_assert(v > 0, 'not positive')
    tl.store(out + tl.program_id(0) * 4 + i, v)
";
    let good = [1, 2, 3, 4, 5, 6, 7, 8];
    let bad = [1, 2, 3, 4, 5, 6, -7, 8];
    case("x, out", body).grid(2, 1, 1).gives(args!(&bad[..]), &bad);
    let debug = case("x, out", body).grid(2, 1, 1).options(|o| o.debug = true);
    debug.gives(args!(&good[..]), &good);
    let line = format!("kernel.py:{}", debug.line_of("device_assert"));
    debug.refused(args!(&bad[..]), &["not positive", &line, "(1, 0, 0)"]);
}

#[test]
fn assertions_in_other_forms() {
    let debug = |body: &str| case("n, out", body).options(|o| o.debug = true);
    let plain = debug("    assert n > 2, 'too small'\n    tl.store(out, n)");
    plain.gives(args!(3), &[3]);
    plain.refused(args!(2), &["too small", "kernel.py:9"]);
    let masked =
        debug("    i = tl.arange(0, 4)\n    tl.device_assert(i < n, 'inside', mask=i < 2)\n    tl.store(out, n)");
    masked.gives(args!(2), &[2]);
    masked.refused(args!(0), &["inside"]);
    let called = with(
        "@shoal.jit\ndef check(n):\n    tl.device_assert(n > 2, 'in a callee')\n    return n\n",
        "n, out",
        "    tl.store(out, check(n))",
    )
    .options(|o| o.debug = true);
    called.gives(args!(3), &[3]);
    called.refused(args!(2), &["in a callee"]);
}

#[test]
fn assertions_at_compile_time() {
    let body = "
    tl.static_assert(N % 16 == 0, f'N is {N}')
    tl.static_assert(N > 0)
    tl.store(out, N)
";
    case("out, N: tl.constexpr", body).gives(args!(N = 32), &[32]);
    case("out, N: tl.constexpr", body).refused(args!(N = 33), &["N is 33", "kernel.py:9"]);
    case("n, out", "    tl.static_assert(n > 0)").refused(args!(3), &["static_assert"]);
}

#[test]
fn static_print_speaks_while_compiling() {
    let body = "
    tl.static_print('block', N, tl.float32)
    tl.store(out, N)
";
    let case = case("out, N: tl.constexpr", body);
    case.gives(args!(N = 32), &[32]);
    let out = [0i32];
    let report = case.kernel(Backend::Interpreter).unwrap().warm_up(&args!(&out[..], N = 32)).unwrap();
    let notes: Vec<String> = report.notes.iter().map(ToString::to_string).collect();
    assert!(notes.iter().any(|note| note.contains("block 32")), "{notes:?}");
}

#[test]
fn hints_change_nothing_that_is_true() {
    let body = "
    tl.assume(n > 0)
    tl.assume(n % 4 == 0)
    i = tl.multiple_of(tl.max_contiguous(tl.program_id(0) * 8 + tl.arange(0, 8), 8), 8)
    n = tl.multiple_of(n, 4)
    x = tl.max_constancy(tl.multiple_of(x, 4), 1)
    v = tl.load(x + i, mask=i < n, other=0.0)
    at = tl.max_contiguous(tl.multiple_of(i, [8]), [8])
    tl.store(out + at, v + 1)
";
    let x: Vec<f32> = (0..12).map(|v| v as f32).collect();
    let expected: Vec<f32> = (0..16).map(|v| if v < 12 { v as f32 + 1.0 } else { 1.0 }).collect();
    case("x, n, out", body).grid(2, 1, 1).gives(args!(&x, 12), &expected);
    case("n, out", "    x = tl.multiple_of(tl.arange(0, 4), [2, 2])").refused(args!(3), &["multiple_of"]);
    case("n, out", "    x = tl.multiple_of(tl.arange(0, 4), n)").refused(args!(3), &["constexpr"]);
}
