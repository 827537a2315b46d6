//! Launching native code: the place where the compiler is trusted.

#![expect(unsafe_code, reason = "the driver runs machine code, which no type system has looked at")]

use std::sync::Arc;

use shoal_driver::cpu::{ArgBlock, ArgMemory, Bounds, CpuDevice, LaunchOptions, LoadedKernel};
use shoal_ir::types::DescPart;

use crate::Error;
use crate::arg::Memory;
use crate::leaves::Leaves;
use crate::specialise::ArgClass;

/// Runs a compiled kernel.
///
/// Callers pass a kernel that this crate compiled (or found in its own cache), with arguments packed for it.
#[inline]
pub(crate) fn launch(
    device: &CpuDevice,
    kernel: &LoadedKernel,
    grid: [u32; 3],
    args: &ArgBlock,
    options: &LaunchOptions,
) -> Result<(), Error> {
    // SAFETY: the code comes from `shoal-codegen`, which keeps to the driver's binary interface and describes the
    // kernel truthfully. The block was packed for the very specialisation that the code was compiled for. The memory
    // behind its pointers is borrowed for the whole launch, mutably where it came from `&mut`; a kernel that stores
    // through what was passed as `&` does not compile. That it stays inside of its memory is what
    // `CpuDevice::launch` asks of whoever wrote it.
    unsafe { device.launch(kernel, grid, args, options) }.map_err(Error::from)
}

/// The memory of each run-time parameter, for kernels that check their accesses: one entry for each value that `pack`
/// writes.
pub(crate) fn bounds(leaves: &Leaves<'_>) -> Arc<Bounds> {
    bounds_at(leaves, |memory| memory.address)
}

/// The same for memory that kernels find at another address.
pub(crate) fn bounds_at(leaves: &Leaves<'_>, address: impl Fn(&Memory<'_>) -> usize) -> Arc<Bounds> {
    let mut list = Vec::new();
    for (param, leaf) in leaves.iter() {
        let reach = |memory: &Memory<'_>| {
            let range = memory.range()?;
            let before = memory.address - range.start;
            Some(ArgMemory { name: param.name.clone(), start: address(memory) - before, bytes: range.len() })
        };
        match leaf {
            ArgClass::Constant(_) | ArgClass::Tuple(..) => {}
            ArgClass::Number { .. } => list.push(None),
            ArgClass::Pointer { memory, .. } => list.push(reach(memory)),
            ArgClass::Descriptor(d) => list.extend(DescPart::passed(d.shape.len()).map(|part| match part {
                DescPart::Base => reach(&d.base),
                DescPart::Size(_) | DescPart::Stride(_) => None,
            })),
        }
    }
    Arc::new(Bounds::new(list))
}
