//! Tile kernels from Rust: compile, cache, specialise, launch.
#![deny(unsafe_code)]

mod about;
mod arg;
mod bound;
pub mod cache;
mod compile;
mod constant;
mod descriptor;
mod dtype;
mod emit;
mod error;
mod grid;
mod interpret;
mod kernel;
mod lowering;
mod module;
mod native;
pub mod opt;
mod options;
mod device;
mod pack;
mod param;
mod specialise;
mod tensor;
#[cfg(test)]
mod testing;
mod variant_key;

pub use about::{About, about};
pub use arg::{Access, Arg, Args, Memory};
pub use bound::Bound;
pub use compile::{CompileReport, Origin};
pub use descriptor::TensorDescriptor;
pub use device::{Backend, Device};
pub use dtype::{DType, dtype_from_name, dtype_name, signature_name};
pub use emit::Stage;
pub use error::{Error, Report};
pub use grid::{Extent, IntoGrid};
pub use kernel::Kernel;
pub use module::Module;
pub use options::{DebugInfo, DiskCache, Options};
pub use param::{Param, ParamKind};
pub use shoal_lang::{ArgSpec, ArgType, ConstValue};
pub use shoal_source::Style;
pub use tensor::{Element, Tensor};
