//! Programs that wait for each other make progress on any number of threads, and are found out when they cannot.

use crate::objects::{info, kernel, options, pointers, with_scratch};
use shoal_abi::{KernelDescription, WaitCondition, Waits, print::PrintKind};
use shoal_driver::{
    Buffer, LaunchError,
    cpu::{ArgMemory, Bounds, CpuDevice, LaunchOptions},
};
use std::{sync::Arc, time::Duration};

fn waiting(pointers: usize) -> KernelDescription {
    KernelDescription { waits: Waits::MayWait, ..info(pointers) }
}

/// Each program takes a lock, yields inside the critical section, and adds one.
const LOCK: &str = r#"
SITE(acquire, 12, "atomic_cas in a loop"); SITE(inside, 14, "while loop");
ENTRY(k) {
    int32_t *lock = ARG(int32_t *, 0); volatile int64_t *sum = ARG(int64_t *, 8);
    EACH(p) {
        int32_t expected = 0;
        while (!__atomic_compare_exchange_n(lock, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            expected = 0;
            shoal_yield(ctx, &acquire);
        }
        int64_t before = *sum;
        if (p % 3 == 0) shoal_yield(ctx, &inside);
        *sum = before + 1;
        __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    }
}"#;

#[test]
fn a_spin_lock_works_on_any_number_of_threads() {
    let kernel = kernel(LOCK, waiting(2));
    for threads in [1, 2, 4] {
        let device = CpuDevice::new(threads).unwrap();
        for programs in [1, 64, 5000] {
            let (lock, sum) = (Buffer::zeroed(4).unwrap(), Buffer::zeroed(8).unwrap());
            let args = pointers(&[lock.as_ptr(), sum.as_ptr()]);
            // SAFETY: the kernel uses the two buffers, `sum` under the lock.
            unsafe { device.launch(&kernel, [programs, 1, 1], &args, &options()) }.unwrap();
            assert_eq!(sum.as_slice::<i64>(), &[i64::from(programs)]);
        }
    }
}

/// Program p waits for program p + 1: the last must be started for the first to end.
const BACKWARDS: &str = r#"
SITE(wait, 3, "atomic_poll");
ENTRY(k) {
    int32_t *flags = ARG(int32_t *, 0);
    EACH(p) {
        uint64_t count = (uint64_t)ctx->grid[0] * ctx->grid[1];
        while (p + 1 < count && !__atomic_load_n(&flags[p + 1], __ATOMIC_ACQUIRE)) shoal_wait(ctx, &wait, &flags[p + 1], 1, 3, 0);
        __atomic_store_n(&flags[p], 1, __ATOMIC_RELEASE);
    }
}"#;

#[test]
fn early_programs_may_wait_for_late_ones() {
    let kernel = kernel(BACKWARDS, waiting(1));
    for threads in [1, 2] {
        let device = CpuDevice::new(threads).unwrap();
        let flags = Buffer::zeroed(1000 * 4).unwrap();
        // SAFETY: one flag per program.
        unsafe { device.launch(&kernel, [100, 10, 1], &pointers(&[flags.as_ptr()]), &options()) }.unwrap();
        assert!(flags.as_slice::<i32>().iter().all(|&flag| flag == 1));
    }
}

/// All programs meet, several times.
const BARRIER: &str = r#"
SITE(wait, 3, "barrier");
ENTRY(k) {
    uint64_t *count = ARG(uint64_t *, 0);
    EACH(p) for (uint64_t phase = 1; phase <= 5; phase++) {
        __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < phase * ctx->grid[0]) shoal_yield(ctx, &wait);
    }
}"#;

#[test]
fn a_barrier_over_the_whole_grid_works() {
    let kernel = kernel(BARRIER, waiting(1));
    let device = CpuDevice::new(2).unwrap();
    for programs in [3, 2000] {
        let count = Buffer::zeroed(8).unwrap();
        // SAFETY: the kernel uses one counter.
        unsafe { device.launch(&kernel, [programs, 1, 1], &pointers(&[count.as_ptr()]), &options()) }.unwrap();
        assert_eq!(count.as_slice::<u64>(), &[u64::from(programs) * 5]);
    }
}

