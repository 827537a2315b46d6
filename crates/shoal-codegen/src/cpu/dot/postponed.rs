//! Products of a loop's rounds, computed several rounds at a time.
//!
//! A loop `acc = dot(a, b, acc)` reads and writes all of `acc` in each round, which for the matrix unit takes as long as
//! the products of a usual round. Nobody needs `acc` before the loop ends, so each round only packs its operands, behind
//! those of the rounds before, and the kernel runs over all of them when the memory for them is full or the loop ends.
//! Products are added in the same order as before.

use inkwell::values::{IntValue, PointerValue};

use super::kernel::{Placed, View, Views};
use super::pack::{Target, further, pack, stepped};
use super::plan::DotPlan;
use super::unit::Run;
use super::{DotPointers, amx};
use crate::shared::llvm::Llvm;

/// Bytes of packed operands: what stays in L2 beside the sums.
const PACKED_BYTES: u64 = 640 << 10;

/// Bytes of a row of `a`, packed. A block of its rows stays in L1.
const ROW_BYTES: u64 = 1 << 10;

/// Keeps the rows of a block of `a` from competing for the same places in L1.
const PADDING: u64 = 64;

/// A product that is computed once for several rounds of a loop.
#[derive(Copy, Clone, Debug)]
pub(crate) struct PostponedPlan {
    plan: DotPlan,
    /// How many at most; a power of two.
    rounds: u32,
}

/// Where a round of the loop is.
#[derive(Copy, Clone)]
pub(crate) struct Round<'ctx> {
    /// Counted from 0.
    pub(crate) number: IntValue<'ctx>,
    /// Whether no other follows.
    pub(crate) is_last: IntValue<'ctx>,
}

impl PostponedPlan {
    /// If it is worth it.
    pub(crate) fn new(plan: DotPlan) -> Option<PostponedPlan> {
        if !plan.uses_amx() {
            return None;
        }
        let round = PostponedPlan { plan, rounds: 1 };
        let fits = |plan: PostponedPlan| plan.scratch_bytes() <= PACKED_BYTES && plan.a_row_bytes() <= ROW_BYTES + PADDING;
        let doubled = |plan: &PostponedPlan| Some(PostponedPlan { rounds: 2 * plan.rounds, ..*plan });
        let most = std::iter::successors(Some(round), doubled).take_while(|&plan| fits(plan)).last()?;
        (most.rounds > 1).then_some(most)
    }

    /// The same for operands that lie elsewhere.
    pub(crate) fn with(self, plan: DotPlan) -> PostponedPlan {
        PostponedPlan { plan, ..self }
    }

    /// Bytes of memory, aligned to 64, that the operands of several rounds need. It must last as long as the loop.
    pub(crate) fn scratch_bytes(&self) -> u64 {
        self.packed_b_bytes() + u64::from(self.plan.problem.m) * self.a_row_bytes()
    }

    fn unit_bytes(&self) -> u64 {
        self.plan.arithmetic.unit_bytes().into()
    }

    fn k_bytes(&self) -> u64 {
        u64::from(self.plan.k_units()) * self.unit_bytes()
    }

    fn a_row_bytes(&self) -> u64 {
        u64::from(self.rounds) * self.k_bytes() + PADDING
    }

    fn b_panel_bytes(&self) -> u64 {
        u64::from(self.rounds) * self.k_bytes() * u64::from(self.plan.block.cols())
    }

    fn packed_b_bytes(&self) -> u64 {
        self.b_panel_bytes() * u64::from(self.plan.problem.n / self.plan.block.cols())
    }

    /// Emits one round. `pointers.scratch` has [`PostponedPlan::scratch_bytes`] and nobody else writes to it.
    pub(crate) fn emit<'ctx>(&self, llvm: &Llvm<'ctx>, pointers: DotPointers<'ctx>, round: Round<'ctx>) {
        let place = llvm.and64(round.number, u64::from(self.rounds) - 1);
        let (packed_b, packed_a) = (pointers.scratch, further(llvm, pointers.scratch, self.packed_b_bytes()));
        self.pack_b(llvm, (pointers.b, pointers.b_stride), packed_b, place);
        self.pack_a(llvm, (pointers.a, pointers.a_stride), packed_a, place);
        let full = llvm.icmp(
            inkwell::IntPredicate::EQ,
            place.into(),
            llvm.const_i64(i64::from(self.rounds) - 1).into(),
        );
        let due = llvm.builder.build_or(full.into_int_value(), round.is_last, "").expect("two conditions");
        let (multiply, after) = (llvm.new_block("multiply"), llvm.new_block("postponed"));
        llvm.branch(due, multiply, after);
        llvm.builder.position_at_end(multiply);
        let (plan, unit) = (&self.plan, self.unit_bytes());
        let c_bytes = u64::from(plan.problem.c.elem.bytes());
        let (a_row, b_row) = (self.a_row_bytes(), u64::from(plan.block.cols()) * unit);
        let views = Views {
            a: View { base: packed_a, block: u64::from(plan.block.rows) * a_row, outer: a_row, k: unit },
            b: View { base: packed_b, block: self.b_panel_bytes(), outer: unit, k: b_row },
            c: pointers.c,
            c_row: plan.problem.c.row_stride.known() * c_bytes,
            c_col: plan.problem.c.col_stride.known() * c_bytes,
        };
        let rounds = llvm.add64(place, llvm.const_i64(1));
        let steps = llvm.mul64(rounds, llvm.const_i64(i64::from(plan.k_units() / amx::depth(plan))));
        amx::emit(llvm, plan, &views, steps);
        llvm.jump(after);
        llvm.builder.position_at_end(after);
    }

    fn pack_a<'ctx>(&self, llvm: &Llvm<'ctx>, from: Placed<'ctx>, base: PointerValue<'ctx>, place: IntValue<'ctx>) {
        let plan = &self.plan;
        let a = plan.problem.a;
        let source = plan.source(from, a.elem, a.col_stride, a.row_stride);
        let base = stepped(llvm, base, place, self.k_bytes());
        let (row, rows, row_bytes) = (plan.k_units(), plan.problem.m, self.a_row_bytes());
        pack(llvm, &plan.isa, source, Target { base, panels: 1, panel_bytes: 0, run: Run::K, row, rows, row_bytes });
    }

    fn pack_b<'ctx>(&self, llvm: &Llvm<'ctx>, from: Placed<'ctx>, base: PointerValue<'ctx>, place: IntValue<'ctx>) {
        let plan = &self.plan;
        let b = plan.problem.b;
        let source = plan.source(from, b.elem, b.row_stride, b.col_stride);
        let cols = plan.block.cols();
        let row_bytes = u64::from(cols) * self.unit_bytes();
        let base = stepped(llvm, base, place, u64::from(plan.k_units()) * row_bytes);
        let (panels, panel_bytes) = (plan.problem.n / cols, self.b_panel_bytes());
        let target =
            Target { base, panels, panel_bytes, run: Run::Outer, row: cols, rows: plan.k_units(), row_bytes };
        pack(llvm, &plan.isa, source, target);
    }
}
