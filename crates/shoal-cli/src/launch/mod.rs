//! `shoal launch`.

pub(crate) mod oshrun;
mod output;
mod signals;
mod tagged;

use std::env::split_paths;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shoal::world::WorldDevice;
use shoal::world::launch::{Ended, Groups, Job, check};
use signal_hook::consts::{SIGCONT, SIGKILL, SIGTERM};

use crate::command_line::{BackendName, LaunchOptions};
use crate::failure::Failure;
use crate::ranks::Engine;
use output::Output;
use signals::Forwarded;

/// How often the launcher looks up while no rank ends.
const TICK: Duration = Duration::from_millis(50);
/// When a rank has failed, the others get this time to notice, and to say what they were waiting for.
const NOTICE: Duration = Duration::from_secs(1);
/// The time that the rank which others blame has to end by itself. A rank that gives up needs some to ask the others.
const BLAMED: Duration = Duration::from_secs(1);
/// The time between asking a rank to end and killing it.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) fn launch(options: &LaunchOptions) -> Result<(), Failure> {
    let LaunchOptions { ranks, nnodes, engine, device, program } = options;
    if *nnodes != 1 {
        return Err(Failure::usage(format!(
            "--nnodes {nnodes}: this command starts ranks on one host; start those of several with Open MPI's \
             `oshrun --host A,B -n N program`"
        )));
    }
    let engine = engine.map_or_else(Engine::of_processes, Ok)?;
    if let Some(file) = program.first().filter(|program| is_python_file(Path::new(program))) {
        let command: Vec<_> = program.iter().map(|part| part.to_string_lossy()).collect();
        return Err(Failure::usage(format!(
            "`{}` is a Python file, not a program: `shoal launch -n {ranks} -- python3 {}`",
            file.display(),
            command.join(" ")
        )));
    }
    start(engine, *ranks, *device, program, Lines::WithRank)
}

/// Whether this is a file for Python that the system cannot start.
fn is_python_file(program: &Path) -> bool {
    let starts =
        |path: &Path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    let is_found = match program.components().count() {
        1 => {
            std::env::var_os("PATH").is_some_and(|path| split_paths(&path).any(|folder| starts(&folder.join(program))))
        }
        _ => starts(program),
    };
    program.extension().is_some_and(|ending| ending == "py") && program.is_file() && !is_found
}

/// How what ranks print appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// With the rank before each line.
    WithRank,
    /// As it is printed; errors line by line.
    AsTheyAre,
}

/// The variable that tells a rank where its memory is.
const DEVICE: &str = "SHOAL_DEVICE";

/// Starts a program as the ranks of a world, and waits for all of them. Without a device, the environment chooses.
pub(crate) fn start(
    engine: Engine,
    ranks: usize,
    device: Option<BackendName>,
    program: &[OsString],
    lines: Lines,
) -> Result<(), Failure> {
    let memory = match device {
        Some(BackendName::Cuda) => Some(WorldDevice::Cuda(None)),
        Some(BackendName::Cpu | BackendName::Interp) => Some(WorldDevice::Cpu),
        None if engine == Engine::Nvshmem => Some(WorldDevice::Cuda(None)),
        None => None,
    };
    match (engine, device) {
        (Engine::Openshmem, Some(BackendName::Cuda)) => {
            let why = "--engine openshmem has its memory on the host; on GPUs, --engine processes or nvshmem";
            return Err(Failure::usage(why));
        }
        (Engine::Nvshmem, Some(BackendName::Cpu | BackendName::Interp)) => {
            let why = "--engine nvshmem has its memory on GPUs; on the host, --engine processes or openshmem";
            return Err(Failure::usage(why));
        }
        _ => {}
    }
    check(ranks, memory)?;
    if engine == Engine::Openshmem {
        return oshrun::start(ranks, program, lines);
    }
    let (first, rest) = program.split_first().ok_or_else(|| Failure::new("there is no program to start"))?;
    let out = || match lines {
        Lines::WithRank => Stdio::piped(),
        Lines::AsTheyAre => Stdio::inherit(),
    };
    let mut job = Job::start(ranks, |_| {
        let mut command = Command::new(first);
        command.args(rest).stdin(Stdio::null()).stdout(out()).stderr(Stdio::piped());
        if let Some(device) = device {
            command.env(DEVICE, shoal::Backend::from(device).name());
        }
        if engine == Engine::Nvshmem {
            command.env("SHOAL_ENGINE", "nvshmem");
        }
        command
    })?;
    let forwarded = signals::forward(job.groups(), signals::To::Ranks)?;
    let output = Output::of(&mut job, lines);
    let outcome = supervise(&mut job, &forwarded);
    // What ranks left running holds their pipes open.
    drop(job);
    output.finish();
    outcome
}

/// What happens to the ranks that still run, from a time on.
enum Ending {
    NotYet,
    Ask(Instant),
    Kill(Instant),
}

