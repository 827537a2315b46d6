//! Launches: a kernel over a grid, synchronously.
//!
//! Kernels that neither wait nor fail run as plain calls over chunks of the grid, taken from a counter by as many
//! threads as are free. A grid of one program runs on the calling thread and wakes nobody; neither does one that took
//! less time, the last time, than waking a thread does. Other kernels go to [`fiber_launch`](super::fiber_launch).

use super::{
    args::ArgBlock,
    bounds::Bounds,
    device::CpuDevice,
    error::LaunchError,
    features::host_features,
    fiber_launch,
    interrupt::Interrupt,
    kernel::Kernel,
    pool::Work,
    print::PrintSink,
    run::{End, Role, Run},
    scratch::ThreadScratch,
};
use core::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};
use shoal_abi::Waits;
use std::{panic::resume_unwind, sync::Arc, time::Instant};

/// Each chunk is this part of a thread's share of what is left: large ones first, so that taking them costs nothing,
/// then smaller ones, so that threads finish together.
const CHUNKS_PER_SHARE: u64 = 4;
/// Launches that are expected to take no longer than this run on the calling thread alone.
const SHORT: Duration = Duration::from_micros(4);

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
    /// How long programs may wait for others without any of them moving before the launch is given up. By default the
    /// device's, which is 30 seconds or `SHOAL_WAIT_TIMEOUT`. A program that runs for that long without coming to a
    /// place where it would wait counts as not moving, if another waits. A launch in which nobody waits has no limit:
    /// see `interrupt`.
    pub timeout: Option<Duration>,
    /// Asked now and then whether to stop.
    pub interrupt: Option<Interrupt>,
    /// The memory of the arguments, for kernels that check their accesses. Without it they check nothing.
    pub bounds: Option<Arc<Bounds>>,
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
    /// When the launch is not possible, when a program fails, when programs wait for each other in vain, and when it is
    /// interrupted. The device stays usable.
    ///
    /// # Safety
    ///
    /// The kernel's code keeps to [`abi`](super::abi) and is described truthfully by its
    /// [`KernelDescription`](shoal_abi::KernelDescription); `args` holds its arguments, whose pointers are valid for everything the
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
        let info = kernel.info();
        let timeout = options.timeout.unwrap_or(self.wait_timeout());
        let run = Run::new(options, (info.waits == Waits::MayWait).then_some(timeout));
        let launch = Launch { device: self, kernel, grid, programs, args, run: &run };
        if info.waits == Waits::MayWait || info.can_fail || options.fibers == Fibers::Always {
            fiber_launch::run(&launch, timeout)?;
        } else {
            launch.run_plainly()?;
        }
        let kernel = || info.name.clone();
        match run.into_end() {
            None => Ok(()),
            Some(End::Failed(failure)) => Err(LaunchError::Failed { kernel: kernel(), failure: Box::new(failure) }),
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

fn check(kernel: &Kernel, args: &ArgBlock) -> Result<(), LaunchError> {
    let (expected, got) = (kernel.args_bytes(), args.len());
    if expected != got {
        return Err(LaunchError::Arguments { kernel: kernel.info().name.clone(), expected, got });
    }
    if kernel.info().cpu().uses_amx && !host_features().amx_usable() {
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
    pub(crate) fn out_of_memory(&self, what: impl Into<String>) -> LaunchError {
        LaunchError::Memory { kernel: self.kernel.info().name.clone(), what: what.into() }
    }

    /// Runs all programs without fibers.
    fn run_plainly(&self) -> Result<(), LaunchError> {
        let chunks = Chunks {
            launch: self,
            divisor: self.device.threads() as u64 * CHUNKS_PER_SHARE,
            next: AtomicU64::new(0),
            no_memory: AtomicBool::new(false),
        };
        if self.programs == 1 {
            chunks.run(Patience::Unlimited, Role::Owner);
        } else {
            self.share(&chunks);
        }
        if chunks.no_memory.into_inner() {
            let bytes = self.kernel.info().cpu().scratch_bytes;
            return Err(self.out_of_memory(format!("{bytes} bytes of scratch for each thread")));
        }
        Ok(())
    }

    /// Runs more than one program, with help unless it is not worth waking a thread for them.
    fn share(&self, chunks: &Chunks<'_>) {
        let start = Instant::now();
        let expected = self.kernel.program_time().map(|time| time * self.programs as f64);
        let mut threads = 1;
        if expected.is_some_and(|expected| expected <= SHORT.as_secs_f64()) {
            chunks.run(Patience::Until(start + SHORT), Role::Owner);
        }
        if chunks.wants_help() {
            let helpers = usize::try_from(self.programs - 1).unwrap_or(usize::MAX);
            threads = self.device.threads().min(helpers.saturating_add(1));
            self.device.pool().share(chunks, helpers, || chunks.run(Patience::Unlimited, Role::Owner));
        }
        let spent = start.elapsed().as_secs_f64() * threads as f64;
        self.kernel.set_program_time(spent / self.programs as f64);
    }
}

/// How long a thread takes chunks.
#[derive(Clone, Copy)]
enum Patience {
    /// Until there are none.
    Unlimited,
    /// Until this moment.
    Until(Instant),
}

/// The chunks of a grid that threads share.
struct Chunks<'a> {
    launch: &'a Launch<'a>,
    /// A chunk is what is left divided by this.
    divisor: u64,
    next: AtomicU64,
    no_memory: AtomicBool,
}

impl Chunks<'_> {
    /// Takes programs that nobody has run.
    #[inline]
    fn take(&self, patience: Patience) -> Option<(u64, u64)> {
        let programs = self.launch.programs;
        let mut first = self.next.load(Ordering::Relaxed);
        while first < programs {
            let size = match patience {
                Patience::Unlimited => (programs - first) / self.divisor,
                // One to see how long it takes, then few, because looking at the clock takes time, too.
                Patience::Until(_) if first == 0 => 1,
                Patience::Until(_) => programs / 4,
            };
            let last = programs.min(first + size.max(1));
            match self.next.compare_exchange_weak(first, last, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((first, last)),
                Err(now) => first = now,
            }
        }
        None
    }

    /// Runs chunks.
    fn run(&self, patience: Patience, role: Role) {
        let Launch { kernel, grid, args, run, .. } = *self.launch;
        let mut scratch = ThreadScratch::take();
        let Ok(scratch) = scratch.reserve(kernel.info().cpu().scratch_bytes) else {
            self.no_memory.store(true, Ordering::Release);
            return;
        };
        let mut context = run.context(grid, scratch, role);
        while !run.is_ending() && !self.no_memory.load(Ordering::Relaxed) {
            let Some((first, last)) = self.take(patience) else { return };
            context.program = first;
            // SAFETY: the contract of `CpuDevice::launch`; the context and its scratch are this thread's.
            unsafe { kernel.entry()(args.as_ptr(), &raw mut context, first, last) };
            if role == Role::Owner && run.is_watched() {
                run.attend(Instant::now());
            }
            match patience {
                Patience::Until(end) if Instant::now() > end => return,
                Patience::Until(_) | Patience::Unlimited => {}
            }
        }
    }
}

impl Work for Chunks<'_> {
    fn help(&self) {
        self.run(Patience::Unlimited, Role::Helper);
    }

    fn wants_help(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.launch.programs && !self.launch.run.is_ending()
    }

    fn attend(&self) {
        self.launch.run.attend(Instant::now());
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
