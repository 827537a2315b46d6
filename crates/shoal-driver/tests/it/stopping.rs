//! Launches are stopped from outside, whatever their programs do, and the device stays usable.

use crate::objects::{info, kernel, options, pointers};
use shoal_abi::{KernelDescription, Waits};
use shoal_driver::{
    Buffer, Interrupt, LaunchError,
    cpu::{CpuDevice, Fibers, LaunchOptions},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Options of a launch that is stopped when it was asked for the second time; with the number of times it was asked.
fn stopped_soon(fibers: Fibers) -> (LaunchOptions, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, launching) = (Arc::clone(&asked), thread::current().id());
    let interrupt = Interrupt::new(move || {
        assert_eq!(thread::current().id(), launching, "asked on another thread");
        count.fetch_add(1, Ordering::Relaxed) > 0
    });
    (LaunchOptions { interrupt: Some(interrupt), fibers, ..options() }, asked)
}

/// Loops as long as a flag is set, which nobody clears.
const ENDLESS: &str = r#"
ENTRY(k) {
    volatile int32_t *again = ARG(int32_t *, 0); int64_t *done = ARG(int64_t *, 8);
    EACH(p) {
        while (*again) CHECK_STOP();
        __atomic_fetch_add(done, 1, __ATOMIC_RELAXED);
        CHECK_STOP();
    }
}"#;

#[test]
fn endless_programs_are_stopped_and_the_device_stays_usable() {
    let kernel = kernel(ENDLESS, info(2));
    for threads in [1, 2] {
        let device = CpuDevice::new(threads).unwrap();
        for (programs, fibers) in [(1, Fibers::Auto), (100, Fibers::Auto), (100, Fibers::Always)] {
            let (again, done) = (Buffer::from_slice(&[1i32]).unwrap(), Buffer::zeroed(8).unwrap());
            let (options, asked) = stopped_soon(fibers);
            let args = pointers(&[again.as_ptr(), done.as_ptr()]);
            // SAFETY: the kernel reads the flag and counts in the other buffer.
            let error = unsafe { device.launch(&kernel, [programs, 1, 1], &args, &options) }.unwrap_err();
            assert_eq!(error, LaunchError::Interrupted { kernel: "k".into() });
            assert_eq!((asked.load(Ordering::Relaxed), done.as_slice::<i64>()[0]), (2, 0));

            let again = Buffer::zeroed(4).unwrap();
            let args = pointers(&[again.as_ptr(), done.as_ptr()]);
            // SAFETY: as above.
            unsafe { device.launch(&kernel, [programs, 1, 1], &args, &options) }.unwrap();
            assert_eq!(done.as_slice::<i64>(), &[i64::from(programs)]);
        }
    }
}

/// Each program takes a millisecond and has no loop of its own.
const SLOW: &str = r#"
ENTRY(k) {
    int64_t *done = ARG(int64_t *, 0);
    EACH(p) {
        uint64_t end = shoal_clock_ns() + 1000000;
        while (shoal_clock_ns() < end) {}
        __atomic_fetch_add(done, 1, __ATOMIC_RELAXED);
        CHECK_STOP();
    }
}"#;

#[test]
fn a_long_grid_is_stopped_between_programs() {
    let kernel = kernel(SLOW, info(1));
    let programs = 1_000_000;
    for (threads, fibers) in [(1, Fibers::Auto), (2, Fibers::Auto), (2, Fibers::Always)] {
        let device = CpuDevice::new(threads).unwrap();
        let done = Buffer::zeroed(8).unwrap();
        let (options, _) = stopped_soon(fibers);
        // SAFETY: the kernel counts in the buffer.
        let error = unsafe { device.launch(&kernel, [programs, 1, 1], &pointers(&[done.as_ptr()]), &options) };
        assert_eq!(error, Err(LaunchError::Interrupted { kernel: "k".into() }));
        let done = done.as_slice::<i64>()[0];
        assert!(done > 0 && done < i64::from(programs), "{done}");
    }
}

