//! Code that is too large for the parts of LLVM that take more than linear time: combining and scheduling the
//! instructions of a block, and what looks at every pair of loops. Backends leave those out for it.

use inkwell::basic_block::BasicBlock;
use inkwell::module::Module;
use inkwell::values::InstructionOpcode::{Call, Load, Store};

/// How large a block may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockSize {
    /// All instructions.
    pub(crate) instructions: usize,
    /// Accesses to memory, each of which is compared with many others.
    pub(crate) accesses: usize,
}

/// Whether a module has a longer block.
pub(crate) fn has_long_block(module: &Module<'_>, limit: BlockSize) -> bool {
    let is_long = |block: BasicBlock<'_>| {
        let mut accesses = 0;
        block.get_instructions().enumerate().any(|(at, instruction)| {
            accesses += usize::from(matches!(instruction.get_opcode(), Call | Load | Store));
            at >= limit.instructions || accesses > limit.accesses
        })
    };
    module.get_functions().flat_map(|f| f.get_basic_block_iter()).any(is_long)
}

/// Whether one function of a module has more blocks.
pub(crate) fn has_many_blocks(module: &Module<'_>, limit: usize) -> bool {
    module.get_functions().any(|function| function.get_basic_block_iter().nth(limit).is_some())
}
