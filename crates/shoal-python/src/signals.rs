//! Ctrl-C during a launch.
//!
//! The driver asks on the launching thread, about every 50 ms, whether to stop. Python's signal handlers run at that
//! moment; if one raises, the launch ends, and what it raised is what the launch raises.

use std::cell::RefCell;

use pyo3::prelude::*;

thread_local! {
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a signal handler has raised something.
pub(crate) fn pending() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            RAISED.set(Some(error));
            true
        }
    })
}

/// What it has raised.
pub(crate) fn raised() -> Option<PyErr> {
    RAISED.take()
}
