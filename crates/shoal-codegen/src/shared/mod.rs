//! What every target that LLVM makes code for needs.
//!
//! | file | idea |
//! |---|---|
//! | `llvm` | LLVM values of one kind for scalars and vectors |
//! | `value_type` | how values are held in registers, lanes and memory |
//! | `arith`, `convert` | arithmetic and number formats |
//! | `lane_call` | scalar functions, for each lane |
//! | `abi` | hooks and constant data of the binary interface |
//! | `code_size` | code that is too large for LLVM's slower parts |
//! | `debug_info` | line tables |
//! | `failure` | why there is no code for a kernel |
//! | `left_out` | passes of LLVM that no kernel gains from |
//! | `link` | user bitcode |
//! | `access` | what an operation that is checked accesses |
//! | `recursion` | recursion as deep as a kernel's longest chain |

mod abi;
pub(crate) mod access;
pub(crate) mod arith;
pub(crate) mod code_size;
pub(crate) mod convert;
pub(crate) mod debug_info;
pub(crate) mod failure;
pub(crate) mod lane_call;
pub(crate) mod left_out;
pub(crate) mod link;
pub(crate) mod llvm;
pub(crate) mod recursion;
pub(crate) mod value_type;
