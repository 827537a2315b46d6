//! Launches of kernels whose programs may wait or fail: each runs on a fiber, the [`schedule`](super::schedule) says
//! which.
//!
//! The launching thread stays until all programs have ended. Helpers come and go: they leave when there is nothing
//! for them, also when all programs only spin, and are called back when something moves.

use super::{
    context::{Course, ProgramContext},
    fiber::{Fiber, Resumed},
    job::Job,
    launch_state::{Role, Watched},
    pool::Work,
    schedule::{Cpus, Next, Pause, Range, Round, Schedule},
    wait::Wait,
};
use crate::{error::LaunchError, lock::lock};
use core::{
    num::NonZero,
    ptr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};
use shoal_abi::{Waits, coordinates};
use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

/// Fibers for each thread before starting more needs a reason: every fiber that spins on a lock is tried before the
/// one that holds it comes round again.
const FIBERS_PER_THREAD: usize = 8;
/// Chunks per thread for programs that cannot wait: enough that threads finish together.
const CHUNKS_PER_THREAD: u64 = 16;
/// Most programs a report of a stuck launch lists.
const LISTED: usize = 16;
/// Resumptions in vain after which a thread begins to leave the CPU to others.
const SPINS_BEFORE_YIELD: u32 = 32;
/// How often the launching thread looks for programs that have waited for long.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);
/// How long the launching thread sleeps when other threads run all that can run; it is woken when that changes.
const IDLE: Duration = Duration::from_millis(10);

/// Runs all programs of a launch on fibers. A failure of a program is left in the launch's state.
pub(crate) fn run(job: &Job<'_>, timeout: Duration) -> Result<(), LaunchError> {
    let threads = job.threads;
    let grain = match job.kernel.info().waits {
        // A program that waits must not hold up others on its fiber.
        Waits::MayWait => 1,
        Waits::Never => (job.programs / (threads as u64 * CHUNKS_PER_THREAD)).max(1),
    };
    let launch = FiberLaunch {
        job,
        timeout,
        state: Mutex::new(State {
            schedule: Schedule::new(job.programs, grain, threads, threads * FIBERS_PER_THREAD, cpus(job)),
            owner: Owner::Busy,
            no_memory: false,
            looping: Vec::new(),
        }),
        changed: Condvar::new(),
        inviting: AtomicBool::new(true),
    };
    let helpers = usize::try_from(job.programs.div_ceil(grain) - 1).unwrap_or(usize::MAX);
    job.workers.pool.share(&launch, helpers, || launch.work(Role::Owner));
    launch.conclude()
}

/// Ranks run at the same time, each on a thread of its own at least.
fn cpus(job: &Job<'_>) -> Cpus {
    let ranks = job.state.ranks().map_or(1, |ranks| ranks.size());
    if ranks > usable_cpus() { Cpus::Crowded } else { Cpus::Enough }
}

/// The CPUs that this process may use. Threads that ask at the same time all find out: one that was asking when the process
/// was forked is missing in the child, which would wait for it.
fn usable_cpus() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    match COUNT.load(Ordering::Relaxed) {
        0 => {
            let count = thread::available_parallelism().map_or(1, NonZero::get);
            COUNT.store(count, Ordering::Relaxed);
            count
        }
        count => count,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Busy,
    Sleeping,
}

/// A fiber to run, and how eagerly.
struct Turn {
    fiber: Fiber,
    round: Round,
    backoff: Backoff,
}

/// What is known about the fibers when one is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backoff {
    /// It was not tried in this round yet.
    Fresh,
    /// All suspended ones were tried in this round; one that runs elsewhere keeps it open.
    Again,
    /// All have waited for many rounds.
    Calm,
}

struct State {
    schedule: Schedule<Fiber>,
    owner: Owner,
    /// Not even one program could be started.
    no_memory: bool,
    /// Programs that ended because they were told to while the launch was stuck.
    looping: Vec<u64>,
}

struct FiberLaunch<'a> {
    job: &'a Job<'a>,
    timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a helper would find something to do.
    inviting: AtomicBool,
}

impl Work for FiberLaunch<'_> {
    fn help(&self) {
        self.work(Role::Helper);
    }

    fn wants_help(&self) -> bool {
        self.inviting.load(Ordering::Relaxed)
    }

    fn poll_host(&self) {
        self.job.state.poll_host_if_due(Instant::now());
    }
}

