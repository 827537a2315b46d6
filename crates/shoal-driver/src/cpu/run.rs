//! What all programs of one launch share: where prints go, and the first failure.

use super::{abi::Context, error::Failure, print::PrintSink};
use core::{
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose data stays consistent even if a holder panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State of one launch that its hooks reach through [`Context`].
#[derive(Debug)]
pub(crate) struct Run<'a> {
    sink: &'a PrintSink,
    failure: Mutex<Option<Failure>>,
    failed: AtomicBool,
}

impl<'a> Run<'a> {
    pub(crate) fn new(sink: &'a PrintSink) -> Self {
        Self { sink, failure: Mutex::new(None), failed: AtomicBool::new(false) }
    }

    pub(crate) fn sink(&self) -> &PrintSink {
        self.sink
    }

    /// Records a failure; only the first of a launch is kept.
    pub(crate) fn fail(&self, failure: Failure) {
        lock(&self.failure).get_or_insert(failure);
        self.failed.store(true, Ordering::Release);
    }

    /// Whether some program has failed, so that no further ones need to run.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    pub(crate) fn into_failure(self) -> Option<Failure> {
        if !self.has_failed() {
            return None;
        }
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// A context for programs of this launch that runs them off fibers.
    ///
    /// The context holds a plain pointer: whoever uses it keeps `self` alive.
    pub(crate) fn context(&self, grid: [u32; 3], scratch: *mut u8) -> Context {
        Context {
            scratch,
            grid,
            program: 0,
            run: ptr::from_ref(self).cast(),
            yielder: ptr::null(),
            site: ptr::null(),
            waited: false,
        }
    }
}
