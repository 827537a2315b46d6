//! What kernels print goes to Python's `sys.stdout`: notebooks and tests look there.

use pyo3::intern;
use pyo3::prelude::*;

/// Writes a text. Called from any thread, while the launching one waits without the interpreter's lock.
pub(crate) fn write(text: &str) {
    Python::attach(|py| {
        let written =
            py.import(intern!(py, "sys")).and_then(|sys| sys.getattr(intern!(py, "stdout"))).and_then(|stdout| {
                if stdout.is_none() { Ok(stdout) } else { stdout.call_method1(intern!(py, "write"), (text,)) }
            });
        // A standard output that takes nothing is no reason to fail a kernel; Python says what is wrong with it.
        if let Err(error) = written {
            error.write_unraisable(py, None);
        }
    });
}
