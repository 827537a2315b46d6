//! Launches of kernels whose programs may wait or fail: each runs on a fiber, the [`schedule`](super::schedule) says
//! which.
//!
//! The launching thread stays until all programs have ended. Helpers come and go: they leave when there is nothing
//! for them, also when all programs only spin, and are called back when something moves.

use super::{
    abi::Context,
    error::{LaunchError, SourceSite, Waiting, coordinates},
    fiber::{Fiber, Resumed},
    launch::Launch,
    pool::Work,
    run::{End, Role, lock},
    schedule::{Next, Ran, Range, Round, Schedule},
};
use core::{
    ptr,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use shoal_abi::Waits;
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
const HASTE: u32 = 32;
/// A fiber that ran this long may have found what it waited for; one that computed this long has.
const A_WHILE: Duration = Duration::from_micros(5);
const LONG: Duration = Duration::from_micros(200);
/// How long the launching thread sleeps when other threads run all that can run; it is woken when that changes.
const IDLE: Duration = Duration::from_millis(10);

/// Runs all programs of a launch on fibers. A failure of a program is left in the launch's `run`.
pub(crate) fn run(launch: &Launch<'_>, timeout: Duration) -> Result<(), LaunchError> {
    let threads = launch.device.threads();
    let grain = match launch.kernel.info().waits {
        // A program that waits must not hold up others on its fiber.
        Waits::MayWait => 1,
        Waits::Never => (launch.programs / (threads as u64 * CHUNKS_PER_THREAD)).max(1),
    };
    let job = FiberJob {
        launch,
        timeout,
        state: Mutex::new(State {
            schedule: Schedule::new(launch.programs, grain, threads, threads * FIBERS_PER_THREAD),
            owner: Owner::Busy,
            no_memory: false,
            looping: Vec::new(),
        }),
        changed: Condvar::new(),
        inviting: AtomicBool::new(true),
    };
    let helpers = usize::try_from(launch.programs.div_ceil(grain) - 1).unwrap_or(usize::MAX);
    launch.device.pool().share(&job, helpers, || job.work(Role::Owner));
    job.conclude()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Busy,
    Sleeping,
}

/// A fiber to run, and in what mood.
struct Turn {
    fiber: Fiber,
    round: Round,
    pace: Pace,
}

/// What is known about the fibers when one is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// It was not tried in this round yet.
    Fresh,
    /// All suspended ones were tried in this round; one that runs elsewhere keeps it open.
    Again,
    /// All have waited for many rounds.
    Calm,
}

/// Measures how long a fiber runs.
struct Stopwatch {
    start: Instant,
    /// CPU time of this thread, which unlike the wall clock does not count other threads' turns: a stuck launch on
    /// a busy machine must not look alive. Read only when calm, because reading it is a system call.
    cpu: Option<Duration>,
}

impl Stopwatch {
    fn start(pace: Pace) -> Self {
        Self { start: Instant::now(), cpu: (pace == Pace::Calm).then(thread_cpu_time) }
    }

    fn stop(self) -> Ran {
        let wall = self.start.elapsed();
        let worked = match self.cpu {
            Some(before) if wall >= LONG => thread_cpu_time().saturating_sub(before),
            Some(_) | None => wall,
        };
        match () {
            () if worked >= LONG => Ran::Long,
            () if worked >= A_WHILE => Ran::AWhile,
            () => Ran::Briefly,
        }
    }
}

fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

struct State {
    schedule: Schedule<Fiber>,
    owner: Owner,
    /// Not even one program could be started.
    no_memory: bool,
    /// Programs that ended because they were told to while the launch was stuck.
    looping: Vec<u64>,
}

struct FiberJob<'a> {
    launch: &'a Launch<'a>,
    timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a helper would find something to do.
    inviting: AtomicBool,
}

impl Work for FiberJob<'_> {
    fn help(&self) {
        self.work(Role::Helper);
    }

    fn wants_help(&self) -> bool {
        self.inviting.load(Ordering::Relaxed)
    }

    fn attend(&self) {
        self.launch.run.attend(Instant::now());
    }
}

