//! The reference interpreter of tile IR.
//!
//! It runs a verified module with nothing but Rust: no code generation, no device. It is the oracle that compiled code
//! is held against, so it computes each element by [`shoal_ir::numeric`] and combines in the order that the IR's
//! definition gives. It promises:
//!
//! - **No undefined behaviour.** Addresses are numbers in an address space of its own ([`Memory`]), in which ranges of
//!   the host's memory keep their addresses; a stray access is an [`Error`] that names program, element and source
//!   place, never a crash.
//! - **Programs are actors.** Each is an explicit state machine that a scheduler may step in any order ([`Order`]).
//!   Other programs get their turn at atomics, at `atomic_poll` and at the back edges of `while`, so programs that wait
//!   for each other finish, whatever the order.
//! - **Ranks run together.** [`run_ranks`] launches a kernel on every rank of a world; their programs share one
//!   schedule, and their symmetric heaps lie in one address space.
//! - **Waiting forever is found, not suffered.** When every live program waits for memory that nobody is left to
//!   change, [`run`] fails with who waits where for what.
//!
//! Two liberties that the IR's definition leaves are taken the same way always: a `dot` computes every precision as
//! `ieee`, and a poll's timeout is counted in operations executed (one for each nanosecond), or runs out when nothing
//! else can happen.
//!
//! ```
//! use shoal_interp::{Arg, Memory, Options, run};
//!
//! let text = "kernel @twice(%0: ptr<i32>) {
//!     %1 = program_id {axis = 0} () : i32
//!     %2 = ptr_add (%0, %1) : ptr<i32>
//!     %3 = load (%2) : i32
//!     %4 = add (%3, %3) : i32
//!     store (%2, %4)
//!     return ()
//! }";
//! let module = shoal_ir::parse::module(text, shoal_ir::Span::NONE.file).unwrap();
//! let mut memory = Memory::new();
//! let x = memory.alloc_from(&[1, 0, 0, 0, 2, 0, 0, 0]);
//! run(&module, "twice", [2, 1, 1], &[Arg::Pointer(x)], &mut memory, &Options::default()).unwrap();
//! assert_eq!(memory.bytes(x).unwrap(), &[2, 0, 0, 0, 4, 0, 0, 0]);
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

mod access;
pub mod check;
mod combine;
mod comm;
mod control;
mod descriptor;
mod dispatch;
mod dot;
mod elementwise;
mod error;
pub mod explore;
mod late;
mod launch;
mod library;
mod machine;
mod memory;
mod pick;
mod plan;
mod print;
mod program;
mod rank;
mod reduce;
mod schedule;
mod shape;
mod shmem;
mod stream;
mod time;
mod transfer;
mod turn;
mod value;
mod vector_region;
mod writers;

pub use error::{AccessKind, Awaited, Error, HostWaiting, Place, StreamWaiting, Waiting, Writer, WriterState};
pub use launch::{Actors, Arg, ElementOrder, Host, Idle, Options, Order, Report, Residency, run, run_for};
pub use memory::{Address, HostMemory, HostRange, Memory};
pub use rank::{Heap, HostAction, RankLaunch, run_rank, run_ranks};
pub use shoal_ir::abi::{AxisPosition, Topology};
pub use stream::{Compare, StreamAction};
pub use transfer::Delivery;
pub use turn::{Mover, Next, Turn};
