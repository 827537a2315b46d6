//! Which products of a loop are computed for several rounds at a time (see [`super::dot::PostponedPlan`]).

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue, PointerValue};
use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Region, Value};

use super::dot::{DotPlan, DotPointers, Operand, PostponedPlan, Problem};
use super::emitter::Emitter;
use super::fusion::behind_transpose;
use crate::shared::llvm::V;

/// A product whose sums nobody reads before the loop around it ends.
#[derive(Copy, Clone)]
pub(super) struct Postponed<'ctx> {
    /// The sums that the loop carries.
    sums: Value,
    plan: PostponedPlan,
    packed: PointerValue<'ctx>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Makes room for the operands of the products in a loop's body that are postponed; says whether there are any.
    pub(super) fn postpone_products(&mut self, body: Region) -> bool {
        let before = self.postponed.len();
        for &op in self.func.region(body).ops() {
            if let Some((sums, plan)) = self.postponable(op, body) {
                let packed = self.allocate_bytes(plan.scratch_bytes());
                self.postponed.insert(op, Postponed { sums, plan, packed });
            }
        }
        self.postponed.len() > before
    }

    /// A product that is added to what the loop carries, which nobody else reads.
    fn postponable(&self, op: OpId, body: Region) -> Option<(Value, PostponedPlan)> {
        let data = self.func.op(op);
        let (OpKind::Dot { .. }, [a, b, sums]) = (&data.kind, data.operands()) else { return None };
        let [m, n] = *self.shape(*sums) else { return None };
        let last = self.func.terminator(body)?;
        let place = self.func.region(body).params().iter().skip(1).position(|param| param == sums)?;
        let carried = self.func.op(last).operands().get(place) == Some(&data.result());
        let alone = |value: Value| self.func.value(value).uses().len() == 1;
        let reads_sums = [a, b].into_iter().any(|&v| behind_transpose(self.func, v).0 == *sums);
        if !carried || reads_sums || !alone(*sums) || !alone(data.result()) {
            return None;
        }
        let k = *self.shape(*a).last()?;
        let [a, b, c] = [(*a, k), (*b, n), (*sums, n)].map(|(v, cols)| Operand::row_major(self.number(v), cols));
        PostponedPlan::new(DotPlan::new(self.isa, Problem { m, n, k, a, b, c })).map(|plan| (*sums, plan))
    }

    /// Emits a postponed product's part of one round.
    pub(super) fn postponed_dot(&mut self, op: OpId, postponed: Postponed<'ctx>) {
        let (a, b) = (self.operand(op, 0), self.operand(op, 1));
        let sums = self.buffers[&postponed.sums].clone();
        let plan = postponed.plan.with(DotPlan::new(self.isa, self.problem(op, &a, &b)));
        self.needs.uses_amx = true;
        let round = self.round.expect("the loop around a postponed product counts its rounds");
        let pointers = DotPointers {
            a: a.buffer.base,
            b: b.buffer.base,
            a_stride: a.stride,
            b_stride: b.stride,
            c: sums.base,
            scratch: postponed.packed,
        };
        plan.emit(self.llvm, pointers, round);
        self.buffers.insert(self.func.op(op).result(), sums);
    }

    /// Whether a loop ends after the round `i`.
    pub(super) fn is_last_round(&self, i: V<'ctx>, to: V<'ctx>, step: V<'ctx>, signed: bool) -> IntValue<'ctx> {
        let llvm = self.llvm;
        let (not_below, not_above) =
            if signed { (IntPredicate::SGE, IntPredicate::SLE) } else { (IntPredicate::UGE, IntPredicate::ULE) };
        let following = llvm.bin(InstructionOpcode::Add, i, step);
        let (beyond, wrapped) = (llvm.icmp(not_below, following, to), llvm.icmp(not_above, following, i));
        llvm.bin(InstructionOpcode::Or, beyond, wrapped).into_int_value()
    }
}
