//! Products of a loop's rounds, computed several rounds at a time.
//!
//! A loop `acc = dot(a, b, acc)` reads and writes all of `acc` in each round, which for the matrix unit takes as long as
//! the products of a usual round. Nobody needs `acc` before the loop ends, so the kernel runs once for a *group* of
//! rounds, when the group is full or the loop ends. Products are added in the same order as before.
//!
//! - `b` is packed in each round, behind the rounds before. Where programs see the same memory all along, it stays
//!   packed from one program to the next: each round's place has a *key*, the address it was packed from, and what the
//!   next program reads from the same address is not packed again.
//! - `a` is read where it lies if its rows are units and nothing writes before the group is done; else it is packed.

use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};
use shoal_ir::Scalar;

use super::DotPointers;
use super::amx::{self, Factor};
use super::kernel::{Placed, Rounds, Sums, View};
use super::pack::{Target, further, pack, stepped};
use super::plan::{DotPlan, Roles, Stride};
use super::unit::{Arithmetic, Run};
use crate::shared::llvm::Llvm;

/// Bytes of the rows of `a` and the columns of `b` in a group, for the matrix unit.
const TILE_DEPTH: u64 = 2 << 10;

/// The same for vectors: a panel of `b` stays in L1 beside rows of `a` that may compete for the same places.
const VECTOR_DEPTH: u64 = 1 << 9;

/// Bytes of packed `b` in a group: what stays in L2 beside the sums.
const GROUP_BYTES: u64 = 512 << 10;

/// Bytes of packed `b` that are kept for the next program.
const KEPT_BYTES: u64 = 2 << 20;

/// Keeps rows of packed `a` from competing for the same places in L1.
const PADDING: u64 = 64;

/// Bytes of a key: an address and a distance.
const KEY: u64 = 16;

/// What a loop allows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Freedom {
    /// Nothing changes memory before the loop ends.
    pub(crate) reads_later: bool,
    /// All programs that run one after the other read the same memory.
    pub(crate) keeps_packed: bool,
}

