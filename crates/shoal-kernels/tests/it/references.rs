//! Every kernel, on every backend, for every element type and odd sizes, against its reference.

use shoal::{Backend, CompileOptions, Device, DiskCache};
use shoal_kernels::{Library, catalog, find};

/// Runs all test sizes and types of a kernel, and lists what is wrong.
fn hold(name: &str, backend: Backend) {
    let item = find(name).unwrap_or_else(|| panic!("{name} is in the catalog"));
    // What this very build makes is tested, not what an earlier one has left on disk.
    let options = CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() };
    let device = match (Device::of(backend), backend) {
        (Err(why), Backend::Cuda) => return eprintln!("skipped: {why}"),
        (device, _) => device.unwrap(),
    };
    let library = Library::with(device, options);
    let mut wrong = Vec::new();
    for sizes in item.tests {
        for &dtype in item.dtypes {
            let workload = item.workload(sizes, dtype).unwrap();
            if let Err(error) = workload.run(&library) {
                wrong.push(format!("{name} {sizes:?} {dtype}: {error}"));
                continue;
            }
            for checked in workload.check() {
                if !checked.passed() {
                    wrong.push(format!("{name} {sizes:?} {dtype}: {checked:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! kernels {
    ($($name:ident)*) => {
        mod cpu { $( #[test] fn $name() { super::hold(stringify!($name), shoal::Backend::Cpu); } )* }
        mod cuda { $( #[test] fn $name() { super::hold(stringify!($name), shoal::Backend::Cuda); } )* }
        mod interpreter { $( #[test] fn $name() { super::hold(stringify!($name), shoal::Backend::Interpreter); } )* }
        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

kernels! {
    vector_add softmax matmul dropout layer_norm layer_norm_backward rms_norm attention attention_causal grouped_gemm
}

#[test]
fn every_kernel_is_tested() {
    let all: Vec<&str> = catalog().iter().map(|item| item.name).collect();
    assert_eq!(all, TESTED);
}