impl FiberLaunch<'_> {
    /// Runs fibers until there is nothing left to do for a thread in this role.
    fn work(&self, role: Role) {
        let mut vain = 0;
        while let Some(Turn { mut fiber, round, backoff }) = self.next(role) {
            match backoff {
                Backoff::Again => {
                    vain += 1;
                    leave_the_cpu(vain);
                }
                Backoff::Fresh | Backoff::Calm => vain = 0,
            }
            if role == Role::Owner {
                self.job.state.poll_host_if_due(Instant::now());
            }
            let resumed = fiber.resume(role);
            if self.job.state.is_forked() {
                // Locks may be held by threads that are not here.
                core::mem::forget(fiber);
                return;
            }
            match resumed {
                Resumed::Waits => self.put_back(fiber, round),
                Resumed::Finished | Resumed::Failed => {
                    let (program, _) = fiber.position();
                    fiber.recycle(&self.job.workers.fibers);
                    let looped = self.job.state.stuck_for().is_some();
                    // A program that was told to end does not show that the others of its group are alive.
                    if !self.job.state.is_ending() {
                        self.job.state.moved();
                    }
                    self.update(|state| {
                        state.looping.extend(looped.then_some(program));
                        state.schedule.ended(round);
                    });
                }
            }
        }
    }

    /// The next fiber to run; `None` when the thread is done here.
    fn next(&self, role: Role) -> Option<Turn> {
        let mut state = lock(&self.state);
        loop {
            if state.no_memory || self.job.state.is_ending() {
                self.inviting.store(false, Ordering::Relaxed);
                return None;
            }
            if state.schedule.is_calm() {
                self.inviting.store(false, Ordering::Relaxed);
                match role {
                    Role::Helper => return None,
                    Role::Owner => state = self.pause(state)?,
                }
            }
            let backoff = match () {
                () if state.schedule.is_calm() => Backoff::Calm,
                () if state.schedule.all_tried() => Backoff::Again,
                () => Backoff::Fresh,
            };
            match state.schedule.next() {
                Next::Resume(fiber, round) => return Some(Turn { fiber, round, backoff }),
                Next::Start(range) => {
                    self.job.state.moved();
                    drop(state);
                    if let Some(fiber) = self.start(range) {
                        return Some(Turn { fiber, round: Round::NONE, backoff: Backoff::Fresh });
                    }
                    state = lock(&self.state);
                }
                Next::Idle if role == Role::Owner => {
                    drop(self.sleep(state, IDLE));
                    self.job.state.poll_host_if_due(Instant::now());
                    if self.job.state.is_forked() {
                        return None;
                    }
                    state = lock(&self.state);
                }
                Next::Idle | Next::Done => {
                    self.inviting.store(false, Ordering::Relaxed);
                    return None;
                }
            }
        }
    }

    /// Makes a fiber for some programs; `None` when there is no memory for it now.
    fn start(&self, range: Range) -> Option<Fiber> {
        let launch = LaunchPointer(ptr::from_ref(self).cast());
        let Job { workers, kernel, grid, state, .. } = *self.job;
        // SAFETY: the launch outlives its fibers: `conclude` ends them all.
        let body = move |context| unsafe { launch.run_programs(context, range) };
        match Fiber::new(&workers.fibers, state, grid, kernel.info().cpu().scratch_bytes, body) {
            Ok(fiber) => Some(fiber),
            Err(_) => {
                self.update(|state| {
                    state.schedule.give_back(range);
                    if state.schedule.live() == 0 {
                        state.no_memory = true;
                    }
                });
                None
            }
        }
    }

    /// Queues a fiber that waits.
    fn put_back(&self, fiber: Fiber, round: Round) {
        let course = fiber.course();
        if course == Course::Moved || fiber.position().1.may_end_by_itself() {
            self.job.state.moved();
        }
        let mut state = lock(&self.state);
        state.schedule.suspended(fiber, round, course, Instant::now);
        // One queued fiber is for this thread itself.
        let spare = state.schedule.queued() > 1;
        self.after_change(state, spare);
    }

    /// Changes the state, and calls for help if that makes more to do.
    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.state);
        change(&mut state);
        let spare = state.schedule.has_work();
        self.after_change(state, spare);
    }

    fn after_change(&self, state: MutexGuard<'_, State>, spare: bool) {
        let wake_owner = state.owner == Owner::Sleeping;
        let invite = spare && !state.schedule.is_calm() && !state.no_memory;
        self.job.state.set_waiting(state.schedule.queued(), state.schedule.rounds());
        let invited = self.inviting.swap(invite, Ordering::Relaxed);
        drop(state);
        if wake_owner {
            self.changed.notify_one();
        }
        if invite && !invited {
            self.job.workers.pool.nudge();
        }
    }

    /// The owner's pause between two rounds in which nothing moved. `None` in a forked child.
    fn pause<'a>(&'a self, state: MutexGuard<'a, State>) -> Option<MutexGuard<'a, State>> {
        let Some(since) = state.schedule.stuck_since() else { return Some(state) };
        let (state, watched) = self.watch(state, since)?;
        let now = Instant::now();
        if self.job.state.is_ending() || watched == Watched::Moves {
            return Some(state);
        }
        let left = self.timeout.saturating_sub(now.saturating_duration_since(since));
        Some(match state.schedule.pause() {
            Pause::Yield => {
                drop(state);
                thread::yield_now();
                lock(&self.state)
            }
            // Whoever others of the group have to thank for their progress may take longer.
            Pause::Sleep(time) if left.is_zero() => self.sleep(state, time),
            Pause::Sleep(time) => self.sleep(state, time.min(left)),
        })
    }

    /// Looks for all programs whether what they wait for has come, as long as it has not. `None` in a forked child.
    fn watch<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        since: Instant,
    ) -> Option<(MutexGuard<'a, State>, Watched)> {
        // SAFETY: memory that programs watch is readable until the launch returns.
        let look = |fiber: &Fiber| unsafe { fiber.position().1.is_in_vain() };
        let all = |state: &State, holds: &dyn Fn(&Fiber) -> bool| {
            state.schedule.all_suspended().is_some_and(|mut fibers| fibers.all(holds))
        };
        let all_wait = all(&state, &|fiber| look(fiber).is_some());
        self.job.state.set_loops(!all_wait);
        if !all_wait || !self.job.state.has_waited_for_long(since) {
            return Some((state, Watched::Unknown));
        }
        loop {
            let look = || all(&state, &|fiber| look(fiber) == Some(true));
            let watched = self.job.state.watch_for(since, Instant::now(), look);
            if watched == Watched::Moves {
                state.schedule.wake();
            }
            if watched != Watched::InVain || self.job.state.is_ending() {
                return Some((state, watched));
            }
            drop(self.sleep(state, BETWEEN_LOOKS));
            self.job.state.poll_host_if_due(Instant::now());
            if self.job.state.is_forked() {
                return None;
            }
            state = lock(&self.state);
        }
    }

    fn sleep<'a>(&self, mut state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        state.owner = Owner::Sleeping;
        let (mut state, _) = self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner);
        state.owner = Owner::Busy;
        state
    }

    /// More programs for a fiber that has ended its own; runs on the fiber.
    #[inline(never)]
    fn take_more(&self) -> Option<Range> {
        let mut state = lock(&self.state);
        if state.no_memory || self.job.state.is_ending() {
            return None;
        }
        self.job.state.moved();
        state.schedule.take_more()
    }

    /// Ends the fibers that are left and says how the launch went.
    fn conclude(self) -> Result<(), LaunchError> {
        let Self { job, state, .. } = self;
        let State { mut schedule, no_memory, mut looping, .. } =
            state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if job.state.is_forked() {
            core::mem::forget(schedule);
            return Ok(());
        }
        let mut waiting = Vec::new();
        for fiber in schedule.drain() {
            waiting.push(fiber.position());
            fiber.recycle(&job.workers.fibers);
        }
        match job.state.stuck_for() {
            // Whoever launched knows why.
            None if job.state.is_ending() => Ok(()),
            None if no_memory => Err(job.out_of_memory("the stack or the scratch of a program")),
            None => Ok(()),
            Some(after) => {
                waiting.sort_unstable_by_key(|&(program, _)| program);
                let more = waiting.len().saturating_sub(LISTED);
                waiting.truncate(LISTED);
                looping.sort_unstable();
                looping.truncate(LISTED);
                // SAFETY: sites are constant data of the code, which the kernel keeps loaded; memory that programs
                // watch is readable until the launch returns.
                let describe = |(program, wait): (u64, Wait)| unsafe {
                    wait.describe(coordinates(program, job.grid), job.state.bounds(), job.state.ranks())
                };
                Err(LaunchError::Stuck {
                    kernel: job.kernel.info().name.clone(),
                    waiting: waiting.into_iter().map(describe).collect(),
                    more,
                    looping: looping.into_iter().map(|program| coordinates(program, job.grid)).collect(),
                    unstarted: schedule.unstarted(),
                    after,
                })
            }
        }
    }
}

