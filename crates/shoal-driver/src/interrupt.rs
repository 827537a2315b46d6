//! Ending a launch early: what the host is asked.

use crate::fork;
use core::{fmt, time::Duration};
use std::sync::Arc;

/// How often the launching thread asks whether to stop.
pub(crate) const HOST_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A question to the host: is the launch to stop?
///
/// It is asked about every 50 ms while a launch runs, always on the thread that launched. Once it says yes, no more
/// programs are started, those that run end at the next round of a loop, and the launch fails with
/// [`LaunchError::Interrupted`](crate::LaunchError::Interrupted).
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> bool + Send + Sync>);

impl Interrupt {
    /// Asks by calling `f`. If it panics, the launch ends and the panic goes on in the thread that launched.
    pub fn new(f: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(f))
    }

    /// Asks.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        // The host may wait for locks of its own.
        fork::outside(|| (self.0)())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt(..)")
    }
}
