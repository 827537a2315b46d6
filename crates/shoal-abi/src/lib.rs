//! What generated code and devices agree on, written once: the compiler and the driver both import this crate, and
//! neither imports the other.
#![forbid(unsafe_code)]

mod cpu_target;
mod target;

pub use cpu_target::CpuTarget;
pub use target::{AmdgpuArch, NvptxArch, Target, UnknownTarget};
