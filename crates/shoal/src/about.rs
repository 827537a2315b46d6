//! What this build of Shoal is and what it runs on.

use shoal_driver::cpu::host_features;

use crate::Error;
use crate::device::Device;
use crate::targets::host_target;

/// What this build is and what it runs on.
#[derive(Debug, Clone)]
pub struct About {
    /// Shoal's version.
    pub version: &'static str,
    /// The version of LLVM that it is linked with.
    pub llvm: String,
    /// LLVM's name for the CPU.
    pub cpu: String,
    /// The CPU's features that this process may use.
    pub features: Vec<&'static str>,
    /// Whether AMX tiles can be used.
    pub amx: bool,
    /// Threads that run kernels.
    pub threads: usize,
}

/// Looks at this build and this machine.
///
/// # Errors
/// When the CPU's threads cannot be started.
pub fn about() -> Result<About, Error> {
    let features = host_features();
    Ok(About {
        version: env!("CARGO_PKG_VERSION"),
        llvm: shoal_codegen::llvm_version(),
        cpu: host_target().name().to_owned(),
        features: features.names().to_vec(),
        amx: features.amx_usable(),
        threads: Device::cpu()?.threads(),
    })
}
