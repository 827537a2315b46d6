//! Commands that run on several ranks: as threads of this process, or as processes that run this command again, started
//! by it or by `oshrun`.

pub(crate) mod measure;
pub(crate) mod report;
pub(crate) mod timeline;

use std::error::Error;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use clap::ValueEnum;
use shoal::world::launch::{Job, engine_from_env};
use shoal::world::{EngineKind, Rank, World, WorldError};

use crate::failure::Failure;
use crate::launch::{Lines, oshrun};

/// What ranks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// Threads of one process
    Threads,
    /// Processes of this host
    Processes,
    /// Threads of one process that share an NVIDIA GPU
    Cuda,
    /// Processes that Open MPI's `oshrun` starts
    Openshmem,
    /// Processes of this host with NVIDIA GPUs, whose memory is NVSHMEM's
    Nvshmem,
}

impl Engine {
    /// The engine of ranks that are processes, unless the environment names another.
    pub(crate) fn of_processes() -> Result<Engine, Failure> {
        Ok(match engine_from_env()? {
            Some(EngineKind::OpenShmem) => Engine::Openshmem,
            Some(EngineKind::Nvshmem) => Engine::Nvshmem,
            _ => Engine::Processes,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Threads => "threads",
            Engine::Processes => "processes",
            Engine::Cuda => "one GPU",
            Engine::Openshmem => "openshmem",
            Engine::Nvshmem => "nvshmem",
        }
    }
}

/// Runs a function on ranks that are threads.
pub(crate) fn on_threads<T: Send>(
    ranks: usize,
    function: impl Fn(&Rank) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    Ok(World::threads(ranks)?.run(|rank| function(rank).map_err(of_the_world))?)
}

/// Runs a function on ranks that share the first GPU.
pub(crate) fn on_gpu<T: Send>(
    ranks: usize,
    function: impl Fn(&Rank) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    Ok(World::cuda(ranks, 0)?.run(|rank| function(rank).map_err(of_the_world))?)
}

/// Runs a function as the rank that this process was started for.
pub(crate) fn as_process<T: Send>(function: impl Fn(&Rank) -> Result<T, Failure> + Sync) -> Result<(), Failure> {
    World::from_env()?.run(|rank| function(rank).map_err(of_the_world))?;
    Ok(())
}

/// Why a rank ends: an error of the world as that, since the world knows whom it blames and names.
fn of_the_world(failure: Failure) -> Box<dyn Error + Send + Sync> {
    match failure {
        Failure::World(error) | Failure::Shoal(shoal::Error::World(error)) => Box::new(error),
        other => Box::new(other),
    }
}

/// Starts a program as the ranks of a world, with what they print in a pipe, and returns what rank 0 printed. A rank
/// that fails ends the others.
pub(crate) fn output_of_first(engine: Engine, ranks: usize, program: &[OsString]) -> Result<String, Failure> {
    if engine == Engine::Openshmem {
        return output_of_oshrun(ranks, program);
    }
    let (first, rest) = program.split_first().ok_or_else(|| Failure::new("this program does not know its own name"))?;
    let mut job = Job::start(ranks, |rank| {
        let mut command = Command::new(first);
        let out = if rank == 0 { Stdio::piped() } else { Stdio::null() };
        command.args(rest).stdin(Stdio::null()).stdout(out).stderr(Stdio::inherit());
        command
    })?;
    let pipe = job.processes().find(|(rank, _)| *rank == 0).and_then(|(_, child)| child.stdout.take());
    let reader = std::thread::spawn(move || {
        let lines = pipe.map(|pipe| BufReader::new(pipe).lines().map_while(Result::ok).collect::<Vec<_>>());
        lines.unwrap_or_default().join("\n")
    });
    let mut failed = None;
    while let Some(ended) = job.next_ended(None) {
        if !ended.status.success() && failed.is_none() {
            failed = Some(format!("rank {} of {ranks} ended: {}", ended.rank, ended.status));
        }
    }
    drop(job);
    let text = reader.join().map_err(|_| Failure::new("what rank 0 printed cannot be read"))?;
    match failed {
        None => Ok(text),
        Some(why) => Err(Failure::new(why)),
    }
}

/// The same for ranks of `oshrun`, of which only rank 0 prints.
fn output_of_oshrun(ranks: usize, program: &[OsString]) -> Result<String, Failure> {
    let mut command = oshrun::command(ranks, program, Lines::AsTheyAre);
    let output = command.output().map_err(|source| {
        let doing = "start `oshrun`".to_owned();
        oshrun::missing(WorldError::System { doing, source })
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::new(format!("oshrun: {}: {said}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
