//! `device_print` reaches the sink of its launch, line by line.

use crate::objects::{info, kernel, options, pointers};
use shoal_driver::{
    Buffer, LaunchError, PrintSink,
    cpu::{CpuDevice, Fibers, LaunchOptions},
};
use std::sync::{Arc, Mutex};

const PRINT: &str = r#"
ENTRY(k) {
    const float *x = ARG(const float *, 0);
    static const uint32_t shape[] = {2, 2};
    EACH(p) {
        int32_t id = -(int32_t)p;
        shoal_print_text(ctx, 0, "hello", 5);
        shoal_print_value(ctx, 0, "id", 2, 3, 0, &id, 0, 0);
        shoal_print_value(ctx, 0, " x: ", 4, 16, 0x100, x, 2, shape);
    }
}"#;

#[test]
fn prints_reach_the_sink_in_order() {
    let kernel = kernel(PRINT, info(1));
    let x = Buffer::from_slice(&[0.5f32, -1.0, f32::INFINITY, f32::NAN]).unwrap();
    let device = CpuDevice::new(1).unwrap();
    for fibers in [Fibers::Auto, Fibers::Always] {
        let text = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&text);
        let print = PrintSink::new(move |line| sink.lock().unwrap().push_str(line));
        let options = LaunchOptions { print, fibers, ..options() };
        // SAFETY: the kernel reads four floats.
        unsafe { device.launch(&kernel, [1, 2, 1], &pointers(&[x.as_ptr()]), &options) }.unwrap();
        let expected = "\
pid (0, 0, 0) hello
pid (0, 0, 0) idx () id: 0
pid (0, 0, 0) idx (0, 0) x: (operand 0) 0.500000
pid (0, 0, 0) idx (0, 1) x: (operand 0) -1.000000
pid (0, 0, 0) idx (1, 0) x: (operand 0) inf
pid (0, 0, 0) idx (1, 1) x: (operand 0) nan
pid (0, 1, 0) hello
pid (0, 1, 0) idx () id: -1
pid (0, 1, 0) idx (0, 0) x: (operand 0) 0.500000
pid (0, 1, 0) idx (0, 1) x: (operand 0) -1.000000
pid (0, 1, 0) idx (1, 0) x: (operand 0) inf
pid (0, 1, 0) idx (1, 1) x: (operand 0) nan
";
        assert_eq!(*text.lock().unwrap(), expected);
    }
}

#[test]
fn a_sink_that_panics_fails_the_launch() {
    let kernel = kernel(PRINT, info(1));
    let x = Buffer::zeroed(16).unwrap();
    let device = CpuDevice::new(2).unwrap();
    for fibers in [Fibers::Auto, Fibers::Always] {
        let options = LaunchOptions { print: PrintSink::new(|_| panic!("no paper")), fibers, ..options() };
        // SAFETY: the kernel reads four floats.
        let error = unsafe { device.launch(&kernel, [9, 1, 1], &pointers(&[x.as_ptr()]), &options) }.unwrap_err();
        let LaunchError::Failed { failure, .. } = error else { panic!() };
        assert_eq!(failure.message, "the print sink panicked");
    }
}

/// Output of many threads arrives in whole calls.
#[test]
fn calls_do_not_interleave() {
    let kernel = kernel(PRINT, info(1));
    let x = Buffer::zeroed(16).unwrap();
    let device = CpuDevice::new(4).unwrap();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&calls);
    let print = PrintSink::new(move |text| sink.lock().unwrap().push(text.to_owned()));
    let options = LaunchOptions { print, ..options() };
    // SAFETY: the kernel reads four floats.
    unsafe { device.launch(&kernel, [100, 1, 1], &pointers(&[x.as_ptr()]), &options) }.unwrap();
    let calls = calls.lock().unwrap();
    assert_eq!(calls.len(), 300);
    assert!(calls.iter().all(|text| matches!(text.lines().count(), 1 | 4) && text.ends_with('\n')));
}