/// Leaves the CPU to others after some resumptions in vain: the thread that holds what these programs wait for may
/// need it.
fn leave_the_cpu(vain: u32) {
    if vain > SPINS_BEFORE_YIELD * 32 {
        thread::sleep(Duration::from_micros(20));
    } else if vain > SPINS_BEFORE_YIELD {
        thread::yield_now();
    }
}

/// The launch, as its fibers know it.
struct LaunchPointer(*const FiberLaunch<'static>);

// SAFETY: the launch is `Sync` and outlives its fibers.
unsafe impl Send for LaunchPointer {}

impl LaunchPointer {
    /// The body of a fiber: runs `range`, then more programs as long as that keeps nobody waiting.
    ///
    /// # Safety
    ///
    /// The launch is alive, and `context` is the fiber's.
    unsafe fn run_programs(&self, context: *mut ProgramContext, mut range: Range) {
        // SAFETY: alive by contract.
        let launch = unsafe { &*self.0 };
        let (entry, args) = (launch.job.kernel.entry(), launch.job.args.as_ptr());
        loop {
            // SAFETY: the contract of `CpuDevice::launch`; the context is the fiber's own.
            let waited = unsafe {
                (*context).shared.program = range.first;
                entry(args, context.cast(), range.first, range.last);
                (*context).waited
            };
            if waited {
                return;
            }
            match launch.take_more() {
                Some(more) => range = more,
                None => return,
            }
        }
    }
}
