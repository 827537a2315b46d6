//! Where kernels run.

use std::sync::{Arc, OnceLock};

use shoal_abi::Target;
use shoal_driver::cpu::CpuDevice;
use shoal_driver::fork::Section;

use crate::Error;
use crate::targets::host_target;

/// The two ways to run a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Native code on the host's CPU.
    Cpu,
    /// The reference interpreter: slow, checks every access.
    Interpreter,
}

impl Backend {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Backend::Cpu => "cpu",
            Backend::Interpreter => "interp",
        }
    }
}

/// Where kernels run. Cloning gives another handle to the same device.
#[derive(Debug, Clone)]
pub enum Device {
    /// Native code on these threads.
    Cpu(Arc<CpuDevice>),
    /// The reference interpreter.
    Interpreter,
}

impl Device {
    /// All cores, or as many threads as `SHOAL_CPU_THREADS` says. All callers share one device.
    ///
    /// # Errors
    /// When its threads cannot be started.
    pub fn cpu() -> Result<Device, Error> {
        static HOST: OnceLock<Arc<CpuDevice>> = OnceLock::new();
        if let Some(device) = HOST.get() {
            return Ok(Device::Cpu(device.clone()));
        }
        let _section = Section::enter();
        let device = Arc::new(CpuDevice::host()?);
        Ok(Device::Cpu(HOST.get_or_init(|| device).clone()))
    }

    /// A device with so many threads of its own.
    ///
    /// # Errors
    /// When they cannot be started.
    pub fn cpu_with_threads(threads: usize) -> Result<Device, Error> {
        Ok(Device::Cpu(Arc::new(CpuDevice::new(threads)?)))
    }

    /// The device of a backend.
    ///
    /// # Errors
    /// When its threads cannot be started.
    pub fn of(backend: Backend) -> Result<Device, Error> {
        match backend {
            Backend::Cpu => Device::cpu(),
            Backend::Interpreter => Ok(Device::Interpreter),
        }
    }

    /// Which backend it is.
    #[must_use]
    pub fn backend(&self) -> Backend {
        match self {
            Device::Cpu(_) => Backend::Cpu,
            Device::Interpreter => Backend::Interpreter,
        }
    }

    /// What kernels on it are compiled for. The interpreter runs what this machine would.
    #[must_use]
    pub fn target(&self) -> &Target {
        match self {
            Device::Cpu(_) | Device::Interpreter => host_target(),
        }
    }

    /// Threads that work on a launch.
    #[must_use]
    pub fn threads(&self) -> usize {
        match self {
            Device::Cpu(device) => device.threads(),
            Device::Interpreter => 1,
        }
    }
}
