//! Loads variants and runs them on the CPU, on threads that all families of the process share.

use std::sync::{Arc, OnceLock};

use shoal_abi::Slot;
use shoal_driver::Buffer;
use shoal_driver::cpu::{ArgBlock, ArgWriter, Code, CpuDevice, LaunchOptions, LoadedKernel};
use shoal_driver::cuda::CudaDevice;

use crate::family::{Family, Place, Variant, kept};
use crate::{Error, IntoGrid};

/// The threads that run kernels, started when they are first needed.
fn device() -> Result<&'static CpuDevice, Error> {
    static DEVICE: OnceLock<CpuDevice> = OnceLock::new();
    kept(&DEVICE, || Ok(CpuDevice::host()?))
}

impl Family {
    /// Loads all variants that this CPU can run and starts the threads, so that no launch has to; of a family for GPUs, those
    /// that the GPU of the calling thread can run.
    ///
    /// # Errors
    /// When no variant runs there, or code cannot be loaded.
    pub fn load(&self) -> Result<(), Error> {
        if self.is_for_gpus()? {
            return self.load_on(CudaDevice::current()?);
        }
        let runnable = self.runnable(Place::Cpu)?;
        if runnable.is_empty() {
            return Err(self.wrong_place(Place::Cpu)?);
        }
        device()?;
        runnable.into_iter().try_for_each(|variant| variant.kernel().map(drop))
    }

    /// Runs the kernel once for each program of the grid, and returns when all have ended.
    ///
    /// # Errors
    /// When no variant takes the arguments, code cannot be loaded, or a program fails.
    ///
    /// # Safety
    /// The family describes its code truthfully. Each word is what its parameter's [`WordKind`](crate::WordKind) says; memory
    /// behind pointers is valid for everything the kernel does with it, and nothing else touches what it writes until
    /// this function returns.
    pub unsafe fn launch(&self, configuration: u32, grid: impl IntoGrid, words: &[u64]) -> Result<(), Error> {
        let variant = self.choose_at(Place::Cpu, configuration, words)?;
        let (device, kernel) = (device()?, variant.kernel()?);
        let args = pack(variant.slots, words);
        // SAFETY: the caller's promises; the block holds what the variant takes of the arguments, in order.
        unsafe { device.launch(kernel, grid.extents()?, &args, &LaunchOptions::default()) }?;
        Ok(())
    }
}

impl Variant {
    fn kernel(&self) -> Result<&LoadedKernel, Error> {
        kept(&self.loaded.kernel, || {
            // The loader reads the object in place, which needs it aligned; constants in programs may not be.
            let object = Buffer::from_slice(self.object)?;
            let code = Code::load(object.as_slice())?;
            Ok(LoadedKernel::new(Arc::new(code), self.described()?.clone())?)
        })
    }
}

/// The argument block of a variant.
pub(crate) fn pack(slots: &[Slot], words: &[u64]) -> ArgBlock {
    let mut writer = ArgWriter::default();
    for (slot, &word) in slots.iter().zip(words) {
        match slot.bytes {
            0 => {}
            1 => drop(writer.push_u8(word as u8)),
            2 => drop(writer.push_u16(word as u16)),
            4 => drop(writer.push_u32(word as u32)),
            _ => drop(writer.push_u64(word)),
        }
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_what_is_not_compiled_in() {
        let slot = |bytes| Slot { bytes, divisible: 1, equals: None };
        let block = pack(&[slot(4), slot(0), slot(8), slot(2)], &[u64::MAX, 7, 9, 5]);
        assert_eq!(block.len(), 18);
        // SAFETY: the block has this many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(block.as_ptr(), block.len()) };
        assert_eq!(bytes, [255, 255, 255, 255, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 5, 0]);
    }
}
