//! With `debug`, native code finds accesses outside of the arguments, and says so in the interpreter's words.

use shoal::{Args, Backend, CompileOptions, Device, Kernel, Stage, args};

use crate::launches::kernel;

/// A name, a kernel `k(x, y, n)` of which `x` has 10 elements of `i32` and `y` 100, and what is wrong with it.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "a load past the end",
        "tl.store(y + tl.arange(0, 16), tl.load(x + tl.arange(0, 16)))",
        "reads 4 bytes at ADDRESS, 0 bytes past the end of `x` (40 bytes)",
    ),
    (
        "a mask that lets one lane too many through",
        "at = tl.arange(0, 16)\n    tl.store(y + at, tl.load(x + at, mask=at < n + 1))",
        "reads 4 bytes at ADDRESS, 0 bytes past the end of `x` (40 bytes)",
    ),
    ("a gather", "at = tl.arange(0, 16)\n    tl.store(y + at, tl.load(x + at * 7 % 16))", "reads 4 bytes at ADDRESS, "),
    ("a scalar load", "tl.store(y, tl.load(x - 1))", "reads 4 bytes at ADDRESS, 4 bytes before `x` (40 bytes)"),
    (
        "a store",
        "at = tl.arange(0, 8)\n    tl.store(x + tl.program_id(0) * 8 + at, at)",
        "writes 4 bytes at ADDRESS, 0 bytes past the end of `x` (40 bytes)",
    ),
    (
        "a scatter",
        "at = tl.arange(0, 8)\n    tl.store(x + at * 3, at)",
        "writes 4 bytes at ADDRESS, 8 bytes past the end of `x` (40 bytes)",
    ),
    ("a scalar store", "tl.store(x + n + 2, 1)", "writes 4 bytes at ADDRESS, 8 bytes past the end of `x` (40 bytes)"),
    (
        "an atomic",
        "tl.atomic_add(x + tl.arange(0, 16), 1)",
        "atomically accesses 4 bytes at ADDRESS, 0 bytes past the end of `x` (40 bytes)",
    ),
    (
        "a compare-and-swap",
        "tl.store(y, tl.atomic_cas(x + n * 2, 0, 1))",
        "atomically accesses 4 bytes at ADDRESS, 40 bytes past the end of `x` (40 bytes)",
    ),
    (
        "a pointer that moves in a loop",
        "p = x + tl.arange(0, 4)\n    for i in range(0, n):\n        tl.store(y + tl.arange(0, 4), tl.load(p))\n        p += 4",
        "reads 4 bytes at ADDRESS, 0 bytes past the end of `x` (40 bytes)",
    ),
    (
        "one of two arguments",
        "p = x\n    if n > 3:\n        p = y\n    tl.store(p + 200, 1)",
        "writes 4 bytes at ADDRESS, 400 bytes past the end of `y` (400 bytes)",
    ),
    (
        "a misaligned address",
        "p = (x.to(tl.pointer_type(tl.int8)) + 2).to(tl.pointer_type(tl.int32))\n    tl.store(y, tl.load(p))",
        "reads 4 bytes at ADDRESS, which is not a multiple of 4",
    ),
];

fn wrong(body: &str, backend: Backend) -> Kernel {
    let kernel = kernel(&format!("@shoal.jit\ndef k(x, y, n):\n    {body}\n"), backend);
    let options = CompileOptions { debug: true, ..kernel.options().clone() };
    kernel.with(options)
}

