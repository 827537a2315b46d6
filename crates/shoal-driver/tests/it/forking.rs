//! Children of a fork launch on all their threads, whatever other threads of the parent were doing.

use crate::objects::{compile, info, kernel, options, pointers};
use shoal_abi::{KernelDescription, Waits};
use shoal_driver::{
    Buffer, LaunchError, PrintSink,
    cpu::{Code, CpuDevice, Fibers, LaunchOptions, LoadedKernel},
};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
    fn alarm(seconds: u32) -> u32;
}

/// Runs `f` in a forked child, which says with its exit status whether it went well; a hang is ended by a signal.
fn in_child(f: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child does what tests are about, and ends without coming back here.
    let pid = unsafe { fork() };
    assert!(pid >= 0, "no child");
    if pid == 0 {
        // SAFETY: plain calls of the C library.
        unsafe {
            alarm(60);
            let fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(false);
            _exit(if fine { 0 } else { 1 })
        }
    }
    let mut status = -1;
    // SAFETY: the child is ours.
    assert_eq!(unsafe { waitpid(pid, &raw mut status, 0) }, pid);
    status == 0
}

fn threads_of_this_process() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// Each program adds one, after a yield, so that launches meet at the schedule's locks.
const COUNT: &str = r#"
SITE(here, 1, "yield");
ENTRY(k) { EACH(p) { shoal_yield(ctx, &here); __atomic_fetch_add(ARG(int64_t *, 0), 1, __ATOMIC_RELAXED); } }"#;
/// The same without.
const PLAIN: &str = r#"
ENTRY(k) { EACH(p) { __atomic_fetch_add(ARG(int64_t *, 0), 1, __ATOMIC_RELAXED); CHECK_STOP(); } }"#;

fn counts(device: &CpuDevice, kernel: &LoadedKernel) -> bool {
    let sum = Buffer::zeroed(8).unwrap();
    // SAFETY: the kernel counts in the buffer.
    unsafe { device.launch(kernel, [500, 1, 1], &pointers(&[sum.as_ptr()]), &options()) }.unwrap();
    sum.as_slice::<i64>() == [500]
}

#[test]
fn children_launch_while_the_parent_launches_and_loads() {
    let device = CpuDevice::new(4).unwrap();
    let waiting = kernel(COUNT, KernelDescription { waits: Waits::MayWait, ..info(1) });
    let plain = kernel(PLAIN, info(1));
    let object = compile(PLAIN, &[]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for kernel in [&waiting, &plain] {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert!(counts(&device, kernel));
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                drop(Code::load(&object).unwrap());
            }
        });
        let went_well = (0..200).all(|_| {
            in_child(|| {
                let loaded = LoadedKernel::new(Arc::new(Code::load(&object).unwrap()), info(1)).unwrap();
                [&waiting, &plain, &loaded].into_iter().all(|kernel| counts(&device, kernel))
                    && threads_of_this_process() == 4
                    // Children of the child, too.
                    && in_child(|| counts(&device, &waiting) && threads_of_this_process() == 4)
            })
        });
        done.store(true, Ordering::Relaxed);
        assert!(went_well, "a child failed or hung");
    });
    assert!(counts(&device, &waiting));
}

#[test]
fn a_launch_that_was_forked_ends_in_the_child_and_goes_on_in_the_parent() {
    let source = r#"
    ENTRY(k) { EACH(p) {
        if (p == 0) shoal_print_text(ctx, 0, "now", 3);
        __atomic_fetch_add(ARG(int64_t *, 0), 1, __ATOMIC_RELAXED); CHECK_STOP();
    } }"#;
    let kernel = kernel(source, info(1));
    for fibers in [Fibers::Auto, Fibers::Always] {
        let device = CpuDevice::new(2).unwrap();
        let sum = Buffer::zeroed(8).unwrap();
        let forked = Arc::new(AtomicBool::new(false));
        let (status, main) = (forked.clone(), std::process::id());
        // SAFETY: the child only goes on with the launch, which ends; then it exits.
        let print = PrintSink::new(move |_| match unsafe { fork() } {
            0 => {
                // SAFETY: a plain call of the C library.
                unsafe { alarm(60) };
            }
            pid => {
                let mut exit = -1;
                // SAFETY: the child is ours.
                unsafe { waitpid(pid, &raw mut exit, 0) };
                status.store(exit == 0, Ordering::Relaxed);
            }
        });
        let options = LaunchOptions { print, fibers, ..options() };
        // A single thread, so that it is this one that forks.
        let device = if fibers == Fibers::Auto { device } else { CpuDevice::new(1).unwrap() };
        // SAFETY: the kernel counts in the buffer.
        let result = unsafe { device.launch(&kernel, [1, 1, 1], &pointers(&[sum.as_ptr()]), &options) };
        if std::process::id() != main {
            let fine = result == Err(LaunchError::Forked { kernel: "k".into() });
            // SAFETY: this is the child.
            unsafe { _exit(if fine { 0 } else { 1 }) }
        }
        assert_eq!(result, Ok(()));
        assert!(forked.load(Ordering::Relaxed), "the child's launch ended otherwise");
        assert_eq!(sum.as_slice::<i64>(), &[1]);
    }
}
