//! Streams: queues of work on a GPU.

use core::{
    ffi::{c_int, c_void},
    fmt,
    ops::Deref,
    ptr,
    time::Duration,
};
use std::sync::{Mutex, PoisonError};

use super::{
    device::{CudaDevice, bind, current_context, poll},
    error::CudaError,
    sys::{Context, Functions, NOT_READY, STREAM_BLOCKING, STREAM_NON_BLOCKING, StreamHandle},
};
use crate::interrupt::Interrupt;

/// A queue of work, by its name: whoever uses it keeps the stream.
#[derive(Clone, Copy)]
pub struct StreamRef {
    device: CudaDevice,
    context: Context,
    raw: StreamHandle,
}

/// How a stream waits for a word in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitWord {
    /// Until the word is at least the value, as numbers that wrap around.
    AtLeast,
    /// Until it is the value.
    Equal,
    /// Until it has a bit of the value.
    AnyBit,
}

impl WaitWord {
    fn flag(self) -> u32 {
        match self {
            WaitWord::AtLeast => 0,
            WaitWord::Equal => 1,
            WaitWord::AnyBit => 2,
        }
    }
}

impl StreamRef {
    /// The default stream of a device, which orders itself with all others but those that were made not to.
    #[must_use]
    pub fn default_of(device: CudaDevice) -> StreamRef {
        StreamRef { device, context: device.context(), raw: StreamHandle::NULL }
    }

    /// A stream of another package, by its address: what torch calls `cuda_stream`.
    ///
    /// # Safety
    /// It is a stream of the device's primary context, and lives as long as it is used.
    #[must_use]
    pub unsafe fn from_raw(device: CudaDevice, address: usize) -> StreamRef {
        let raw = StreamHandle(ptr::with_exposed_provenance_mut(address));
        StreamRef { device, context: device.context(), raw }
    }

    /// A stream of the calling thread's current context, by its address: what C calls `CUstream` or `cudaStream_t`. Without a
    /// context it is one of the first GPU's primary one.
    ///
    /// # Errors
    /// When there is no driver or no GPU.
    ///
    /// # Safety
    /// It is such a stream, and lives as long as it is used.
    pub unsafe fn of_current(address: usize) -> Result<StreamRef, CudaError> {
        let device = CudaDevice::current()?;
        let raw = StreamHandle(ptr::with_exposed_provenance_mut(address));
        let context = current_context(device.cuda()).unwrap_or_else(|| device.context());
        Ok(StreamRef { device, context, raw })
    }

    pub(crate) fn in_context(device: CudaDevice, context: Context, raw: StreamHandle) -> StreamRef {
        StreamRef { device, context, raw }
    }

    /// Its device.
    #[must_use]
    pub fn device(self) -> CudaDevice {
        self.device
    }

    /// Its address, as other packages take it.
    #[must_use]
    pub fn address(self) -> usize {
        self.raw.0.expose_provenance()
    }

    pub(crate) fn raw(self) -> StreamHandle {
        self.raw
    }

    /// Whether it works in the device's primary context.
    pub(crate) fn is_primary(self) -> bool {
        self.context == self.device.context()
    }

