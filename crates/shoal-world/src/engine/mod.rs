//! How ranks reach each other. Everything above an engine (heap, teams, collectives, streams) is the same for all of
//! them; an engine brings memory, one collective, and news of failures.
//!
//! An engine value is one rank's view. Engines whose ranks are not all reachable by load and store answer `None` from
//! [`Engine::base`] for those, and have a [`Transport`] for their one-sided operations.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use shoal_driver::{Doing, Transport};

use crate::engine::cuda::GpuRank;
use crate::error::{Failure, WorldError};
use crate::vigil::Beat;
use crate::wait_report::WaitReport;

pub(crate) mod absence;
pub(crate) mod cuda;
pub(crate) mod cuda_processes;
pub(crate) mod gpu_heaps;
pub(crate) mod nvshmem;
pub(crate) mod openshmem;
pub(crate) mod processes;
pub(crate) mod shared;
pub(crate) mod threads;

/// Teams that a rank can be a member of at the same time.
pub(crate) const TEAM_SLOTS: usize = 64;

/// Bytes that a rank can tell of what it was doing when the world failed.
pub(crate) const REPORT_BYTES: usize = 4088;

/// The engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EngineKind {
    /// Ranks are threads of one process.
    Threads,
    /// Ranks are processes of one host.
    Processes,
    /// Ranks are threads of one process that share a GPU: their symmetric memory is the GPU's, and their kernels run there.
    /// (Ranks that are processes may have their memory on GPUs too; see [`Rank::gpu`](crate::Rank::gpu).)
    Cuda,
    /// Ranks are processes that Open MPI's `oshrun` has started, on one host or on several.
    OpenShmem,
    /// Ranks are processes with GPUs whose symmetric memory is NVSHMEM's.
    Nvshmem,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineKind::Threads => "threads",
            EngineKind::Processes => "processes",
            EngineKind::Cuda => "cuda",
            EngineKind::OpenShmem => "openshmem",
            EngineKind::Nvshmem => "nvshmem",
        })
    }
}

/// Whose memory the symmetric segments of a world of processes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Segments {
    /// The host's.
    Host,
    /// Each rank's is its GPU's.
    Gpu,
    /// They are NVSHMEM's.
    Nvshmem,
}

impl Segments {
    pub(crate) const ALL: [Segments; 3] = [Segments::Host, Segments::Gpu, Segments::Nvshmem];
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Segments::Host => "in the host's memory",
            Segments::Gpu => "on a GPU",
            Segments::Nvshmem => "in that of NVSHMEM",
        })
    }
}

/// Whether it is known who is at fault when a world ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// It is.
    Known,
    /// Somebody waited in vain, and asks the others now.
    Suspected,
}

/// One rank's access to its world.
pub(crate) trait Engine: fmt::Debug + Send + Sync {
    /// Which engine this is.
    fn kind(&self) -> EngineKind;

    /// The rank whose view this is.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// A number for each rank, the same for those that share a host.
    fn hosts(&self) -> Vec<u32>;

    /// How a rank is named in messages: `rank 3 (pid 4711)`.
    fn name(&self, rank: usize) -> String;

    /// Bytes of each rank's symmetric segment: the signal pad, the words in which teams meet, the heap.
    fn segment_bytes(&self) -> usize;

    /// Where the symmetric segment of a rank begins in this process, if it can be reached by load and store.
    fn base(&self, rank: usize) -> Option<NonNull<u8>>;

    /// Where the symmetric memory is, if it is a GPU's, and how kernels of this rank are launched there.
    fn gpu(&self) -> Option<&GpuRank> {
        None
    }

