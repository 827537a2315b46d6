//! Ranks that are processes, with their symmetric memory on GPUs: the engine `processes` for the hosts, and on each rank's
//! GPU a piece of memory that all ranks map.
//!
//! A piece travels as a file through the rendezvous, beside the rank's segment in the host's memory, which holds no heap.
//! Ranks have the GPUs of the host in turns. Where several share one, the kernels of one process run at a time unless
//! NVIDIA's MPS lets them run together; a kernel that waits for another process is taken off the GPU when its time is up.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use shoal_driver::cuda::{CudaDevice, CudaError, ShareablePiece, Window};

use super::cuda::{CudaEngine, GpuRank, NO_HOST_HEAP, Sharing};
use super::gpu_heaps::GpuHeaps;
use super::processes::membership::Membership;
use super::processes::monitor::Monitor;
use super::processes::{self, Bring, ProcessEngine};
use super::{Engine, EngineKind, Segments};
use crate::error::WorldError;
use crate::options::WorldOptions;

/// Joins the world that this process was started for, with its memory on a GPU.
pub(crate) fn join(
    membership: &Membership,
    options: &WorldOptions,
    ordinal: Option<u32>,
) -> Result<CudaEngine<Monitor>, WorldError> {
    let device = device_of(membership.rank, ordinal)?;
    device.keep_memory().map_err(WorldError::gpu)?;
    let segment = options.segment_bytes()?;
    let bytes = ShareablePiece::rounded(device, segment).map_err(WorldError::gpu)?;
    let own = ShareablePiece::new(device, bytes).map_err(|error| no_memory(&error, device, segment))?;
    let bring = Bring {
        segments: Segments::Gpu,
        memory: Some(own.export().map_err(WorldError::gpu)?),
        note: &device.uuid().map_err(WorldError::gpu)?,
        host_heap: NO_HOST_HEAP,
    };
    let map = |files: &[BorrowedFd<'_>]| -> Result<GpuHeaps, WorldError> {
        let import = |file: &BorrowedFd<'_>| ShareablePiece::import(device, *file, bytes);
        let pieces: Vec<ShareablePiece> =
            files.iter().map(import).collect::<Result<_, CudaError>>().map_err(WorldError::gpu)?;
        let window = Window::map(device, &pieces).map_err(WorldError::gpu)?;
        let heaps = GpuHeaps::window(window, files.len(), segment);
        heaps.clear(membership.rank, options.heap_start()).map_err(WorldError::gpu)?;
        Ok(heaps)
    };
    let (host, heaps) = processes::join_with(membership, options, bring, map)?;
    let sharing = Sharing { gpu: sharers(&host), process: 1 };
    let gpu = GpuRank::new(&host, options, &Arc::new(heaps), sharing)?;
    Ok(CudaEngine { host, kind: EngineKind::Processes, gpu, pad: options.pad_bytes() })
}

/// The GPU of a rank: the one that was asked for, or those that this process sees in turns.
pub(crate) fn device_of(rank: usize, ordinal: Option<u32>) -> Result<CudaDevice, WorldError> {
    let count = CudaDevice::count().map_err(WorldError::gpu)?;
    let ordinal = ordinal
        .or_else(|| turn(rank, count))
        .ok_or_else(|| WorldError::Setup(format!("rank {rank} is to have its memory on a GPU, and there is none")))?;
    CudaDevice::new(ordinal).map_err(WorldError::gpu)
}

/// Whose turn it is.
fn turn(rank: usize, gpus: u32) -> Option<u32> {
    u32::try_from(rank.checked_rem(gpus as usize)?).ok()
}

/// What ranks tell each other first: which GPU they have.
pub(crate) const UUID_BYTES: usize = 16;

/// How many ranks have this rank's GPU; all have said which they have.
pub(crate) fn sharers(host: &ProcessEngine) -> usize {
    let uuid = |rank: usize| {
        let mut uuid = Vec::new();
        host.memory.control(rank).note.read(UUID_BYTES, &mut uuid);
        uuid
    };
    (0..host.size()).filter(|&rank| uuid(rank) == uuid(host.rank)).count()
}

fn no_memory(error: &CudaError, device: CudaDevice, segment: usize) -> WorldError {
    WorldError::Setup(format!(
        "a heap of {segment} bytes on GPU {}: {error}; make it smaller with SHOAL_HEAP_BYTES",
        device.ordinal()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_gpus_in_turns() {
        assert_eq!((0..5).map(|rank| turn(rank, 2)).collect::<Vec<_>>(), [0, 1, 0, 1, 0].map(Some));
        assert_eq!(turn(3, 1), Some(0));
        assert_eq!(turn(0, 0), None);
    }
}
