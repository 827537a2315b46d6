//! Launches: a kernel over a grid, synchronously.
//!
//! Kernels that neither wait nor fail run as plain calls over chunks of the grid, taken from a counter by as many
//! threads as are free. A grid of one program runs on the calling thread and wakes nobody. Other kernels go to
//! [`fiber_launch`](super::fiber_launch).

use super::{
    args::ArgBlock,
    device::CpuDevice,
    error::LaunchError,
    features::host_features,
    fiber_launch,
    kernel::{Kernel, Waits},
    pool::Work,
    print::PrintSink,
    run::Run,
    scratch::ThreadScratch,
};
use core::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

/// Chunks per thread: enough that threads finish together, few enough that taking one costs nothing.
const CHUNKS_PER_THREAD: u64 = 8;

/// When programs run as fibers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fibers {
    /// When the kernel may wait or fail.
    #[default]
    Auto,
    /// Always, for instance to test with.
    Always,
}

/// How to launch.
#[derive(Clone, Debug, Default)]
pub struct LaunchOptions {
    /// How long all programs may wait without any of them moving before the launch is given up. By default the
    /// device's, which is 30 seconds or `SHOAL_WAIT_TIMEOUT`. A program that loops without a scheduling point is
    /// not noticed.
    pub timeout: Option<Duration>,
    /// Where `device_print` goes.
    pub print: PrintSink,
    /// When programs run as fibers.
    pub fibers: Fibers,
}

impl CpuDevice {
    /// Runs `kernel` once for each program of `grid` and returns when all have ended. Any number of threads may
    /// launch at the same time. A grid with a zero dimension has no programs.
    ///
    /// # Errors
    ///
    /// When the launch is not possible, when a program fails, and when programs wait for each other in vain. The
    /// device stays usable.
    ///
    /// # Safety
    ///
    /// The kernel's code keeps to [`abi`](super::abi) and is described truthfully by its
    /// [`KernelInfo`](super::KernelInfo); `args` holds its arguments, whose pointers are valid for everything the
    /// kernel does with them; nothing else accesses the memory it writes during the launch, other than through
    /// atomics.
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        args: &ArgBlock,
        options: &LaunchOptions,
    ) -> Result<(), LaunchError> {
        let programs = programs(grid)?;
        check(kernel, args)?;
        if programs == 0 {
            return Ok(());
        }
        let run = Run::new(&options.print);
        let launch = Launch { device: self, kernel, grid, programs, args, run: &run };
        let info = kernel.info();
        if info.waits == Waits::MayWait || info.can_fail || options.fibers == Fibers::Always {
            fiber_launch::run(&launch, options.timeout.unwrap_or(self.wait_timeout()))?;
        } else {
            launch.run_plainly()?;
        }
        match run.into_failure() {
            None => Ok(()),
            Some(failure) => Err(LaunchError::Failed { kernel: info.name.clone(), failure: Box::new(failure) }),
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

fn check(kernel: &Kernel, args: &ArgBlock) -> Result<(), LaunchError> {
    let (expected, got) = (kernel.args_bytes(), args.len());
    if expected != got {
        return Err(LaunchError::Arguments { kernel: kernel.info().name.clone(), expected, got });
    }
    if kernel.info().uses_amx && !host_features().amx_usable() {
        return Err(LaunchError::Feature { kernel: kernel.info().name.clone(), feature: "AMX" });
    }
    Ok(())
}

/// One launch, checked.
pub(crate) struct Launch<'a> {
    pub(crate) device: &'a CpuDevice,
    pub(crate) kernel: &'a Kernel,
    pub(crate) grid: [u32; 3],
    pub(crate) programs: u64,
    pub(crate) args: &'a ArgBlock,
    pub(crate) run: &'a Run<'a>,
}

impl Launch<'_> {
    /// Programs to run between two looks at the shared counter.
    pub(crate) fn chunk(&self) -> u64 {
        (self.programs / (self.device.threads() as u64 * CHUNKS_PER_THREAD)).max(1)
    }

    pub(crate) fn out_of_memory(&self, what: impl Into<String>) -> LaunchError {
        LaunchError::Memory { kernel: self.kernel.info().name.clone(), what: what.into() }
    }

    /// Runs all programs without fibers.
    fn run_plainly(&self) -> Result<(), LaunchError> {
        let chunks =
            Chunks { launch: self, chunk: self.chunk(), next: AtomicU64::new(0), no_memory: AtomicBool::new(false) };
        let helpers = usize::try_from(self.programs - 1).unwrap_or(usize::MAX);
        self.device.pool().share(&chunks, helpers, || chunks.help());
        if chunks.no_memory.into_inner() {
            let bytes = self.kernel.info().scratch_bytes;
            return Err(self.out_of_memory(format!("{bytes} bytes of scratch for each thread")));
        }
        Ok(())
    }
}

/// The chunks of a grid that threads share.
struct Chunks<'a> {
    launch: &'a Launch<'a>,
    chunk: u64,
    next: AtomicU64,
    no_memory: AtomicBool,
}

// SAFETY: the launch is only read, apart from atomics; the argument block is read-only memory, and what its pointers
// mean is the business of `CpuDevice::launch`'s contract.
unsafe impl Sync for Chunks<'_> {}

impl Work for Chunks<'_> {
    fn help(&self) {
        let Launch { kernel, grid, programs, args, run, .. } = *self.launch;
        let mut scratch = ThreadScratch::take();
        let Ok(scratch) = scratch.reserve(kernel.info().scratch_bytes) else {
            self.no_memory.store(true, Ordering::Release);
            return;
        };
        let mut context = run.context(grid, scratch);
        while !run.has_failed() && !self.no_memory.load(Ordering::Relaxed) {
            let first = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if first >= programs {
                return;
            }
            let last = (first + self.chunk).min(programs);
            context.program = first;
            // SAFETY: the contract of `CpuDevice::launch`; the context and its scratch are this thread's.
            unsafe { kernel.entry()(args.as_ptr(), &raw mut context, first, last) };
        }
    }

    fn wants_help(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.launch.programs
    }
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
