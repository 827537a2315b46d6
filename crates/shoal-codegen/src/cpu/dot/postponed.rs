//! Products of a loop's rounds, computed several rounds at a time.
//!
//! A loop `acc = dot(a, b, acc)` reads and writes all of `acc` in each round, which for the matrix unit takes as long as
//! the products of a usual round. Nobody needs `acc` before the loop ends, so the kernel runs once for a *group* of
//! rounds, when the group is full or the loop ends. Products are added in the same order as before.
//!
//! Sums that begin as zeros need not be read for the first group. And where a store is all that becomes of them, the
//! last group is left to it: it stores each block of `c` as soon as it is summed, while it is in L1.
//!
//! - `b` is packed in each round, behind the rounds before. Where programs see the same memory all along, it stays
//!   packed from one program to the next: each round's place has a *key*, the address it was packed from, and what the
//!   next program reads from the same address is not packed again.
//! - `a` is read where it lies if its rows are units and nothing writes before the group is done; else it is packed.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue, PointerValue};
use shoal_ir::Scalar;

use super::DotPointers;
use super::amx::{self, Factor, Product};
use super::kernel::{Placed, Rounds, RoundsProduct, Sums, View};
use super::pack::{Target, each_of, further, pack, stepped};
use super::plan::{DotPlan, Roles, Stride};
use super::unit::{Arithmetic, Run};
use crate::shared::llvm::Llvm;

/// Bytes of the rows of `a` and the columns of `b` in a group, for the matrix unit.
const TILE_DEPTH: u64 = 2 << 10;

/// The same for vectors: a panel of `b` stays in L1 beside rows of `a` that may compete for the same places.
const VECTOR_DEPTH: u64 = 1 << 9;

/// Bytes of packed `b` in a group: what stays in L2 beside rows of `a` and sums.
const GROUP_BYTES: u64 = 1 << 20;

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
    /// Whether the sums are zeros before the first round, which nobody needs to write down.
    from_zero: bool,
    /// Whether the last group is left to [`PostponedPlan::finish`].
    ends_later: bool,
}

/// Where a round of the loop is.
#[derive(Copy, Clone)]
pub(crate) struct Round<'ctx> {
    /// Counted from 0.
    pub(crate) number: IntValue<'ctx>,
    /// Whether no other follows.
    pub(crate) is_last: IntValue<'ctx>,
}

/// What is left to do when a loop has ended.
#[derive(Copy, Clone)]
pub(crate) struct Rest<'ctx> {
    /// How often the loop ran.
    pub(crate) rounds: IntValue<'ctx>,
    pub(crate) c: PointerValue<'ctx>,
    /// As for [`PostponedPlan::emit`].
    pub(crate) scratch: PointerValue<'ctx>,
}

