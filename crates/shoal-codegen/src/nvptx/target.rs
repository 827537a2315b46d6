//! LLVM's code generator for an NVIDIA GPU.

use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple};
use shoal_abi::NvptxArch;
use shoal_ir::source::{Diagnostic, Span};

use crate::shared::left_out::leave_out_passes;

/// What code is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkedWith {
    /// Nothing that asks for a version of PTX.
    Anything,
    /// NVSHMEM's functions, or assembly of the kernel's own.
    Newer,
}

/// The version of PTX that code is written in: what the drivers of CUDA 12.0 and later read; newer GPUs need a newer one, and
/// NVSHMEM's functions were compiled for that of CUDA 12.3. Assembly may want as new a one: `multimem` came with CUDA 12.1.
fn ptx_version(arch: NvptxArch, with: LinkedWith) -> &'static str {
    match arch {
        NvptxArch::Sm80 | NvptxArch::Sm86 | NvptxArch::Sm87 | NvptxArch::Sm89 | NvptxArch::Sm90 | NvptxArch::Sm90a
            if with == LinkedWith::Newer =>
        {
            "+ptx83"
        }
        NvptxArch::Sm80 | NvptxArch::Sm86 | NvptxArch::Sm87 | NvptxArch::Sm89 | NvptxArch::Sm90 | NvptxArch::Sm90a => {
            "+ptx80"
        }
        NvptxArch::Sm100 | NvptxArch::Sm100a => "+ptx86",
        NvptxArch::Sm103 | NvptxArch::Sm103a | NvptxArch::Sm120 | NvptxArch::Sm120a => "+ptx88",
    }
}

pub(super) fn machine(
    arch: NvptxArch,
    effort: OptimizationLevel,
    with: LinkedWith,
) -> Result<TargetMachine, Diagnostic> {
    leave_out_passes();
    LlvmTarget::initialize_nvptx(&InitializationConfig::default());
    let triple = TargetTriple::create("nvptx64-nvidia-cuda");
    let refuse =
        |why: String| Diagnostic::error(Span::NONE, format!("no code can be made for `{}`: {why}", arch.name()));
    let llvm = LlvmTarget::from_triple(&triple).map_err(|why| refuse(why.to_string()))?;
    let machine = llvm.create_target_machine(
        &triple,
        arch.name(),
        ptx_version(arch, with),
        effort,
        RelocMode::Default,
        CodeModel::Default,
    );
    machine.ok_or_else(|| refuse("LLVM does not know it".to_owned()))
}
