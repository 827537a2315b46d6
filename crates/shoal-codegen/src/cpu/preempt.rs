//! Preemption: loops find out whether the launch is to end.
//!
//! The runtime's `Context` holds fuel. Loops of the kernel count it down at the end of each round, and so does the loop
//! over programs; when it is used up, the runtime gives more or says to leave. Where a round is long enough to matter
//! nothing is noticed of it: it is one instruction that counts in memory and a branch that is never taken.

use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::values::{FunctionValue, InstructionOpcode, PointerValue};
use shoal_abi::{Context, Hook};
use shoal_ir::Value;
use shoal_ir::op::OpKind;

use super::emitter::Emitter;
use crate::shared::llvm::Llvm;

/// Loops of at most so many rounds end soon enough by themselves.
const FEW_ROUNDS: i128 = 16;

/// Counts down, and goes to `leave` if the runtime says so.
pub(super) fn emit<'ctx>(llvm: &Llvm<'ctx>, context: PointerValue<'ctx>, leave: BasicBlock<'ctx>) {
    let at = llvm.offset(context, llvm.const_i64(Context::FUEL_AT as i64));
    let fuel = llvm.bin(InstructionOpcode::Add, llvm.load(llvm.i64(), at, 8), llvm.const_i64(-1).into());
    llvm.store(fuel, at, 8);
    let empty = llvm.icmp(IntPredicate::SLT, fuel, llvm.const_i64(0).into()).into_int_value();
    let (ask, on) = (llvm.new_block("check_stop"), llvm.new_block("on"));
    rarely(llvm, empty, ask, on);
    llvm.builder.position_at_end(ask);
    let answer = llvm.call(hook(llvm), &[context.into()]).expect("an answer");
    let ends = llvm.icmp(IntPredicate::NE, answer, llvm.const_i32(0).into()).into_int_value();
    rarely(llvm, ends, leave, on);
    llvm.builder.position_at_end(on);
}

/// A branch that is seldom taken.
fn rarely<'ctx>(
    llvm: &Llvm<'ctx>,
    condition: inkwell::values::IntValue<'ctx>,
    taken: BasicBlock<'ctx>,
    otherwise: BasicBlock<'ctx>,
) {
    let branch = llvm.builder.build_conditional_branch(condition, taken, otherwise).expect("a branch");
    let weight = |n: u64| llvm.i32().const_int(n, false).into();
    let name = llvm.context.metadata_string("branch_weights").into();
    let weights = llvm.context.metadata_node(&[name, weight(1), weight(1 << 20)]);
    branch.set_metadata(weights, llvm.context.get_kind_id("prof")).expect("metadata of a branch");
}

/// The runtime's side, which touches no memory that the kernel knows of but the context.
fn hook<'ctx>(llvm: &Llvm<'ctx>) -> FunctionValue<'ctx> {
    const CONTEXT_AND_UNKNOWN_MEMORY: u64 = 0b1111;
    let hook = llvm.hook(Hook::CheckStop);
    for (name, value) in [("cold", 0), ("nounwind", 0), ("memory", CONTEXT_AND_UNKNOWN_MEMORY)] {
        let kind = Attribute::get_named_enum_kind_id(name);
        hook.add_attribute(AttributeLoc::Function, llvm.context.create_enum_attribute(kind, value));
    }
    hook
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// At the end of a round of a loop.
    pub(super) fn check_stop(&mut self) {
        let leave = *self.leave.get_or_insert_with(|| self.llvm.new_block("leave"));
        emit(self.llvm, self.context, leave);
    }

    /// Whether a `for` loop is known to run a few times only.
    pub(super) fn runs_few_rounds(&self, bounds: &[Value]) -> bool {
        let number = |v: Value| match self.func.def_kind(v) {
            Some(OpKind::Const(c)) => c.as_int(),
            _ => None,
        };
        match [0, 1, 2].map(|i| number(bounds[i])) {
            [Some(from), Some(to), Some(step)] => (to - from).max(0) <= FEW_ROUNDS * step.max(1),
            _ => false,
        }
    }
}