impl FiberJob<'_> {
    /// Runs fibers until there is nothing left to do for a thread in this role.
    fn work(&self, role: Role) {
        let mut vain = 0;
        while let Some(Turn { mut fiber, round, pace }) = self.next(role) {
            match pace {
                Pace::Again => {
                    vain += 1;
                    leave_the_cpu(vain);
                }
                Pace::Fresh | Pace::Calm => vain = 0,
            }
            let watch = Stopwatch::start(pace);
            if role == Role::Owner {
                self.launch.run.attend(watch.start);
            }
            match fiber.resume(role) {
                Resumed::Waits => self.put_back(fiber, round, watch.stop()),
                Resumed::Finished | Resumed::Failed => {
                    let (program, _) = fiber.position();
                    fiber.retire(self.launch.device.seats());
                    let looped = self.launch.run.stuck_for().is_some();
                    self.launch.run.moved();
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
            if state.no_memory || self.launch.run.is_ending() {
                self.inviting.store(false, Ordering::Relaxed);
                return None;
            }
            if state.schedule.is_calm() {
                self.inviting.store(false, Ordering::Relaxed);
                match role {
                    Role::Helper => return None,
                    Role::Owner => state = self.pause(state),
                }
            }
            let pace = match () {
                () if state.schedule.is_calm() => Pace::Calm,
                () if state.schedule.all_tried() => Pace::Again,
                () => Pace::Fresh,
            };
            match state.schedule.next() {
                Next::Resume(fiber, round) => return Some(Turn { fiber, round, pace }),
                Next::Start(range) => {
                    self.launch.run.moved();
                    drop(state);
                    if let Some(fiber) = self.start(range) {
                        return Some(Turn { fiber, round: Round::NONE, pace: Pace::Fresh });
                    }
                    state = lock(&self.state);
                }
                Next::Idle if role == Role::Owner => {
                    drop(self.sleep(state, IDLE));
                    self.launch.run.attend(Instant::now());
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
        let job = JobPointer(ptr::from_ref(self).cast());
        let Launch { device, kernel, grid, run, .. } = *self.launch;
        // SAFETY: the job outlives its fibers: `conclude` ends them all.
        let body = move |context| unsafe { job.run_programs(context, range) };
        match Fiber::new(device.seats(), run, grid, kernel.info().cpu().scratch_bytes, body) {
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
    fn put_back(&self, fiber: Fiber, round: Round, ran: Ran) {
        if ran == Ran::Long {
            self.launch.run.moved();
        }
        let mut state = lock(&self.state);
        state.schedule.suspended(fiber, round, ran, Instant::now);
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
        self.launch.run.set_waiting(state.schedule.queued());
        let invited = self.inviting.swap(invite, Ordering::Relaxed);
        drop(state);
        if wake_owner {
            self.changed.notify_one();
        }
        if invite && !invited {
            self.launch.device.pool().nudge();
        }
    }

    /// The owner's pause between two rounds in which nothing moved. Gives up when that has lasted too long.
    fn pause<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let Some(since) = state.schedule.stuck_since() else { return state };
        let waited = since.elapsed();
        if waited >= self.timeout {
            self.launch.run.end(End::Stuck(waited));
            return state;
        }
        let pause = state.schedule.pause().min(self.timeout - waited);
        self.sleep(state, pause)
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
        if state.no_memory || self.launch.run.is_ending() {
            return None;
        }
        self.launch.run.moved();
        state.schedule.take_more()
    }

    /// Ends the fibers that are left and says how the launch went.
    fn conclude(self) -> Result<(), LaunchError> {
        let Self { launch, state, .. } = self;
        let State { mut schedule, no_memory, mut looping, .. } =
            state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut waiting = Vec::new();
        for fiber in schedule.drain() {
            waiting.push(fiber.position());
            fiber.retire(launch.device.seats());
        }
        match launch.run.stuck_for() {
            // Whoever launched knows why.
            None if launch.run.is_ending() => Ok(()),
            None if no_memory => Err(launch.out_of_memory("the stack or the scratch of a program")),
            None => Ok(()),
            Some(after) => {
                waiting.sort_unstable();
                let more = waiting.len().saturating_sub(LISTED);
                waiting.truncate(LISTED);
                looping.sort_unstable();
                looping.truncate(LISTED);
                let describe = |(program, site)| Waiting {
                    program: coordinates(program, launch.grid),
                    // SAFETY: sites are constant data of the code, which the kernel keeps loaded.
                    site: unsafe { SourceSite::read(site) },
                };
                Err(LaunchError::Stuck {
                    kernel: launch.kernel.info().name.clone(),
                    waiting: waiting.into_iter().map(describe).collect(),
                    more,
                    looping: looping.into_iter().map(|program| coordinates(program, launch.grid)).collect(),
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
    if vain > HASTE * 32 {
        thread::sleep(Duration::from_micros(20));
    } else if vain > HASTE {
        thread::yield_now();
    }
}

/// The job, as its fibers know it.
struct JobPointer(*const FiberJob<'static>);

// SAFETY: the job is `Sync` and outlives its fibers.
unsafe impl Send for JobPointer {}

impl JobPointer {
    /// The body of a fiber: runs `range`, then more programs as long as that keeps nobody waiting.
    ///
    /// # Safety
    ///
    /// The job is alive, and `context` is the fiber's.
    unsafe fn run_programs(&self, context: *mut Context, mut range: Range) {
        // SAFETY: alive by contract.
        let job = unsafe { &*self.0 };
        let (entry, args) = (job.launch.kernel.entry(), job.launch.args.as_ptr());
        loop {
            // SAFETY: the contract of `CpuDevice::launch`; the context is the fiber's own.
            let waited = unsafe {
                (*context).program = range.first;
                entry(args, context, range.first, range.last);
                (*context).waited
            };
            if waited {
                return;
            }
            match job.take_more() {
                Some(more) => range = more,
                None => return,
            }
        }
    }
}
