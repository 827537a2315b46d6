//! Ranks, teams and symmetric memory: the world that distributed kernels run in.
//!
//! A [`World`] is a number of ranks. Each [`Rank`] has a symmetric heap, in which buffers lie at the same offset on all
//! ranks ([`Symm`]), a [signal pad](SignalPad), [streams](Stream) of copies, and [teams](Team) with barriers and exchanges of small data between
//! hosts. Ranks are threads of this process ([`World::threads`]) or processes ([`World::from_env`]): of one host, started
//! by `shoal launch`, by `torchrun` or by a [`Job`](launch::Job); or of several, started by Open MPI's `oshrun`. Symmetric
//! memory is the host's or that of GPUs ([`World::cuda`], [`WorldDevice`]).
//!
//! ```
//! use shoal_world::{World, WorldError};
//!
//! // Every rank writes to its neighbour.
//! let world = World::threads(3)?;
//! let received = world.run(|rank| {
//!     let inbox = rank.symm_zeros::<f32>(2)?;
//!     let neighbour = (rank.rank() + 1) % rank.size();
//!     inbox.write_to(neighbour, 0, &[rank.rank() as f32, 0.5])?;
//!     rank.barrier()?;
//!     inbox.read()
//! })?;
//! assert_eq!(received, [[2.0, 0.5], [0.0, 0.5], [1.0, 0.5]]);
//! # Ok::<(), WorldError>(())
//! ```
//!
//! No wait is without an end. When a rank dies, fails, leaves too early or takes longer than
//! [`WorldOptions::timeout`], all ranks that wait get an error that names it, and so does whoever waits later.

mod call_log;
mod copy;
mod element;
mod engine;
mod environment;
mod error;
mod giving_up;
mod heap;
mod host_wait;
pub mod launch;
mod launcher;
mod mesh;
mod options;
mod pad;
mod rank;
mod signal;
mod stream;
mod team;
mod team_register;
mod vigil;
mod wait_report;
mod world;
mod world_device;

pub use shoal_driver::{Acting, SECONDS, from_seconds};

pub use call_log::{CallLog, SameCall};
pub use element::Element;
pub use engine::cuda::GpuRank;
pub use engine::nvshmem::{Nvshmem, find_library as find_nvshmem};
pub use engine::openshmem::find_library as find_openshmem;
pub use engine::{Awaited, Call, EngineKind};
pub use error::{Failure, WorldError};
pub use heap::Symm;
pub use mesh::Mesh;
pub use options::{WorldOptions, parse_bytes};
pub use pad::SignalPad;
pub use rank::Rank;
pub use stream::{Compare, Event, HostBuffer, Place, Stream, TimeNote, Value, monotonic_now};
pub use team::Team;
pub use vigil::Vigil;
pub use wait_report::{ReportKind, WaitReport};
pub use world::World;
pub use world_device::WorldDevice;
