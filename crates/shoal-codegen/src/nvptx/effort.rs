//! How much LLVM does with a kernel.
//!
//! On its way to PTX it reduces the strength of loops, which takes time that is cubic in the number of loops that hand
//! values on. Kernels with that many come out of `static_range`; for them it is left out, and the assembler optimises what it
//! gets. `shared::left_out` says what is left out for all.

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use shoal_abi::NvptxArch;
use shoal_ir::{Func, OpId, OpKind, Structure};

use super::dot::has_unit;
use crate::shared::code_size::{BlockSize, has_long_block};

/// The usual passes: what register-by-register emission leaves behind is folded; the rest is left to the assembler.
const PASSES: &str =
    "function(early-cse,instcombine<no-verify-fixpoint>,loop-mssa(licm),early-cse<memssa>,simplifycfg)";

/// The same for code with long blocks, where `instcombine` takes quadratic time.
const PASSES_FOR_LONG_BLOCKS: &str = "function(early-cse,loop-mssa(licm),early-cse<memssa>,instsimplify,simplifycfg)";

/// Blocks up to this size are combined.
const LONG_BLOCK: BlockSize = BlockSize { instructions: 1 << 14, accesses: 1 << 13 };

/// Up to so many loops are strength-reduced, those inside of products included.
const MANY_LOOPS: usize = 64;

/// LLVM's passes for a module.
pub(super) fn passes(module: &Module<'_>) -> &'static str {
    if has_long_block(module, LONG_BLOCK) { PASSES_FOR_LONG_BLOCKS } else { PASSES }
}

/// How hard LLVM's code generator tries.
pub(super) fn of_code_generator(func: &Func, arch: NvptxArch) -> OptimizationLevel {
    if has_many_loops(func, arch) { OptimizationLevel::None } else { OptimizationLevel::Default }
}

fn has_many_loops(func: &Func, arch: NvptxArch) -> bool {
    let is_loop = |op: OpId| match Structure::of_op(func, op) {
        Structure::For | Structure::While => true,
        Structure::If | Structure::Elements => false,
        // Without a matrix unit a product is a loop over the inner dimension.
        Structure::Plain => matches!(func.op(op).kind, OpKind::Dot { .. }) && !has_unit(func, op, arch),
    };
    func.walk().into_iter().filter(|&op| is_loop(op)).nth(MANY_LOOPS).is_some()
}
