//! Calls of the library that wait for other ranks: it has no end to them, so the process has.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::engine::processes::ProcessEngine;
use crate::error::{WorldError, spell};

/// How often the world is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(50);

/// Does something of the library's that waits for all ranks. A call that does not come back cannot be taken back: when
/// another rank dies meanwhile, or time is up, the process says so and ends.
pub(super) fn bounded<T>(
    host: &ProcessEngine,
    patience: Duration,
    work: impl FnOnce() -> Result<T, WorldError>,
) -> Result<T, WorldError> {
    let (work_goes_on, ended) = channel::<()>();
    let (memory, name) = (std::sync::Arc::clone(&host.memory), host.name(host.rank));
    let until = Instant::now() + patience;
    let watch = move || {
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let why = match memory.failure() {
                Some(failure) => failure.reason,
                None if Instant::now() < until => continue,
                None => format!("it waited {} for the others in NVSHMEM", spell(patience)),
            };
            eprintln!("shoal: {name} ends: {why}");
            std::process::abort();
        }
    };
    let watching = std::thread::Builder::new().name("shoal nvshmem".to_owned()).spawn(watch);
    let watching =
        watching.map_err(|source| WorldError::System { doing: "watch NVSHMEM's start".to_owned(), source })?;
    let done = work();
    drop(work_goes_on);
    // It has been told to end, and does not panic.
    let _ = watching.join();
    done
}
