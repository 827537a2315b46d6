//! Launches of kernels that neither wait nor fail: plain calls over chunks of the grid, taken from a counter by as many
//! threads as are free. A grid of one program runs on the calling thread and wakes nobody; neither does one that took
//! less time, the last time, than waking a thread does.

use super::{context::ProgramContext, job::Job, launch_state::Role, pool::Work, scratch::ThreadScratch};
use crate::error::LaunchError;
use core::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};
use std::time::Instant;

/// Each chunk is this part of a thread's share of what is left: large ones first, so that taking them costs nothing,
/// then smaller ones, so that threads finish together. Few, because programs that follow each other often read the same
/// memory, which a core then keeps.
const CHUNKS_PER_SHARE: u64 = 2;
/// Launches that are expected to take no longer than this run on the calling thread alone.
const SHORT: Duration = Duration::from_micros(4);

/// Runs all programs without fibers.
pub(crate) fn run(job: &Job<'_>) -> Result<(), LaunchError> {
    let chunks = Chunks {
        job,
        divisor: job.threads as u64 * CHUNKS_PER_SHARE,
        next: AtomicU64::new(0),
        no_memory: AtomicBool::new(false),
    };
    if job.programs == 1 {
        chunks.run(Patience::Unlimited, Role::Owner);
    } else {
        share(job, &chunks);
    }
    if chunks.no_memory.into_inner() {
        let bytes = job.kernel.info().cpu().scratch_bytes;
        return Err(job.out_of_memory(format!("{bytes} bytes of scratch for each thread")));
    }
    Ok(())
}

/// Runs more than one program, with help unless it is not worth waking a thread for them.
fn share(job: &Job<'_>, chunks: &Chunks<'_>) {
    let start = Instant::now();
    let expected = job.kernel.program_time().map(|time| time * job.programs as f64);
    let mut threads = 1;
    if expected.is_some_and(|expected| expected <= SHORT.as_secs_f64()) {
        chunks.run(Patience::Until(start + SHORT), Role::Owner);
    }
    if chunks.wants_help() {
        let helpers = usize::try_from(job.programs - 1).unwrap_or(usize::MAX);
        threads = job.threads.min(helpers.saturating_add(1));
        job.workers.pool.share(chunks, helpers, || chunks.run(Patience::Unlimited, Role::Owner));
    }
    let spent = start.elapsed().as_secs_f64() * threads as f64;
    job.kernel.set_program_time(spent / job.programs as f64);
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
    job: &'a Job<'a>,
    /// A chunk is what is left divided by this.
    divisor: u64,
    next: AtomicU64,
    no_memory: AtomicBool,
}

impl Chunks<'_> {
    /// Takes programs that nobody has run.
    #[inline]
    fn take(&self, patience: Patience) -> Option<(u64, u64)> {
        let programs = self.job.programs;
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
        let Job { kernel, grid, args, state, .. } = *self.job;
        let mut scratch = ThreadScratch::take();
        let Ok(scratch) = scratch.reserve(kernel.info().cpu().scratch_bytes) else {
            self.no_memory.store(true, Ordering::Release);
            return;
        };
        let mut context = ProgramContext::new(state, grid, scratch, role);
        while !state.is_ending() && !self.no_memory.load(Ordering::Relaxed) {
            let Some((first, last)) = self.take(patience) else { return };
            context.shared.program = first;
            // SAFETY: the contract of `CpuDevice::launch`; the context and its scratch are this thread's.
            unsafe { kernel.entry()(args.as_ptr(), (&raw mut context).cast(), first, last) };
            if role == Role::Owner && state.is_watched() {
                state.poll_host_if_due(Instant::now());
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
        self.next.load(Ordering::Relaxed) < self.job.programs && !self.job.state.is_ending()
    }

    fn poll_host(&self) {
        self.job.state.poll_host_if_due(Instant::now());
    }
}
