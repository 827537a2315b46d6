//! Launches: a kernel over a grid, synchronously.
//!
//! Kernels that neither wait nor fail go to [`plain_launch`](super::plain_launch), others to
//! [`fiber_launch`](super::fiber_launch).

use super::{
    device::CpuDevice,
    features::host_features,
    fiber_launch,
    job::Job,
    kernel::LoadedKernel,
    launch_options::{Fibers, LaunchOptions},
    launch_state::{End, LaunchState},
    plain_launch,
};
use crate::{args::ArgBlock, error::LaunchError, launch_group::GroupMember};
use shoal_abi::Waits;
use std::panic::resume_unwind;

impl CpuDevice {
    /// Runs `kernel` once for each program of `grid` and returns when all have ended. Any number of threads may
    /// launch at the same time. A grid with a zero dimension has no programs.
    ///
    /// # Errors
    ///
    /// When the launch is not possible, when a program fails, when programs wait for each other in vain, and when it is
    /// interrupted. The device stays usable.
    ///
    /// # Safety
    ///
    /// The kernel's code keeps to [the binary interface](shoal_abi) and is described truthfully by its
    /// [`KernelDescription`](shoal_abi::KernelDescription); `args` holds its arguments, whose pointers are valid for everything the
    /// kernel does with them; nothing else accesses the memory it writes during the launch, other than through
    /// atomics.
    pub unsafe fn launch(
        &self,
        kernel: &LoadedKernel,
        grid: [u32; 3],
        args: &ArgBlock,
        options: &LaunchOptions,
    ) -> Result<(), LaunchError> {
        let programs = programs(grid)?;
        check(kernel, args)?;
        if programs == 0 {
            return Ok(());
        }
        let info = kernel.info();
        let workers = self.workers().map_err(|error| LaunchError::Memory {
            kernel: info.name.clone(),
            what: format!("the worker threads of a forked process ({error})"),
        })?;
        let _acting = options.member.as_ref().map(GroupMember::act);
        let timeout = options.timeout.unwrap_or(self.wait_timeout());
        let state = LaunchState::new(options, (info.waits == Waits::MayWait).then_some(timeout), self.wait_timeout());
        let job = Job { threads: self.threads(), workers, kernel, grid, programs, args, state: &state };
        if info.waits == Waits::MayWait || info.can_fail || options.fibers == Fibers::Always {
            fiber_launch::run(&job, timeout)?;
        } else {
            plain_launch::run(&job)?;
        }
        let kernel = || info.name.clone();
        match state.take_end() {
            None => Ok(()),
            Some(End::Failed(failure)) => Err(LaunchError::Failed { kernel: kernel(), failure: Box::new(failure) }),
            Some(End::Forked) => Err(LaunchError::Forked { kernel: kernel() }),
            Some(End::Interrupted) => Err(LaunchError::Interrupted { kernel: kernel() }),
            Some(End::Panicked(panic)) => resume_unwind(panic),
            Some(End::Stuck(_)) => unreachable!("reported by those who know who waits"),
        }
    }
}

/// The number of programs in a grid.
fn programs(grid: [u32; 3]) -> Result<u64, LaunchError> {
    let count = grid.iter().try_fold(1u64, |count, &extent| count.checked_mul(u64::from(extent)));
    // A dimension of zero makes the grid empty whatever the others are.
    match count {
        _ if grid.contains(&0) => Ok(0),
        Some(count) if count <= 1 << 62 => Ok(count),
        _ => Err(LaunchError::Grid { grid }),
    }
}

fn check(kernel: &LoadedKernel, args: &ArgBlock) -> Result<(), LaunchError> {
    let (expected, got) = (kernel.args_bytes(), args.len());
    if expected != got {
        return Err(LaunchError::Arguments { kernel: kernel.info().name.clone(), expected, got });
    }
    if kernel.info().cpu().uses_amx && !host_features().amx_usable() {
        return Err(LaunchError::Feature { kernel: kernel.info().name.clone(), feature: "AMX" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_counted_without_overflow() {
        assert_eq!(programs([0, u32::MAX, u32::MAX]), Ok(0));
        assert_eq!(programs([3, 4, 5]), Ok(60));
        assert_eq!(programs([u32::MAX, 1 << 29, 1]), Ok(u64::from(u32::MAX) << 29));
        assert!(programs([u32::MAX; 3]).is_err());
    }
}