/// A block of finished sums.
#[derive(Copy, Clone)]
pub(crate) struct FinishedBlock<'ctx> {
    /// Its first row and column.
    pub(crate) origin: [IntValue<'ctx>; 2],
    pub(crate) shape: [u32; 2],
    /// Where the first element of `c` would lie if all of `c` were there with the block.
    pub(crate) c: PointerValue<'ctx>,
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
        let mut most = PostponedPlan { plan, freedom, rounds: 1, groups: 1, from_zero: false, ends_later: false };
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

    /// The same for sums that begin as zeros.
    pub(crate) fn starting_at_zero(self) -> PostponedPlan {
        PostponedPlan { from_zero: true, ..self }
    }

    /// The same with the last group left to [`PostponedPlan::finish`], for sums that begin as zeros and whole blocks of them.
    pub(crate) fn ending_later(self) -> Option<PostponedPlan> {
        let whole = self.plan.problem.m.is_multiple_of(self.plan.block.rows);
        (self.from_zero && self.freedom.reads_later && whole).then_some(PostponedPlan { ends_later: true, ..self })
    }

    /// Whether the loop must begin with sums in memory.
    pub(crate) fn reads_first_sums(&self) -> bool {
        !self.from_zero
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
        let in_group = self.in_group(llvm, round.number);
        let memory = pointers.scratch;
        let key = stepped(llvm, memory, self.kept_round(llvm, round.number), KEY);
        self.place_b(llvm, &pointers, self.packed_b(llvm, memory, round.number), in_group, key);
        let table = further(llvm, memory, self.table_at());
        self.place_a(llvm, &pointers, in_group, table);

        let end = llvm.const_i64(i64::from(self.rounds) - 1);
        let full = llvm.icmp(IntPredicate::EQ, in_group.into(), end.into()).into_int_value();
        let due = if self.ends_later {
            let others = llvm.not(round.is_last.into()).into_int_value();
            llvm.builder.build_and(full, others, "")
        } else {
            llvm.builder.build_or(full, round.is_last, "")
        };
        let (multiply, after) = (llvm.new_block("multiply"), llvm.new_block("postponed"));
        llvm.branch(due.expect("two conditions"), multiply, after);
        llvm.builder.position_at_end(multiply);
        let rounds = Rounds { table, count: llvm.add64(in_group, llvm.const_i64(1)) };
        let sums = Sums::of(&self.plan.problem, pointers.c);
        self.multiply(llvm, &self.product(llvm, memory, rounds, round.number, sums));
        llvm.jump(after);
        llvm.builder.position_at_end(after);
    }

    /// The place of a round in its group.
    fn in_group<'ctx>(&self, llvm: &Llvm<'ctx>, round: IntValue<'ctx>) -> IntValue<'ctx> {
        llvm.and64(round, u64::from(self.rounds) - 1)
    }

    /// The place of a round among all that are kept.
    fn kept_round<'ctx>(&self, llvm: &Llvm<'ctx>, round: IntValue<'ctx>) -> IntValue<'ctx> {
        llvm.and64(round, u64::from(self.rounds * self.groups) - 1)
    }

    /// Where the group of a round has `b`.
    fn packed_b<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        memory: PointerValue<'ctx>,
        round: IntValue<'ctx>,
    ) -> PointerValue<'ctx> {
        let group = llvm.shr64(self.kept_round(llvm, round), self.rounds.trailing_zeros());
        stepped(llvm, further(llvm, memory, self.packed_b_at()), group, self.group_bytes())
    }

    fn view_b<'ctx>(&self, base: PointerValue<'ctx>) -> View<'ctx> {
        let k = u64::from(self.plan.block.cols()) * self.unit_bytes();
        View { base, block: self.b_panel_bytes(), outer: self.unit_bytes(), k }
    }

    /// Emits the product of a group.
    fn multiply<'ctx>(&self, llvm: &Llvm<'ctx>, product: &RoundsProduct<'ctx>) {
        self.multiply_blocks(llvm, product, |row, col| product.sums.block(llvm, &self.plan, row, col), |_, _| {});
    }

    /// The same with blocks of `c` that lie at `place`, and with `visit` after each of them.
    fn multiply_blocks<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        product: &RoundsProduct<'ctx>,
        place: impl Fn(IntValue<'ctx>, IntValue<'ctx>) -> PointerValue<'ctx>,
        visit: impl FnMut(IntValue<'ctx>, IntValue<'ctx>),
    ) {
        if self.uses_amx() {
            let steps = self.plan.k_units() / amx::depth(&self.plan);
            let &RoundsProduct { rounds, b, sums, from_zero } = product;
            let product = Product { a: Factor::Rounds { rounds, steps }, b, sums, from_zero };
            product.emit_blocks(llvm, &self.plan, place, visit);
        } else {
            self.plan.emit_rounds(llvm, product, place, visit);
        }
    }

    /// The product of a group that ends with the round `last`.
    fn product<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        memory: PointerValue<'ctx>,
        rounds: Rounds<'ctx>,
        last: IntValue<'ctx>,
        sums: Sums<'ctx>,
    ) -> RoundsProduct<'ctx> {
        let b = self.view_b(self.packed_b(llvm, memory, last));
        let first = llvm.icmp(IntPredicate::ULT, last.into(), llvm.const_i64(self.rounds.into()).into());
        let from_zero = if self.from_zero { first.into_int_value() } else { llvm.i1().const_zero() };
        RoundsProduct { rounds, b, sums, from_zero }
    }

    /// The last round of a loop, or the first if there is none, and those of its group that ran.
    fn last_rounds<'ctx>(&self, llvm: &Llvm<'ctx>, rest: Rest<'ctx>) -> (IntValue<'ctx>, Rounds<'ctx>) {
        let pick = |name: &str, other: IntValue<'ctx>| {
            let least = llvm.intrinsic(name, &[llvm.i64().into()], &[rest.rounds.into(), other.into()]);
            least.expect("a number").into_int_value()
        };
        let last = pick("llvm.usub.sat", llvm.const_i64(1));
        let count = pick("llvm.umin", llvm.add64(self.in_group(llvm, last), llvm.const_i64(1)));
        (last, Rounds { table: further(llvm, rest.scratch, self.table_at()), count })
    }

    fn last_product<'ctx>(&self, llvm: &Llvm<'ctx>, rest: Rest<'ctx>) -> RoundsProduct<'ctx> {
        let (last, rounds) = self.last_rounds(llvm, rest);
        self.product(llvm, rest.scratch, rounds, last, Sums::of(&self.plan.problem, rest.c))
    }

    /// Emits the product of the last group.
    pub(crate) fn finish<'ctx>(&self, llvm: &Llvm<'ctx>, rest: Rest<'ctx>) {
        self.multiply(llvm, &self.last_product(llvm, rest));
    }

    /// Emits the product of the last group, and has `visit` read each block of `c` after it is summed. It is gone when the
    /// next one comes.
    pub(crate) fn finish_blocks<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        rest: Rest<'ctx>,
        mut visit: impl FnMut(FinishedBlock<'ctx>),
    ) {
        let (plan, product) = (&self.plan, self.last_product(llvm, rest));
        // Sums of earlier groups are where they belong; without such, all blocks take the place of the first.
        let (row_bytes, col_bytes) = product.sums.block_bytes(plan);
        let bytes = |row: IntValue<'ctx>, col: IntValue<'ctx>| {
            let [down, right] =
                [(row, row_bytes), (col, col_bytes)].map(|(i, n)| llvm.mul64(i, llvm.const_i64(n as i64)));
            llvm.add64(down, right)
        };
        let select = |alone: IntValue<'ctx>, among: IntValue<'ctx>| {
            llvm.select(product.from_zero.into(), alone.into(), among.into()).into_int_value()
        };
        let zero = llvm.const_i64(0);
        self.multiply_blocks(
            llvm,
            &product,
            |row, col| llvm.offset(rest.c, select(zero, bytes(row, col))),
            |row, col| {
                let back = llvm.builder.build_int_neg(bytes(row, col), "").expect("a number");
                let shape = [plan.block.rows, plan.block.cols()];
                let origin = [(row, shape[0]), (col, shape[1])].map(|(i, n)| llvm.mul64(i, llvm.const_i64(n.into())));
                visit(FinishedBlock { origin, shape, c: llvm.offset(rest.c, select(back, zero)) });
            },
        );
    }

    /// Before memory from `written.0` to `written.1` changes: packs what the last group would read there.
    pub(crate) fn save_a<'ctx>(&self, llvm: &Llvm<'ctx>, rest: Rest<'ctx>, written: (IntValue<'ctx>, IntValue<'ctx>)) {
        let a = self.plan.problem.a;
        if !self.reads_in_place() || a.row_stride != Stride::AtRunTime {
            return;
        }
        let (_, rounds) = self.last_rounds(llvm, rest);
        let (some, after) = (llvm.new_block("look"), llvm.new_block("saved"));
        let none = llvm.icmp(IntPredicate::EQ, rounds.count.into(), llvm.const_i64(0).into());
        llvm.branch(none.into_int_value(), after, some);
        llvm.builder.position_at_end(some);
        each_of(llvm, rounds.count, |round| {
            let (base, distance) = rounds.entry(llvm, round);
            let first = llvm.ptr_to_int(base);
            let rows = llvm.const_i64(i64::from(self.plan.problem.m) - 1);
            let last = llvm.add64(first, llvm.mul64(distance, rows));
            let pick = |name: &str| {
                llvm.intrinsic(name, &[llvm.i64().into()], &[first.into(), last.into()]).expect("a number")
            };
            let end = llvm.add64(pick("llvm.umax").into_int_value(), llvm.const_i64(self.k_bytes() as i64));
            let ends_behind = llvm.icmp(IntPredicate::ULT, written.0.into(), end.into());
            let starts_before = llvm.icmp(IntPredicate::ULT, pick("llvm.umin"), written.1.into());
            let both = llvm.bin(InstructionOpcode::And, ends_behind, starts_before).into_int_value();
            let (copy, kept) = (llvm.new_block("save"), llvm.new_block("kept"));
            llvm.branch(both, copy, kept);
            llvm.builder.position_at_end(copy);
            let packed = self.pack_a(llvm, rest.scratch, (base, Some(distance)), round);
            rounds.set(llvm, round, packed, llvm.const_i64(self.a_row_bytes() as i64));
            llvm.jump(kept);
            llvm.builder.position_at_end(kept);
        });
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
        let rounds = Rounds { table, count: llvm.const_i64(self.rounds.into()) };
        let write = |base, distance| rounds.set(llvm, place, base, distance);
        let from = (pointers.a, pointers.a_stride);
        let packed = || {
            write(self.pack_a(llvm, pointers.scratch, from, place), llvm.const_i64(self.a_row_bytes() as i64));
        };
        match (from, pointers.a_whole) {
            ((base, Some(distance)), None) if self.reads_in_place() => write(base, distance),
            ((base, Some(distance)), Some(whole)) if self.reads_in_place() => {
                write(base, distance);
                let (copy, after) = (llvm.new_block("pack"), llvm.new_block("placed"));
                llvm.branch(whole, after, copy);
                llvm.builder.position_at_end(copy);
                packed();
                llvm.jump(after);
                llvm.builder.position_at_end(after);
            }
            _ => packed(),
        }
    }

    fn pack_a<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        memory: PointerValue<'ctx>,
        from: Placed<'ctx>,
        place: IntValue<'ctx>,
    ) -> PointerValue<'ctx> {
        let a = self.plan.problem.a;
        let packed = further(llvm, memory, self.packed_a_at());
        let base = stepped(llvm, packed, place, self.k_bytes());
        let source = self.plan.source(from, a.elem, a.col_stride, a.row_stride);
        let (row, rows, row_bytes) = (self.plan.k_units(), self.plan.problem.m, self.a_row_bytes());
        let target = Target { base, panels: 1, panel_bytes: 0, run: Run::K, row, rows, row_bytes };
        pack(llvm, &self.plan.isa, source, target);
        base
    }
}
