//! Which products of a loop are computed for several rounds at a time (see [`super::dot::PostponedPlan`]).

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue, PointerValue};
use shoal_abi::Context;
use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Region, Value, effects};

use super::dot::{DotPlan, DotPointers, Freedom, Operand, PostponedPlan, Problem};
use super::emitter::Emitter;
use super::fusion::behind_transpose;
use crate::shared::llvm::V;

/// Memory for all products of a kernel together. Those that find no room are computed in each round.
const MOST_BYTES: u64 = 16 << 20;

/// A product whose sums nobody reads before the loop around it ends.
#[derive(Copy, Clone)]
pub(super) struct Postponed<'ctx> {
    /// The sums that the loop carries.
    sums: Value,
    /// Which of the tiles and scalars that the loop carries they are.
    pub(super) place: usize,
    pub(super) plan: PostponedPlan,
    pub(super) memory: PointerValue<'ctx>,
    /// The store that finishes the product, if it is left to one.
    pub(super) finisher: Option<OpId>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Makes room for the products that are postponed, before all else in scratch: what they keep packed must last from
    /// program to program.
    pub(super) fn postpone_products(&mut self) {
        let func = self.func;
        for op in func.walk() {
            if !matches!(func.op(op).kind, OpKind::For(_)) {
                continue;
            }
            let body = func.op(op).regions()[0];
            for &product in func.region(body).ops() {
                let Some((sums, place, plan)) = self.postponable(product, op) else { continue };
                if self.scratch_top + plan.scratch_bytes() > MOST_BYTES {
                    continue;
                }
                let memory = self.allocate_bytes(plan.scratch_bytes());
                self.forget_packed(memory, plan.key_bytes());
                let store = self.finishing_store(op, func.op(op).results()[place]);
                // A store finishes one product; others that it stores have ended before.
                let free = |&store: &OpId| self.postponed.values().all(|other| other.finisher != Some(store));
                let store = plan.ending_later().zip(store.filter(free));
                let (plan, finisher) = store.map_or((plan, None), |(plan, store)| (plan, Some(store)));
                self.postponed.insert(product, Postponed { sums, place, plan, memory, finisher });
            }
        }
        if !self.postponed.is_empty() {
            self.scratch_is_used();
        }
    }

    /// Whether a loop's body has products that are postponed.
    pub(super) fn counts_rounds(&self, body: Region) -> bool {
        self.func.region(body).ops().iter().any(|op| self.postponed.contains_key(op))
    }

    /// Whether an operation may change memory, or lets others do so.
    pub(super) fn changes_memory(&self, op: OpId) -> bool {
        let effects = effects::of_op(self.func, op);
        effects.writes.any() || effects.order.is_some() || effects.waits || effects.pending
    }

    /// Which of the values that a loop carries need not be in memory before it: sums that begin as zeros.
    pub(super) fn started_by_products(&self, body: Region) -> Vec<usize> {
        let products = self.func.region(body).ops().iter().filter_map(|op| self.postponed.get(op));
        products.filter(|p| !p.plan.reads_first_sums()).map(|p| p.place).collect()
    }

    /// What the memory around a loop allows its products.
    fn freedom(&self, op: OpId) -> Freedom {
        let func = self.func;
        let changes = |op: OpId| self.changes_memory(op);
        // Up to the kernel's own body, nothing may change memory before the loop or around it.
        let (mut inner, mut unchanged) = (op, true);
        while let Some(region) = func.op(inner).parent() {
            let before = func.region(region).ops().iter().take_while(|&&o| o != inner);
            unchanged &= !before.into_iter().any(|&o| changes(o));
            match func.region(region).owner() {
                Some(outer) => {
                    unchanged &= !changes(outer);
                    inner = outer;
                }
                None => break,
            }
        }
        let all = effects::of_region(func, func.body());
        let alone = all.order.is_none() && !all.waits && !all.pending;
        let reads_later = !changes(op) && self.checks.is_none();
        Freedom { reads_later, keeps_packed: reads_later && unchanged && alone }
    }

    /// Lets nothing be packed yet when a thread starts with a launch.
    fn forget_packed(&self, memory: PointerValue<'ctx>, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let llvm = self.llvm;
        let fresh = self.fresh_scratch();
        let (clear, after) = (llvm.new_block("forget"), llvm.new_block("start"));
        llvm.branch(fresh, clear, after);
        llvm.builder.position_at_end(clear);
        let words = llvm.i64().vec_type(8);
        llvm.counted_loop(bytes.div_ceil(64), 1, &[], &mut |i, _| {
            let at = llvm.offset(memory, llvm.shl64(i, 6));
            llvm.store(words.const_zero().into(), at, 64);
            Vec::new()
        });
        llvm.jump(after);
        llvm.builder.position_at_end(after);
    }

    /// Whether no program of this launch has used the scratch.
    fn fresh_scratch(&self) -> IntValue<'ctx> {
        let at = self.llvm.offset(self.context, self.llvm.const_i64(Context::FRESH_AT as i64));
        let fresh = self.llvm.load(self.llvm.i64(), at, 8);
        self.llvm.icmp(IntPredicate::NE, fresh, self.llvm.const_i64(0).into()).into_int_value()
    }

    /// Says that a program has used the scratch.
    fn scratch_is_used(&self) {
        let at = self.llvm.offset(self.context, self.llvm.const_i64(Context::FRESH_AT as i64));
        self.llvm.store(self.llvm.const_i64(0).into(), at, 8);
    }

    /// A product that is added to what the loop carries, which nobody else reads.
    fn postponable(&self, op: OpId, around: OpId) -> Option<(Value, usize, PostponedPlan)> {
        let body = self.func.op(around).regions()[0];
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
        let mut freedom = self.freedom(around);
        freedom.keeps_packed &= [a, b].into_iter().all(|&v| self.is_plain_load(behind_transpose(self.func, v).0, op));
        let [a, b, c] = [(*a, k), (*b, n), (*sums, n)].map(|(v, cols)| Operand::row_major(self.number(v), cols));
        let plan = PostponedPlan::new(DotPlan::new(self.isa, Problem { m, n, k, a, b, c }), freedom)?;
        // A loop's operands are its bounds, its step, and what it carries.
        let first = self.func.op(around).operands()[3 + place];
        let zero = matches!(self.func.def_kind(first), Some(OpKind::Const(c)) if c.is_zero());
        let plan = if zero { plan.starting_at_zero() } else { plan };
        Some((*sums, place, plan))
    }

    /// Whether a product may read a tile where the kernel loads it from.
    fn is_plain_load(&self, value: Value, product: OpId) -> bool {
        self.matrix_conditions(value, self.order_in_memory(value, product), product).is_some()
    }

    /// Emits a postponed product's part of one round.
    pub(super) fn postponed_dot(&mut self, op: OpId, postponed: Postponed<'ctx>) {
        let (a, b) = (self.operand(op, 0), self.operand(op, 1));
        let sums = self.buffers[&postponed.sums].clone();
        let plan = postponed.plan.with(DotPlan::new(self.isa, self.problem(op, &a, &b)));
        self.needs.uses_amx |= plan.uses_amx();
        let round = self.round.expect("the loop around a postponed product counts its rounds");
        let pointers = DotPointers {
            a: a.buffer.base,
            b: b.buffer.base,
            a_stride: a.stride,
            b_stride: b.stride,
            a_whole: a.whole,
            b_whole: b.whole,
            c: sums.base,
            scratch: postponed.memory,
        };
        plan.emit(self.llvm, pointers, round);
        self.postponed.insert(op, Postponed { plan, ..postponed });
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
