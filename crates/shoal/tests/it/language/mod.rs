//! The whole language, end to end: small kernels on the CPU and on the interpreter, held against Rust.
//!
//! There is one module for each section of the language, and two that try to break the compiler: `fuzz` damages
//! kernels at random, `hostile` writes extreme ones.

mod atomics;
mod block_pointers;
mod calls;
mod constexpr;
mod control_flow;
mod creation;
mod descriptors;
#[cfg(target_arch = "x86_64")]
mod directed;
mod dot;
mod dot_scaled;
mod elementwise;
mod fuzz;
mod harness;
mod hints_debug;
mod hostile;
mod lanes;
mod math;
mod memory;
mod per_element;
mod ptx;
mod random;
mod reductions_scans;
mod shape;
mod sort_topk;
mod tuples;
mod types;
