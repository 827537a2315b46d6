//! Starting the processes of a world.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process_group, pidfd_open,
    set_parent_process_death_signal, waitid,
};

use shoal_driver::cuda::CudaDevice;

use crate::engine::EngineKind;
use crate::engine::openshmem::membership::{ENGINE, engine};
use crate::engine::processes::membership::{Membership, TOKEN};
use crate::engine::processes::token::Token;
use crate::engine::shared::{Layout, Mapping};
use crate::environment::Variables;
use crate::error::{Failure, WorldError};
use crate::launcher::Listener;
use crate::options::WorldOptions;
use crate::world_device::WorldDevice;

/// Processes that are the ranks of one world. Each has its own process group, and ends when the thread that started the
/// job does. Dropping the job kills what is left of it, also of what ranks have started; so does the end of the process
/// that started it, however that ends.
///
/// ```
/// use std::process::Command;
/// use shoal_world::launch::Job;
///
/// let mut job = Job::start(2, |_rank| {
///     let mut command = Command::new("sh");
///     command.args(["-c", "test $WORLD_SIZE = 2 && exit $RANK"]);
///     command
/// })?;
/// let mut codes = [None; 2];
/// while let Some(ended) = job.next_ended(None) {
///     codes[ended.rank] = ended.status.code();
/// }
/// assert_eq!(codes, [Some(0), Some(1)]);
/// # Ok::<(), shoal_world::WorldError>(())
/// ```
#[derive(Debug)]
pub struct Job {
    running: Vec<Running>,
    /// Those that have ended are waited for last: as long as nobody has, their numbers go to no other process.
    ended: Vec<(Child, Ended)>,
    groups: Groups,
    guard: Guard,
    listener: Listener,
    /// The last failure that ranks have reported.
    reported: Option<Failure>,
}

#[derive(Debug)]
struct Running {
    rank: usize,
    child: Child,
    /// Readable when the process has ended.
    handle: OwnedFd,
}

/// A rank's process that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// The rank.
    pub rank: usize,
    /// Its process.
    pub pid: u32,
    /// How it ended.
    pub status: ExitStatus,
}

impl Ended {
    /// What those say that have waited for it to join.
    pub(crate) fn never_joined(self) -> Failure {
        let Ended { rank, pid, status } = self;
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exited with status {code}"),
            (None, Some(signal)) => format!("was killed by signal {signal}"),
            (None, None) => "ended".to_owned(),
        };
        Failure { rank, reason: format!("rank {rank} (pid {pid}) {how} before it joined the world") }
    }
}

impl Job {
    /// Starts the ranks of a world of processes. `make` says what to run; the environment that makes it a rank is added.
    pub fn start(ranks: usize, mut make: impl FnMut(usize) -> Command) -> Result<Job, WorldError> {
        let token = Token::random()?;
        let port = free_port()?;
        let mut job = Job::empty(&token, "KILL")?;
        for rank in 0..ranks {
            let mut command = make(rank);
            if command.get_envs().all(|(name, _)| name != ENGINE) {
                // A job around this one, if there is one, may have said something else.
                command.env(ENGINE, "processes");
            }
            command.envs(Membership::variables(rank, ranks, port, &token)).process_group(0);
            end_with_parent(&mut command);
            job.add(rank, &mut command)?;
        }
        Ok(job)
    }

    /// One process that starts the ranks itself and tells them what they are; it counts as rank 0. It ends them when it is
    /// asked to end, and so it is when the process that started it has ended.
    pub fn of(mut command: Command) -> Result<Job, WorldError> {
        let token = Token::random()?;
        let mut job = Job::empty(&token, "TERM")?;
        command.env(TOKEN, token.reveal()).process_group(0);
        job.add(0, &mut command)?;
        Ok(job)
    }

    fn empty(token: &Token, last_signal: &str) -> Result<Job, WorldError> {
        Ok(Job {
            running: Vec::new(),
            ended: Vec::new(),
            groups: Groups::default(),
            // Before the guard, which nobody would wait for.
            listener: Listener::new(token)?,
            guard: Guard::start(last_signal)?,
            reported: None,
        })
    }

    /// Starts a process that is not yet.
    fn add(&mut self, rank: usize, command: &mut Command) -> Result<(), WorldError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .spawn()
            .map_err(|source| WorldError::System { doing: format!("start `{program}` as rank {rank}"), source })?;
        let pid = Pid::from_child(&child);
        self.groups.lock().push(pid);
        self.guard.add(pid);
        // The process is not waited for before the job has it, so its number cannot go to another.
        let handle = pidfd_open(pid, PidfdFlags::empty());
        match handle.map_err(WorldError::system(format!("watch rank {rank}"))) {
            Ok(handle) => self.running.push(Running { rank, child, handle }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        }
        Ok(())
    }

    /// The ranks that have not ended, and their processes; for taking their pipes.
    pub fn processes(&mut self) -> impl Iterator<Item = (usize, &mut Child)> {
        self.running.iter_mut().map(|running| (running.rank, &mut running.child))
    }

    /// The number of ranks that have not ended.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Whether a rank has not ended.
    #[must_use]
    pub fn is_running(&self, rank: usize) -> bool {
        self.running.iter().any(|running| running.rank == rank)
    }

    /// What has ended the world, if ranks of this host have reported it.
    pub fn reported_failure(&mut self) -> Option<&Failure> {
        self.listen();
        self.reported.as_ref()
    }

