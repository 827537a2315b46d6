//! Notices when another rank's process ends without having left the world.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::process::{Pid, getpid};

use super::rendezvous::Handles;
use crate::engine::Certainty;
use crate::engine::shared::SharedMemory;
use crate::error::{Failure, WorldError};

/// Watches the processes of the other ranks as long as this one takes part. Dropping it leaves the world.
#[derive(Debug)]
pub(crate) struct Monitor {
    memory: Arc<SharedMemory>,
    rank: usize,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    /// A child made by `fork` gets a copy of this value, but is not the rank.
    process: Pid,
}

impl Monitor {
    pub(super) fn start(memory: Arc<SharedMemory>, rank: usize, handles: Vec<Handles>) -> Result<Monitor, WorldError> {
        let doing = "watch the other ranks";
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(WorldError::system(doing))?);
        let others: Vec<(usize, OwnedFd)> = handles
            .into_iter()
            .enumerate()
            .filter(|(other, _)| *other != rank)
            .map(|(other, handles)| (other, handles.process))
            .collect();
        let watching = (Arc::clone(&memory), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("shoal monitor".to_owned())
            .spawn(move || watch(&watching.0, &watching.1, others))
            .map_err(|source| WorldError::System { doing: doing.to_owned(), source })?;
        Ok(Monitor { memory, rank, stop, thread: Some(thread), process: getpid() })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        if getpid() != self.process {
            // The thread stayed with the parent.
            std::mem::forget(self.thread.take());
            return;
        }
        self.memory.leave(self.rank);
        // Writing to an eventfd that nobody else writes to neither blocks nor fails.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(memory: &SharedMemory, stop: &OwnedFd, mut others: Vec<(usize, OwnedFd)>) {
    loop {
        let mut watched: Vec<PollFd<'_>> = vec![PollFd::new(stop, PollFlags::IN)];
        watched.extend(others.iter().map(|(_, process)| PollFd::new(process, PollFlags::IN)));
        // An interrupted poll reports nothing, and is repeated.
        if poll(&mut watched, None).is_err() {
            continue;
        }
        let is_ready: Vec<bool> = watched.iter().map(|watched| !watched.revents().is_empty()).collect();
        if is_ready[0] {
            return;
        }
        let mut at = 0;
        others.retain(|(rank, _)| {
            at += 1;
            if is_ready[at] && !memory.has_left(*rank) {
                let reason = format!("{} died, or exited without leaving the world", memory.name(*rank));
                // What the world has failed of before counts.
                let _ = memory.fail(Failure { rank: *rank, reason }, Certainty::Known);
            }
            !is_ready[at]
        });
    }
}
