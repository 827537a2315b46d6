//! How much LLVM does with a kernel.
//!
//! On its way to PTX it follows how integers are computed from each other (straight-line strength reduction), which takes
//! time that is quadratic in their number and in that of blocks, and cubic in that of loops that hand values on. Kernels
//! that large come out of `static_range`; for them those parts are left out, and the assembler optimises what it gets.

use std::collections::HashMap;

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use shoal_abi::NvptxArch;
use shoal_ir::class::{ElementwiseOp, OpClass};
use shoal_ir::op::BinaryOp;
use shoal_ir::{Func, OpId, OpKind, Scalar, Structure, Value};

use super::dot::has_unit;
use super::place::registers;
use crate::shared::code_size::{BlockSize, has_long_block, has_many_blocks, is_larger};

/// The usual passes: what register-by-register emission leaves behind is folded; the rest is left to the assembler.
const PASSES: &str =
    "function(early-cse,instcombine<no-verify-fixpoint>,loop-mssa(licm),early-cse<memssa>,simplifycfg)";

/// The same for code with long blocks, where `instcombine` takes quadratic time.
const PASSES_FOR_LONG_BLOCKS: &str = "function(early-cse,loop-mssa(licm),early-cse<memssa>,instsimplify,simplifycfg)";

/// Blocks up to this size are combined.
const LONG_BLOCK: BlockSize = BlockSize { instructions: 1 << 14, accesses: 1 << 13 };

/// Up to so many loops are strength-reduced, those inside of products included.
const MANY_LOOPS: usize = 64;

/// Up to so many blocks are looked at together.
const MANY_BLOCKS: usize = 1 << 10;

/// Up to so many steps of sums and products of integers are followed.
const LONG_CHAINS: u64 = 1 << 15;

/// Kernels up to this size, in instructions, are: about twice what the largest of the library have.
const LARGE: usize = 1 << 14;

/// LLVM's passes for a module.
pub(super) fn passes(module: &Module<'_>) -> &'static str {
    if has_long_block(module, LONG_BLOCK) { PASSES_FOR_LONG_BLOCKS } else { PASSES }
}

/// How hard LLVM's code generator tries.
pub(super) fn of_code_generator(module: &Module<'_>, func: &Func, arch: NvptxArch) -> OptimizationLevel {
    let is_large = is_larger(module, LARGE) || has_many_blocks(module, MANY_BLOCKS);
    if is_large || has_many_loops(func, arch) || has_long_chains(func) {
        OptimizationLevel::None
    } else {
        OptimizationLevel::Default
    }
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

/// Adds up, over all sums and products of integers, from how many others each is computed.
fn has_long_chains(func: &Func) -> bool {
    let mut lengths: HashMap<Value, u64> = HashMap::new();
    let mut total = 0;
    func.walk().into_iter().any(|op| {
        let data = func.op(op);
        let before = data.operands().iter().filter_map(|value| lengths.get(value)).max().copied().unwrap_or(0);
        let length = match data.kind.class() {
            OpClass::Elementwise(ElementwiseOp::Binary(
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl,
            )) => before + 1,
            OpClass::Elementwise(ElementwiseOp::Select) => before,
            OpClass::Source(_)
            | OpClass::Elementwise(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Access(_)
            | OpClass::Atomic(..)
            | OpClass::Desc(_)
            | OpClass::Comm(_)
            | OpClass::Effect(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => return false,
        };
        let result = data.results()[0];
        if func.ty(result).number().is_some_and(Scalar::is_int) {
            lengths.insert(result, length);
            total += length * u64::from(func.ty(result).layout().map_or(1, registers));
        }
        total > LONG_CHAINS
    })
}