    /// Hears what ranks tell, and answers those that ask who has ended.
    fn listen(&mut self) {
        let ended: Vec<Ended> = self.ended.iter().map(|(_, ended)| *ended).collect();
        self.reported = self.listener.heard(&ended).or(self.reported.take());
    }

    /// The process groups of the ranks, to send signals to.
    #[must_use]
    pub fn groups(&self) -> Groups {
        self.groups.clone()
    }

    /// Waits for the next rank to end. `None` when none is left, or none has ended in that time.
    pub fn next_ended(&mut self, limit: Option<Duration>) -> Option<Ended> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        while !self.running.is_empty() {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let mut watched: Vec<PollFd<'_>> = vec![PollFd::new(&self.listener, PollFlags::IN)];
            watched.extend(self.running.iter().map(|running| PollFd::new(&running.handle, PollFlags::IN)));
            let time = left.map(|left| Timespec::try_from(left).expect("a time in range"));
            // An interrupted poll reports nothing.
            let ready = poll(&mut watched, time.as_ref()).unwrap_or(0);
            let is_ready: Vec<bool> = watched.iter().map(|it| ready > 0 && !it.revents().is_empty()).collect();
            if is_ready[0] {
                self.listen();
            }
            if let Some(at) = is_ready[1..].iter().position(|&ready| ready) {
                let Running { rank, child, handle } = self.running.swap_remove(at);
                let ended = Ended { rank, pid: child.id(), status: status_of(&handle)? };
                self.ended.push((child, ended));
                return Some(ended);
            }
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
        }
        None
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.groups.send(Signal::KILL.as_raw());
        self.guard.dismiss();
        // Whoever holds the groups must not send to numbers that may be others' from now on.
        self.groups.lock().clear();
        let ended = self.ended.iter_mut().map(|(child, _)| child);
        for child in self.running.iter_mut().map(|running| &mut running.child).chain(ended) {
            let _ = child.wait();
        }
    }
}

/// How a process has ended, which is not waited for by this.
fn status_of(handle: &OwnedFd) -> Option<ExitStatus> {
    let status = waitid(WaitId::PidFd(handle.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok()??;
    let code = |status: i32| ExitStatus::from_raw(status << 8);
    status.exit_status().map(code).or_else(|| status.terminating_signal().map(ExitStatus::from_raw))
}

/// A process that outlives the one that started the job, and then ends what ranks have started: they themselves end with
/// their parent, their children do not. (Nor does a process that starts ranks itself: the signal for the death of a parent
/// comes once for each of its threads, and who is asked twice to end does not end others first.)
#[derive(Debug)]
struct Guard(Child);

impl Guard {
    /// Reads numbers of groups until nobody is left to write any. Its variable is its own: the environment may have one of
    /// the name.
    const SCRIPT: &str = r#"all=; while read -r group; do all="$all -$group"; done; kill -s "$0" -- $all"#;

    fn start(last_signal: &str) -> Result<Guard, WorldError> {
        let mut command = Command::new("sh");
        command
            .args(["-c", Guard::SCRIPT, last_signal])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Signals of the terminal are not for it.
        let started = command.process_group(0).spawn();
        started.map(Guard).map_err(|source| WorldError::System { doing: "start `sh`".to_owned(), source })
    }

    fn add(&mut self, group: Pid) {
        if let Some(pipe) = &mut self.0.stdin {
            // If somebody has killed it, the job goes on without.
            let _ = writeln!(pipe, "{}", group.as_raw_nonzero());
        }
    }

    fn dismiss(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process groups of a job's ranks, until the job is dropped. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Groups(Arc<Mutex<Vec<Pid>>>);

impl Groups {
    /// Sends a signal to all ranks, and to the processes that they have started. It is given by its number; numbers
    /// that no signal has are ignored.
    pub fn send(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else { return };
        for group in self.lock().iter() {
            // A group that is gone needs no signal.
            let _ = kill_process_group(*group, signal);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ranks do not outlive who started them, however that ends.
fn end_with_parent(command: &mut Command) {
    let parent = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            // It has ended already.
            return Err(rustix::io::Errno::CHILD.into());
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(prepare) };
}

/// The engine that `SHOAL_ENGINE` names for ranks that are processes, unless that was said by a job around this process.
pub fn engine_from_env() -> Result<Option<EngineKind>, WorldError> {
    let variables = Variables::of_process();
    let named = engine(&variables)?;
    Ok(Some(named).filter(|_| variables.text(ENGINE).is_some() && variables.text(TOKEN).is_none()))
}

/// Refuses what every one of so many ranks would refuse: settings in the environment, a device that is not there, heaps
/// for which there are not enough addresses. Without a device, the environment chooses.
pub fn check(ranks: usize, device: Option<WorldDevice>) -> Result<(), WorldError> {
    let options = WorldOptions::from_env()?;
    let device = device.map_or_else(WorldDevice::from_env, Ok)?;
    engine(&Variables::of_process())?;
    match device {
        WorldDevice::Cpu => drop(Mapping::reserve(Layout::new(&options)?, ranks)?),
        WorldDevice::Cuda(ordinal) => drop(CudaDevice::new(ordinal.unwrap_or(0)).map_err(WorldError::gpu)?),
    }
    Ok(())
}

/// A port that is free now, for programs that connect to each other by `MASTER_PORT`.
fn free_port() -> Result<u16, WorldError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|source| WorldError::System { doing: "find a free port".to_owned(), source })
}
