//! Launching native code: the place where the compiler is trusted.

#![expect(unsafe_code, reason = "the driver runs machine code, which no type system has looked at")]

use std::sync::Arc;

use shoal_driver::cpu::{ArgBlock, ArgMemory, Bounds, CpuDevice, Kernel, LaunchOptions};

use crate::Error;
use crate::arg::{Arg, Memory};
use crate::bound::Bound;
use crate::param::Param;
use crate::specialise::{Class, classify};

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
    // SAFETY: the code comes from `shoal-codegen`, which keeps to the driver's binary interface and describes the
    // kernel truthfully. The block was packed for the very specialisation that the code was compiled for. The memory
    // behind its pointers is borrowed for the whole launch, mutably where it came from `&mut`; that a kernel stays
    // inside of it, and writes to no memory that was passed as `&`, is what `Kernel::launch` asks of whoever wrote the
    // kernel.
    unsafe { device.launch(kernel, grid, args, options) }.map_err(Error::from)
}

/// The memory of each run-time parameter, for kernels that check their accesses.
pub(crate) fn bounds(bound: &Bound<'_>) -> Arc<Bounds> {
    let mut list = Vec::new();
    for (param, &arg) in bound.params.iter().zip(&bound.args) {
        collect(&mut list, param, &param.name, arg);
    }
    Arc::new(Bounds::new(list))
}

/// One entry for each number that `pack` writes.
fn collect(list: &mut Vec<Option<ArgMemory>>, param: &Param, name: &str, arg: &Arg<'_>) {
    let reach = |memory: &Memory<'_>| {
        let (start, bytes) = (memory.address - memory.before, memory.bytes.saturating_add(memory.before));
        (memory.bytes != Memory::UNMEASURED).then(|| ArgMemory { name: name.to_owned(), start, bytes })
    };
    match classify(param, arg) {
        // A wrong argument has ended the launch before.
        Err(_) | Ok(Class::Constant(_)) => {}
        Ok(Class::Number { .. }) => list.push(None),
        Ok(Class::Pointer { memory, .. }) => list.push(reach(&memory)),
        Ok(Class::Descriptor(d)) => {
            list.push(reach(&d.base));
            list.extend(d.shape.iter().map(|_| None));
            list.extend(d.passed_strides().iter().map(|_| None));
        }
        Ok(Class::Tuple(_, items)) => {
            let element = param.element();
            items.iter().for_each(|item| collect(list, &element, name, item));
        }
    }
}
