//! Starting the processes of a world.

use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, kill_process_group, pidfd_open, set_parent_process_death_signal,
};

use shoal_driver::cpu::CpuDevice;
use shoal_driver::{DeviceError, wait_timeout};

use crate::engine::openshmem::membership::ENGINE;
use crate::engine::processes::membership::{Membership, TOKEN};
use crate::engine::processes::token::Token;
use crate::error::{Failure, WorldError};
use crate::launcher::Listener;
use crate::options::WorldOptions;
use crate::world_device::WorldDevice;

/// Processes that are the ranks of one world. Each has its own process group, and ends when the thread that started the
/// job does. Dropping the job kills what is left of it.
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
    groups: Groups,
    listener: Listener,
    /// The last that ranks have told.
    told: Option<Failure>,
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

impl Job {
    /// Starts the ranks of a world of processes. `make` says what to run; the environment that makes it a rank is added.
    pub fn start(ranks: usize, mut make: impl FnMut(usize) -> Command) -> Result<Job, WorldError> {
        let token = Token::random()?;
        let port = free_port()?;
        let mut job = Job::empty(&token)?;
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

    /// One process that starts the ranks itself and tells them what they are; it counts as rank 0.
    pub fn of(mut command: Command) -> Result<Job, WorldError> {
        let token = Token::random()?;
        let mut job = Job::empty(&token)?;
        command.env(TOKEN, token.reveal()).process_group(0);
        end_with_parent(&mut command);
        job.add(0, &mut command)?;
        Ok(job)
    }

    fn empty(token: &Token) -> Result<Job, WorldError> {
        Ok(Job { running: Vec::new(), groups: Groups::default(), listener: Listener::new(token)?, told: None })
    }

    /// Starts a process that is not yet.
    fn add(&mut self, rank: usize, command: &mut Command) -> Result<(), WorldError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .spawn()
            .map_err(|source| WorldError::System { doing: format!("start `{program}` as rank {rank}"), source })?;
        let pid = Pid::from_child(&child);
        self.groups.lock().push((rank, pid));
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

    /// What has ended the world, if ranks of this host have told.
    pub fn told(&mut self) -> Option<&Failure> {
        self.told = self.listener.heard().or(self.told.take());
        self.told.as_ref()
    }

    /// The process groups of the ranks that have not ended, to send signals to.
    #[must_use]
    pub fn groups(&self) -> Groups {
        self.groups.clone()
    }

    /// Waits for the next rank to end. `None` when none is left, or none has ended in that time.
    pub fn next_ended(&mut self, limit: Option<Duration>) -> Option<Ended> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        while !self.running.is_empty() {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let mut watched: Vec<PollFd<'_>> =
                self.running.iter().map(|running| PollFd::new(&running.handle, PollFlags::IN)).collect();
            let time = left.map(|left| Timespec::try_from(left).expect("a time in range"));
            // An interrupted poll reports nothing.
            let ready = poll(&mut watched, time.as_ref()).unwrap_or(0);
            let at = watched.iter().position(|watched| !watched.revents().is_empty()).filter(|_| ready > 0);
            if let Some(at) = at {
                // Nobody else waits for our children, so the first look succeeds.
                let mut running = self.running.swap_remove(at);
                self.groups.lock().retain(|(rank, _)| *rank != running.rank);
                let status = running.child.wait().ok()?;
                return Some(Ended { rank: running.rank, pid: running.child.id(), status });
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
        for running in &mut self.running {
            let _ = running.child.wait();
        }
    }
}

/// The process groups of a job's ranks, as far as they have not ended. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Groups(Arc<Mutex<Vec<(usize, Pid)>>>);

impl Groups {
    /// Sends a signal to all ranks, and to the processes that they have started. It is given by its number; numbers
    /// that no signal has are ignored.
    pub fn send(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else { return };
        for (_, group) in self.lock().iter() {
            // A group that is gone needs no signal.
            let _ = kill_process_group(*group, signal);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(usize, Pid)>> {
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

/// Refuses settings in the environment that every rank would refuse.
pub fn check_environment() -> Result<(), WorldError> {
    let unusable = |error: DeviceError| WorldError::Setup(error.to_string());
    WorldOptions::from_env()?;
    WorldDevice::from_env()?;
    wait_timeout().map_err(unusable)?;
    CpuDevice::host_threads().map_err(unusable)?;
    Ok(())
}

/// A port that is free now, for programs that connect to each other by `MASTER_PORT`.
fn free_port() -> Result<u16, WorldError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|source| WorldError::System { doing: "find a free port".to_owned(), source })
}
