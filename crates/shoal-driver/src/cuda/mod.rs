//! NVIDIA GPUs as devices. The driver's library is loaded when it is first asked for; no toolkit is needed, to build or to
//! run. Without a driver everything here says so, with [`CudaError::NoDriver`].
//!
//! | file | idea |
//! |---|---|
//! | `sys`, `driver` | the driver's C interface, loaded at run time |
//! | `device` | GPUs and what they can do |
//! | `stream`, `event`, `graph` | queues of work, points in them, recorded work |
//! | `memory` | memory of a GPU, memory of the host that GPUs reach |
//! | `shareable` | memory of a GPU that processes pass to each other |
//! | `assemble`, `kernel` | PTX to machine code; loaded kernels and their launch |
//! | `rank_table` | what kernels know of other ranks, and what they report |
//! | `tensor_map`, `partition` | descriptions for the copy engine; parts of a GPU |

mod assemble;
mod device;
mod driver;
mod error;
mod event;
mod graph;
mod kernel;
mod memory;
mod partition;
mod rank_table;
mod shareable;
mod stream;
mod sys;
mod tensor_map;

pub use assemble::{assemble, assemble_kernel, assemble_with_ptxas, find_ptxas};
pub use device::{CudaDevice, DeviceProperties};
pub use driver::{driver_version, independent_queues};
pub use error::CudaError;
pub use event::{Event, EventKind};
pub use graph::Graph;
pub use kernel::{CudaKernel, LaunchShape, LaunchTables, Resources};
pub use memory::{CudaBuffer, PinnedBuffer};
pub use partition::Partition;
pub use rank_table::{RankTable, table_of};
pub use shareable::{ShareablePiece, Window};
pub use stream::{Stream, StreamRef, WaitWord};
pub use tensor_map::{MAX_DIMENSIONS, OutOfBounds, Swizzle, TensorMap, TensorMapElement, TensorMapLayout};