impl Ending {
    /// Does what is due.
    fn proceed(self, groups: &Groups) -> Ending {
        let now = Instant::now();
        match self {
            Ending::Ask(at) if now >= at => {
                groups.send(SIGTERM);
                // A process that was stopped would not hear of it.
                groups.send(SIGCONT);
                Ending::Kill(now + GRACE)
            }
            Ending::Kill(at) if now >= at => {
                groups.send(SIGKILL);
                Ending::Kill(at)
            }
            ending @ (Ending::NotYet | Ending::Ask(_) | Ending::Kill(_)) => ending,
        }
    }
}

/// Waits for all ranks, and ends the others when one fails.
fn supervise(job: &mut Job, forwarded: &Forwarded) -> Result<(), Failure> {
    let mut failed: Option<Cause> = None;
    let mut ending = Ending::NotYet;
    while job.running() > 0 {
        let ended = job.next_ended(Some(TICK)).filter(|ended| !ended.status.success());
        if let Some(ended) = ended
            && failed.is_none()
        {
            ending = Ending::Ask(Instant::now() + NOTICE);
            let cause = cause(job, ended);
            if forwarded.terminating().is_none() {
                match job.running() {
                    0 => {}
                    1 => eprintln!("shoal launch: {}; ending the other", cause.failure),
                    _ => eprintln!("shoal launch: {}; ending the others", cause.failure),
                }
            }
            failed = Some(cause);
        }
        if let (Some(_), Ending::NotYet) = (forwarded.terminating(), &ending) {
            ending = Ending::Kill(Instant::now() + GRACE);
        }
        ending = ending.proceed(&job.groups());
    }
    match (failed, forwarded.terminating()) {
        (None, _) => Ok(()),
        (Some(_), Some(signal)) => {
            let name = signals::name(signal);
            Err(Failure::Rank { message: format!("ended by {name}"), code: exit_code(signal) })
        }
        (Some(failed), None) => Err(failed.after(job)),
    }
}

/// Why a job has failed.
struct Cause {
    failure: Failure,
    /// What ranks had told by then, if it is that.
    told: Option<shoal::world::Failure>,
}

impl Cause {
    /// The same when all ranks have ended. Who gives up first may have found out only then whom all wait for.
    fn after(self, job: &mut Job) -> Failure {
        match (self.failure, job.reported_failure()) {
            (Failure::Rank { code, .. }, Some(last)) if self.told.is_some_and(|told| told != *last) => {
                Failure::Rank { message: first_line(last), code }
            }
            (failure, _) => failure,
        }
    }
}

/// Why the job has failed: a rank that was killed, else what ranks have told of it, else the first that was seen to fail.
fn cause(job: &mut Job, first: Ended) -> Cause {
    let mut ended = vec![first];
    let until = Instant::now() + BLAMED;
    loop {
        let blamed = job.reported_failure().map(|failure| failure.rank);
        let patience = match blamed {
            Some(rank) if job.is_running(rank) => until.saturating_duration_since(Instant::now()),
            Some(_) | None => Duration::ZERO,
        };
        match job.next_ended(Some(patience)) {
            Some(other) => ended.push(other),
            None => break,
        }
    }
    if let Some(killed) = ended.iter().find(|ended| ended.status.signal().is_some()) {
        return Cause { failure: failure(killed), told: None };
    }
    let Some(reported) = job.reported_failure() else { return Cause { failure: failure(&first), told: None } };
    let blamed = ended.iter().find(|ended| ended.rank == reported.rank && !ended.status.success());
    let code = |ended: &Ended| ended.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Cause { failure: told_by_ranks(reported, blamed.map(code), code(&first)), told: Some(reported.clone()) }
}

/// What ranks have told of a failure, with the status of the one that they blame, if it has ended by itself; else another.
fn told_by_ranks(failure: &shoal::world::Failure, of_blamed: Option<u8>, or: u8) -> Failure {
    let mut message = first_line(failure);
    // Whatever ends by an error exits with 1; another status was chosen.
    if let Some(code) = of_blamed.filter(|&code| code != 1) {
        message += &format!("; rank {} exited with status {code}", failure.rank);
    }
    Failure::Rank { message, code: of_blamed.unwrap_or(or) }
}

fn first_line(failure: &shoal::world::Failure) -> String {
    failure.reason.lines().next().unwrap_or_default().to_owned()
}

fn failure(ended: &Ended) -> Failure {
    let Ended { rank, pid, status } = ended;
    let (how, code) = match (status.code(), status.signal()) {
        (Some(code), _) => (format!("exited with status {code}"), u8::try_from(code).unwrap_or(1)),
        (None, Some(signal)) => (format!("was killed by {}", signals::name(signal)), exit_code(signal)),
        (None, None) => (format!("ended: {status}"), 1),
    };
    Failure::Rank { message: format!("rank {rank} (pid {pid}) {how}"), code }
}

/// As shells tell of signals.
fn exit_code(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
