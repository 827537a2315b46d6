//! The engine `processes`: ranks are processes of one host, each rank's segment an anonymous file that all have mapped.
//!
//! The ranks meet at a socket of rank 0's ([`rendezvous`]), hand each other the files of their segments and handles of
//! their processes, and need the socket no more. Nothing has a name in a file system, so nothing is left behind when
//! they die, however they do; and nobody else can open what has no name.

pub(crate) mod membership;
mod monitor;
mod rendezvous;
mod segment;
pub(crate) mod token;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::EngineKind;
use super::shared::{Layout, Mapping, SharedEngine, SharedMemory};
use crate::error::WorldError;
use crate::options::WorldOptions;
use membership::Membership;
use monitor::Monitor;
use rendezvous::{Handles, Joining};

/// A rank that is a process.
pub(crate) type ProcessEngine = SharedEngine<Monitor>;

/// Joins the world that this process was started for.
pub(crate) fn join(membership: &Membership, options: &WorldOptions) -> Result<ProcessEngine, WorldError> {
    /// Worlds that this process was a member of; all ranks make them in the same order.
    static GENERATION: AtomicU32 = AtomicU32::new(0);

    let layout = Layout::new(options)?;
    let own = Handles {
        segment: segment::create(membership.rank, layout)?,
        process: pidfd_open(getpid(), PidfdFlags::empty())
            .map_err(WorldError::system("open a handle of this process (Linux 5.3 has them)"))?,
    };
    let generation = GENERATION.fetch_add(1, Ordering::Relaxed);
    let deadline = Instant::now() + options.timeout;
    let joining = Joining { membership, options, generation, deadline };

    let enter = |handles: &[Handles]| -> Result<Arc<SharedMemory>, WorldError> {
        for (rank, other) in handles.iter().enumerate() {
            segment::check(rank, layout, other.segment.as_fd())?;
        }
        let files: Vec<_> = handles.iter().map(|other| other.segment.as_fd()).collect();
        let mapping = Mapping::files(layout, &files)?;
        let memory = SharedMemory { mapping, kind: EngineKind::Processes, timeout: options.timeout };
        let pid = getpid().as_raw_nonzero().get().unsigned_abs();
        memory.control(membership.rank).pid.store(pid, Ordering::Relaxed);
        memory.enter(membership.rank);
        Ok(Arc::new(memory))
    };
    let (memory, handles) = rendezvous::meet(&joining, own, enter)?;
    let monitor = Monitor::start(Arc::clone(&memory), membership.rank, handles)?;
    Ok(SharedEngine { memory, rank: membership.rank, _keep: monitor })
}
