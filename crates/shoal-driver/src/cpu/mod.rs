//! The CPU device: the default one, present on every machine.
//!
//! The life of a launch, and the file that owns each step:
//!
//! 1. [`loader`] maps the bytes of a relocatable object into memory and resolves its [`symbols`].
//! 2. [`LoadedKernel`] ties an entry point of that code to the facts the compiler states about it.
//! 3. [`ArgBlock`] packs the arguments.
//! 4. [`CpuDevice::launch`] cuts the grid into chunks for the worker threads of the [`pool`](self), or, when
//!    programs may wait or fail, makes fibers of them. An [`Interrupt`](crate::Interrupt) ends a launch early.
//!
//! The binary interface between these and the generated code is specified in [`shoal_abi`].

mod checks;
mod context;
mod device;
mod features;
mod fiber;
mod fiber_launch;
mod fuel;
mod gdb;
mod hooks;
mod job;
mod kernel;
mod launch;
mod launch_options;
mod launch_state;
pub mod loader;
mod plain_launch;
mod pool;
mod rank_hooks;
mod schedule;
mod scratch;
mod shmem_hooks;
pub mod symbols;
mod wait;

pub use crate::args::{ArgBlock, ArgWriter};
pub use crate::bounds::{ArgMemory, Bounds};
pub use device::CpuDevice;
pub use features::{HostFeatures, host_features};
pub use gdb::registered_objects;
pub use kernel::{KernelError, LoadedKernel};
pub use launch_options::{Fibers, LaunchOptions};
pub use loader::{Code, LoadError};
