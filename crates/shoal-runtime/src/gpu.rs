//! Variants for NVIDIA GPUs: which of them a GPU can run, and launches into its streams.
//!
//! Code is either machine code, for GPUs of one generation, or PTX, which the driver of any later one assembles.

use shoal_abi::NvptxNeeds;
use shoal_driver::cuda::{CudaDevice, CudaError, CudaKernel, LaunchTables, StreamRef, table_of};

use crate::family::{Family, Place, Variant, kept};
use crate::launch::pack;
use crate::{Error, IntoGrid};

/// The most GPUs that a host has.
pub(crate) const MOST_GPUS: usize = 16;

impl Variant {
    /// Whether a GPU of this compute capability can run it.
    pub(crate) fn fits_gpu(&self, needs: &NvptxNeeds, capability: (u32, u32)) -> bool {
        let compiled_for = needs.arch.capability();
        let is_machine_code = self.object.starts_with(b"\x7fELF");
        if needs.arch.name().ends_with('a') {
            // Its instructions are of this GPU alone.
            capability == compiled_for
        } else if is_machine_code {
            capability.0 == compiled_for.0 && capability.1 >= compiled_for.1
        } else {
            capability >= compiled_for
        }
    }

    /// The variant, loaded on a GPU.
    fn on_gpu(&self, device: CudaDevice) -> Result<&CudaKernel, Error> {
        let slot = self.loaded.on_gpus.get(device.ordinal() as usize).ok_or_else(|| {
            let text = format!("GPU {}: kernels run on GPUs 0 to {}", device.ordinal(), MOST_GPUS - 1);
            Error::Cuda(CudaError::Invalid(text))
        })?;
        let load = || Ok(Box::new(CudaKernel::load(device, self.object, self.described()?.clone())?));
        Ok(kept(slot, load)?)
    }
}

impl Family {
    /// Loads all variants that a GPU can run, so that no launch has to.
    ///
    /// # Errors
    /// When no variant runs there, or code cannot be loaded.
    pub fn load_on(&self, device: CudaDevice) -> Result<(), Error> {
        let place = Place::Gpu(device);
        let runnable = self.runnable(place)?;
        if runnable.is_empty() {
            return Err(self.wrong_place(place)?);
        }
        runnable.into_iter().try_for_each(|variant| variant.on_gpu(device).map(drop))
    }

    /// Puts the kernel into a stream, and returns at once; a kernel that has assertions is waited for, unless it is being
    /// captured in a graph.
    ///
    /// # Errors
    /// When no variant takes the arguments, code cannot be loaded, or the driver refuses. What goes wrong while it runs is
    /// told by whoever waits for the stream.
    ///
    /// # Safety
    /// The family describes its code truthfully. Each word is what its parameter's [`WordKind`](crate::WordKind) says;
    /// pointers are addresses of memory that the GPU reaches, valid for everything the kernel does with it until it has
    /// ended.
    pub unsafe fn launch_in(
        &self,
        configuration: u32,
        stream: StreamRef,
        grid: impl IntoGrid,
        words: &[u64],
    ) -> Result<(), Error> {
        let device = stream.device();
        let variant = self.choose_at(Place::Gpu(device), configuration, words)?;
        let kernel = variant.on_gpu(device)?;
        let args = pack(variant.slots, words);
        // SAFETY: the caller's promises; the block holds what the variant takes of the arguments, in order.
        unsafe { kernel.launch(grid.extents()?, &args, LaunchTables::default(), stream) }?;
        if kernel.can_fail() && !stream.is_capturing()? {
            stream.synchronize()?;
            if let Some(failed) = table_of(device)?.take_report() {
                return Err(failed.into());
            }
        }
        Ok(())
    }
}
