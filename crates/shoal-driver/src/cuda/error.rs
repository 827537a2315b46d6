//! What can go wrong with a GPU, with CUDA's name for it and what to do.

use crate::error::{DeviceError, LaunchError};

/// Something went wrong with a GPU.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// The machine has no CUDA driver.
    #[error(
        "there is no CUDA driver here: {why}\n  = help: install NVIDIA's driver, whose library `libcuda.so.1` is looked \
         for as any other, or run on the CPU"
    )]
    NoDriver {
        /// Why it could not be loaded.
        why: String,
    },
    /// The driver is too old.
    #[error(
        "the CUDA driver here is for CUDA {}.{} and has no `{missing}`\n  = help: kernels need a driver for CUDA 12.0 or \
         later", .version / 1000, .version % 1000 / 10
    )]
    TooOld {
        /// The version that it says.
        version: u32,
        /// The function that it lacks.
        missing: String,
    },
    /// There is no such device.
    #[error("there is no GPU {ordinal}: this machine has {}", gpus(*.count))]
    NoDevice {
        /// The number asked for.
        ordinal: u32,
        /// How many there are.
        count: u32,
    },
    /// The device is older than what kernels are compiled for.
    #[error("GPU {ordinal} ({name}) has compute capability {}.{}: kernels need 8.0 or later", .capability.0, .capability.1)]
    Unsupported {
        /// Its number.
        ordinal: u32,
        /// Its name.
        name: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// A call of the driver failed.
    #[error("{what}: {text} ({name}){}", help(.name))]
    Call {
        /// What was tried.
        what: String,
        /// CUDA's name of the error.
        name: String,
        /// CUDA's words for it.
        text: String,
    },
    /// PTX could not be assembled.
    #[error(
        "kernel `{kernel}` cannot be assembled:\n{log}\n  = help: this is a bug in Shoal unless the kernel has inline assembly"
    )]
    Assemble {
        /// The kernel.
        kernel: String,
        /// What the assembler said.
        log: String,
    },
    /// A kernel wants more of something than the device has.
    #[error(
        "out of resource: {what}, Required: {required}, Hardware limit: {limit}. Reducing block sizes or `num_stages` may help."
    )]
    OutOfResources {
        /// What there is too little of.
        what: &'static str,
        /// How much it wants.
        required: u64,
        /// How much there is.
        limit: u64,
    },
    /// A grid that the device cannot launch.
    #[error("grid ({}, {}, {}) is too large for a GPU: at most 2147483647 by 65535 by 65535", .grid[0], .grid[1], .grid[2])]
    Grid {
        /// The grid asked for.
        grid: [u32; 3],
    },
    /// The argument block does not have the size that the kernel's parameters have.
    #[error("kernel `{kernel}` takes {expected} bytes of arguments, but {got} were given")]
    Arguments {
        /// The kernel.
        kernel: String,
        /// Size of the kernel's parameters.
        expected: usize,
        /// Size of the block.
        got: usize,
    },
    /// The driver cannot do something that later ones can.
    #[error("the CUDA driver here cannot {what}; a driver for CUDA {since} can")]
    Missing {
        /// What was asked.
        what: &'static str,
        /// Since when it can be done.
        since: &'static str,
    },
    /// Something that was asked for makes no sense to the device.
    #[error("{0}")]
    Invalid(String),
    /// Work did not end in time.
    #[error(
        "{what} did not end within {after:?}\n  = help: a kernel may wait in vain; the process must end to stop it"
    )]
    TimedOut {
        /// What was waited for.
        what: &'static str,
        /// How long.
        after: core::time::Duration,
    },
    /// Programs of an earlier launch could not go on.
    #[error(transparent)]
    Reported(Box<LaunchError>),
    /// Waiting was interrupted by the host program.
    #[error("waiting for the GPU was interrupted; what was launched goes on")]
    Interrupted,
}

/// A setting that is not only the GPU's.
impl From<DeviceError> for CudaError {
    fn from(error: DeviceError) -> CudaError {
        CudaError::Invalid(error.to_string())
    }
}

fn gpus(count: u32) -> String {
    match count {
        0 => "none that CUDA sees".to_owned(),
        1 => "one, number 0".to_owned(),
        n => format!("{n}, numbers 0 to {}", n - 1),
    }
}

/// What to do about an error of CUDA.
fn help(name: &str) -> String {
    let text = match name {
        "CUDA_ERROR_NOT_INITIALIZED" | "CUDA_ERROR_DEINITIALIZED" => {
            "CUDA does not survive a fork, and ends with the process: start workers with `spawn`"
        }
        "CUDA_ERROR_NO_DEVICE" => "no GPU is visible: look at `nvidia-smi` and at CUDA_VISIBLE_DEVICES",
        "CUDA_ERROR_OUT_OF_MEMORY" => "free arrays, or use smaller ones; `nvidia-smi` says who holds the memory",
        "CUDA_ERROR_ILLEGAL_ADDRESS" | "CUDA_ERROR_MISALIGNED_ADDRESS" | "CUDA_ERROR_INVALID_ADDRESS_SPACE" => {
            "a kernel launched before this call accessed memory that is not its own, and the GPU's context is lost: start \
             the program again with CUDA_LAUNCH_BLOCKING=1 to see which, or run the kernel with `SHOAL_DEVICE=interp`, \
             which checks every access"
        }
        "CUDA_ERROR_LAUNCH_FAILED"
        | "CUDA_ERROR_ILLEGAL_INSTRUCTION"
        | "CUDA_ERROR_ASSERT"
        | "CUDA_ERROR_HARDWARE_STACK_ERROR" => {
            "a kernel launched before this call failed, and the GPU's context is lost: start the program again with \
             CUDA_LAUNCH_BLOCKING=1 to see which"
        }
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" => {
            "the kernel uses too many registers for so many warps: lower `num_warps` or set `maxnreg`"
        }
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" => {
            "all programs of the grid must fit on the GPU at the same time: launch fewer"
        }
        "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
        | "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
        | "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT" => {
            "this cannot be captured in a graph: launch the kernel once before, so that it is compiled and loaded"
        }
        "CUDA_ERROR_NO_BINARY_FOR_GPU" | "CUDA_ERROR_INVALID_IMAGE" => {
            "the code was compiled for another GPU: compile it for this one"
        }
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" => "the driver is older than the code: install a newer driver",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" | "CUDA_ERROR_SYSTEM_NOT_READY" => {
            "the driver's library and its kernel module do not fit together: restart the machine or its container"
        }
        _ => return String::new(),
    };
    format!("\n  = help: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let lost = CudaError::Call {
            what: "copying to the host".into(),
            name: "CUDA_ERROR_ILLEGAL_ADDRESS".into(),
            text: "an illegal memory access was encountered".into(),
        };
        let said = lost.to_string();
        assert!(
            said.starts_with(
                "copying to the host: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"
            )
        );
        assert!(said.contains("CUDA_LAUNCH_BLOCKING=1"), "{said}");
        assert_eq!(
            CudaError::NoDevice { ordinal: 3, count: 2 }.to_string(),
            "there is no GPU 3: this machine has 2, numbers 0 to 1"
        );
        let old = CudaError::TooOld { version: 11_080, missing: "cuLibraryLoadData".into() };
        assert!(old.to_string().starts_with("the CUDA driver here is for CUDA 11.8 and has no `cuLibraryLoadData`"));
    }
}
