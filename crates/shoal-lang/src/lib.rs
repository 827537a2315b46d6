//! The front end: kernel files in Python's syntax to tile IR.
//!
//! ```text
//! text ──syntax──► tree ──module──► names ──lower──► tile IR
//!                                    │  builtin: binding arguments      │
//!                                    └─ value: what an expression is ◄──┴─ semantic: what operations mean
//! ```
//!
//! No Python interpreter is used. What this crate promises:
//!
//! - Kernels that compile under Triton compile here and mean the same.
//! - Whatever the text, there is no panic and no endless loop: nesting, steps, unrolling and calls are bounded.
//! - All errors of a stage are reported, on the user's lines, in the user's words, with a way out.
//!
//! ```
//! use shoal_lang::{ArgSpec, Program, Specialization};
//! use shoal_source::SourceMap;
//!
//! let text = "\
//! import triton, triton.language as tl
//! @triton.jit
//! def double(x, n, BLOCK: tl.constexpr):
//!     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
//!     tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)
//! ";
//! let mut sources = SourceMap::default();
//! let program = Program::parse(&mut sources, "double.py", text).unwrap();
//! let args = program.signature("double", "*fp32:16, i32, 128").unwrap();
//! let lowered = program.lower("double", &Specialization { args, ..Default::default() }).unwrap();
//! assert_eq!(lowered.kernel, "double");
//! ```
#![forbid(unsafe_code)]

mod builtin;
mod builtin_index;
mod consts;
mod dtype;
mod emit;
mod enums;
mod harness;
mod host;
mod host_cache;
mod kernel;
mod key;
mod lanes;
mod lower;
mod lower_error;
mod module;
mod options;
mod program;
mod read;
mod semantic;
mod sources;
pub mod spec;
mod syntax;
mod value;

pub use builtin_index::{LanguageFunction, language_functions, language_names};
pub use dtype::{language_name, scalar_name};
pub use harness::{HarnessArgs, HarnessDecl, HarnessValue, HarnessWorld};
pub use host::{HostAggregate, HostBridge, HostEnum, HostField, HostNamedTuple, HostObject, HostSource, HostValue};
pub use kernel::{Annotation, KernelDecl, KernelParam};
pub use module::{FunctionKind, JitOptions};
pub use options::Options;
pub use program::{Lowered, Program};
pub use spec::{ArgSpec, ArgType, ConstValue, Specialization};
pub use value::{Access, Const, Dtype};
