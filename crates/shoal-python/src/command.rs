//! The command `shoal` from Python: what the package installs, and `python -m shoal`.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use shoal_cli::Surroundings;

/// Does what the words after the command's name say, and gives the exit status. `command` starts the command in another
/// process, `runtime` names folders where the runtime of kernels that are compiled ahead of time may lie.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>, command: Vec<OsString>, runtime: Vec<PathBuf>) -> u8 {
    let python = command.first().cloned();
    let surroundings = Surroundings { command, python, runtime };
    py.detach(|| shoal_cli::run(&surroundings, words))
}
