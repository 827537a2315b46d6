//! How the processes of a world find each other: rank 0 listens, the others come and bring handles of their memory and
//! of themselves, and all leave with everybody's.
//!
//! The socket is a Unix socket, as only those carry handles. It has an abstract name, a hash of what only the job knows:
//! it is in no file system and vanishes with its owner. Both sides look at the user that the kernel says the other is,
//! and the token is asked for on top, so that neither other users nor other jobs get in. Who connects and talks
//! nonsense, or nothing, is dropped and delays nobody. (A TCP port at `MASTER_PORT` could not serve: `torchrun` listens
//! there itself, and any user of the host could connect.)

mod guest;
mod host;
mod message;
mod packet;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SocketAddrUnix;
use rustix::process::geteuid;

use super::membership::Membership;
use crate::engine::Segments;
use crate::error::WorldError;
use crate::options::WorldOptions;

/// What a rank gives to all others.
#[derive(Debug)]
pub(super) struct Handles {
    /// Its segment.
    pub(super) segment: OwnedFd,
    /// Its process; readable when that has ended.
    pub(super) process: OwnedFd,
    /// Its memory on a GPU, where symmetric memory is there.
    pub(super) memory: Option<OwnedFd>,
}

impl Handles {
    /// How many a rank gives.
    fn count(segments: Segments) -> usize {
        match segments {
            Segments::Host | Segments::Nvshmem => 2,
            Segments::Gpu => 3,
        }
    }

    /// All, in the order in which they travel.
    fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [&self.segment, &self.process].into_iter().chain(&self.memory).map(AsFd::as_fd)
    }

    /// The next rank's of files that have travelled.
    fn take(files: &mut impl Iterator<Item = OwnedFd>, segments: Segments) -> Option<Handles> {
        let (segment, process) = (files.next()?, files.next()?);
        let memory = match segments {
            Segments::Host | Segments::Nvshmem => None,
            Segments::Gpu => Some(files.next()?),
        };
        Some(Handles { segment, process, memory })
    }

    fn try_clone(&self) -> Result<Handles, WorldError> {
        let copy = |handle: &OwnedFd| {
            handle.try_clone().map_err(|source| WorldError::System { doing: "keep a handle".to_owned(), source })
        };
        let memory = self.memory.as_ref().map(copy).transpose()?;
        Ok(Handles { segment: copy(&self.segment)?, process: copy(&self.process)?, memory })
    }
}

/// What a rank knows when it comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joining<'a> {
    pub(super) membership: &'a Membership,
    pub(super) options: &'a WorldOptions,
    pub(super) segments: Segments,
    /// Which of this process's worlds it is.
    pub(super) generation: u32,
    pub(super) deadline: Instant,
}

impl Joining<'_> {
    /// Where the ranks meet.
    fn address(&self) -> SocketAddrUnix {
        let mut hasher = blake3::Hasher::new_derive_key("shoal-world 2026 rendezvous name");
        hasher.update(self.membership.proof().as_bytes());
        hasher.update(&geteuid().as_raw().to_le_bytes());
        hasher.update(&self.generation.to_le_bytes());
        hasher.update(self.membership.job.as_bytes());
        let name = format!("shoal-{}", &hasher.finalize().to_hex()[..32]);
        SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a short name")
    }

    fn time_left(&self) -> Option<Duration> {
        self.deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }
}

/// Meets the other ranks. `enter` makes this rank's memory from everybody's handles; no rank gets past this before all
/// have made theirs.
pub(super) fn meet<M>(
    joining: &Joining<'_>,
    own: Handles,
    enter: impl FnOnce(&[Handles]) -> Result<M, WorldError>,
) -> Result<(M, Vec<Handles>), WorldError> {
    match (joining.membership.size, joining.membership.rank) {
        (1, _) => {
            let handles = vec![own];
            Ok((enter(&handles)?, handles))
        }
        (_, 0) => host::host(joining, own, enter),
        _ => guest::join(joining, own, enter),
    }
}

/// Waits until one of the sockets can be read or has hung up, or until a time. Returns which.
fn wait_readable(sockets: &[&OwnedFd], limit: Duration) -> Result<Vec<bool>, WorldError> {
    let mut watched: Vec<PollFd<'_>> = sockets.iter().map(|socket| PollFd::new(*socket, PollFlags::IN)).collect();
    let limit = Timespec::try_from(limit).expect("a time in range");
    match poll(&mut watched, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {
            Ok(watched.iter().map(|watched| !watched.revents().is_empty()).collect())
        }
        Err(reason) => Err(WorldError::system("wait for the other ranks")(reason)),
    }
}

#[cfg(test)]
mod tests;
