//! What code is made for, by name.

use std::sync::OnceLock;

use shoal_abi::Target;

use crate::Error;

/// This machine.
#[must_use]
pub fn host_target() -> &'static Target {
    static HOST: OnceLock<Target> = OnceLock::new();
    HOST.get_or_init(|| Target::Cpu(shoal_codegen::cpu::host()))
}

/// The target of this name: a CPU by LLVM's name (`x86-64-v3`), an NVIDIA GPU (`sm_90a`) or an AMD GPU (`gfx942`);
/// `native` is this machine, `generic` any x86-64.
///
/// # Errors
/// When there is no such target.
pub fn target_named(name: &str) -> Result<Target, Error> {
    Ok(if name == "native" { host_target().clone() } else { name.parse()? })
}
