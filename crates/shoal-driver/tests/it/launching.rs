//! Plain kernels: every program runs once, with its arguments, grid and scratch.

use crate::objects::{info, kernel, options, pointers, with_scratch};
use shoal_abi::{KernelDescription, ParamLayout};
use shoal_driver::{
    Buffer, LaunchError,
    cpu::{ArgBlock, CpuDevice, Fibers, LaunchOptions},
};
use std::time::Instant;

/// Counts each program once, at its coordinates.
const COUNT: &str = "
ENTRY(k) {
    int32_t *out = ARG(int32_t *, 0);
    EACH(p) {
        uint32_t x = p % ctx->grid[0], y = p / ctx->grid[0] % ctx->grid[1], z = p / ctx->grid[0] / ctx->grid[1];
        __atomic_fetch_add(&out[(z * ctx->grid[1] + y) * ctx->grid[0] + x], 1, __ATOMIC_RELAXED);
    }
}";

fn launch_count(device: &CpuDevice, grid: [u32; 3], options: &LaunchOptions) {
    let kernel = kernel(COUNT, info(1));
    let programs = if grid.contains(&0) { 0 } else { grid.iter().product::<u32>() as usize };
    let out = Buffer::zeroed(programs * 4).unwrap();
    // Several times, because a kernel that turned out to be short is launched in another way.
    for launch in 1..=3 {
        // SAFETY: the kernel writes one element per program into a buffer of that size.
        unsafe { device.launch(&kernel, grid, &pointers(&[out.as_ptr()]), options) }.unwrap();
        assert!(out.as_slice::<i32>().iter().all(|&n| n == launch), "grid {grid:?}");
    }
}

#[test]
fn every_program_runs_once() {
    for threads in [1, 2, 5] {
        let device = CpuDevice::new(threads).unwrap();
        assert_eq!(device.threads(), threads);
        for grid in [[1, 1, 1], [7, 1, 1], [1, 3, 5], [100_003, 1, 1], [17, 19, 23]] {
            launch_count(&device, grid, &options());
        }
    }
}

#[test]
fn every_program_runs_once_on_fibers() {
    let device = CpuDevice::new(3).unwrap();
    for grid in [[1, 1, 1], [7, 3, 2], [50_000, 1, 1]] {
        launch_count(&device, grid, &LaunchOptions { fibers: Fibers::Always, ..options() });
    }
}

#[test]
fn empty_grids_do_nothing() {
    let device = CpuDevice::new(2).unwrap();
    for grid in [[0, 1, 1], [1, 0, 5], [u32::MAX, u32::MAX, 0]] {
        launch_count(&device, grid, &options());
    }
}

#[test]
fn arguments_arrive_in_order_and_aligned() {
    let source = "
    #include <string.h>
    ENTRY(k) {
        double *out = ARG(double *, 16);
        out[0] = ARG(uint8_t, 0); out[1] = ARG(int16_t, 2); out[2] = ARG(float, 4); out[3] = ARG(double, 8);
        int64_t *base = ARG(int64_t *, 24); out[4] = base == (void *)out; out[5] = ARG(int64_t, 32);
        out[6] = ARG(int64_t, 40); out[7] = ARG(int64_t, 48); out[8] = ARG(int64_t, 56); out[9] = ARG(uint8_t, 64);
    }";
    let layout = |size, align| ParamLayout { size, align };
    let params =
        vec![layout(1, 1), layout(2, 2), layout(4, 4), layout(8, 8), layout(8, 8), layout(40, 8), layout(1, 1)];
    let kernel = kernel(source, KernelDescription { params, ..info(0) });
    let out = Buffer::poisoned(80).unwrap();
    let mut writer = ArgBlock::writer();
    writer.push_u8(200).push_u16(0xffff).push_f32(0.5).push_f64(-3.25).push_ptr(out.as_ptr());
    writer.push_ptr(out.as_ptr()).push_i64(30).push_i64(40).push_i64(40).push_i64(1).push_bool(true);
    let device = CpuDevice::new(1).unwrap();
    // SAFETY: the kernel writes ten doubles.
    unsafe { device.launch(&kernel, [1, 1, 1], &writer.finish(), &options()) }.unwrap();
    assert_eq!(out.as_slice::<f64>(), &[200.0, -1.0, 0.5, -3.25, 1.0, 30.0, 40.0, 40.0, 1.0, 1.0]);
}

