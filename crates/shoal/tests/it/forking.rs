//! Forked children parse, compile and launch, whatever other threads of the parent were doing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

use shoal::{CompileOptions, DiskCache, Module, args};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
    fn alarm(seconds: u32) -> u32;
}

const SOURCE: &str = "\
import shoal
import shoal.language as tl


@shoal.jit
def scaled(x, n, FACTOR: tl.constexpr):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(x + at, tl.load(x + at, mask=at < n) * FACTOR, mask=at < n)
";

fn module() -> Module {
    Module::from_source("forking.py", SOURCE).expect("the kernel parses")
}

/// Compiles for a constant and launches.
fn works(module: &Module, factor: i32) -> bool {
    let options = CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() };
    let kernel = module.kernel("scaled").expect("the kernel").with(options);
    let mut x = vec![1f32; 1000];
    let n = x.len() as i32;
    kernel.launch(16, args![&mut x, n, factor]).expect("the launch");
    x.iter().all(|&x| x == factor as f32)
}

fn in_child(f: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child does what the test is about, and ends without coming back here.
    let pid = unsafe { fork() };
    if pid == 0 {
        // SAFETY: plain calls of the C library; a hang is ended by a signal.
        unsafe {
            alarm(60);
            let fine = catch_unwind(AssertUnwindSafe(f)).unwrap_or(false);
            _exit(if fine { 0 } else { 1 })
        }
    }
    let mut status = -1;
    // SAFETY: the child is ours.
    unsafe { waitpid(pid, &raw mut status, 0) };
    status == 0
}

#[test]
fn children_compile_while_the_parent_does() {
    let shared = module();
    let (done, factor) = (AtomicBool::new(false), AtomicI32::new(1));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert!(works(&shared, factor.fetch_add(1, Ordering::Relaxed)));
                    assert!(works(&module(), 3));
                }
            });
        }
        // The same module as the threads use, and one of the child's own.
        let fine = (1..=200).all(|number| in_child(|| works(&shared, -number) && works(&module(), 2)));
        done.store(true, Ordering::Relaxed);
        assert!(fine, "a child failed or hung");
    });
}
