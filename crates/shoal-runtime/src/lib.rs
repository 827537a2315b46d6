//! Kernels that were compiled ahead of time: no Python, no LLVM and no compiler are needed to run them.
//!
//! `shoal compile` makes a [`Family`]: several compiled [variants](Variant) of one kernel behind one launch function.
//! This crate picks the variant that the arguments and the CPU or the GPU fit, loads its code and runs it on
//! `shoal-driver`.
//!
//! | file | idea |
//! |---|---|
//! | `family` | what a family is, and which variant a launch takes |
//! | `launch` | loads variants and runs them on the CPU |
//! | `gpu` | the same on NVIDIA GPUs |
//! | `argument` | Rust values as the words that a launch passes |
//! | `grid` | launch grids |
//! | `c_abi` | the same for C: what generated C files call |
//!
//! Rust programs do not write any of this by hand: the module that `shoal compile --emit rust` makes does.

mod argument;
pub mod c_abi;
mod error;
mod family;
mod gpu;
mod grid;
mod launch;

pub use argument::Argument;
pub use error::Error;
pub use family::{Family, Loaded, Param, Variant};
pub use grid::IntoGrid;
pub use half;
pub use shoal_abi::{Slot, WordKind};
/// GPUs: devices, streams and memory.
pub use shoal_driver::cuda;
