//! Memory of a GPU, and memory of the host that a GPU reaches.
//!
//! Memory is taken and given back in the order of streams, so neither waits for the GPU. It is given back in the default
//! stream, which comes after all streams that Shoal makes by [`Stream::new`](super::Stream::new): memory may be dropped
//! while kernels that use it run there.

use core::{ffi::c_void, fmt, marker::PhantomData, slice};

use super::{
    device::CudaDevice,
    error::CudaError,
    stream::StreamRef,
    sys::{HOST_DEVICE_MAPPED, HOST_PORTABLE},
};
use crate::memory::Pod;

/// The byte that poisoned memory is filled with: every float type reads it as NaN.
const POISON: u8 = 0xff;

/// Elements in a GPU's memory.
pub struct CudaBuffer<T> {
    device: CudaDevice,
    address: u64,
    len: usize,
    origin: Origin,
    elements: PhantomData<T>,
}

/// Where memory comes from, and goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The device's pool: taken and given back in the order of streams.
    Pool,
    /// The device itself.
    Device,
}

impl<T: Pod> CudaBuffer<T> {
    /// Memory of its own for so many elements, not the pool's: streams can write single words there and wait for them.
    /// Giving it back waits for the GPU.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn apart(device: CudaDevice, len: usize) -> Result<CudaBuffer<T>, CudaError> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| too_large(len))?;
        let mut address = 0;
        if bytes > 0 {
            let cuda = device.bind()?;
            // SAFETY: the pointer is to a local.
            let status = unsafe { (cuda.alloc)(&raw mut address, bytes) };
            cuda.check(status, || format!("taking {bytes} bytes of GPU {}", device.ordinal()))?;
        }
        Ok(CudaBuffer { device, address, len, origin: Origin::Device, elements: PhantomData })
    }

    /// Memory for so many elements. What is in it is not known before something writes it.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn uninitialised(stream: StreamRef, len: usize) -> Result<CudaBuffer<T>, CudaError> {
        let device = stream.device();
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| too_large(len))?;
        let mut address = 0;
        if bytes > 0 {
            let cuda = stream.bind()?;
            // SAFETY: the pointer is to a local.
            let status = unsafe { (cuda.alloc_async)(&raw mut address, bytes, stream.raw()) };
            cuda.check(status, || format!("taking {bytes} bytes of GPU {}", device.ordinal()))?;
        }
        Ok(CudaBuffer { device, address, len, origin: Origin::Pool, elements: PhantomData })
    }

    /// Zeros.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn zeroed(stream: StreamRef, len: usize) -> Result<CudaBuffer<T>, CudaError> {
        let buffer = CudaBuffer::uninitialised(stream, len)?;
        buffer.fill_bytes(stream, 0)?;
        Ok(buffer)
    }

    /// Memory in which every float is NaN and every bit of an integer is set, so that what a kernel does not write shows.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn poisoned(stream: StreamRef, len: usize) -> Result<CudaBuffer<T>, CudaError> {
        let buffer = CudaBuffer::uninitialised(stream, len)?;
        buffer.fill_bytes(stream, POISON)?;
        Ok(buffer)
    }

    /// A copy of elements of the host. It returns when they are read.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn from_slice(stream: StreamRef, values: &[T]) -> Result<CudaBuffer<T>, CudaError> {
        let buffer = CudaBuffer::uninitialised(stream, values.len())?;
        buffer.copy_from(stream, values)?;
        Ok(buffer)
    }

    /// Its device.
    #[must_use]
    pub fn device(&self) -> CudaDevice {
        self.device
    }

    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The address that kernels get; 0 if it has no elements.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Writes elements of the host over its own, after what is in the stream. It returns when they are read.
    ///
    /// # Errors
    /// When there are not as many as it has, or work in the stream failed.
    pub fn copy_from(&self, stream: StreamRef, values: &[T]) -> Result<(), CudaError> {
        self.check_len(values.len())?;
        self.copy_part_from(stream, 0, values)
    }

    /// Reads all elements, after what is in the stream.
    ///
    /// # Errors
    /// When there are not as many as it has, or work in the stream failed.
    pub fn copy_to(&self, stream: StreamRef, values: &mut [T]) -> Result<(), CudaError> {
        self.check_len(values.len())?;
        self.copy_part_to(stream, 0, values)
    }

    /// Writes elements of the host over those from `at` on. It returns when they are read.
    ///
    /// # Errors
    /// When it does not reach so far, or work in the stream failed.
    pub fn copy_part_from(&self, stream: StreamRef, at: usize, values: &[T]) -> Result<(), CudaError> {
        let Some(address) = self.part(at, values.len())? else { return Ok(()) };
        let cuda = stream.bind()?;
        let source: *const c_void = values.as_ptr().cast();
        // SAFETY: the part has that many bytes; the slice lives until the stream is waited for.
        let status = unsafe { (cuda.copy_to_device)(address, source, size_of_val(values), stream.raw()) };
        cuda.check(status, || "copying to the GPU".to_owned())?;
        stream.synchronize()
    }

    /// Reads the elements from `at` on, after what is in the stream.
    ///
    /// # Errors
    /// When it does not reach so far, or work in the stream failed.
    pub fn copy_part_to(&self, stream: StreamRef, at: usize, values: &mut [T]) -> Result<(), CudaError> {
        let Some(address) = self.part(at, values.len())? else { return Ok(()) };
        let cuda = stream.bind()?;
        let target: *mut c_void = values.as_mut_ptr().cast();
        // SAFETY: the part has that many bytes; the slice lives until the stream is waited for, and any bytes are a `T`.
        let status = unsafe { (cuda.copy_to_host)(target, address, size_of_val(values), stream.raw()) };
        cuda.check(status, || "copying from the GPU".to_owned())?;
        stream.synchronize()
    }

    /// Where so many elements from `at` on lie; `None` for no elements.
    fn part(&self, at: usize, len: usize) -> Result<Option<u64>, CudaError> {
        match at.checked_add(len) {
            Some(end) if end <= self.len => Ok((len > 0).then(|| self.address + (at * size_of::<T>()) as u64)),
            _ => Err(CudaError::Invalid(format!("{len} elements from {at} on are not inside of {}", self.len))),
        }
    }

    /// Writes another buffer's elements over its own, in the stream's order.
    ///
    /// # Errors
    /// When there are not as many as it has.
    pub fn copy_from_buffer(&self, stream: StreamRef, other: &CudaBuffer<T>) -> Result<(), CudaError> {
        self.check_len(other.len)?;
        if self.is_empty() {
            return Ok(());
        }
        let cuda = stream.bind()?;
        // SAFETY: both have that many bytes, and live until the stream has come here (see the module's promise).
        let status = unsafe { (cuda.copy_on_device)(self.address, other.address, self.bytes(), stream.raw()) };
        cuda.check(status, || "copying on the GPU".to_owned())
    }

    /// Fills it with a byte, in the stream's order.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn fill_bytes(&self, stream: StreamRef, byte: u8) -> Result<(), CudaError> {
        if self.is_empty() {
            return Ok(());
        }
        let cuda = stream.bind()?;
        // SAFETY: it has that many bytes.
        let status = unsafe { (cuda.fill_bytes)(self.address, byte, self.bytes(), stream.raw()) };
        cuda.check(status, || "filling memory of the GPU".to_owned())
    }

    fn check_len(&self, len: usize) -> Result<(), CudaError> {
        if len == self.len {
            return Ok(());
        }
        Err(CudaError::Invalid(format!("{len} elements cannot be copied to or from memory for {}", self.len)))
    }
}

