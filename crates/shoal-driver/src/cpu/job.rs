//! One launch that was found to be possible.

use super::{device::Workers, kernel::LoadedKernel, launch_state::LaunchState};
use crate::args::ArgBlock;
use crate::error::LaunchError;

/// One launch, checked.
pub(crate) struct Job<'a> {
    pub(crate) threads: usize,
    pub(crate) workers: &'a Workers,
    pub(crate) kernel: &'a LoadedKernel,
    pub(crate) grid: [u32; 3],
    pub(crate) programs: u64,
    pub(crate) args: &'a ArgBlock,
    pub(crate) state: &'a LaunchState<'a>,
}

impl Job<'_> {
    pub(crate) fn out_of_memory(&self, what: impl Into<String>) -> LaunchError {
        LaunchError::Memory { kernel: self.kernel.info().name.clone(), what: what.into() }
    }
}