/// Programs wait for a lock that is never given back.
const LOCKED: &str = r#"
SITE(acquire, 12, "atomic_cas in a loop");
ENTRY(k) {
    int32_t *lock = ARG(int32_t *, 0); volatile int32_t *again = ARG(int32_t *, 8);
    EACH(p) {
        int32_t expected = 0;
        while (!__atomic_compare_exchange_n(lock, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            expected = 0;
            shoal_yield(ctx, &acquire);
            CHECK_STOP();
        }
        while (*again) CHECK_STOP();
        __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
        CHECK_STOP();
    }
}"#;

#[test]
fn programs_that_wait_are_stopped() {
    let kernel = kernel(LOCKED, KernelDescription { waits: Waits::MayWait, ..info(2) });
    for threads in [1, 2] {
        let device = CpuDevice::new(threads).unwrap();
        // Nobody holds the lock and all wait; one holds it and loops.
        for (lock, again) in [(1i32, 0i32), (0, 1)] {
            let (lock, again) = (Buffer::from_slice(&[lock]).unwrap(), Buffer::from_slice(&[again]).unwrap());
            let (options, _) = stopped_soon(Fibers::Auto);
            let args = pointers(&[lock.as_ptr(), again.as_ptr()]);
            // SAFETY: the kernel uses the two flags.
            let error = unsafe { device.launch(&kernel, [20, 1, 1], &args, &options) };
            assert_eq!(error, Err(LaunchError::Interrupted { kernel: "k".into() }));
        }
        let (lock, again) = (Buffer::zeroed(4).unwrap(), Buffer::zeroed(4).unwrap());
        let args = pointers(&[lock.as_ptr(), again.as_ptr()]);
        // SAFETY: as above.
        unsafe { device.launch(&kernel, [20, 1, 1], &args, &options()) }.unwrap();
    }
}

/// Program 0 waits for program 1, which never gets there.
const LATE: &str = r#"
SITE(wait, 3, "atomic_poll");
ENTRY(k) {
    volatile int32_t *again = ARG(int32_t *, 0); int32_t *flag = ARG(int32_t *, 8);
    EACH(p) {
        if (p == 0) while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) shoal_wait(ctx, &wait, flag, 1, 3, 0);
        if (p == 1) while (*again) CHECK_STOP();
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
        CHECK_STOP();
    }
}"#;

#[test]
fn the_wait_timeout_ends_a_program_that_others_wait_for() {
    let kernel = kernel(LATE, KernelDescription { waits: Waits::MayWait, ..info(2) });
    for threads in [1, 2] {
        let device = CpuDevice::new(threads).unwrap();
        let (again, flag) = (Buffer::from_slice(&[1i32]).unwrap(), Buffer::zeroed(4).unwrap());
        let args = pointers(&[again.as_ptr(), flag.as_ptr()]);
        let options = LaunchOptions { timeout: Some(Duration::from_millis(200)), ..options() };
        // SAFETY: the kernel uses the two flags.
        let error = unsafe { device.launch(&kernel, [2, 1, 1], &args, &options) }.unwrap_err();
        let LaunchError::Stuck { waiting, looping, .. } = error else { panic!("{error}") };
        assert_eq!(waiting.iter().map(|w| w.program).collect::<Vec<_>>(), [[0, 0, 0]]);
        assert_eq!(looping, [[1, 0, 0]]);
    }
}

#[test]
fn a_panic_of_the_interrupt_goes_on_in_the_launching_thread() {
    let kernel = kernel(ENDLESS, info(2));
    let device = CpuDevice::new(2).unwrap();
    let (again, done) = (Buffer::from_slice(&[1i32]).unwrap(), Buffer::zeroed(8).unwrap());
    let options = LaunchOptions { interrupt: Some(Interrupt::new(|| panic!("no answer"))), ..options() };
    let args = pointers(&[again.as_ptr(), done.as_ptr()]);
    // SAFETY: the kernel reads the flag and counts in the other buffer.
    let launch = || unsafe { device.launch(&kernel, [4, 1, 1], &args, &options) };
    let panic = catch_unwind(AssertUnwindSafe(launch)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"no answer"));
}
