//! Tile IR to native code, through LLVM.
//!
//! Each backend is a folder; what they share is in `shared/`. Verified IR never makes a backend panic: what a
//! target cannot do is a diagnostic with the user's line.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod cpu;
pub mod nvptx;
mod shared;

use std::path::PathBuf;

use inkwell::targets::TargetMachine;
use shoal_abi::{KernelDescription, Target};
use shoal_ir::Module;
use shoal_ir::source::{Diagnostic, Diagnostics, SourceMap, Span};

/// How code is made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// With line tables for debuggers.
    pub debug_info: bool,
    /// With a check of every access to memory, for kernels that are being debugged.
    pub checks: bool,
    /// Bitcode files with functions that kernels call by `extern_elementwise`; kernels that call none are without them.
    pub extern_libs: Vec<PathBuf>,
    /// NVSHMEM's device functions as bitcode: kernels for NVIDIA GPUs reach other ranks through them. Without it, by
    /// loads and stores.
    pub nvshmem: Option<PathBuf>,
}

/// A compiled kernel.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// A relocatable object; PTX for NVIDIA GPUs.
    pub object: Vec<u8>,
    /// What a device must know of it.
    pub description: KernelDescription,
    /// The bitcode that became part of it.
    pub linked: Vec<Linked>,
}

/// A file of bitcode that was linked.
#[derive(Clone, Debug)]
pub struct Linked {
    /// Where it is.
    pub path: PathBuf,
    /// What it held.
    pub bitcode: Vec<u8>,
}

/// What [`emit`] writes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Emit {
    /// LLVM IR as the backend makes it.
    LlvmRaw,
    /// LLVM IR after LLVM's passes.
    Llvm,
    /// Assembly.
    Asm,
    /// A relocatable object; for NVIDIA GPUs PTX, which the driver assembles.
    Object,
}

/// Compiles a kernel to an object.
///
/// # Errors
/// When the target cannot do what the kernel does, or there is no backend for it.
pub fn compile(
    module: &Module,
    kernel: &str,
    target: &Target,
    sources: &SourceMap,
    options: &Options,
) -> Result<Compiled, Diagnostics> {
    match target {
        Target::Cpu(cpu) => cpu::compile(module, kernel, cpu, sources, options),
        Target::Nvptx(arch) => nvptx::compile(module, kernel, *arch, sources, options),
        Target::Amdgpu(_) => Err(no_backend(module, kernel, target)),
    }
}

/// A kernel in one of the forms it has on its way to an object.
///
/// # Errors
/// As [`compile`].
pub fn emit(
    module: &Module,
    kernel: &str,
    target: &Target,
    sources: &SourceMap,
    options: &Options,
    what: Emit,
) -> Result<Vec<u8>, Diagnostics> {
    match target {
        Target::Cpu(cpu) => cpu::emit(module, kernel, cpu, sources, options, what),
        Target::Nvptx(arch) => nvptx::emit(module, kernel, *arch, sources, options, what),
        Target::Amdgpu(_) => Err(no_backend(module, kernel, target)),
    }
}

fn no_backend(module: &Module, kernel: &str, target: &Target) -> Diagnostics {
    let span = module.func(kernel).map_or(Span::NONE, |func| func.span);
    let text =
        format!("no code can be made for {target}: this version of Shoal has no backend for its kind of GPU yet");
    vec![Diagnostic::error(span, text).help("compile for a CPU, such as `native` or `x86-64-v3`")].into()
}

/// The operating system and the object format that code is made for, in LLVM's words.
pub fn triple() -> String {
    TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned()
}

/// The version of LLVM that this program is linked with.
pub fn llvm_version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}
