//! Collectives of others, as processes of this host: Open MPI's, and those of torch for CPUs.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use shoal::PrivateFolder;

use super::peers::python_with;
use crate::command_line::RankPeer;
use crate::failure::Failure;
use crate::ranks::{Engine, output_of_first};

const MPI_SOURCE: &str = include_str!("mpi_peer.c");
const GLOO_SCRIPT: &str = include_str!("gloo_peer.py");

/// A collective that others have, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Collective {
    AllReduce,
    AllGather,
    Broadcast,
    ReduceScatter,
}

impl Collective {
    /// The collective that a library kernel does; none if it does more.
    pub(super) fn of(kernel: &str) -> Option<Collective> {
        match kernel {
            "one_shot_all_reduce" | "two_shot_all_reduce" | "two_shot_all_reduce_in_place" | "all_reduce_put" => {
                Some(Collective::AllReduce)
            }
            "reduce_scatter" | "reduce_scatter_put" => Some(Collective::ReduceScatter),
            "broadcast" | "broadcast_put" => Some(Collective::Broadcast),
            "all_gather_with_progress" => Some(Collective::AllGather),
            name if name.starts_with("all_gather_p") => Some(Collective::AllGather),
            "all_gather_ring" | "all_gather_2d" => Some(Collective::AllGather),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all_reduce",
            Collective::AllGather => "all_gather",
            Collective::Broadcast => "broadcast",
            Collective::ReduceScatter => "reduce_scatter",
        }
    }
}

impl RankPeer {
    /// The name in rows.
    pub(super) fn name(self) -> &'static str {
        match self {
            RankPeer::Mpi => "Open MPI",
            RankPeer::Gloo => "gloo",
        }
    }

    /// Why it cannot be measured; nothing if it can.
    pub(super) fn is_missing(self) -> Option<String> {
        match self {
            RankPeer::Mpi => mpi_program().err(),
            RankPeer::Gloo if python_with(&["torch"]).is_none() => Some("torch is not installed".to_owned()),
            RankPeer::Gloo => None,
        }
    }

    /// Seconds of one call on fp32 elements.
    pub(super) fn seconds(self, collective: Collective, elements: usize, ranks: usize) -> Result<f64, Failure> {
        let words = [collective.name().to_owned(), elements.to_string()].map(OsString::from);
        let text = match self {
            RankPeer::Mpi => {
                let program = mpi_program().map_err(Failure::new)?;
                let mut command = Command::new("mpirun");
                command.args(["--oversubscribe", "--allow-run-as-root", "-n", &ranks.to_string()]);
                command.arg(program).args(&words).stdin(Stdio::null()).stderr(Stdio::piped());
                let output = command.output().map_err(|why| Failure::new(format!("mpirun does not start: {why}")))?;
                if !output.status.success() {
                    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                    return Err(Failure::new(format!("mpirun: {}: {said}", output.status)));
                }
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            RankPeer::Gloo => {
                let python = python_with(&["torch"]).ok_or_else(|| Failure::new("torch is not installed"))?;
                let start = [python.to_owned(), "-c".into(), GLOO_SCRIPT.into()];
                output_of_first(Engine::Processes, ranks, &start.into_iter().chain(words).collect::<Vec<_>>())?
            }
        };
        let last = text.lines().rev().find_map(|line| line.trim().parse::<f64>().ok());
        last.ok_or_else(|| Failure::new(format!("{} gave no time", self.name())))
    }
}

/// The program that calls MPI, compiled once; why not, if it cannot be. It has no name in the file system, so that it goes
/// with this process, however that ends.
fn mpi_program() -> Result<PathBuf, String> {
    static PROGRAM: OnceLock<Result<File, String>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let folder = PrivateFolder::new("bench").map_err(|why| why.to_string())?;
        compiled_mpi_program(folder.path())
    });
    let program = program.as_ref().map_err(String::clone)?;
    Ok(format!("/proc/{}/fd/{}", std::process::id(), program.as_raw_fd()).into())
}

fn compiled_mpi_program(folder: &Path) -> Result<File, String> {
    let (source, program) = (folder.join("mpi_peer.c"), folder.join("mpi_peer"));
    let file = |path: &Path, why: std::io::Error| format!("{}: {why}", path.display());
    std::fs::write(&source, MPI_SOURCE).map_err(|why| file(&source, why))?;
    let compiled = Command::new("mpicc").arg("-O2").arg("-o").arg(&program).arg(&source).output();
    let output = compiled.map_err(|_| "Open MPI is not installed (Debian: openmpi-bin libopenmpi-dev)".to_owned())?;
    if !output.status.success() {
        return Err(format!("mpicc: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    File::open(&program).map_err(|why| file(&program, why))
}