    /// The way to the segments that load and store do not reach, if there are any.
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        None
    }

    /// The collective that all others are made of: every member of the team gives bytes and receives those of all, in
    /// the order of the team. No member returns before all have called. When some will not come, [`WorldError::Failed`]
    /// says why; it is for the caller to [end](Engine::fail) the world, if that has not ended yet.
    fn exchange(&self, route: &Route<'_>, call: Call, mine: &[u8]) -> Result<Vec<Vec<u8>>, WorldError>;

    /// Makes this rank's slot ready for messages of a new team.
    fn prepare_slot(&self, slot: usize);

    /// Waits until no member reads messages of the team any more, so that its slot may go to another.
    fn retire_slot(&self, route: &Route<'_>) -> Result<(), WorldError>;

    /// What ended the world, if something did. A suspicion until there is a [conclusion](Engine::conclude).
    fn failure(&self) -> Option<Failure>;

    /// Ends the world: every rank that waits, now or later, gets an error with this reason, and whoever started the ranks
    /// is told. The first failure counts: an error is an earlier one. Whoever ends the world by a suspicion comes to a
    /// [conclusion](Engine::conclude).
    fn fail(&self, failure: Failure, certainty: Certainty) -> Result<(), Failure>;

    /// What was found out of a suspicion that has ended the world: from now on that is the [failure](Engine::failure).
    fn conclude(&self, failure: &Failure);

    /// Whether who is at fault is still being found out.
    fn is_undecided(&self) -> bool;

    /// Says what every rank waited for when none could go on, before the world [ends](Engine::fail) by that.
    fn post_deadlock(&self, _waits: &[WaitReport]) {}

    /// What every rank waited for, if the world has ended because none could go on.
    fn deadlock(&self) -> Option<Vec<WaitReport>> {
        None
    }

    /// Tells all ranks what this one was doing when the world failed, mostly what it waited for; as much of it as there is
    /// room for. What a rank tells first counts.
    fn post_report(&self, report: &str);

    /// What a rank was doing when the world failed, if it has told.
    fn report_of(&self, rank: usize) -> Option<String>;

    /// Tells all ranks that this one waits and nothing of it moves, or that it does no more.
    fn beat(&self, beat: Option<Beat>);

    /// What a rank tells of its waits.
    fn beat_of(&self, rank: usize) -> Option<Beat>;

    /// Whether a rank takes part no more.
    fn has_left(&self, rank: usize) -> bool;

    /// What a rank is doing, where all are threads of this process.
    fn doing(&self, _rank: usize) -> Option<Doing> {
        None
    }

    /// This rank takes part (again).
    fn enter(&self);

    /// This rank is done. Ranks that wait for it later get an error.
    fn leave(&self);
}

/// The way of a team's messages.
#[derive(Debug)]
pub(crate) struct Route<'a> {
    /// What messages call the team.
    pub(crate) team: &'a str,
    /// The place for the team's messages in each member's memory.
    pub(crate) slot: usize,
    /// The members, as ranks of the world.
    pub(crate) members: &'a [usize],
    /// Number of rounds that were exchanged so far; counted up by the engine.
    pub(crate) rounds: &'a std::sync::atomic::AtomicU32,
}

/// A collective operation, as far as all members must agree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// Wait for all members.
    Barrier,
    /// Bytes from this member of the team to all.
    Broadcast(u32),
    /// Bytes from all to all.
    AllGather,
    /// Allocation on the symmetric heap.
    Allocate,
    /// Return of memory to the symmetric heap.
    Free,
    /// Division of a team.
    Split,
    /// Return of a team.
    FreeTeam,
    /// The first launch of a kernel whose programs wait for other ranks, on a GPU.
    FirstLaunch,
    /// None: programs of the member wait in a kernel in vain, and it tells the others.
    GivesUp,
}

impl Call {
    pub(crate) fn encode(self) -> u64 {
        match self {
            Call::Barrier => 1,
            Call::Broadcast(root) => 2 | u64::from(root) << 32,
            Call::AllGather => 3,
            Call::Allocate => 4,
            Call::Free => 5,
            Call::Split => 6,
            Call::FreeTeam => 7,
            Call::FirstLaunch => 8,
            Call::GivesUp => 9,
        }
    }

    pub(crate) fn decode(code: u64) -> Option<Call> {
        let root = (code >> 32) as u32;
        Some(match code & 0xffff_ffff {
            1 => Call::Barrier,
            2 => Call::Broadcast(root),
            3 => Call::AllGather,
            4 => Call::Allocate,
            5 => Call::Free,
            6 => Call::Split,
            7 => Call::FreeTeam,
            8 => Call::FirstLaunch,
            9 => Call::GivesUp,
            _ => return None,
        })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Barrier => f.write_str("barrier"),
            Call::Broadcast(root) => write!(f, "broadcast from member {root}"),
            Call::AllGather => f.write_str("all-gather"),
            Call::Allocate => f.write_str("symmetric allocation"),
            Call::Free => f.write_str("symmetric free"),
            Call::Split => f.write_str("team split"),
            Call::FreeTeam => f.write_str("team free"),
            Call::FirstLaunch => f.write_str("first launch of a kernel that waits"),
            Call::GivesUp => f.write_str("end of waits in vain"),
        }
    }
}

/// What a rank waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// The other members of a team.
    Collective {
        /// What was called.
        call: Call,
        /// The team.
        team: String,
    },
    /// A word of symmetric memory.
    Word {
        /// The condition, such as `the word at offset 64 of rank 2 == 1 (it is 0)`.
        condition: String,
    },
    /// The rank's own stream.
    Stream {
        /// How far it has to come, such as `an event of a stream`.
        work: &'static str,
    },
    /// What programs of a kernel wait for.
    Kernel {
        /// Who waits where, and for what.
        waits: String,
    },
}

impl Awaited {
    /// What follows after `waited 1 s`.
    pub(crate) fn object(&self) -> String {
        match self {
            Awaited::Collective { call, team } => format!("in {call} of {team}"),
            Awaited::Word { condition } => format!("for {condition}"),
            Awaited::Stream { work } => format!("for {work}"),
            Awaited::Kernel { waits } => format!("in {waits}"),
        }
    }
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Awaited::Collective { .. } | Awaited::Kernel { .. } => f.write_str(&self.object()),
            Awaited::Word { .. } | Awaited::Stream { .. } => write!(f, "waiting {}", self.object()),
        }
    }
}
