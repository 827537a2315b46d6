//! PTX assembled by `ptxas`, where there is one: for the architectures of three generations, without a GPU.

use shoal::cuda::find_ptxas;
use shoal_abi::{NvptxArch, Target};
use shoal_driver::cuda::assemble_with_ptxas;

/// What is assembled for.
pub(crate) const ARCHES: [NvptxArch; 3] = [NvptxArch::Sm80, NvptxArch::Sm90a, NvptxArch::Sm100a];

/// Whether there is an assembler; says so if there is none.
pub(crate) fn is_possible() -> bool {
    let found = find_ptxas().is_some();
    if !found {
        eprintln!("skipped: there is no ptxas (SHOAL_PTXAS names one)");
    }
    found
}

/// What `ptxas` has against the PTX that is made for each architecture. `ptx` gives it, or why there is none; that must be
/// because NVIDIA GPUs cannot do it.
pub(crate) fn refused<E: ToString>(ptx: impl Fn(&Target) -> Result<Vec<u8>, E>) -> Option<String> {
    ARCHES.into_iter().find_map(|arch| {
        let said = match ptx(&Target::Nvptx(arch)) {
            Ok(ptx) => assemble_with_ptxas("kernel", arch, &ptx).err()?.to_string(),
            Err(why) => Some(why.to_string()).filter(|why| !why.contains("NVIDIA"))?,
        };
        Some(format!("for {}: {said}", arch.name()))
    })
}
