//! Devices: memory, loaded code, worker threads, fibers and launches.
//!
//! This crate runs machine code that somebody else produced; it never sees the compiler. What ties the two
//! together is the binary interface of [`shoal_abi`].
//!
//! Each device kind is a module. [`cpu`] runs kernels on the host: a pool of worker threads, fibers for kernels
//! whose programs wait for each other, a loader for the relocatable objects the compiler emits. [`cuda`] runs them on
//! NVIDIA GPUs, through a driver that is loaded at run time. What all devices have in common stands above them: how launches fail, how they are interrupted, where they print.

mod args;
mod bounds;
pub mod cpu;
pub mod cuda;
mod error;
pub mod fork;
mod interrupt;
mod last_writer;
mod launch_group;
mod lock;
mod mapping;
pub mod memory;
mod print_sink;
mod private_folder;
mod rank_view;
mod seconds;
mod source_site;
mod transport;
mod wait_timeout;
mod waiting;
pub mod write_records;

pub use args::{ArgBlock, ArgWriter};
pub use bounds::{ArgMemory, Bounds};
pub use error::{DeviceError, Failure, LaunchError};
pub use interrupt::{GiveUp, Interrupt, Standing};
pub use last_writer::{Change, LastWriter};
pub use launch_group::{
    Acting, Actor, Doing, ForeignLaunch, GroupMember, LONG_WAIT, LaunchGroup, LongWait, Verdict, WaitKind,
};
pub use memory::{Buffer, Pod};
pub use print_sink::PrintSink;
pub use private_folder::PrivateFolder;
pub use rank_view::RankView;
pub use seconds::{SECONDS, can_last, from_seconds, parse_seconds};
pub use source_site::SourceSite;
pub use transport::Transport;
pub use wait_timeout::wait_timeout;
pub use waiting::{AwaitedValue, Waiting};
