//! Tile kernels from Rust: compile, cache, specialise, launch.
#![deny(unsafe_code)]

mod arg;
mod bound;
pub mod cache;
mod constant;
mod descriptor;
mod dtype;
mod error;
mod grid;
mod options;
mod device;
mod pack;
mod param;
pub mod signature;
mod specialise;
mod tensor;
#[cfg(test)]
mod testing;
mod variant_key;

pub use arg::{Access, Arg, Args, Memory};
pub use bound::Bound;
pub use constant::Constant;
pub use descriptor::TensorDescriptor;
pub use device::{Backend, Device};
pub use dtype::{DType, dtype_from_name, dtype_name, signature_name};
pub use error::{Error, Report};
pub use grid::{Extent, IntoGrid};
pub use options::{DebugInfo, DiskCache, Options};
pub use param::{Param, ParamKind};
pub use specialise::Spec;
pub use tensor::{Element, Tensor};
