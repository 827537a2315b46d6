//! The device: its worker threads and what they keep between launches.

use super::{fiber::FiberPool, pool::Pool};
use crate::{
    error::DeviceError,
    fork::{PerProcess, Section},
    wait_timeout::wait_timeout,
};
use core::{fmt, num::NonZeroUsize, time::Duration};
use std::{env, io, thread};

/// The CPU as a device: a number of threads that run kernels.
pub struct CpuDevice {
    threads: usize,
    workers: PerProcess<Workers>,
    wait_timeout: Duration,
}

/// What launches of one process share.
pub(crate) struct Workers {
    pub(crate) pool: Pool,
    pub(crate) fibers: FiberPool,
}

impl Workers {
    /// The workers of a device with so many threads.
    fn new(threads: usize) -> io::Result<Self> {
        Ok(Self { pool: Pool::new(threads - 1)?, fibers: FiberPool::default() })
    }
}

impl CpuDevice {
    /// A device that runs kernels on `threads` threads: the one that launches, and `threads - 1` workers. Zero
    /// counts as one.
    ///
    /// # Errors
    ///
    /// When there are more than 4096 threads, one cannot be started, or `SHOAL_WAIT_TIMEOUT` (seconds) is not a number.
    pub fn new(threads: usize) -> Result<Self, DeviceError> {
        let _section = Section::enter();
        let wait_timeout = wait_timeout()?;
        if threads > MOST_THREADS {
            return Err(DeviceError::Threads { threads, most: MOST_THREADS });
        }
        let threads = threads.max(1);
        Ok(Self { threads, workers: PerProcess::new(Workers::new(threads)?), wait_timeout })
    }

    /// A device with all cores this process may use, or as many threads as `SHOAL_CPU_THREADS` says.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and when `SHOAL_CPU_THREADS` is not a positive number.
    pub fn host() -> Result<Self, DeviceError> {
        Self::new(Self::host_threads()?)
    }

    /// The threads of a [host's](Self::host) device.
    ///
    /// # Errors
    ///
    /// When `SHOAL_CPU_THREADS` is not a positive number.
    pub fn host_threads() -> Result<usize, DeviceError> {
        match env::var_os("SHOAL_CPU_THREADS") {
            Some(value) => parse_threads(value.to_string_lossy().into_owned()),
            None => Ok(thread::available_parallelism().map_or(1, NonZeroUsize::get)),
        }
    }

    /// Threads that work on a launch, the launching one included.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// How long programs of a launch may wait in vain by default.
    #[must_use]
    pub fn wait_timeout(&self) -> Duration {
        self.wait_timeout
    }

    /// The workers, which a forked child starts when it first launches.
    #[inline]
    pub(crate) fn workers(&self) -> io::Result<&Workers> {
        self.workers.get(|_| {
            let _section = Section::enter();
            Workers::new(self.threads)
        })
    }
}

impl fmt::Debug for CpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuDevice").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

/// More threads than any machine has cores: a larger number is a mistake.
const MOST_THREADS: usize = 4096;

fn parse_threads(value: String) -> Result<usize, DeviceError> {
    match value.trim().parse() {
        Ok(threads @ 1..=MOST_THREADS) => Ok(threads),
        _ => {
            let expected = "a number of threads from 1 to 4096";
            Err(DeviceError::Environment { name: "SHOAL_CPU_THREADS", value, expected })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_values_are_checked() {
        assert_eq!(parse_threads(" 3 ".into()).unwrap(), 3);
        let error = parse_threads("0".into()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "SHOAL_CPU_THREADS=0 cannot be used: it must be a number of threads from 1 to 4096"
        );
        let error = CpuDevice::new(1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "a device has at most 4096 threads, not 1048576");
    }
}