fn refused(kernel: &Kernel, args: Args<'_>) -> String {
    let text = kernel.launch(2, args).unwrap_err().to_string();
    // Addresses differ from run to run.
    let (mut out, mut rest) = (String::new(), text.as_str());
    while let Some(at) = rest.find("0x") {
        out += &rest[..at];
        out += "ADDRESS";
        rest = rest[at + 2..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out + rest
}

#[test]
fn wrong_accesses_are_found() {
    let mut texts = Vec::new();
    for (name, body, wanted) in WRONG {
        // In this order, so that the nearest argument is always the same.
        let mut all = vec![1; 2000];
        let (x, rest) = all.split_at_mut(10);
        let (_, y) = rest.split_at_mut(1890);
        let on_gpu = Device::cuda(0).is_ok().then_some(Backend::Cuda);
        for backend in [Backend::Interpreter, Backend::Cpu].into_iter().chain(on_gpu) {
            let kernel = match backend {
                Backend::Interpreter | Backend::Cuda => wrong(body, backend),
                // With one thread, the first program is also the first to fail.
                Backend::Cpu => wrong(body, backend).on(Device::cpu_with_threads(1).unwrap()),
            };
            let text = refused(&kernel, args!(&mut *x, &mut *y, 10));
            assert!(text.contains(wanted), "{name}, {}: {text}", backend.name());
            if backend == Backend::Cpu {
                texts.push(format!("## {name}\n\n{text}\n"));
            }
        }
    }
    insta::assert_snapshot!(texts.join("\n"));
}

/// Code for GPUs that checks its accesses: every access has a predicate, the launch's bounds are compared with, and there
/// is a place in the source for each operation.
#[test]
fn code_for_gpus_checks_accesses() {
    let body = [
        "at = tl.arange(0, 128)",
        "tl.store(y + at, tl.load(x + at), mask=at < n)",
        "tl.atomic_add(y + n, 1)",
        "tl.device_assert(n > 3, 'n is small')",
    ];
    let kernel = wrong(&body.join("\n    "), Backend::Cpu);
    let specs = kernel.read_signature("*i32:16, *i32:16, i32").unwrap();
    for target in ["sm_80", "sm_90a"] {
        let ptx = kernel.emit(&specs, Stage::Asm, &shoal::target_named(target).unwrap()).unwrap();
        let ptx = String::from_utf8(ptx).unwrap();
        assert!(ptx.lines().next().unwrap().contains(" fails=yes nvptx ") && ptx.contains(" ranks=waits checks=yes"));
        // Three arguments, the table, and two addresses for each argument.
        assert_eq!(ptx.matches(".param .").count(), 3 + 1 + 2 * 3, "{ptx}");
        let accesses = ptx.lines().filter(|line| line.contains("ld.global.b32") || line.contains("st.global.b32"));
        assert!(accesses.clone().count() > 0 && accesses.clone().all(|line| line.trim().starts_with('@')), "{ptx}");
        assert_eq!(ptx.matches("atom.relaxed.sys.global.add.u32").count(), 4, "one report for each operation\n{ptx}");
    }
    let plain = kernel.clone().with(CompileOptions { debug: false, ..kernel.options().clone() });
    let ptx = plain.emit(&specs, Stage::Asm, &shoal::target_named("sm_80").unwrap()).unwrap();
    let ptx = String::from_utf8(ptx).unwrap();
    assert!(ptx.contains(" fails=no nvptx ") && ptx.contains(" ranks=no checks=no"), "{ptx}");
}

/// Between two arguments that are neighbours in memory there is a border.
#[test]
fn neighbours_are_not_taken_for_each_other() {
    let kernel = wrong("tl.store(x + n, 7)", Backend::Cpu);
    let mut both = vec![0; 20];
    let (x, y) = both.split_at_mut(10);
    let text = refused(&kernel, args!(x, y, 10));
    assert!(text.contains("0 bytes past the end of `x` (40 bytes)"), "{text}");
    assert_eq!(both, [0; 20]);
}

#[test]
fn masked_lanes_and_addresses_from_memory_are_left_alone() {
    let table = "at = tl.arange(0, 4)\n    p = tl.load(x + at, mask=at < 1, other=0).to(tl.pointer_type(tl.int32))\n    \
                 tl.store(y + at, tl.load(p, mask=at < 1, other=5), mask=at < n)";
    let kernel = wrong(table, Backend::Cpu).on(Device::cpu_with_threads(2).unwrap());
    let hidden = [41i32, 42];
    let (x, mut y) = ([hidden.as_ptr().expose_provenance() as u64], vec![0; 2]);
    kernel.launch(1, args!(&x[..], &mut y, 2)).unwrap();
    assert_eq!(y, [41, 5]);
    for nowhere in [[0u64], [1 << 63], [u64::MAX - 15]] {
        let text = refused(&kernel, args!(&nowhere[..], &mut y, 2));
        assert!(text.contains("reads 4 bytes at ADDRESS, where no memory is"), "{nowhere:x?}: {text}");
    }
}

/// The lanes begin near the end of all addresses, and go on where memory could be.
#[test]
fn addresses_that_wrap_are_found() {
    let body = "p = tl.load(x).to(tl.pointer_type(tl.int32)) + tl.arange(0, 4) * 536870912\n    \
                tl.store(y + tl.arange(0, 4), tl.load(p))";
    let on_gpu = Device::cuda(0).is_ok().then_some(Backend::Cuda);
    for backend in [Backend::Cpu].into_iter().chain(on_gpu) {
        let (x, mut y) = ([0u64.wrapping_sub(1 << 31)], vec![0; 4]);
        let text = refused(&wrong(body, backend), args!(&x[..], &mut y, 4));
        assert!(text.contains("reads 4 bytes at ADDRESS, where no memory is"), "{}: {text}", backend.name());
    }
}
