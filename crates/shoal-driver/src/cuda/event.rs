//! Events: points in a stream, to wait for and to measure between.

use core::{ffi::c_float, time::Duration};

use super::{
    device::CudaDevice,
    error::CudaError,
    stream::StreamRef,
    sys::{EVENT_NO_TIMING, EventHandle},
};

/// A point in a stream.
#[derive(Debug)]
pub struct Event {
    device: CudaDevice,
    raw: EventHandle,
}

/// What an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// To measure the time between two.
    Timing,
    /// To wait for, which is cheaper without a time.
    Ordering,
}

impl Event {
    /// An event that was not recorded yet.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn new(device: CudaDevice, kind: EventKind) -> Result<Event, CudaError> {
        let cuda = device.bind()?;
        let flags = match kind {
            EventKind::Timing => 0,
            EventKind::Ordering => EVENT_NO_TIMING,
        };
        let mut raw = EventHandle::NULL;
        // SAFETY: the pointer is to a local.
        cuda.check(unsafe { (cuda.event_create)(&raw mut raw, flags) }, || "making an event".to_owned())?;
        Ok(Event { device, raw })
    }

    /// Makes it the point where the stream is now.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn record(&self, stream: StreamRef) -> Result<(), CudaError> {
        let cuda = stream.bind()?;
        // SAFETY: both live.
        cuda.check(unsafe { (cuda.event_record)(self.raw, stream.raw()) }, || "recording an event".to_owned())
    }

    /// Waits until the stream has come to it.
    ///
    /// # Errors
    /// When something before it failed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        let cuda = self.device.bind()?;
        // SAFETY: the event lives.
        cuda.check(unsafe { (cuda.event_synchronize)(self.raw) }, || "waiting for an event".to_owned())
    }

    /// The time from an earlier event to this one; both were waited for.
    ///
    /// # Errors
    /// When one was not recorded or not reached yet.
    pub fn since(&self, earlier: &Event) -> Result<Duration, CudaError> {
        let cuda = self.device.bind()?;
        let mut milliseconds: c_float = 0.0;
        // SAFETY: both live, and the pointer is to a local.
        let status = unsafe { (cuda.event_elapsed)(&raw mut milliseconds, earlier.raw, self.raw) };
        cuda.check(status, || "measuring between events".to_owned())?;
        Ok(Duration::from_secs_f64((f64::from(milliseconds) / 1e3).max(0.0)))
    }

    /// Lets what comes later in a stream wait for it.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn hold_back(&self, stream: StreamRef) -> Result<(), CudaError> {
        let cuda = stream.bind()?;
        // SAFETY: both live.
        let status = unsafe { (cuda.stream_wait_event)(stream.raw(), self.raw, 0) };
        cuda.check(status, || "waiting for an event".to_owned())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(cuda) = self.device.bind() {
            // SAFETY: it was made for this object, and is used through it alone.
            unsafe { (cuda.event_destroy)(self.raw) };
        }
    }
}
