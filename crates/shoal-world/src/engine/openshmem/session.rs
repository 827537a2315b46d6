//! The library in this process: initialised once, called by one thread at a time, finalised when the process ends.
//!
//! The library's own lock spins, which starves ranks that share cores; and not every build of it has one. So calls take
//! a lock of ours. While some rank is reached only through the library, a thread lets arrive what others send whatever
//! this rank is doing, and notices calls that do not come back.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid};

use super::library::{Library, SERIALIZED};
use super::port::Port;
use super::{Shared, exit, os_signals, static_data};
use crate::error::{WorldError, spell};

/// How often the library gets to see what has arrived while nobody waits for it.
const PUMP_INTERVAL: Duration = Duration::from_micros(100);

/// The variables that say how much symmetric memory the library has, by version of OpenSHMEM.
pub(super) const HEAP_VARIABLES: [&str; 2] = ["SHMEM_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_SIZE"];

static SESSION: OnceLock<Session> = OnceLock::new();

/// Why no world can be joined any more.
static SPOILT: OnceLock<&'static str> = OnceLock::new();

/// The initialised library.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) library: Library,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// A child made by `fork` must not call.
    pub(super) process: Pid,
    /// Held during a call.
    turn: Mutex<()>,
    /// When the call began that is being made, in milliseconds since `begun`, plus one; zero: none.
    call_begun: AtomicU64,
    begun: Instant,
    /// How long a call may take, in milliseconds.
    patience: AtomicU64,
    is_ended: AtomicBool,
    memory: Mutex<Memory>,
    world: Mutex<ActiveWorld>,
}

/// Symmetric memory of this process. It stays allocated, so that one world after the other can use it.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Where ranks say what they are, when they meet.
    pub(super) cards: usize,
    /// The block of a world, and its size.
    pub(super) block: Option<(usize, usize)>,
    pub(super) is_taken: bool,
}

/// The world that this process is a member of.
#[derive(Default)]
struct ActiveWorld {
    world: Weak<Shared>,
    /// The one before, if it has failed.
    failed: Option<Arc<Shared>>,
}

impl std::fmt::Debug for ActiveWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ActiveWorld({})", self.world.strong_count() > 0)
    }
}

/// Refuses to join where an earlier attempt has left the library in a state that no other can begin with.
pub(super) fn check_usable() -> Result<(), WorldError> {
    match SPOILT.get() {
        None => Ok(()),
        Some(why) => Err(WorldError::Setup(format!("{CANNOT_JOIN_AGAIN}: {why}"))),
    }
}

/// No world can be joined any more, and this is why; gives the error of the attempt that has failed.
pub(super) fn spoil(failed: &str, why: &'static str) -> WorldError {
    let why = SPOILT.get_or_init(|| why);
    WorldError::Setup(format!("{failed}; {CANNOT_JOIN_AGAIN}: {why}"))
}

const CANNOT_JOIN_AGAIN: &str = "this process cannot join a world of `oshrun` again";

/// Initialises the library, with room for a block of so many bytes. Collective over all processes of the job, and as
/// patient as the library is.
pub(super) fn open(bytes: usize, patience: Duration) -> Result<&'static Session, WorldError> {
    static OPENING: Mutex<()> = Mutex::new(());
    let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if SESSION.get().is_none() {
        let session = start(bytes)?;
        let _ = SESSION.set(session);
        exit::register();
    }
    let session = SESSION.get().expect("it was just set");
    if session.process != getpid() {
        return Err(WorldError::Setup("a forked child cannot join the world of its parent".to_owned()));
    }
    session.patience.store(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    Ok(session)
}

/// Settings that the library reads from the environment when it starts. What the user has set stays.
fn configure(bytes: usize) {
    let set = |name: &str, value: &str| {
        if std::env::var_os(name).is_none() {
            // SAFETY: Rust's accesses to the environment are under one lock. C code of this process that reads it on
            // another thread just now would be wrong already in a program that calls `setenv`, as launchers do; the
            // library itself, which is the one to read it, is not loaded yet.
            unsafe { std::env::set_var(name, value) };
        }
    };
    if HEAP_VARIABLES.iter().all(|name| std::env::var_os(name).is_none()) {
        // Its allocators may round a block up to a power of two, and keep accounts beside it. Memory is taken when it
        // is touched.
        let room = bytes.saturating_add(1 << 22).checked_next_power_of_two().unwrap_or(bytes).to_string();
        HEAP_VARIABLES.iter().for_each(|name| set(name, &room));
    }
    // Version 4.1 patches `free` of the whole process with a function of a plug-in, and calls it when that plug-in is
    // unloaded already: every process that finalises the library crashes. Nothing here needs the patch.
    set("OMPI_MCA_memory", "^patcher");
}

fn start(bytes: usize) -> Result<Session, WorldError> {
    configure(bytes);
    static_data::hide()?;
    let library = Library::load()?;
    let mut provided: c_int = 0;
    // SAFETY: called once, before any other function of the library.
    let status = os_signals::kept_during(|| unsafe { (library.init_thread)(SERIALIZED, &raw mut provided) });
    if status != 0 || provided < SERIALIZED {
        let failed = format!(
            "Open MPI's OpenSHMEM library does not start (status {status}, threads {provided}): its transport UCX may be \
             missing, or its symmetric memory too large for this machine (SHMEM_SYMMETRIC_HEAP_SIZE)"
        );
        return Err(spoil(&failed, "the library is initialised once in a process"));
    }
    // SAFETY: the library is initialised.
    let (rank, size) = unsafe { ((library.my_pe)(), (library.n_pes)()) };
    let number = |n: c_int| usize::try_from(n).expect("ranks are counted from zero");
    Ok(Session {
        library,
        rank: number(rank),
        size: number(size),
        process: getpid(),
        turn: Mutex::new(()),
        call_begun: AtomicU64::new(0),
        begun: Instant::now(),
        patience: AtomicU64::new(u64::MAX),
        is_ended: AtomicBool::new(false),
        memory: Mutex::default(),
        world: Mutex::default(),
    })
}

