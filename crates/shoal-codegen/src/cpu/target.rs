//! LLVM's code generator for a CPU.

use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine};
use shoal_abi::CpuTarget;
use shoal_ir::source::{Diagnostic, Span};

use crate::shared::left_out::leave_out_passes;

/// The CPU this program runs on.
pub fn host() -> CpuTarget {
    let (name, features) = (TargetMachine::get_host_cpu_name(), TargetMachine::get_host_cpu_features());
    CpuTarget::new(&name.to_string(), &features.to_string())
}

/// The code generator for a CPU under this program's operating system.
pub(super) fn machine(target: &CpuTarget, level: OptimizationLevel) -> Result<TargetMachine, Diagnostic> {
    leave_out_passes();
    LlvmTarget::initialize_x86(&InitializationConfig::default());
    let triple = TargetMachine::get_default_triple();
    let refuse = |why: String| {
        Diagnostic::error(Span::NONE, format!("no code can be made for `{}`: {why}", triple.as_str().to_string_lossy()))
    };
    let llvm = LlvmTarget::from_triple(&triple).map_err(|why| refuse(why.to_string()))?;
    let machine =
        llvm.create_target_machine(&triple, target.name(), target.features(), level, RelocMode::PIC, CodeModel::Small);
    machine.ok_or_else(|| refuse(format!("LLVM does not know the CPU `{}`", target.name())))
}
