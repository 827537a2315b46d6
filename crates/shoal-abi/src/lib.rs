//! What generated code and devices agree on, written once: the compiler and the driver both import this crate, and
//! neither imports the other.
//!
//! # Entry points
//!
//! A kernel is a global function of type [`Entry`]. One call runs the programs `first..last`, one after another, on
//! the calling thread. Programs are numbered linearly, see [`coordinates`]. Before it runs program `p` the code stores
//! `p` in [`Context::program`], so that hooks can name it; a kernel that calls no hook may leave that out.
//!
//! # Preemption
//!
//! A launch can be told to stop. So that a program comes to know, code counts [`Context::fuel`] down by one at the end
//! of each round of a loop that may run long, and after each program; where that makes it negative it calls
//! [`Hook::CheckStop`], which fills it up. If that returns something else than 0, the code returns from the entry
//! point, with whatever it has written so far. Code that does not do so is only stopped between two calls of its entry
//! point and at scheduling points.
//!
//! # Arguments
//!
//! `args` points at the packed argument block, aligned to 8 bytes: the kernel's run-time parameters in order, each
//! at the next multiple of its natural alignment.
//!
//! | parameter | size | alignment |
//! |---|---|---|
//! | `i1`, 8-bit integers and floats | 1 | 1 |
//! | 16, 32, 64-bit integers and floats | 2, 4, 8 | 2, 4, 8 |
//! | pointer | 8 | 8 |
//!
//! A tensor descriptor with r dimensions has no room of its own. It is passed as parameters in its place: the pointer
//! to the tensor's first element, r sizes of 32 bits, and the strides of all dimensions but the last in elements, r - 1
//! of 64 bits. The last stride is 1.
//!
//! The block is read-only and shared by all programs of a launch.
//!
//! # Scratch
//!
//! [`Context::scratch`] is 64-byte aligned and at least as large as the kernel asks for. Its content is undefined when
//! a program starts. It belongs to the programs of one call; on a fiber it belongs to that fiber.
//!
//! # Hooks
//!
//! Generated code calls the functions of [`Hook`] by name. They may be called from any depth, with the usual C calling
//! convention and no live vector state beyond what that convention preserves. AMX tiles must be released before a hook
//! is called. Functions of mathematics that are not inlined are called by the names of [`math_symbol::symbol`].
//!
//! # Objects
//!
//! Code arrives as a relocatable ELF object for x86-64, position independent, small code model, no thread-local
//! storage.
#![forbid(unsafe_code)]

mod c_type;
mod context;
mod cpu_target;
mod description;
pub mod float_format;
mod hook;
mod launch_value;
pub mod math;
pub mod math_symbol;
pub mod print;
pub mod rank_table;
mod reach;
mod signal;
mod site;
mod slot;
mod target;
pub mod team;
mod tensor_map;
mod wait;

pub use c_type::{CResult, CType, Signature};
pub use context::{Context, Entry, coordinates};
pub use cpu_target::CpuTarget;
pub use description::{
    CpuNeeds, DescriptionError, KernelDescription, NvptxNeeds, ParamLayout, TableUse, TargetNeeds, Waits,
};
pub use hook::Hook;
pub use launch_value::{LaunchStep, LaunchValue, LaunchValueError};
pub use reach::Reach;
pub use signal::SignalChange;
pub use site::{ANYWHERE, AccessBase, AccessKind, CheckedAccess, Field, Site};
pub use slot::{AHEAD_OF_TIME_VERSION, Slot, WordKind};
pub use target::{AmdgpuArch, NvptxArch, Target, UnknownTarget};
pub use team::{AxisPosition, Round, Topology};
pub use tensor_map::{MapElement, MapOutside, TensorMapError, TensorMapNeeds};
pub use wait::WaitCondition;