/// A product that is computed once for several rounds of a loop.
#[derive(Copy, Clone, Debug)]
pub(crate) struct PostponedPlan {
    plan: DotPlan,
    freedom: Freedom,
    /// Rounds of a group; a power of two.
    rounds: u32,
    /// Groups that are kept; a power of two.
    groups: u32,
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
    pub(crate) fn new(plan: DotPlan, freedom: Freedom) -> Option<PostponedPlan> {
        let vectors = matches!(plan.arithmetic, Arithmetic::F32 | Arithmetic::F64) && plan.block.lanes > 1;
        let rounded = plan.problem.c.elem == Scalar::F16;
        // With vectors the gain is in what is kept packed, not in fewer accesses to the sums.
        if rounded || plan.roles == Roles::Swapped || !(plan.uses_amx() || vectors && freedom.keeps_packed) {
            return None;
        }
        let depth = if plan.uses_amx() { TILE_DEPTH } else { VECTOR_DEPTH };
        let mut most = PostponedPlan { plan, freedom, rounds: 1, groups: 1 };
        let fits = |rounds: u32| {
            let group = PostponedPlan { rounds, ..most };
            u64::from(rounds) * most.k_bytes() <= depth && group.group_bytes() <= GROUP_BYTES
        };
        most.rounds = std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| fits(n)).last().unwrap_or(1);
        while freedom.keeps_packed && u64::from(2 * most.groups) * most.group_bytes() <= KEPT_BYTES {
            most.groups *= 2;
        }
        (most.rounds > 1 || most.groups > 1).then_some(most)
    }

    /// The same for operands that lie elsewhere.
    pub(crate) fn with(self, plan: DotPlan) -> PostponedPlan {
        PostponedPlan { plan, ..self }
    }

    /// Whether the code uses AMX.
    pub(crate) fn uses_amx(&self) -> bool {
        self.plan.uses_amx()
    }

    /// Bytes of memory, aligned to 64, that nobody else writes to; the keys come first. It must last as long as the loop,
    /// or from one program to the next if anything is kept.
    pub(crate) fn scratch_bytes(&self) -> u64 {
        self.packed_a_at() + u64::from(self.plan.problem.m) * self.a_row_bytes()
    }

    /// Bytes at the start of that memory that must be zero when the first program starts.
    pub(crate) fn key_bytes(&self) -> u64 {
        if self.freedom.keeps_packed { u64::from(self.rounds * self.groups) * KEY } else { 0 }
    }

    fn table_at(&self) -> u64 {
        self.key_bytes().next_multiple_of(64)
    }

    fn packed_b_at(&self) -> u64 {
        (self.table_at() + u64::from(self.rounds) * Rounds::ENTRY).next_multiple_of(64)
    }

    fn packed_a_at(&self) -> u64 {
        self.packed_b_at() + u64::from(self.groups) * self.group_bytes()
    }

    /// Whether rows of `a` that lie in the kernel's memory are units.
    fn reads_in_place(&self) -> bool {
        let (a, arithmetic) = (self.plan.problem.a, self.plan.arithmetic);
        self.freedom.reads_later && a.col_stride == Stride::ONE && !arithmetic.converts(a.elem)
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

    fn group_bytes(&self) -> u64 {
        self.b_panel_bytes() * u64::from(self.plan.problem.n / self.plan.block.cols())
    }

    /// Emits one round. `pointers.scratch` is the memory of [`PostponedPlan::scratch_bytes`].
    pub(crate) fn emit<'ctx>(&self, llvm: &Llvm<'ctx>, pointers: DotPointers<'ctx>, round: Round<'ctx>) {
        let in_group = llvm.and64(round.number, u64::from(self.rounds) - 1);
        let memory = pointers.scratch;
        let kept_round = llvm.and64(round.number, u64::from(self.rounds * self.groups) - 1);
        let group = llvm.shr64(kept_round, self.rounds.trailing_zeros());
        let packed_b = stepped(llvm, further(llvm, memory, self.packed_b_at()), group, self.group_bytes());
        let key = stepped(llvm, memory, kept_round, KEY);
        self.place_b(llvm, &pointers, packed_b, in_group, key);
        let table = further(llvm, memory, self.table_at());
        self.place_a(llvm, &pointers, in_group, table);

        let end = llvm.const_i64(i64::from(self.rounds) - 1);
        let full = llvm.icmp(IntPredicate::EQ, in_group.into(), end.into()).into_int_value();
        let due = llvm.builder.build_or(full, round.is_last, "").expect("two conditions");
        let (multiply, after) = (llvm.new_block("multiply"), llvm.new_block("postponed"));
        llvm.branch(due, multiply, after);
        llvm.builder.position_at_end(multiply);
        let plan = &self.plan;
        let k = u64::from(plan.block.cols()) * self.unit_bytes();
        let b = View { base: packed_b, block: self.b_panel_bytes(), outer: self.unit_bytes(), k };
        let rounds = Rounds { table, count: llvm.add64(in_group, llvm.const_i64(1)) };
        let sums = Sums::of(&plan.problem, pointers.c);
        if plan.uses_amx() {
            let steps = plan.k_units() / amx::depth(plan);
            amx::emit(llvm, plan, Factor::Rounds { rounds, steps }, b, sums);
        } else {
            plan.emit_rounds(llvm, rounds, b, sums);
        }
        llvm.jump(after);
        llvm.builder.position_at_end(after);
    }

    /// Packs `b` unless it is there.
    fn place_b<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        pointers: &DotPointers<'ctx>,
        group: PointerValue<'ctx>,
        place: IntValue<'ctx>,
        key: PointerValue<'ctx>,
    ) {
        let from = (pointers.b, pointers.b_stride);
        if !self.freedom.keeps_packed {
            return self.pack_b(llvm, from, group, place);
        }
        let distance_at = further(llvm, key, 8);
        let (base, Some(distance)) = from else {
            // Not from the kernel's memory: nobody else will have the same.
            llvm.store(llvm.const_i64(0).into(), key, 8);
            return self.pack_b(llvm, from, group, place);
        };
        // No key is zero: a copy is always packed.
        let address: IntValue<'ctx> = match pointers.b_whole {
            None => llvm.ptr_to_int(base),
            Some(whole) => {
                llvm.select(whole.into(), llvm.ptr_to_int(base).into(), llvm.const_i64(0).into()).into_int_value()
            }
        };
        let copied = llvm.icmp(IntPredicate::EQ, address.into(), llvm.const_i64(0).into()).into_int_value();
        let differs = |value: IntValue<'ctx>, at| {
            llvm.icmp(IntPredicate::NE, llvm.load(llvm.i64(), at, 8), value.into()).into_int_value()
        };
        let other = llvm.builder.build_or(differs(address, key), differs(distance, distance_at), "");
        let other = llvm.builder.build_or(other.expect("two conditions"), copied, "").expect("two conditions");
        let (fill, filled) = (llvm.new_block("pack"), llvm.new_block("packed"));
        llvm.branch(other, fill, filled);
        llvm.builder.position_at_end(fill);
        self.pack_b(llvm, from, group, place);
        llvm.store(address.into(), key, 8);
        llvm.store(distance.into(), distance_at, 8);
        llvm.jump(filled);
        llvm.builder.position_at_end(filled);
    }

    fn pack_b<'ctx>(&self, llvm: &Llvm<'ctx>, from: Placed<'ctx>, group: PointerValue<'ctx>, place: IntValue<'ctx>) {
        let plan = &self.plan;
        let b = plan.problem.b;
        let source = plan.source(from, b.elem, b.row_stride, b.col_stride);
        let cols = plan.block.cols();
        let row_bytes = u64::from(cols) * self.unit_bytes();
        let base = stepped(llvm, group, place, u64::from(plan.k_units()) * row_bytes);
        let (panels, panel_bytes) = (plan.problem.n / cols, self.b_panel_bytes());
        let target = Target { base, panels, panel_bytes, run: Run::Outer, row: cols, rows: plan.k_units(), row_bytes };
        pack(llvm, &plan.isa, source, target);
    }

    /// Writes down where this round's `a` is: where it lies, or packed.
    fn place_a<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        pointers: &DotPointers<'ctx>,
        place: IntValue<'ctx>,
        table: PointerValue<'ctx>,
    ) {
        let entry = stepped(llvm, table, place, Rounds::ENTRY);
        let write = |base: PointerValue<'ctx>, distance: IntValue<'ctx>| {
            llvm.store(base.into(), entry, 8);
            llvm.store(distance.into(), further(llvm, entry, 8), 8);
        };
        let from = (pointers.a, pointers.a_stride);
        match (from, pointers.a_whole) {
            ((base, Some(distance)), None) if self.reads_in_place() => write(base, distance),
            ((base, Some(distance)), Some(whole)) if self.reads_in_place() => {
                write(base, distance);
                let (copy, after) = (llvm.new_block("pack"), llvm.new_block("placed"));
                llvm.branch(whole, after, copy);
                llvm.builder.position_at_end(copy);
                write(self.pack_a(llvm, pointers, place), llvm.const_i64(self.a_row_bytes() as i64));
                llvm.jump(after);
                llvm.builder.position_at_end(after);
            }
            _ => write(self.pack_a(llvm, pointers, place), llvm.const_i64(self.a_row_bytes() as i64)),
        }
    }

    fn pack_a<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        pointers: &DotPointers<'ctx>,
        place: IntValue<'ctx>,
    ) -> PointerValue<'ctx> {
        let a = self.plan.problem.a;
        let packed = further(llvm, pointers.scratch, self.packed_a_at());
        let base = stepped(llvm, packed, place, self.k_bytes());
        let source = self.plan.source((pointers.a, pointers.a_stride), a.elem, a.col_stride, a.row_stride);
        let (row, rows, row_bytes) = (self.plan.k_units(), self.plan.problem.m, self.a_row_bytes());
        let target = Target { base, panels: 1, panel_bytes: 0, run: Run::K, row, rows, row_bytes };
        pack(llvm, &self.plan.isa, source, target);
        base
    }
}
