//! How much LLVM does with a kernel.
//!
//! On its way to PTX it follows how integers are computed from each other, which takes time that is quadratic in their
//! number and cubic in that of loops that hand values on. Kernels that large come out of `static_range`; for them those
//! parts are left out, and the assembler optimises what it gets.

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use shoal_ir::class::{ElementwiseOp, OpClass};
use shoal_ir::op::BinaryOp;
use shoal_ir::{Func, OpId, Scalar, Structure};

use super::place::registers;
use crate::shared::code_size::{BlockSize, has_long_block};

/// The usual passes: what register-by-register emission leaves behind is folded; the rest is left to the assembler.
const PASSES: &str =
    "function(early-cse,instcombine<no-verify-fixpoint>,loop-mssa(licm),early-cse<memssa>,simplifycfg)";

/// The same for code with long blocks, where `instcombine` takes quadratic time.
const PASSES_FOR_LONG_BLOCKS: &str = "function(early-cse,loop-mssa(licm),early-cse<memssa>,instsimplify,simplifycfg)";

/// Blocks up to this size are combined.
const LONG_BLOCK: BlockSize = BlockSize { instructions: 1 << 14, accesses: 1 << 13 };

/// Up to so many loops are strength-reduced.
const MANY_LOOPS: usize = 96;

/// Up to so many sums and products of integers are.
const MANY_INTEGERS: u32 = 1 << 10;

/// LLVM's passes for a module.
pub(super) fn passes(module: &Module<'_>) -> &'static str {
    if has_long_block(module, LONG_BLOCK) { PASSES_FOR_LONG_BLOCKS } else { PASSES }
}

/// How hard LLVM's code generator tries.
pub(super) fn of_code_generator(module: &Module<'_>, func: &Func) -> OptimizationLevel {
    if has_long_block(module, LONG_BLOCK) || has_many_loops(func) || has_many_integers(func) {
        OptimizationLevel::None
    } else {
        OptimizationLevel::Default
    }
}

fn has_many_loops(func: &Func) -> bool {
    let is_loop = |op: &OpId| matches!(Structure::of_op(func, *op), Structure::For | Structure::While);
    func.walk().iter().filter(|op| is_loop(op)).nth(MANY_LOOPS).is_some()
}

fn has_many_integers(func: &Func) -> bool {
    let mut count = 0;
    func.walk().into_iter().any(|op| {
        count += integers(func, op);
        count > MANY_INTEGERS
    })
}

/// The sums and products of integers that an operation becomes.
fn integers(func: &Func, op: OpId) -> u32 {
    let data = func.op(op);
    let OpClass::Elementwise(ElementwiseOp::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl)) =
        data.kind.class()
    else {
        return 0;
    };
    let ty = func.ty(data.results()[0]);
    if ty.number().is_some_and(Scalar::is_int) { ty.layout().map_or(1, registers) } else { 0 }
}
