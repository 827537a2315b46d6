//! `dot` on a CPU: register-blocked products of matrices in memory, `c += a @ b`.
//!
//! A caller describes the product as a `Problem`, makes a `DotPlan` of it for an `Isa`, gives the plan
//! as much scratch as it asks for, and has it emit code. The matrices are tiles in a small scratch of their own (L1 or
//! L2), with any constant strides; `a` and `b` may also lie where the kernel loads them from, in rows or columns whose
//! distance is known at run time only. Sizes are powers of two. Batches are a loop around it.
//!
//! # How
//!
//! Operands are seen as matrices of *units*: what one multiplying instruction takes per lane. That is an element
//! (`f32`, `f64`, `i32`), or a pair or four of narrower elements that follow each other along `k`. Where the operands
//! do not lie in memory as units, they are *packed* first: converted, interleaved, transposed. `b` is packed to panels
//! `[n / width][k][width]`, so that the innermost loop reads it straight through. The kernel then keeps a block of `c`
//! in registers over the whole of `k`, and its loops are real loops: the code does not grow with the tiles.
//!
//! # What comes out
//!
//! | `a`, `b` | `c` | on | result |
//! |---|---|---|---|
//! | `f32`, `f64` | same | fused multiply-add | in order of `k`, one rounding each: bit-exact |
//! | `f16`, 8-bit floats | `f32` | any | converted to `f32`, then as above: bit-exact |
//! | `f16`, 8-bit floats | `f16` | any | as above, and rounded to `f16` at the end: bit-exact |
//! | 8-bit integers | `i32` | any | bit-exact |
//! | `bf16` | `f32` | neither AMX nor AVX512-BF16 | bit-exact |
//! | `bf16` | `f32` | AMX, AVX512-BF16 | sums of pairs, subnormal numbers are zero |
//! | `f32`, `f64` | same | no fused multiply-add | the product is rounded too |
//!
//! Where it is not bit-exact, an element differs from the exact sum by no more than `2 k ε (|c| + Σ|a||b|)`, `ε` being
//! half the distance from 1 to the next number of `c`'s type, plus `k` times the smallest normal number.

mod amx;
mod convert;
mod kernel;
mod pack;
mod plan;
mod postponed;
mod standalone;
#[cfg(test)]
mod tests;
mod unit;

pub(crate) use plan::{DotPlan, Problem};
pub use plan::{Operand, Stride};
pub(crate) use postponed::{Freedom, PostponedPlan, Rest, Round};
pub use standalone::DotFunction;

use inkwell::values::{IntValue, PointerValue};

/// Where the matrices of a product lie.
#[derive(Copy, Clone)]
pub(crate) struct DotPointers<'ctx> {
    pub(crate) a: PointerValue<'ctx>,
    pub(crate) b: PointerValue<'ctx>,
    /// The stride of `a` that is only known at run time, in bytes, if there is one.
    pub(crate) a_stride: Option<IntValue<'ctx>>,
    /// The same of `b`.
    pub(crate) b_stride: Option<IntValue<'ctx>>,
    /// Whether `a` lies in the kernel's memory, if only the code knows; else it is a copy that will not last.
    pub(crate) a_whole: Option<IntValue<'ctx>>,
    /// The same of `b`.
    pub(crate) b_whole: Option<IntValue<'ctx>>,
    /// Read and written.
    pub(crate) c: PointerValue<'ctx>,
    /// [`DotPlan::scratch_bytes`] of memory aligned to 64 bytes; overlaps none of the others. Unused if that is 0.
    pub(crate) scratch: PointerValue<'ctx>,
}