/// A huge grid whose programs seldom wait needs few stacks and little time.
#[test]
fn a_huge_grid_needs_few_fibers() {
    let kernel = kernel(LOCK, with_scratch(100_000, waiting(2)));
    let device = CpuDevice::new(2).unwrap();
    let (lock, sum) = (Buffer::zeroed(4).unwrap(), Buffer::zeroed(8).unwrap());
    let args = pointers(&[lock.as_ptr(), sum.as_ptr()]);
    // SAFETY: as in the lock test.
    unsafe { device.launch(&kernel, [200_000, 1, 1], &args, &options()) }.unwrap();
    assert_eq!(sum.as_slice::<i64>(), &[200_000]);
}

#[test]
fn a_deadlock_is_reported_and_the_device_stays_usable() {
    let kernel = kernel(LOCK, waiting(2));
    for threads in [1, 3] {
        let device = CpuDevice::new(threads).unwrap();
        let (lock, sum) = (Buffer::from_slice(&[1i32]).unwrap(), Buffer::zeroed(8).unwrap());
        let args = pointers(&[lock.as_ptr(), sum.as_ptr()]);
        let timeout = Duration::from_millis(300);
        let options = LaunchOptions { timeout: Some(timeout), ..options() };
        // SAFETY: the kernel uses the two buffers.
        let error = unsafe { device.launch(&kernel, [10, 2, 1], &args, &options) }.unwrap_err();
        let LaunchError::Stuck { waiting, more, unstarted: 0, after, .. } = error else { panic!("{error}") };
        assert!(after >= timeout);
        assert_eq!((waiting.len(), more), (16, 4));
        assert_eq!(waiting[11].program, [1, 1, 0]);
        let site = waiting[0].site.as_ref().unwrap();
        assert_eq!(site.to_string(), "kernel.py:12:5 (atomic_cas in a loop)");

        let lock = Buffer::zeroed(4).unwrap();
        let args = pointers(&[lock.as_ptr(), sum.as_ptr()]);
        // SAFETY: as above.
        unsafe { device.launch(&kernel, [64, 1, 1], &args, &options) }.unwrap();
        assert_eq!(sum.as_slice::<i64>(), &[64]);
    }
}

/// Programs 0 and 1 wait for numbers that nobody writes.
const UNWRITTEN: &str = r#"
SITE(wait, 3, "atomic_poll");
ENTRY(k) {
    int16_t *flags = ARG(int16_t *, 0);
    EACH(p) if (p == 0) {
        while (__atomic_load_n(&flags[1], __ATOMIC_ACQUIRE) != -2) shoal_wait(ctx, &wait, &flags[1], 0xfffe, I16, EQUAL);
    } else {
        while (__atomic_load_n(&flags[0], __ATOMIC_ACQUIRE) == 7) shoal_wait(ctx, &wait, &flags[0], 7, I16, NOT_EQUAL);
    }
}"#;

