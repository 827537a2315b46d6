//! The CPU device: the default one, present on every machine.
//!
//! The life of a launch, and the file that owns each step:
//!
//! 1. [`loader`] maps the bytes of a relocatable object into memory and resolves its [`symbols`].
//! 2. [`Kernel`] ties an entry point of that code to the facts the compiler states about it.
//! 3. [`ArgBlock`] packs the arguments.
//! 4. [`CpuDevice::launch`] cuts the grid into chunks for the worker threads of the [`pool`](self), or, when
//!    programs may wait or fail, makes fibers of them. An [`Interrupt`] ends a launch early.
//!
//! The binary interface between these and the generated code is specified in [`abi`].

pub mod abi;
mod args;
mod bounds;
mod checks;
mod device;
mod error;
mod features;
mod fiber;
mod fiber_launch;
mod gdb;
mod hooks;
mod interrupt;
mod kernel;
mod launch;
pub mod loader;
mod mapping;
pub mod math;
mod pool;
mod print;
mod run;
mod schedule;
mod scratch;
pub mod symbols;

pub use args::{ArgBlock, ArgWriter};
pub use bounds::{ArgMemory, Bounds};
pub use device::CpuDevice;
pub use error::{DeviceError, Failure, LaunchError, SourceSite, Waiting};
pub use features::{HostFeatures, host_features};
pub use gdb::registered_objects;
pub use interrupt::Interrupt;
pub use kernel::{Kernel, KernelError};
pub use launch::{Fibers, LaunchOptions};
pub use loader::{Code, LoadError};
pub(crate) use mapping::PageMapping;
pub use print::{PrintKind, PrintSink};
