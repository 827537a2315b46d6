//! What kernels print goes to Python's `sys.stdout`: notebooks and tests look there.

use std::convert::Infallible;
use std::sync::{LazyLock, Mutex};

use pyo3::intern;
use pyo3::prelude::*;
use shoal::fork::PerProcess;

use crate::lock::lock;

/// Held by who writes to a file: one without a buffer takes long texts in parts, and lets other threads run between them.
static TURN: LazyLock<PerProcess<Mutex<()>>> = LazyLock::new(|| PerProcess::new(Mutex::new(())));

/// Writes a text. Called from any thread, while the launching one waits without the interpreter's lock.
pub(crate) fn write(text: &str) {
    Python::attach(|py| {
        // A standard output that takes nothing is no reason to fail a kernel; Python says what is wrong with it.
        if let Err(error) = write_to_stdout(py, text) {
            error.write_unraisable(py, None);
        }
    });
}

fn write_to_stdout(py: Python<'_>, text: &str) -> PyResult<()> {
    let stdout = py.import(intern!(py, "sys"))?.getattr(intern!(py, "stdout"))?;
    if stdout.is_none() {
        return Ok(());
    }
    let file = py.import(intern!(py, "io"))?.getattr(intern!(py, "TextIOWrapper"))?;
    // What else stands there may run any code, and wait for other kernels that print.
    let turn = stdout.get_type().is(&file).then(|| match TURN.get(|_| Ok::<_, Infallible>(Mutex::new(()))) {
        Ok(turn) => lock(py, turn),
    });
    stdout.call_method1(intern!(py, "write"), (text,))?;
    drop(turn);
    Ok(())
}
