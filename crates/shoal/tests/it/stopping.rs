//! Kernels are stopped from outside, on every backend, and can be launched again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shoal::{
    Args, Backend, CompileOptions, Device, DiskCache, Error, Interrupt, Kernel, LaunchError, LaunchOptions, args,
};

use crate::launches::kernel;

/// One and two threads, and the interpreter.
fn devices() -> [Device; 3] {
    [Device::cpu_with_threads(1).unwrap(), Device::cpu_with_threads(2).unwrap(), Device::Interpreter]
}

/// Launches a kernel that is stopped when it is asked for the second time, and says whether it was.
fn is_stopped(kernel: &Kernel, grid: u32, args: Args<'_>) -> bool {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let interrupt = Interrupt::new(move || count.fetch_add(1, Ordering::Relaxed) > 0);
    // Compilation would ask too.
    kernel.warm_up(&args).unwrap();
    let options = LaunchOptions { interrupt: Some(interrupt), ..LaunchOptions::default() };
    match kernel.clone().launching(options).launch(grid, args) {
        Ok(()) => false,
        Err(Error::Launch(LaunchError::Interrupted { kernel })) => {
            assert_eq!((asked.load(Ordering::Relaxed), kernel.as_str()), (2, "k"));
            true
        }
        Err(other) => panic!("{other}"),
    }
}

/// Loops that would go on for ever while `n` is positive.
const LOOPS: [&str; 4] = [
    // No memory is looked at: the compiler cannot take this for waiting.
    "\
@shoal.jit
def k(out, n):
    i = 1
    while i * n > 0:
        i = i % 7 + 1
    tl.store(out + tl.program_id(0), i)
",
    // Many rounds of a `for` in many programs.
    "\
@shoal.jit
def k(out, n):
    total = n - n
    for i in range(0, n * 2000000000):
        total = total * 3 + i
    tl.store(out + tl.program_id(0), total)
",
    // Rounds around tiles.
    "\
@shoal.jit
def k(out, n):
    total = tl.zeros((64, 64), tl.float32)
    for i in range(0, n * 2000000000):
        total += tl.dot(total, total)
    tl.store(out + tl.program_id(0), tl.sum(total).to(tl.int32))
",
    // A lock that was never given back: programs wait on fibers.
    "\
@shoal.jit
def k(out, n):
    while tl.atomic_cas(out, n, n) == n and n > 0:
        pass
    tl.store(out + tl.program_id(0), 0)
",
];

#[test]
fn endless_loops_are_stopped() {
    for (which, text) in LOOPS.iter().enumerate() {
        for device in devices() {
            let finds_deadlocks = device.backend() == Backend::Interpreter;
            let kernel = kernel(text, device.backend()).on(device);
            for programs in [1, 5] {
                let mut out = vec![7; 5];
                if !(which == 3 && finds_deadlocks) {
                    assert!(is_stopped(&kernel, programs, args!(&mut out, 7)), "{text}");
                    assert_eq!(out, [7; 5], "stopped programs do not go on");
                }
                assert!(!is_stopped(&kernel, programs, args!(&mut out, 0)));
            }
        }
    }
}

/// Programs without a loop: the launch is stopped between them.
#[test]
fn a_long_grid_is_stopped() {
    let text = "\
@shoal.jit
def k(out, BLOCK: tl.constexpr):
    x = tl.arange(0, BLOCK)
    tl.atomic_add(out + x % 4, tl.sum(x))
";
    for device in devices() {
        let kernel = kernel(text, device.backend()).on(device);
        let mut out = vec![0; 4];
        assert!(is_stopped(&kernel, 1_000_000_000, args!(&mut out, BLOCK = 256)));
        assert!(!is_stopped(&kernel, 3, args!(&mut out, BLOCK = 256)));
    }
}

/// Ctrl-C is noticed while a kernel is compiled, on every backend, and the next launch compiles it.
#[test]
fn compilation_is_stopped() {
    let text = "\
@shoal.jit
def k(out, n):
    for i in tl.static_range(4000):
        n += i
    tl.store(out, n)
";
    for device in devices() {
        let kernel = kernel(text, device.backend()).on(device);
        let mut out = vec![0i32];
        let interrupt = Some(Interrupt::new(|| true));
        let uncached = CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() };
        let options = LaunchOptions { interrupt, ..LaunchOptions::default() };
        let stopping = kernel.clone().with(uncached).launching(options);
        match stopping.warm_up(&args!(&mut out, 1)) {
            Err(Error::Launch(LaunchError::Interrupted { kernel })) => assert_eq!(kernel, "k"),
            other => panic!("{other:?}"),
        }
        kernel.launch(1, args!(&mut out, 1)).unwrap();
        assert_eq!(out, [1 + 4000 * 3999 / 2]);
    }
}
