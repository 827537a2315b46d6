//! The symmetric segments of all ranks, as one GPU sees them.

use std::fmt;

use shoal_driver::cuda::{CudaBuffer, CudaDevice, CudaError, StreamRef, Window};

/// Where the segments are, and what keeps them there.
#[derive(Debug)]
pub(crate) struct GpuHeaps {
    device: CudaDevice,
    /// Where each rank's segment begins.
    addresses: Vec<u64>,
    segment: usize,
    /// Whether they lie where they happen to, or at equal distances in the order of ranks.
    is_scattered: bool,
    /// What keeps them; `None` if somebody else does until the process ends.
    _keep: Option<Box<dyn fmt::Debug + Send + Sync>>,
}

impl GpuHeaps {
    /// Slices of one allocation, which has room for them.
    pub(crate) fn slices(memory: CudaBuffer<u8>, ranks: usize, segment: usize) -> GpuHeaps {
        assert!(ranks * segment <= memory.len(), "{ranks} segments of {segment} bytes");
        let addresses = (0..ranks).map(|rank| memory.address() + (rank * segment) as u64).collect();
        GpuHeaps { device: memory.device(), addresses, segment, is_scattered: false, _keep: Some(Box::new(memory)) }
    }

    /// A window with a piece for each rank, each at least as large as a segment.
    pub(crate) fn window(window: Window, ranks: usize, segment: usize) -> GpuHeaps {
        let addresses = (0..ranks).map(|rank| window.address_of(rank)).collect();
        GpuHeaps { device: window.device(), addresses, segment, is_scattered: false, _keep: Some(Box::new(window)) }
    }

    /// Segments that begin at these addresses.
    ///
    /// # Safety
    /// Each has so many bytes, which the device reaches until the process ends.
    pub(crate) unsafe fn kept_elsewhere(device: CudaDevice, addresses: Vec<u64>, segment: usize) -> GpuHeaps {
        GpuHeaps { device, addresses, segment, is_scattered: true, _keep: None }
    }

    pub(crate) fn is_scattered(&self) -> bool {
        self.is_scattered
    }

    /// The GPU that sees them so.
    pub(crate) fn device(&self) -> CudaDevice {
        self.device
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> {
        self.addresses.iter().copied()
    }

    /// Where a rank's segment begins.
    pub(crate) fn address(&self, rank: usize) -> u64 {
        self.addresses[rank]
    }

    /// Zeros at the begin of a rank's segment; they are there when this returns.
    pub(crate) fn clear(&self, rank: usize, bytes: usize) -> Result<(), CudaError> {
        let stream = StreamRef::default_of(self.device);
        // SAFETY: inside of the segment, see `place`.
        unsafe { stream.fill_bytes(self.place(rank, 0, bytes), 0, bytes) }?;
        stream.synchronize()
    }

    /// Reads bytes of a rank's segment, after what is in the stream.
    pub(crate) fn read(&self, stream: StreamRef, rank: usize, offset: usize, to: &mut [u8]) -> Result<(), CudaError> {
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: inside of the segment, see `place`.
        unsafe { stream.copy_to_host(to, self.place(rank, offset, to.len())) }
    }

    /// Writes bytes of a rank's segment, after what is in the stream.
    pub(crate) fn write(&self, stream: StreamRef, rank: usize, offset: usize, from: &[u8]) -> Result<(), CudaError> {
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: inside of the segment, see `place`.
        unsafe { stream.copy_to_device(self.place(rank, offset, from.len()), from) }
    }

    /// The address of so many bytes of a segment, which must lie inside.
    fn place(&self, rank: usize, offset: usize, bytes: usize) -> u64 {
        let fits = offset.checked_add(bytes).is_some_and(|end| end <= self.segment);
        assert!(fits, "{bytes} bytes at offset {offset} of a segment of {}", self.segment);
        self.addresses[rank] + offset as u64
    }
}
