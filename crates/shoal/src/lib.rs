//! Tile kernels from Rust: compile, cache, specialise, launch.
//!
//! ```
//! use shoal::{Error, Module, args};
//!
//! let text = "
//! import shoal
//! import shoal.language as tl
//!
//! @shoal.jit
//! def double(x, n, BLOCK: tl.constexpr):
//!     at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
//!     tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
//! ";
//! let double = Module::from_source("double.py", text)?.kernel("double")?;
//! let mut x = vec![1.0f32, 2.0, 3.0];
//! double.launch(1, args!(&mut x, 3, BLOCK = 4))?;
//! assert_eq!(x, [2.0, 4.0, 6.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! A [`Module`] is a file of kernels. A [`Kernel`] is launched with a [grid](IntoGrid) and [arguments](args!); the
//! first launch for arguments of a kind compiles (what is compiled in follows Triton's rules), later ones take about a
//! microsecond. [`Device`] says where: native code on the CPU, or the interpreter, which checks every access.
//! [`Tensor`] is memory with a type and a shape; slices work too. Compiled kernels are kept on disk, see [`cache`].
#![deny(unsafe_code)]

pub mod aot;
mod arg;
mod bind;
mod build_info;
pub mod cache;
pub mod check;
mod compile;
mod constant;
mod cpu_launch;
mod cuda_launch;
mod descriptor;
mod device;
mod dtype;
pub mod embedded;
mod emit;
mod error;
mod grid;
mod host_pieces;
mod interpret;
mod interpreter_turns;
mod kernel;
mod leaves;
mod linked;
mod lowering;
mod memory_location;
mod module;
mod on_rank;
pub mod opt;
mod options;
mod pack;
mod param;
pub mod profile;
mod rank_graph;
mod specialise;
mod targets;
mod tensor;
#[cfg(test)]
mod testing;
mod variant;
mod variant_key;
mod variant_table;

pub use arg::{Arg, Args, Location, Memory};
pub use bind::Bound;
pub use build_info::{BuildInfo, build_info};
pub use compile::{CompileReport, Origin};
pub use descriptor::TensorDescriptor;
pub use device::{Backend, CudaQueue, Device};
pub use dtype::{DType, dtype_from_name, dtype_name, signature_name};
pub use emit::Stage;
pub use error::{Error, Report};
pub use grid::{Extent, IntoGrid};
pub use kernel::{Kernel, Prepared};
pub use module::Module;
pub use options::{CompileOptions, DebugInfo, DiskCache, LaunchOptions, switch_from_env};
pub use param::{Param, ParamKind};
pub use rank_graph::RankGraph;
pub use shoal_abi::{AmdgpuArch, CpuTarget, NvptxArch, Target};
pub use shoal_driver::cpu::Fibers;
pub use shoal_driver::cuda;
pub use shoal_driver::fork;
pub use shoal_driver::{Interrupt, LaunchError, PrintSink, PrivateFolder};
pub use shoal_ir::op::DotPrecision;
pub use shoal_ir::{GpuShape, MAX_WARPS};
pub use shoal_lang::{Access, ArgSpec, ArgType, ConstValue, FunctionKind, JitOptions};
pub use shoal_lang::{
    HostAggregate, HostBridge, HostEnum, HostField, HostNamedTuple, HostObject, HostSource, HostValue,
};
pub use shoal_lang::{LanguageFunction, language_functions, language_names};
pub use shoal_source::{Kind, Style, read_source, similar};
pub use shoal_world as world;
pub use targets::{host_target, target_named};
pub use tensor::{Element, Tensor};
pub use variant::Variant;

/// The kernels of a file as a module of typed launch functions. The file is read when the program is built, and its
/// mistakes are told then; kernels are compiled at their first launch.
///
/// ```
/// shoal::kernel!(mod examples = "../../examples/add.py", add = "*kfp32, *kfp32, *fp32, i32, BLOCK=256");
///
/// let (x, y, mut out) = ([1.0; 1000], [2.0; 1000], [0.0; 1000]);
/// examples::add(1000_u32.div_ceil(256), &x, &y, &mut out, 1000)?;
/// assert_eq!(out, [3.0; 1000]);
/// # Ok::<(), shoal::Error>(())
/// ```
///
/// The path starts at the package's folder. `mod NAME =` may be left out: the module is then named after the file; `pub
/// mod NAME =` makes it public. Each kernel becomes a function whose first argument is the grid.
///
/// A kernel's signature gives the types of its parameters: `*kfp32` is `&[f32]`, `*fp32` is `&mut [f32]`, and so on;
/// what is compiled in (`BLOCK=256`) is no parameter. Without one, parameters that are annotated have those types, and
/// all others take [whatever a launch takes](Arg). Parameters with a default keep it unless the signature names them. A
/// signature that says all is also tried: a kernel that does not compile for it is an error when the program is built.
///
/// The same things are compiled in as by any launch: what `*fp32:16` says is seen from the arguments.
pub use shoal_macros::kernel;

/// Numbers that Rust has no types for.
pub use half;

/// The examples in the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
