//! The CPU that code is made for.

use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple};
use shoal_ir::source::{Diagnostic, Span};

/// A CPU and its features, in LLVM's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    triple: String,
    cpu: String,
    features: String,
}

impl Target {
    /// The CPU this program runs on.
    pub fn host() -> Target {
        Target {
            triple: text(TargetMachine::get_default_triple().as_str()),
            cpu: TargetMachine::get_host_cpu_name().to_string(),
            features: TargetMachine::get_host_cpu_features().to_string(),
        }
    }

    /// A CPU by LLVM's name (`x86-64-v3`, `sapphirerapids`), with further features (`+avx2,-avx512f`) if any.
    pub fn named(cpu: &str, features: &str) -> Target {
        Target {
            triple: text(TargetMachine::get_default_triple().as_str()),
            cpu: cpu.into(),
            features: features.into(),
        }
    }

    /// LLVM's name of the CPU.
    pub fn cpu(&self) -> &str {
        &self.cpu
    }

    /// LLVM's list of features.
    pub fn features(&self) -> &str {
        &self.features
    }

    /// All that code depends on, for a cache.
    pub fn key(&self) -> String {
        format!("{} {} {}", self.triple, self.cpu, self.features)
    }

    /// LLVM's code generator for it.
    pub(super) fn machine(&self, level: OptimizationLevel) -> Result<TargetMachine, Diagnostic> {
        LlvmTarget::initialize_x86(&InitializationConfig::default());
        let refuse =
            |why: String| Diagnostic::error(Span::NONE, format!("no code can be made for `{}`: {why}", self.triple));
        let triple = TargetTriple::create(&self.triple);
        let target = LlvmTarget::from_triple(&triple).map_err(|why| refuse(why.to_string()))?;
        let machine =
            target.create_target_machine(&triple, &self.cpu, &self.features, level, RelocMode::PIC, CodeModel::Small);
        machine.ok_or_else(|| refuse(format!("LLVM does not know the CPU `{}`", self.cpu)))
    }
}

fn text(c: &std::ffi::CStr) -> String {
    c.to_string_lossy().into_owned()
}
