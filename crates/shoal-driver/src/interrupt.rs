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

/// What programs of a launch that wait have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Changes when a program has moved: it began, ended, passed a wait, or goes round in a loop that may end by itself.
    pub moves: u64,
    /// How often all programs that have begun were found to wait.
    pub rounds: u64,
    /// Some of them look at memory in a loop, and have not done so for long.
    pub loops: bool,
}

/// A question to the host: do the programs of the launch wait in vain?
///
/// It is asked like [`Interrupt`], while programs wait. Once it says yes, the launch fails with
/// [`LaunchError::Stuck`](crate::LaunchError::Stuck), which tells what for.
#[derive(Clone)]
pub struct GiveUp(Arc<dyn Fn(Standing) -> bool + Send + Sync>);

impl GiveUp {
    /// Asks by calling `f`. If it panics, the launch ends and the panic goes on in the thread that launched.
    pub fn new(f: impl Fn(Standing) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(f))
    }

    /// Whether programs that stand so wait in vain.
    #[must_use]
    pub fn is_requested(&self, standing: Standing) -> bool {
        fork::outside(|| (self.0)(standing))
    }
}

impl fmt::Debug for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GiveUp(..)")
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt(..)")
    }
}
