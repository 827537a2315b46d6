//! What generated code and devices agree on, written once: the compiler and the driver both import this crate, and
//! neither imports the other.
#![forbid(unsafe_code)]

mod cpu_target;
mod description;
mod slot;
mod target;

pub use cpu_target::CpuTarget;
pub use description::{CpuNeeds, DescriptionError, KernelDescription, ParamLayout, TargetNeeds, Waits};
pub use slot::{AHEAD_OF_TIME_VERSION, Slot, WordKind};
pub use target::{AmdgpuArch, NvptxArch, Target, UnknownTarget};
