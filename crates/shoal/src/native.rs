//! Launching native code: the place where the compiler is trusted.

#![expect(unsafe_code, reason = "the driver runs machine code, which no type system has looked at")]

use shoal_driver::cpu::{ArgBlock, CpuDevice, Kernel, LaunchOptions};

use crate::Error;

/// Runs a compiled kernel.
///
/// Callers pass a kernel that this crate compiled (or found in its own cache), with arguments packed for it.
#[inline]
pub(crate) fn launch(
    device: &CpuDevice,
    kernel: &Kernel,
    grid: [u32; 3],
    args: &ArgBlock,
    options: &LaunchOptions,
) -> Result<(), Error> {
    // SAFETY: the code comes from `shoal-codegen`, which keeps to the driver's binary interface and describes the kernel
    // truthfully. The block was packed for the very specialisation that the code was compiled for. The memory behind its
    // pointers is borrowed for the whole launch, mutably where it came from `&mut`; that a kernel stays inside of it, and
    // writes to no memory that was passed as `&`, is what `Kernel::launch` asks of whoever wrote the kernel.
    unsafe { device.launch(kernel, grid, args, options) }.map_err(Error::from)
}