#[test]
fn a_deadlock_report_says_what_is_waited_for_and_what_is_there() {
    let numbers = [("I16", PrintKind::I16.number()), ("EQUAL", WaitCondition::Equal.number())];
    let numbers = numbers.into_iter().chain([("NOT_EQUAL", WaitCondition::NotEqual.number())]);
    let defines: String = numbers.map(|(name, number)| format!("enum {{ {name} = {number} }};\n")).collect();
    let kernel = kernel(&format!("{defines}{UNWRITTEN}"), waiting(1));
    let device = CpuDevice::new(2).unwrap();
    let flags = Buffer::from_slice(&[7i16, -1]).unwrap();
    let (start, bytes) = (flags.as_ptr().addr(), 4);
    let bounds = Bounds::new(vec![Some(ArgMemory { name: "flags".into(), start, bytes })]);
    for bounds in [None, Some(Arc::new(bounds))] {
        let place = |byte| bounds.as_ref().map_or(String::new(), |_| format!(" (byte {byte} of `flags` (4 bytes))"));
        let expected = [
            format!(
                "program (0, 0, 0) waits at kernel.py:3:5 (atomic_poll) for -2 at {:#x}{}, where -1 is",
                start + 2,
                place(2)
            ),
            format!(
                "program (1, 0, 0) waits at kernel.py:3:5 (atomic_poll) for anything but 7 at {start:#x}{}, where 7 is",
                place(0)
            ),
        ];
        let options = LaunchOptions { timeout: Some(Duration::from_millis(100)), bounds: bounds.clone(), ..options() };
        // SAFETY: the kernel reads the two numbers.
        let error = unsafe { device.launch(&kernel, [2, 1, 1], &pointers(&[flags.as_ptr()]), &options) }.unwrap_err();
        let LaunchError::Stuck { waiting, .. } = &error else { panic!("{error}") };
        assert_eq!(waiting.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        assert!(error.to_string().contains(&expected[0]), "{error}");
    }
}

/// Two launches that wait for each other, as two ranks do: each needs the other to run at the same time.
#[test]
fn launches_may_wait_for_each_other() {
    let source = r#"
    SITE(wait, 1, "wait");
    ENTRY(k) {
        uint64_t *mine = ARG(uint64_t *, 0), *theirs = ARG(uint64_t *, 8);
        EACH(p) for (uint64_t turn = 1; turn <= 200; turn++) {
            if (p == 0) __atomic_store_n(mine, turn, __ATOMIC_RELEASE);
            while (__atomic_load_n(theirs, __ATOMIC_ACQUIRE) < turn) shoal_yield(ctx, &wait);
        }
    }"#;
    let kernel = kernel(source, waiting(2));
    let device = CpuDevice::new(2).unwrap();
    let (a, b) = (Buffer::zeroed(64).unwrap(), Buffer::zeroed(64).unwrap());
    std::thread::scope(|scope| {
        for (mine, theirs) in [(&a, &b), (&b, &a)] {
            let (kernel, device) = (&kernel, &device);
            scope.spawn(move || {
                let args = pointers(&[mine.as_ptr(), theirs.as_ptr()]);
                // SAFETY: both launches use the flags atomically.
                unsafe { device.launch(kernel, [8, 1, 1], &args, &options()) }.unwrap();
            });
        }
    });
    assert_eq!((a.as_slice::<u64>()[0], b.as_slice::<u64>()[0]), (200, 200));
}

/// Two programs that take 10 ms for each of 30 turns, with a timeout of 100 ms.
fn turns(turn: &str) -> Result<(), LaunchError> {
    let source = format!(
        r#"
    SITE(wait, 1, "wait");
    ENTRY(k) {{
        EACH(p) for (int turn = 0; turn < 30; turn++) {{
            uint64_t end = shoal_clock_ns() + 10000000;
            while (shoal_clock_ns() < end) {{}}
            {turn}
        }}
    }}"#
    );
    let kernel = kernel(&source, waiting(0));
    let device = CpuDevice::new(1).unwrap();
    let options = LaunchOptions { timeout: Some(Duration::from_millis(100)), ..options() };
    // SAFETY: the kernel touches no memory.
    unsafe { device.launch(&kernel, [2, 1, 1], &pointers(&[]), &options) }
}

#[test]
fn programs_that_pass_waits_are_not_stuck_however_slow() {
    turns("shoal_yield(ctx, &wait); ctx->passed++;").unwrap();
}

#[test]
fn programs_in_loops_that_may_end_by_themselves_are_not_stuck() {
    turns("shoal_wait(ctx, &wait, 0, 0, 3, 256);").unwrap();
}

/// On a busy machine a look takes as long as other threads please.
#[test]
fn programs_that_only_look_are_stuck_however_long_that_takes() {
    let error = turns("shoal_yield(ctx, &wait);").unwrap_err();
    assert!(matches!(&error, LaunchError::Stuck { waiting, .. } if waiting.len() == 2), "{error}");
}
