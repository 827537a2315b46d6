//! From text to results.

use std::sync::Arc;

use shoal_abi::CpuTarget;
use shoal_codegen::{Options, cpu};
use shoal_driver::LaunchError;
use shoal_driver::cpu::{ArgBlock, Code, CpuDevice, LaunchOptions, LoadedKernel};
use shoal_source::{SourceMap, Style};

/// An argument of a kernel.
pub(crate) enum Arg<'a> {
    F32(&'a mut [f32]),
    I32(&'a mut [i32]),
    Int(i32),
}

/// Compiles the only kernel of a module for this machine's CPU and runs it on a grid.
pub(crate) fn run(text: &str, grid: [u32; 3], args: &mut [Arg<'_>]) {
    run_as(&cpu::host(), text, grid, args);
}

/// As [`run`], with code for some CPU that this machine's can do all of.
pub(crate) fn run_as(target: &CpuTarget, text: &str, grid: [u32; 3], args: &mut [Arg<'_>]) {
    launch(target, text, grid, args, &LaunchOptions::default()).expect("the launch succeeds");
}

/// As [`run_as`], for launches that may fail.
pub(crate) fn launch(
    target: &CpuTarget,
    text: &str,
    grid: [u32; 3],
    args: &mut [Arg<'_>],
    options: &LaunchOptions,
) -> Result<(), LaunchError> {
    let mut sources = SourceMap::default();
    let file = sources.add("test.tile", text);
    let module = shoal_ir::parse::module(text, file)
        .unwrap_or_else(|d| panic!("{}", shoal_source::render(&sources, &d, Style::Plain)));
    if let Err(errors) = shoal_ir::verify(&module) {
        panic!("{errors:#?}");
    }
    let kernel = &module.funcs[0].name;
    let compiled =
        cpu::compile(&module, kernel, target, &sources, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let code = Arc::new(Code::load(&compiled.object).expect("the object loads"));
    let kernel = LoadedKernel::new(code, compiled.description).expect("the kernel is in the object");
    let mut block = ArgBlock::writer();
    for arg in args.iter_mut() {
        match arg {
            Arg::F32(v) => block.push_ptr(v.as_mut_ptr()),
            Arg::I32(v) => block.push_ptr(v.as_mut_ptr()),
            Arg::Int(v) => block.push_i32(*v),
        };
    }
    let device = CpuDevice::new(2).expect("a device");
    // SAFETY: the kernels of these tests stay inside the slices they are given.
    unsafe { device.launch(&kernel, grid, &block.finish(), options) }
}