    /// Makes its context the current one, and gives the driver.
    #[inline]
    pub(crate) fn bind(self) -> Result<&'static Functions, CudaError> {
        let cuda = self.device.cuda();
        bind(cuda, self.context)?;
        Ok(cuda)
    }

    /// Waits until all work in it is done.
    ///
    /// # Errors
    /// When something that was launched failed.
    pub fn synchronize(self) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: the stream lives, see `StreamRef`.
        cuda.check(unsafe { (cuda.stream_synchronize)(self.raw) }, || "waiting for the GPU".to_owned())
    }

    /// The same, for so long at most, and until the host wants to stop.
    ///
    /// # Errors
    /// When something that was launched failed, or the work is not done in time.
    pub fn synchronize_within(self, timeout: Option<Duration>, interrupt: Option<&Interrupt>) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: the stream lives, see `StreamRef`.
        poll(cuda, "the GPU", timeout, interrupt, || unsafe { (cuda.stream_query)(self.raw) })
    }

    /// Whether all work in it is done.
    ///
    /// # Errors
    /// When something that was launched failed.
    pub fn is_done(self) -> Result<bool, CudaError> {
        let cuda = self.bind()?;
        // SAFETY: the stream lives, see `StreamRef`.
        match unsafe { (cuda.stream_query)(self.raw) } {
            NOT_READY => Ok(false),
            status => cuda.check(status, || "asking whether the GPU is done".to_owned()).map(|()| true),
        }
    }

    /// Whether what is launched in it is being captured in a graph.
    ///
    /// # Errors
    /// When the driver cannot tell.
    pub fn is_capturing(self) -> Result<bool, CudaError> {
        let cuda = self.bind()?;
        let mut status: c_int = 0;
        // SAFETY: the pointer is to a local.
        let told = unsafe { (cuda.capture_status)(self.raw, &raw mut status) };
        cuda.check(told, || "asking whether a stream is captured".to_owned())?;
        Ok(status != 0)
    }

    /// Reads bytes of a device's memory, after what is in the stream.
    ///
    /// # Errors
    /// When work in the stream failed.
    ///
    /// # Safety
    /// So many bytes from the address on are memory that the device reaches.
    pub unsafe fn copy_to_host(self, to: &mut [u8], from: u64) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: by contract; the slice lives until the stream is waited for.
        let status = unsafe { (cuda.copy_to_host)(to.as_mut_ptr().cast(), from, to.len(), self.raw) };
        cuda.check(status, || "copying from the GPU".to_owned())?;
        self.synchronize()
    }

    /// Writes bytes into a device's memory, after what is in the stream. It returns when they are read.
    ///
    /// # Errors
    /// When work in the stream failed.
    ///
    /// # Safety
    /// As for [`copy_to_host`](Self::copy_to_host).
    pub unsafe fn copy_to_device(self, to: u64, from: &[u8]) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: by contract; the slice lives until the stream is waited for.
        let status = unsafe { (cuda.copy_to_device)(to, from.as_ptr().cast(), from.len(), self.raw) };
        cuda.check(status, || "copying to the GPU".to_owned())?;
        self.synchronize()
    }

    /// Copies between two places in devices' memory, in the stream's order: by a copy engine.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// So many bytes at both places are memory that the device reaches, until the stream has come here.
    pub unsafe fn copy_on_device(self, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: by contract.
        let status = unsafe { (cuda.copy_on_device)(to, from, bytes, self.raw) };
        cuda.check(status, || "copying on the GPU".to_owned())
    }

    /// Fills bytes of a device's memory, in the stream's order.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// As for [`copy_on_device`](Self::copy_on_device).
    pub unsafe fn fill_bytes(self, to: u64, byte: u8, bytes: usize) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: by contract.
        let status = unsafe { (cuda.fill_bytes)(to, byte, bytes, self.raw) };
        cuda.check(status, || "filling memory of the GPU".to_owned())
    }

    /// Calls a function of the host when all that was put in before is done. It may call nothing of the driver.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn call(self, function: impl FnOnce() + Send + 'static) -> Result<(), CudaError> {
        unsafe extern "C" fn run(data: *mut c_void) {
            // SAFETY: the box that was made below, given once.
            let function = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
            // A panic must not reach the driver.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function));
        }
        let cuda = self.bind()?;
        let boxed: Box<Box<dyn FnOnce() + Send>> = Box::new(Box::new(function));
        let data = Box::into_raw(boxed);
        // SAFETY: the driver calls the function once, with the box that it then owns.
        let status = unsafe { (cuda.host_function)(self.raw, run, data.cast()) };
        cuda.check(status, || "putting a function into a stream".to_owned()).inspect_err(|_| {
            // SAFETY: the driver did not take it.
            drop(unsafe { Box::from_raw(data) });
        })
    }

    /// Writes a word of 32 bits to memory when all that was put in before is done. It is a release in the scope of the
    /// system.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// The address is that of such a word in memory that the device reaches.
    pub unsafe fn write_u32(self, address: u64, value: u32) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: by contract.
        let status = unsafe { (cuda.stream_write_32)(self.raw, address, value, 0) };
        cuda.check(status, || "writing a word from a stream".to_owned())
    }

    /// Writes a word of 64 bits, as [`write_u32`](Self::write_u32).
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn write_u64(self, address: u64, value: u64) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: by contract.
        let status = unsafe { (cuda.stream_write_64)(self.raw, address, value, 0) };
        cuda.check(status, || "writing a word from a stream".to_owned())
    }

    /// Lets what comes later wait for a word of 32 bits.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// The address is that of such a word in memory that the device reaches. Somebody writes it in the end.
    pub unsafe fn wait_u32(self, address: u64, value: u32, until: WaitWord) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: by contract.
        let status = unsafe { (cuda.stream_wait_32)(self.raw, address, value, until.flag()) };
        cuda.check(status, || "waiting for a word in a stream".to_owned())
    }

    /// Lets what comes later wait for a word of 64 bits.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// As for [`wait_u32`](Self::wait_u32).
    pub unsafe fn wait_u64(self, address: u64, value: u64, until: WaitWord) -> Result<(), CudaError> {
        let cuda = self.bind()?;
        // SAFETY: by contract.
        let status = unsafe { (cuda.stream_wait_64)(self.raw, address, value, until.flag()) };
        cuda.check(status, || "waiting for a word in a stream".to_owned())
    }
}

