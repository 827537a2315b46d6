//! Waiting for other ranks: without the interpreter's lock, and until Ctrl-C at the longest.

use std::sync::mpsc;
use std::time::Duration;

use pyo3::prelude::*;
use shoal::world::WorldError;

use crate::world::current;
use crate::world::member::Member;
use crate::{errors, signals};

/// How often the waiting thread looks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Errors of what waits.
pub(crate) trait Raised: Send {
    /// The exception.
    fn raised(self, py: Python<'_>) -> PyErr;
}

impl Raised for WorldError {
    fn raised(self, py: Python<'_>) -> PyErr {
        errors::world(py, &self)
    }
}

impl Raised for shoal::Error {
    fn raised(self, py: Python<'_>) -> PyErr {
        errors::raise(py, self, None)
    }
}

/// Does what may wait for other ranks.
///
/// Only the main thread hears of signals, and threads of ranks are others. Where this one may be the main thread, another
/// waits while this one listens; a handler that raises ends the world, and with it the wait.
pub(crate) fn wait_for_others<T: Send, E: Raised>(
    py: Python<'_>,
    member: &Member,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    let rank = member.taking_part()?;
    if current::waits_itself() {
        return py.detach(work).map_err(|error| error.raised(py));
    }
    let done = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let thread = std::thread::Builder::new().spawn_scoped(scope, move || drop(sender.send(work())));
            if let Err(source) = thread {
                let doing = "start a thread that waits for other ranks".to_owned();
                return Err(WorldError::System { doing, source });
            }
            loop {
                match receiver.recv_timeout(SIGNAL_INTERVAL) {
                    Ok(result) => return Ok(Some(result)),
                    Err(mpsc::RecvTimeoutError::Timeout) if signals::pending() => {
                        rank.fail("it was interrupted");
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(None),
                }
            }
        })
    });
    match (signals::raised(), done) {
        (Some(raised), _) => Err(raised),
        (None, Err(error)) => Err(error.raised(py)),
        (None, Ok(Some(result))) => result.map_err(|error| error.raised(py)),
        (None, Ok(None)) => Err(pyo3::exceptions::PyRuntimeError::new_err("waiting for other ranks ended in a panic")),
    }
}
