//! What can go wrong with a launch of a kernel that was compiled ahead of time.

use shoal_driver::cpu::{KernelError, LoadError};
use shoal_driver::cuda::CudaError;
use shoal_driver::memory::AllocError;
use shoal_driver::{DeviceError, LaunchError};

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No compiled variant takes the arguments.
    #[error("kernel `{kernel}`: no compiled variant takes these arguments\n  passed: {passed}\n  {known}")]
    NoVariant {
        /// The kernel.
        kernel: String,
        /// The arguments, for people.
        passed: String,
        /// The variants there are.
        known: String,
    },
    /// All variants are for other CPUs.
    #[error(
        "kernel `{kernel}` was compiled for CPUs with {missing}, which this one does not have; \
             compile it with `--target` for this one as well"
    )]
    Cpu {
        /// The kernel.
        kernel: String,
        /// The missing features of the least demanding variant.
        missing: String,
    },
    /// All variants are for other GPUs.
    #[error(
        "kernel `{kernel}` was compiled for {compiled_for}, which {gpu} cannot run; compile it with `--target` for this one \
             as well"
    )]
    Gpu {
        /// The kernel.
        kernel: String,
        /// The architectures it was compiled for.
        compiled_for: String,
        /// The GPU and its compute capability.
        gpu: String,
    },
    /// A kernel for GPUs was launched on the CPU, or the other way round.
    #[error(
        "kernel `{kernel}` was compiled for {is_for}, but was launched {launched}; compile it for that as well, under \
             another name"
    )]
    Place {
        /// The kernel.
        kernel: String,
        /// What it was compiled for.
        is_for: &'static str,
        /// Where it was launched.
        launched: &'static str,
    },
    /// The GPU, or its driver.
    #[error(transparent)]
    Cuda(CudaError),
    /// A configuration that was not compiled.
    #[error("kernel `{kernel}` has no configuration {index}; it has {count}, counted from 0")]
    Configuration {
        /// The kernel.
        kernel: String,
        /// The number asked for.
        index: u32,
        /// How many there are.
        count: u32,
    },
    /// A grid's extent is negative or too large.
    #[error("a grid's extents are from 0 to 4294967295, but one is {extent}")]
    Grid {
        /// The extent.
        extent: String,
    },
    /// The description of the kernel is not one that this runtime understands.
    #[error("{0}")]
    Description(String),
    /// The code could not be loaded.
    #[error("compiled code could not be loaded: {0}")]
    Load(#[from] LoadError),
    /// The code does not hold its kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// There is not enough memory.
    #[error(transparent)]
    Memory(#[from] AllocError),
    /// The CPU's threads cannot be started.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The kernel ran and failed, or programs waited for each other in vain.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// What programs of a kernel report is told as on the CPU.
impl From<CudaError> for Error {
    fn from(error: CudaError) -> Error {
        match error {
            CudaError::Reported(reported) => Error::Launch(*reported),
            other => Error::Cuda(other),
        }
    }
}