impl Session {
    /// Makes a call. Nothing is called any more when the library is finalised, or in a forked child.
    pub(super) fn call<R: Default>(&self, call: impl FnOnce(&Library) -> R) -> R {
        if self.process != getpid() {
            return R::default();
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_ended.load(Ordering::Relaxed) {
            return R::default();
        }
        self.call_begun.store(self.now() + 1, Ordering::Relaxed);
        let result = call(&self.library);
        self.call_begun.store(0, Ordering::Relaxed);
        result
    }

    /// Lets arrive what others have sent, unless a call is being made, which does the same.
    pub(super) fn progress(&self) {
        if let Ok(_turn) = self.turn.try_lock()
            && !self.is_ended.load(Ordering::Relaxed)
            && self.process == getpid()
        {
            // SAFETY: the library is initialised, and nobody else calls.
            unsafe { (self.library.progress)() };
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn world(&self) -> MutexGuard<'_, ActiveWorld> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread that lets arrive what others send, once.
    pub(super) fn start_pump(&'static self) -> Result<(), WorldError> {
        static STARTED: AtomicBool = AtomicBool::new(false);
        if STARTED.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let thread = std::thread::Builder::new().name("shoal openshmem".to_owned()).spawn(|| self.pump());
        thread.map(drop).map_err(|source| {
            let doing = "start the thread that receives what ranks on other hosts send".to_owned();
            WorldError::System { doing, source }
        })
    }

    fn pump(&self) {
        while !self.is_ended.load(Ordering::Relaxed) {
            match self.turn.try_lock() {
                Ok(turn) => {
                    drop(turn);
                    self.progress();
                }
                Err(TryLockError::WouldBlock) => self.end_if_overdue(),
                Err(TryLockError::Poisoned(_)) => return,
            }
            std::thread::sleep(PUMP_INTERVAL);
        }
    }

    /// A call that does not come back cannot be taken back. The process ends, and `oshrun` ends the others.
    fn end_if_overdue(&self) {
        let begun = self.call_begun.load(Ordering::Relaxed);
        let patience = self.patience.load(Ordering::Relaxed);
        if begun == 0 || self.now() + 1 < begun.saturating_add(patience) {
            return;
        }
        let (rank, pid) = (self.rank, self.process.as_raw_nonzero());
        let time = spell(Duration::from_millis(patience));
        eprintln!(
            "shoal: rank {rank} (pid {pid}) waited {time} for another rank in a call of the OpenSHMEM library; it ends"
        );
        std::process::abort();
    }

    /// The last collective of all ranks, waited for as long as `patience`.
    fn finalize(&'static self, patience: Duration) -> Finished {
        let (tell, finalised) = std::sync::mpsc::channel();
        let work = move || {
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            self.is_ended.store(true, Ordering::Relaxed);
            // SAFETY: nobody calls the library any more.
            unsafe { (self.library.finalize)() };
            // Nobody listens who has waited long enough.
            let _ = tell.send(());
        };
        match std::thread::Builder::new().spawn(work).map(|_| finalised.recv_timeout(patience)) {
            Ok(Ok(())) => Finished::Together,
            Ok(Err(_)) | Err(_) => Finished::Overdue,
        }
    }
}

/// From now on this process is a member of a world.
pub(super) fn set_active(world: &Arc<Shared>) {
    if let Some(session) = SESSION.get() {
        *session.world() = ActiveWorld { world: Arc::downgrade(world), failed: None };
    }
}

/// It has left that world.
pub(super) fn clear_active(world: &Arc<Shared>) {
    if let Some(session) = SESSION.get() {
        let failed = world.failure().map(|_| Arc::clone(world));
        *session.world() = ActiveWorld { world: Weak::new(), failed };
    }
}

/// The memory of a world may go to another.
pub(super) fn give_back(_of: &Port) {
    if let Some(session) = SESSION.get() {
        session.memory().is_taken = false;
    }
}

/// How the library was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finished {
    /// With all ranks, or there was nothing to leave.
    Together,
    /// Some rank did not come.
    Overdue,
    /// It is that of the process which this one was forked from.
    ByParent,
}

/// How long a rank whose world has failed waits until all others have said what they were waiting for, or have left. Who
/// waits sees the failure, and says so, within a fraction of that time. Who has said nothing by then computes or hangs.
const ANSWERING: Duration = Duration::from_secs(2);

/// How long it waits for those who have answered: also on a busy machine they can tell of their errors in that time.
const ENDING: Duration = Duration::from_secs(10);

/// What the process does last. Ranks whose world has failed do not wait for each other for long: `oshrun` ends those who
/// do not come.
pub(super) fn finish() -> Finished {
    let Some(session) = SESSION.get() else { return Finished::Together };
    if session.process != getpid() {
        return Finished::ByParent;
    }
    let (active, mut failed) = {
        let active = session.world();
        (active.world.upgrade(), active.failed.clone())
    };
    if let Some(world) = active {
        world.exits();
        failed = Some(world);
    }
    match failed {
        None => session.finalize(Duration::from_millis(session.patience.load(Ordering::Relaxed))),
        Some(world) if world.all_answer(ANSWERING) => session.finalize(ENDING),
        Some(_) => Finished::Overdue,
    }
}