impl fmt::Debug for StreamRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamRef({:#x} on {:?})", self.address(), self.device)
    }
}

/// Independent streams that nobody has any more, for the next who wants one. A stream shares one of few queues
/// (`CUDA_DEVICE_MAX_CONNECTIONS`) from when it is made on, and may be held up behind one that waits for it: a process should
/// never have made more streams than it uses at a time.
static SPARE: Mutex<Vec<StreamRef>> = Mutex::new(Vec::new());

/// A stream of its own, which is given back when it is dropped; work in it is still done.
#[derive(Debug)]
pub struct Stream {
    stream: StreamRef,
    is_independent: bool,
}

impl Stream {
    /// A stream that orders itself with the default stream.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn new(device: CudaDevice) -> Result<Stream, CudaError> {
        Ok(Stream { stream: made(device, STREAM_BLOCKING)?, is_independent: false })
    }

    /// A stream that does not: it goes on while others wait.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn independent(device: CudaDevice) -> Result<Stream, CudaError> {
        let stream = match spare(device) {
            Some(stream) => stream,
            None => made(device, STREAM_NON_BLOCKING)?,
        };
        Ok(Stream { stream, is_independent: true })
    }

    /// Takes over a stream that was made elsewhere.
    pub(crate) fn owning(stream: StreamRef) -> Stream {
        Stream { stream, is_independent: false }
    }
}

fn made(device: CudaDevice, flags: u32) -> Result<StreamRef, CudaError> {
    let cuda = device.bind()?;
    let mut raw = StreamHandle::NULL;
    // SAFETY: the pointer is to a local.
    let status = unsafe { (cuda.stream_create)(&raw mut raw, flags) };
    cuda.check(status, || "making a stream".to_owned())?;
    Ok(StreamRef { device, context: device.context(), raw })
}

/// A stream that was dropped, and has come to its end.
fn spare(device: CudaDevice) -> Option<StreamRef> {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    let idle = |stream: &StreamRef| stream.device == device && matches!(stream.is_done(), Ok(true));
    let at = spare.iter().position(idle)?;
    Some(spare.swap_remove(at))
}

impl Deref for Stream {
    type Target = StreamRef;

    fn deref(&self) -> &StreamRef {
        &self.stream
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.is_independent {
            SPARE.lock().unwrap_or_else(PoisonError::into_inner).push(self.stream);
        } else if let Ok(cuda) = self.stream.bind() {
            // SAFETY: it was made for this object, and is used through it alone.
            unsafe { (cuda.stream_destroy)(self.stream.raw) };
        }
    }
}