#[test]
fn scratch_is_large_aligned_and_private() {
    let source = "
    ENTRY(k) {
        int32_t *out = ARG(int32_t *, 0);
        EACH(p) {
            volatile uint64_t *scratch = (void *)ctx->scratch;
            for (int i = 0; i < 375000; i++) scratch[i] = p;
            int good = (uint64_t)scratch % 64 == 0;
            for (int i = 0; i < 375000; i++) good &= scratch[i] == p;
            out[p] = good;
        }
    }";
    let kernel = kernel(source, with_scratch(3_000_000, info(1)));
    let device = CpuDevice::new(4).unwrap();
    for fibers in [Fibers::Auto, Fibers::Always] {
        let out = Buffer::zeroed(40 * 4).unwrap();
        let options = LaunchOptions { fibers, ..options() };
        // SAFETY: the kernel writes one element per program.
        unsafe { device.launch(&kernel, [40, 1, 1], &pointers(&[out.as_ptr()]), &options) }.unwrap();
        assert!(out.as_slice::<i32>().iter().all(|&good| good == 1));
    }
}

#[test]
fn bad_launches_are_refused() {
    let device = CpuDevice::new(1).unwrap();
    let kernel = kernel(COUNT, info(1));
    // SAFETY: neither launch runs the kernel.
    let (arguments, grid) = unsafe {
        (
            device.launch(&kernel, [1, 1, 1], &ArgBlock::new(), &options()).unwrap_err(),
            device.launch(&kernel, [u32::MAX; 3], &pointers(&[std::ptr::null()]), &options()).unwrap_err(),
        )
    };
    assert_eq!(arguments.to_string(), "kernel `k` takes 8 bytes of arguments, but 0 were given");
    assert_eq!(grid, LaunchError::Grid { grid: [u32::MAX; 3] });
}

/// Scratch that no machine has is an error, on and off fibers.
#[test]
fn impossible_scratch_is_an_error() {
    let device = CpuDevice::new(2).unwrap();
    let kernel = kernel(COUNT, with_scratch(1 << 60, info(1)));
    let out = Buffer::zeroed(4 * 4).unwrap();
    for fibers in [Fibers::Auto, Fibers::Always] {
        let options = LaunchOptions { fibers, ..options() };
        // SAFETY: no program can run.
        let error = unsafe { device.launch(&kernel, [4, 1, 1], &pointers(&[out.as_ptr()]), &options) }.unwrap_err();
        assert!(matches!(error, LaunchError::Memory { .. }), "{error}");
    }
}

/// A kernel that was short once and is long now still gets help.
#[test]
fn estimates_may_be_wrong() {
    let source = "
    ENTRY(k) {
        int32_t *out = ARG(int32_t *, 0); int32_t turns = *ARG(int32_t *, 8);
        EACH(p) { for (volatile int32_t i = 0; i < turns; i++) {} out[p]++; }
    }";
    let kernel = kernel(source, info(2));
    let device = CpuDevice::new(3).unwrap();
    let out = Buffer::zeroed(40 * 4).unwrap();
    for (launch, turns) in (1..).zip([0, 0, 1_000_000, 0, 3, 0, 100_000]) {
        let turns = Buffer::from_slice(&[turns]).unwrap();
        let args = pointers(&[out.as_ptr(), turns.as_ptr()]);
        // SAFETY: one element per program.
        unsafe { device.launch(&kernel, [40, 1, 1], &args, &options()) }.unwrap();
        assert!(out.as_slice::<i32>().iter().all(|&n| n == launch));
    }
}

#[test]
fn devices_kernels_and_code_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<CpuDevice>();
    shared::<shoal_driver::cpu::LoadedKernel>();
    shared::<shoal_driver::cpu::Code>();
    shared::<Buffer>();
}

/// A guard against gross regressions: 19 arguments must cost far less than the 2 µs a whole launch may.
#[test]
fn a_warm_launch_of_one_program_is_cheap() {
    let kernel = kernel("ENTRY(k) {}", info(19));
    let device = CpuDevice::new(2).unwrap();
    let options = options();
    let mut best = f64::INFINITY;
    for _ in 0..50 {
        let start = Instant::now();
        for _ in 0..100 {
            let args = pointers(&[std::ptr::null(); 19]);
            // SAFETY: the kernel does nothing.
            unsafe { device.launch(&kernel, [1, 1, 1], &args, &options) }.unwrap();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 100.0);
    }
    println!("empty kernel, 19 arguments: {best:.0} ns");
    assert!(best < 2000.0, "{best} ns");
}