fn too_large(len: usize) -> CudaError {
    CudaError::Invalid(format!("{len} elements are more than any memory holds"))
}

impl<T> Drop for CudaBuffer<T> {
    fn drop(&mut self) {
        if self.address == 0 {
            return;
        }
        let stream = StreamRef::default_of(self.device);
        if let (Ok(cuda), Origin::Device) = (stream.bind(), self.origin) {
            // SAFETY: it was taken for this object; the driver waits for work that uses it.
            unsafe { (cuda.free)(self.address) };
            return;
        }
        if let Ok(cuda) = stream.bind() {
            // SAFETY: it was taken for this object. A capture that forbids it leaves the memory to the process.
            unsafe { (cuda.free_async)(self.address, stream.raw()) };
        }
    }
}

impl<T> fmt::Debug for CudaBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaBuffer({} elements at {:#x} of {:?})", self.len, self.address, self.device)
    }
}

/// Memory of the host that stays where it is and that GPUs read and write by address.
#[derive(Debug)]
pub struct PinnedBuffer {
    device: CudaDevice,
    host: *mut u8,
    device_address: u64,
    bytes: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for PinnedBuffer {}
// SAFETY: as above; what the GPU writes is read by volatile reads.
unsafe impl Sync for PinnedBuffer {}

impl PinnedBuffer {
    /// So many bytes, all zero.
    ///
    /// # Errors
    /// When the system does not give them.
    pub fn zeroed(device: CudaDevice, bytes: usize) -> Result<PinnedBuffer, CudaError> {
        let cuda = device.bind()?;
        let mut host: *mut c_void = core::ptr::null_mut();
        let asking = || format!("taking {bytes} bytes of pinned memory");
        // SAFETY: the pointer is to a local.
        let status = unsafe { (cuda.host_alloc)(&raw mut host, bytes.max(1), HOST_PORTABLE | HOST_DEVICE_MAPPED) };
        cuda.check(status, asking)?;
        let mut buffer = PinnedBuffer { device, host: host.cast(), device_address: 0, bytes };
        // SAFETY: the memory was mapped for devices.
        let status = unsafe { (cuda.host_device_pointer)(&raw mut buffer.device_address, host, 0) };
        cuda.check(status, asking)?;
        // SAFETY: it has that many bytes.
        unsafe { buffer.host.write_bytes(0, bytes) };
        Ok(buffer)
    }

    /// Where GPUs see it.
    #[must_use]
    pub fn device_address(&self) -> u64 {
        self.device_address
    }

    /// Where the host sees it. The GPU may write to it meanwhile: read by volatile reads.
    #[must_use]
    pub fn host_address(&self) -> *mut u8 {
        self.host
    }

    /// Its size.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Its content, while no GPU writes to it.
    ///
    /// # Safety
    /// No work that writes to it is under way as long as the slice lives.
    #[must_use]
    pub unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: it has that many initialised bytes, and by contract nobody writes.
        unsafe { slice::from_raw_parts(self.host, self.bytes) }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        if let Ok(cuda) = self.device.bind() {
            // SAFETY: it was taken for this object; the driver waits for work that uses it.
            unsafe { (cuda.host_free)(self.host.cast()) };
        }
    }
}
