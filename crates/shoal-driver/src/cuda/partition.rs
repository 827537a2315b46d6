//! A device in parts: groups of multiprocessors, each with a stream that runs on these alone.
//!
//! What CUDA calls green contexts. Kernels in different parts cannot keep each other from running, so they may wait for
//! each other. Ranks that share a device do without: theirs are checked to fit on all of it together.

use core::ffi::c_uint;

use super::{
    device::CudaDevice,
    error::CudaError,
    stream::{Stream, StreamRef},
    sys::{
        Context, DeviceResource, GREEN_DEFAULT_STREAM, GreenContext, RESOURCE_SM, ResourceDesc, STREAM_NON_BLOCKING,
        StreamHandle,
    },
};

/// A part of a device.
#[derive(Debug)]
pub struct Partition {
    // Before the context: fields are dropped in their order.
    stream: Stream,
    _green: Green,
    multiprocessors: u32,
}

#[derive(Debug)]
struct Green {
    device: CudaDevice,
    raw: GreenContext,
}

const MISSING: CudaError = CudaError::Missing { what: "split a GPU into parts", since: "12.4" };

impl Partition {
    /// Splits a device into so many parts of equal size; multiprocessors that are left over are idle.
    ///
    /// # Errors
    /// When the driver cannot, or there are too few multiprocessors.
    pub fn split(device: CudaDevice, parts: u32) -> Result<Vec<Partition>, CudaError> {
        let cuda = device.bind()?;
        let splitting = || format!("splitting GPU {} into {parts} parts", device.ordinal());
        let mut all = EMPTY;
        let ask = cuda.device_resource.ok_or(MISSING)?;
        // SAFETY: the pointer is to a local of the size that the driver writes.
        cuda.check(unsafe { ask(device.id(), &raw mut all, RESOURCE_SM) }, splitting)?;
        // Parts come in steps of 8 multiprocessors on GPUs with clusters, of 2 before; the driver rounds up.
        let each = all.sm_count / parts.max(1);
        let each = if each >= 8 { each / 8 * 8 } else { each / 2 * 2 };
        if each == 0 || parts == 0 {
            let text =
                format!("GPU {} has {} multiprocessors: too few for {parts} parts", device.ordinal(), all.sm_count);
            return Err(CudaError::Invalid(text));
        }
        let mut groups = vec![EMPTY; parts as usize];
        let (mut count, mut rest) = (parts, EMPTY);
        let split = cuda.split_multiprocessors.ok_or(MISSING)?;
        // SAFETY: there is room for as many groups as are asked for; the other pointers are to locals.
        let status =
            unsafe { split(groups.as_mut_ptr(), &raw mut count, &raw const all, &raw mut rest, 0, each as c_uint) };
        cuda.check(status, splitting)?;
        if count < parts {
            let text = format!("GPU {} can be split into {count} parts at most, not {parts}", device.ordinal());
            return Err(CudaError::Invalid(text));
        }
        groups.into_iter().map(|group| Partition::new(device, group)).collect()
    }

    fn new(device: CudaDevice, mut group: DeviceResource) -> Result<Partition, CudaError> {
        let cuda = device.bind()?;
        let making = || format!("making a part of GPU {}", device.ordinal());
        let mut desc = ResourceDesc::NULL;
        // SAFETY: the pointers are to locals; one resource.
        cuda.check(unsafe { cuda.resource_desc.ok_or(MISSING)?(&raw mut desc, &raw mut group, 1) }, making)?;
        let mut raw = GreenContext::NULL;
        let create = cuda.green_create.ok_or(MISSING)?;
        // SAFETY: the description was just made.
        cuda.check(unsafe { create(&raw mut raw, desc, device.id(), GREEN_DEFAULT_STREAM) }, making)?;
        let green = Green { device, raw };
        let mut context = Context::NULL;
        // SAFETY: the green context lives.
        cuda.check(unsafe { cuda.green_context.ok_or(MISSING)?(&raw mut context, raw) }, making)?;
        let mut stream = StreamHandle::NULL;
        let create = cuda.green_stream.ok_or(MISSING)?;
        // SAFETY: the green context lives; its streams do not order themselves with the default stream.
        cuda.check(unsafe { create(&raw mut stream, raw, STREAM_NON_BLOCKING, 0) }, making)?;
        let stream = Stream::owning(StreamRef::in_context(device, context, stream));
        Ok(Partition { stream, _green: green, multiprocessors: group.sm_count })
    }

    /// Its stream. It does not order itself with the default stream.
    #[must_use]
    pub fn stream(&self) -> StreamRef {
        *self.stream
    }

    /// How many multiprocessors it has.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }
}

const EMPTY: DeviceResource = DeviceResource { kind: 0, internal: [0; 92], sm_count: 0, reserved: [0; 44] };

impl Drop for Green {
    fn drop(&mut self) {
        if let (Ok(cuda), raw) = (self.device.bind(), self.raw)
            && let Some(destroy) = cuda.green_destroy
        {
            // SAFETY: it was made for this object; its stream is gone.
            unsafe { destroy(raw) };
        }
    }
}
