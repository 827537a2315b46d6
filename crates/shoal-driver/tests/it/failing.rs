//! Failures of programs end the launch with the program, the line and the message.

use crate::objects::{info, kernel, options, pointers};
use shoal_abi::{KernelDescription, Waits};
use shoal_driver::{Buffer, LaunchError, cpu::CpuDevice};

const ASSERT: &str = r#"
SITE(site, 7, "device_assert");
ENTRY(k) {
    int32_t *out = ARG(int32_t *, 0);
    int32_t bad = ARG(int32_t *, 8)[0];
    EACH(p) {
        if ((int64_t)p == bad) shoal_fail(ctx, &site, "x must be positive", 18);
        out[p] = 1;
    }
}"#;

#[test]
fn a_failure_names_program_line_and_message() {
    for waits in [Waits::Never, Waits::MayWait] {
        let kernel = kernel(ASSERT, KernelDescription { can_fail: true, waits, ..info(2) });
        for threads in [1, 3] {
            let device = CpuDevice::new(threads).unwrap();
            let out = Buffer::zeroed(600 * 4).unwrap();
            for bad in [0, 311, 599] {
                let bad = Buffer::from_slice(&[bad]).unwrap();
                let args = pointers(&[out.as_ptr(), bad.as_ptr()]);
                // SAFETY: one element per program.
                let error = unsafe { device.launch(&kernel, [100, 6, 1], &args, &options()) }.unwrap_err();
                let LaunchError::Failed { failure, .. } = &error else { panic!("{error}") };
                let program = bad.as_slice::<i32>()[0] as u32;
                assert_eq!(failure.program, [program % 100, program / 100, 0]);
                assert_eq!(failure.message, "x must be positive");
                assert_eq!(failure.site.as_ref().unwrap().line, 7);
                assert!(error.to_string().contains("at kernel.py:7:5 (device_assert)"), "{error}");
            }
            let none = Buffer::from_slice(&[-1i32]).unwrap();
            let args = pointers(&[out.as_ptr(), none.as_ptr()]);
            // SAFETY: one element per program.
            unsafe { device.launch(&kernel, [100, 6, 1], &args, &options()) }.unwrap();
            assert!(out.as_slice::<i32>().iter().all(|&n| n == 1));
        }
    }
}

/// A failure ends programs that wait for the failed one.
#[test]
fn a_failure_ends_those_who_wait() {
    let source = r#"
    SITE(wait, 3, "wait");
    ENTRY(k) {
        int32_t *never = ARG(int32_t *, 0);
        EACH(p) {
            if (p == 50) shoal_fail(ctx, 0, "gone", 4);
            while (!__atomic_load_n(never, __ATOMIC_ACQUIRE)) shoal_yield(ctx, &wait);
        }
    }"#;
    let kernel = kernel(source, KernelDescription { can_fail: true, waits: Waits::MayWait, ..info(1) });
    let device = CpuDevice::new(2).unwrap();
    let never = Buffer::zeroed(4).unwrap();
    for _ in 0..20 {
        // SAFETY: the kernel reads one flag.
        let error = unsafe { device.launch(&kernel, [60, 1, 1], &pointers(&[never.as_ptr()]), &options()) };
        let LaunchError::Failed { failure, .. } = error.unwrap_err() else { panic!() };
        assert_eq!((failure.program, failure.message.as_str(), &failure.site), ([50, 0, 0], "gone", &None));
    }
}
