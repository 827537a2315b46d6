//! Many launches from several threads at the same time onto one device.

use crate::objects::{info, kernel, options, pointers};
use shoal_abi::{KernelDescription, Waits};
use shoal_driver::{
    Buffer, LaunchError,
    cpu::{CpuDevice, Fibers, LaunchOptions},
};
use std::time::Duration;

#[test]
fn launches_from_many_threads_do_not_disturb_each_other() {
    let add = kernel(
        "ENTRY(k) { const int32_t *x = ARG(const int32_t *, 0); int32_t *y = ARG(int32_t *, 8); EACH(p) y[p] = x[p] + 1; }",
        info(2),
    );
    let lock = kernel(
        r#"ENTRY(k) {
            int32_t *lock = ARG(int32_t *, 0); volatile int32_t *sum = ARG(int32_t *, 8);
            EACH(p) {
                while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) shoal_yield(ctx, 0);
                *sum = *sum + 1;
                __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
            }
        }"#,
        KernelDescription { waits: Waits::MayWait, ..info(2) },
    );
    let fail = kernel(
        r#"ENTRY(k) { EACH(p) if (p == 5) shoal_fail(ctx, 0, "no", 2); }"#,
        KernelDescription { can_fail: true, ..info(0) },
    );
    let device = CpuDevice::new(3).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6u32 {
            let (device, add, lock, fail) = (&device, &add, &lock, &fail);
            scope.spawn(move || {
                for round in 0..150u32 {
                    let programs = (round * 37 + thread) % 500 + 6;
                    let x = Buffer::from_slice(&(0..programs as i32).collect::<Vec<_>>()).unwrap();
                    let y = Buffer::zeroed(x.len()).unwrap();
                    let (flag, sum) = (Buffer::zeroed(4).unwrap(), Buffer::zeroed(4).unwrap());
                    let fibers = if round % 2 == 0 { Fibers::Auto } else { Fibers::Always };
                    let options = LaunchOptions { fibers, ..options() };
                    let grid = [programs, 1, 1];
                    // SAFETY: the kernels use these buffers as sized for them.
                    unsafe {
                        device.launch(add, grid, &pointers(&[x.as_ptr(), y.as_ptr()]), &options).unwrap();
                        device.launch(lock, grid, &pointers(&[flag.as_ptr(), sum.as_ptr()]), &options).unwrap();
                        let error = device.launch(fail, grid, &pointers(&[]), &options).unwrap_err();
                        assert!(matches!(error, LaunchError::Failed { .. }));
                    }
                    assert!(y.as_slice::<i32>().iter().zip(1..).all(|(&y, expected)| y == expected));
                    assert_eq!(sum.as_slice::<i32>()[0] as u32, programs);
                }
            });
        }
    });
}

/// Devices come and go, with workers parked, spinning or busy.
#[test]
fn devices_can_be_dropped_at_any_time() {
    let empty = kernel("ENTRY(k) {}", info(0));
    for round in 0..60 {
        let device = CpuDevice::new(round % 5 + 1).unwrap();
        // SAFETY: the kernel does nothing.
        unsafe { device.launch(&empty, [round as u32 * 10, 1, 1], &pointers(&[]), &options()) }.unwrap();
        if round % 3 == 0 {
            std::thread::sleep(Duration::from_micros(300));
        }
    }
}
