//! The engine `processes`: ranks are processes of one host, each rank's segment an anonymous file that all have mapped.
//!
//! The ranks meet at a socket of rank 0's ([`rendezvous`]), hand each other the files of their segments and handles of
//! their processes, and need the socket no more. Nothing has a name in a file system, so nothing is left behind when
//! they die, however they do; and nobody else can open what has no name.

pub(crate) mod membership;
pub(crate) mod monitor;
mod rendezvous;
mod segment;
pub(crate) mod token;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::shared::{Layout, Mapping, SharedEngine, SharedMemory};
use super::{EngineKind, Segments};
use crate::error::WorldError;
use crate::options::WorldOptions;
use membership::Membership;
use monitor::Monitor;
use rendezvous::{Handles, Joining};

/// A rank that is a process.
pub(crate) type ProcessEngine = SharedEngine<Monitor>;

/// Joins the world that this process was started for.
pub(crate) fn join(membership: &Membership, options: &WorldOptions) -> Result<ProcessEngine, WorldError> {
    let bring = Bring { segments: Segments::Host, memory: None, note: &[], host_heap: options.heap_bytes };
    join_with(membership, options, bring, |_| Ok(())).map(|(engine, ())| engine)
}

/// What a rank brings along.
pub(crate) struct Bring<'a> {
    pub(crate) segments: Segments,
    /// Its memory on a GPU.
    pub(crate) memory: Option<OwnedFd>,
    /// What it tells all others.
    pub(crate) note: &'a [u8],
    /// Bytes of the heap in the host's memory.
    pub(crate) host_heap: usize,
}

/// Joins the world that this process was started for, with more than the host's memory. `map` gets the files of all
/// ranks' memory on GPUs, and has this rank's ready when it returns; nobody goes on before all have.
pub(crate) fn join_with<M>(
    membership: &Membership,
    options: &WorldOptions,
    bring: Bring<'_>,
    map: impl FnOnce(&[BorrowedFd<'_>]) -> Result<M, WorldError>,
) -> Result<(ProcessEngine, M), WorldError> {
    /// Worlds that this process was a member of; all ranks make them in the same order.
    static GENERATION: AtomicU32 = AtomicU32::new(0);

    let layout = Layout::new(&WorldOptions { heap_bytes: bring.host_heap, ..options.clone() })?;
    let own = Handles {
        segment: segment::create(membership.rank, layout)?,
        process: pidfd_open(getpid(), PidfdFlags::empty())
            .map_err(WorldError::system("open a handle of this process (Linux 5.3 has them)"))?,
        memory: bring.memory,
    };
    let generation = GENERATION.fetch_add(1, Ordering::Relaxed);
    let deadline = Instant::now() + options.timeout;
    let joining = Joining { membership, options, segments: bring.segments, generation, deadline };

    let enter = |handles: &[Handles]| -> Result<(Arc<SharedMemory>, M), WorldError> {
        for (rank, other) in handles.iter().enumerate() {
            segment::check(rank, layout, other.segment.as_fd())?;
        }
        let files: Vec<_> = handles.iter().map(|other| other.segment.as_fd()).collect();
        let mapping = Mapping::files(layout, &files)?;
        let memory = SharedMemory {
            mapping,
            kind: EngineKind::Processes,
            timeout: options.timeout,
            group: None,
            deadlock: OnceLock::new(),
        };
        let pid = getpid().as_raw_nonzero().get().unsigned_abs();
        memory.control(membership.rank).pid.store(pid, Ordering::Relaxed);
        memory.control(membership.rank).note.write(bring.note);
        let on_gpus: Vec<_> = handles.iter().filter_map(|other| Some(other.memory.as_ref()?.as_fd())).collect();
        let mapped = map(&on_gpus)?;
        memory.enter(membership.rank);
        Ok((Arc::new(memory), mapped))
    };
    let ((memory, mapped), handles) = rendezvous::meet(&joining, own, enter)?;
    let monitor = Monitor::start(Arc::clone(&memory), membership.rank, handles)?;
    Ok((SharedEngine { memory, rank: membership.rank, _keep: monitor }, mapped))
}
