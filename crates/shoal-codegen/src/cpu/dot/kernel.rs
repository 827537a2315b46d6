//! The kernel in vector registers, and what leads to it.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue, PointerValue, VectorValue};
use shoal_ir::Scalar;

use super::pack::{Target, each, each_of_carrying, further, pack, stepped};
use super::plan::{Block, DotPlan, Operand, Packing, Problem, Roles, Start, Stride};
use super::unit::{Arithmetic, Bytes, Run, Source, broadcast, stored_type};
use super::{DotPointers, amx, convert};
use crate::shared::llvm::{Llvm, V, vector_type};

/// Multiply-adds in the innermost loop's body: enough that its counter costs nothing, and no more to compile.
const UNROLLED: u32 = 32;

/// LLVM tries what unrolling would gain on innermost loops of up to 10 rounds, at a cost far above all else here.
const TRIED_ROUNDS: u32 = 10;

/// What one request brings, on all CPUs with vectors that this is for.
const CACHE_LINE: u64 = 64;

/// Bytes to ask for at a time: few instructions beside those of a block.
const MOST_ASKED: u64 = 16 * CACHE_LINE;

/// A matrix of units as the kernel reads it; strides in bytes.
#[derive(Copy, Clone)]
pub(super) struct View<'ctx> {
    pub(super) base: PointerValue<'ctx>,
    /// From one block of rows (of `a`) or panel of columns (of `b`) to the next.
    pub(super) block: u64,
    /// From one row (of `a`) or column (of `b`) to the next.
    pub(super) outer: u64,
    /// From one unit of `k` to the next.
    pub(super) k: u64,
}

/// The rows of a block of `a`, and the distance of their units in bytes.
#[derive(Copy, Clone)]
struct Rows<'a, 'ctx> {
    rows: &'a [PointerValue<'ctx>],
    k: u64,
}

/// The matrices `a` of several rounds of a loop, in rows of units: an address and the distance of rows for each.
#[derive(Copy, Clone)]
pub(super) struct Rounds<'ctx> {
    pub(super) table: PointerValue<'ctx>,
    pub(super) count: IntValue<'ctx>,
}

impl<'ctx> Rounds<'ctx> {
    /// Bytes of the table for each round.
    pub(super) const ENTRY: u64 = 16;

    /// The address and the distance of rows in bytes.
    pub(super) fn entry(self, llvm: &Llvm<'ctx>, round: IntValue<'ctx>) -> (PointerValue<'ctx>, IntValue<'ctx>) {
        let entry = stepped(llvm, self.table, round, Rounds::ENTRY);
        let base = llvm.load(llvm.ptr(), entry, 8).into_pointer_value();
        (base, llvm.load(llvm.i64(), further(llvm, entry, 8), 8).into_int_value())
    }

    /// Writes down where a round's matrix is.
    pub(super) fn set(
        self,
        llvm: &Llvm<'ctx>,
        round: IntValue<'ctx>,
        base: PointerValue<'ctx>,
        distance: IntValue<'ctx>,
    ) {
        let entry = stepped(llvm, self.table, round, Rounds::ENTRY);
        llvm.store(base.into(), entry, 8);
        llvm.store(distance.into(), further(llvm, entry, 8), 8);
    }
}

/// What the product of several rounds is made of; `b` is packed.
#[derive(Copy, Clone)]
pub(super) struct RoundsProduct<'ctx> {
    pub(super) rounds: Rounds<'ctx>,
    pub(super) b: View<'ctx>,
    pub(super) sums: Sums<'ctx>,
    /// Whether `c` is only written.
    pub(super) from_zero: IntValue<'ctx>,
}

/// The operands of a kernel.
#[derive(Copy, Clone)]
pub(super) struct Views<'ctx> {
    pub(super) a: View<'ctx>,
    pub(super) b: View<'ctx>,
    pub(super) sums: Sums<'ctx>,
}

/// Where `c` lies; strides in bytes.
#[derive(Copy, Clone)]
pub(super) struct Sums<'ctx> {
    pub(super) base: PointerValue<'ctx>,
    pub(super) row: u64,
    pub(super) col: u64,
}

impl<'ctx> Sums<'ctx> {
    /// From one block of `c` to the next, down and to the right.
    pub(super) fn block_bytes(&self, plan: &DotPlan) -> (u64, u64) {
        (u64::from(plan.block.rows) * self.row, u64::from(plan.block.cols()) * self.col)
    }

    /// Where the block of a row and a column of blocks is.
    pub(super) fn block(
        &self,
        llvm: &Llvm<'ctx>,
        plan: &DotPlan,
        row: IntValue<'ctx>,
        col: IntValue<'ctx>,
    ) -> PointerValue<'ctx> {
        let (row_bytes, col_bytes) = self.block_bytes(plan);
        stepped(llvm, stepped(llvm, self.base, row, row_bytes), col, col_bytes)
    }

    pub(super) fn of(problem: &Problem, base: PointerValue<'ctx>) -> Sums<'ctx> {
        let bytes = u64::from(problem.c.elem.bytes());
        Sums { base, row: problem.c.row_stride.known() * bytes, col: problem.c.col_stride.known() * bytes }
    }
}

/// Where an operand lies, and its stride in bytes if that is not known.
pub(super) type Placed<'ctx> = (PointerValue<'ctx>, Option<IntValue<'ctx>>);

impl DotPlan {
    /// Emits the product at the end of the builder's block, and leaves the builder at the end of the code.
    pub(crate) fn emit<'ctx>(&self, llvm: &Llvm<'ctx>, pointers: DotPointers<'ctx>) {
        let (a, b) = ((pointers.a, pointers.a_stride), (pointers.b, pointers.b_stride));
        let (a, b) = match self.roles {
            Roles::AsGiven => (a, b),
            Roles::Swapped => (b, a),
        };
        let views = Views {
            b: self.view_b(llvm, b, pointers.scratch),
            a: self.view_a(llvm, a, further(llvm, pointers.scratch, self.packed_b_bytes())),
            sums: Sums::of(&self.problem, pointers.c),
        };
        if self.uses_amx() {
            let a = amx::Factor::Whole { view: views.a, steps: self.k_units() / amx::depth(self) };
            let from_zero = llvm.i1().const_int((self.start == Start::Zero).into(), false);
            amx::Product { a, b: views.b, sums: views.sums, from_zero }.emit(llvm, self);
        } else {
            self.emit_blocks(llvm, &views);
        }
    }

    fn view_a<'ctx>(&self, llvm: &Llvm<'ctx>, from: Placed<'ctx>, scratch: PointerValue<'ctx>) -> View<'ctx> {
        let Operand { elem, row_stride, col_stride } = self.problem.a;
        let source = self.source(from, elem, col_stride, row_stride);
        let base = source.base;
        let unit = u64::from(self.arithmetic.unit_bytes());
        let (m, k) = (self.problem.m, self.k_units());
        let (base, outer, k) = match self.pack_a {
            Packing::InPlace => (base, source.stride(Run::Outer), source.stride(Run::K)),
            Packing::Along(run) => {
                let (row, rows) = if run == Run::K { (k, m) } else { (m, k) };
                let unit_bytes = self.arithmetic.unit_bytes();
                pack(llvm, &self.isa, source, Target::rows(scratch, run, row, rows, unit_bytes));
                let row_bytes = u64::from(row) * unit;
                if run == Run::K { (scratch, row_bytes, unit) } else { (scratch, unit, row_bytes) }
            }
            Packing::Together => unreachable!("only rows of `b` are read as vectors"),
        };
        View { base, block: u64::from(self.block.rows) * outer, outer, k }
    }

    fn view_b<'ctx>(&self, llvm: &Llvm<'ctx>, from: Placed<'ctx>, scratch: PointerValue<'ctx>) -> View<'ctx> {
        let Operand { elem, row_stride, col_stride } = self.problem.b;
        let source = self.source(from, elem, row_stride, col_stride);
        let base = source.base;
        let cols = self.block.cols();
        match self.pack_b {
            Packing::InPlace => {
                let outer = source.stride(Run::Outer);
                View { base, block: u64::from(cols) * outer, outer, k: source.stride(Run::K) }
            }
            Packing::Along(run) => {
                let rows = self.k_units();
                let unit = u64::from(self.arithmetic.unit_bytes());
                let k = u64::from(cols) * unit;
                let (panels, panel_bytes) = (self.problem.n / cols, u64::from(rows) * k);
                let target = Target { base: scratch, panels, panel_bytes, run, row: cols, rows, row_bytes: k };
                pack(llvm, &self.isa, source, target);
                View { base: scratch, block: panel_bytes, outer: unit, k }
            }
            Packing::Together => {
                let unit = u64::from(self.arithmetic.unit_bytes());
                let row_bytes = u64::from(self.problem.n) * unit;
                let base = self.rows_together(llvm, source, scratch, row_bytes);
                View { base, block: u64::from(cols) * unit, outer: unit, k: row_bytes }
            }
        }
    }

    /// Where the rows of `b` follow each other: in place, or in a copy.
    fn rows_together<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        source: Source<'ctx>,
        scratch: PointerValue<'ctx>,
        row_bytes: u64,
    ) -> PointerValue<'ctx> {
        let stride = source.steps(llvm, Run::K, 1);
        let row_bytes = llvm.const_i64(row_bytes as i64);
        let apart = llvm.icmp(IntPredicate::NE, stride.into(), row_bytes.into()).into_int_value();
        let (before, copy, after) = (llvm.here(), llvm.new_block("copy"), llvm.new_block("together"));
        llvm.branch(apart, copy, after);
        llvm.builder.position_at_end(copy);
        let (row, rows) = (self.problem.n, self.k_units());
        pack(llvm, &self.isa, source, Target::rows(scratch, Run::Outer, row, rows, self.arithmetic.unit_bytes()));
        let copied = llvm.here();
        llvm.jump(after);
        llvm.builder.position_at_end(after);
        let base = llvm.builder.build_phi(llvm.ptr(), "").expect("a phi");
        base.add_incoming(&[(&source.base, before), (&scratch, copied)]);
        base.as_basic_value().into_pointer_value()
    }

    pub(super) fn source<'ctx>(
        &self,
        (base, stride): Placed<'ctx>,
        elem: Scalar,
        k: Stride,
        outer: Stride,
    ) -> Source<'ctx> {
        let bytes = |of: Stride| match of {
            Stride::Known(elements) => Bytes::Known(elements * u64::from(elem.bytes())),
            Stride::AtRunTime => Bytes::AtRunTime(stride.expect("the caller gives strides that are not known")),
        };
        Source { base, elem, arithmetic: self.arithmetic, k_bytes: bytes(k), outer_bytes: bytes(outer) }
    }

    /// A panel of `b` stays in L1 while all of `a` passes by.
    fn emit_blocks<'ctx>(&self, llvm: &Llvm<'ctx>, views: &Views<'ctx>) {
        let (a, b, block) = (views.a, views.b, self.block);
        let k_block = u64::from(self.k_block);
        let (blocks, left_over) = (self.problem.m / block.rows, self.problem.m % block.rows);
        let c_block = u64::from(block.rows) * views.sums.row;
        each(llvm, self.k_units() / self.k_block, |k| {
            each(llvm, self.problem.n / block.cols(), |col| {
                let a_at = stepped(llvm, a.base, k, k_block * a.k);
                let b_at = stepped(llvm, stepped(llvm, b.base, k, k_block * b.k), col, b.block);
                let c_at = stepped(llvm, views.sums.base, col, u64::from(block.cols()) * views.sums.col);
                each(llvm, blocks, |row| {
                    let (a_at, c_at) = (stepped(llvm, a_at, row, a.block), stepped(llvm, c_at, row, c_block));
                    self.emit_block(llvm, views, a_at, b_at, c_at);
                });
                if left_over > 0 {
                    let done = u64::from(blocks);
                    let (a_at, c_at) = (further(llvm, a_at, done * a.block), further(llvm, c_at, done * c_block));
                    let rest = DotPlan { block: Block { rows: left_over, ..block }, ..*self };
                    rest.emit_block(llvm, views, a_at, b_at, c_at);
                }
            });
        });
    }

    fn emit_block<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        views: &Views<'ctx>,
        a: PointerValue<'ctx>,
        b: PointerValue<'ctx>,
        c: PointerValue<'ctx>,
    ) {
        let sums = self.load_block(llvm, views.sums, c);
        let rows: Vec<_> = (0..u64::from(self.block.rows)).map(|row| further(llvm, a, row * views.a.outer)).collect();
        let sums = self.sum_block(llvm, Rows { rows: &rows, k: views.a.k }, View { base: b, ..views.b }, sums);
        self.store_block(llvm, views.sums, c, &sums);
    }

    /// Emits the product of several rounds of a loop, with blocks of `c` that lie at `place`, and with `visit` after each of
    /// them that is whole.
    pub(super) fn emit_rounds<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        product: &RoundsProduct<'ctx>,
        place: impl Fn(IntValue<'ctx>, IntValue<'ctx>) -> PointerValue<'ctx>,
        mut visit: impl FnMut(IntValue<'ctx>, IntValue<'ctx>),
    ) {
        let (block, b) = (self.block, product.b);
        let (blocks, left_over) = (self.problem.m / block.rows, self.problem.m % block.rows);
        let first_row = |row: IntValue<'ctx>| llvm.mul64(row, llvm.const_i64(block.rows.into()));
        each(llvm, self.problem.n / block.cols(), |col| {
            let b = View { base: stepped(llvm, b.base, col, b.block), ..b };
            each(llvm, blocks, |row| {
                if self.problem.n > block.cols() {
                    ask_for_next_panel(llvm, b, row, blocks);
                }
                self.emit_block_of_rounds(llvm, product, first_row(row), b, place(row, col));
                visit(row, col);
            });
            if left_over > 0 {
                let row = llvm.const_i64(blocks.into());
                let rest = DotPlan { block: Block { rows: left_over, ..block }, ..*self };
                rest.emit_block_of_rounds(llvm, product, first_row(row), b, place(row, col));
            }
        });
    }

    fn emit_block_of_rounds<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        product: &RoundsProduct<'ctx>,
        first: IntValue<'ctx>,
        b: View<'ctx>,
        c: PointerValue<'ctx>,
    ) {
        let (a, sums) = (product.rounds, Sums { base: c, ..product.sums });
        let before = self.first_sums(llvm, sums, product.from_zero);
        let some = llvm.icmp(IntPredicate::NE, a.count.into(), llvm.const_i64(0).into()).into_int_value();
        let after = when(llvm, some, before, |before| {
            each_of_carrying(llvm, a.count, &before, |round, sums| {
                let (base, distance) = a.entry(llvm, round);
                let row = |i: u32| {
                    let row = llvm.add64(first, llvm.const_i64(i.into()));
                    llvm.offset(base, llvm.mul64(row, distance))
                };
                let rows: Vec<_> = (0..self.block.rows).map(row).collect();
                let b = View { base: stepped(llvm, b.base, round, u64::from(self.k_units()) * b.k), ..b };
                let k = u64::from(self.arithmetic.unit_bytes());
                let round = DotPlan { k_block: self.k_units(), ..*self };
                round.sum_block(llvm, Rows { rows: &rows, k }, b, sums.to_vec())
            })
        });
        self.store_block(llvm, sums, c, &after);
    }

    /// What the products of a block are added to.
    fn first_sums<'ctx>(&self, llvm: &Llvm<'ctx>, c: Sums<'ctx>, from_zero: IntValue<'ctx>) -> Vec<V<'ctx>> {
        let zeros = DotPlan { start: Start::Zero, ..*self }.load_block(llvm, c, c.base);
        let loads = llvm.not(from_zero.into()).into_int_value();
        when(llvm, loads, zeros, |_| self.load_block(llvm, c, c.base))
    }

    /// Adds the products of `k_block` units to a block of `c`.
    fn sum_block<'ctx>(&self, llvm: &Llvm<'ctx>, a: Rows<'_, 'ctx>, b: View<'ctx>, sums: Vec<V<'ctx>>) -> Vec<V<'ctx>> {
        let block = self.block;
        let unroll = self.unrolled_steps();
        let vector = vector_type(self.arithmetic.unit_type(llvm), block.lanes);
        llvm.counted_loop((self.k_block / unroll).into(), 1, &sums, &mut |i, sums| {
            let b_at = stepped(llvm, b.base, i, u64::from(unroll) * b.k);
            let mut sums = sums.to_vec();
            for step in 0..u64::from(unroll) {
                let b_row: Vec<_> = (0..block.vectors)
                    .map(|v| {
                        let at = further(llvm, b_at, step * b.k + u64::from(v * block.lanes) * b.outer);
                        llvm.load(vector, at, self.arithmetic.unit_bytes()).into_vector_value()
                    })
                    .collect();
                for (&row, sums) in a.rows.iter().zip(sums.chunks_mut(block.vectors as usize)) {
                    let row = stepped(llvm, row, i, u64::from(unroll) * a.k);
                    let at = further(llvm, row, step * a.k);
                    let a = broadcast(llvm, self.arithmetic, at, block.lanes);
                    for (sum, &b) in sums.iter_mut().zip(&b_row) {
                        *sum = self.multiply_add(llvm, a, b, sum.into_vector_value());
                    }
                }
            }
            sums
        })
    }

    /// Steps of `k` in the innermost loop's body.
    fn unrolled_steps(&self) -> u32 {
        if self.k_block <= 8 {
            return self.k_block;
        }
        let mut steps = (UNROLLED / (self.block.rows * self.block.vectors)).clamp(1, 4);
        while steps > 1 && self.k_block / steps <= TRIED_ROUNDS {
            steps /= 2;
        }
        steps
    }

    fn multiply_add<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        a: VectorValue<'ctx>,
        b: VectorValue<'ctx>,
        sum: VectorValue<'ctx>,
    ) -> V<'ctx> {
        match self.arithmetic {
            Arithmetic::F32 | Arithmetic::F64 => self.fused(llvm, a, b, sum),
            Arithmetic::I32 => {
                let product = llvm.bin(InstructionOpcode::Mul, a.into(), b.into());
                llvm.bin(InstructionOpcode::Add, sum.into(), product)
            }
            Arithmetic::I16Pairs => self.add_integer_pairs(llvm, a, b, sum),
            Arithmetic::Bf16Pairs => {
                let name = match self.block.lanes {
                    4 => "llvm.x86.avx512bf16.dpbf16ps.128",
                    8 => "llvm.x86.avx512bf16.dpbf16ps.256",
                    _ => "llvm.x86.avx512bf16.dpbf16ps.512",
                };
                let bf16 = |v| halves(llvm, v, llvm.context.bf16_type().into());
                llvm.intrinsic(name, &[], &[sum.into(), bf16(a), bf16(b)]).expect("a sum")
            }
            Arithmetic::AmxBf16 | Arithmetic::AmxI8 => unreachable!("AMX has a kernel of its own"),
        }
    }

    fn fused<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        a: VectorValue<'ctx>,
        b: VectorValue<'ctx>,
        sum: VectorValue<'ctx>,
    ) -> V<'ctx> {
        let (a, b, sum): (V<'ctx>, V<'ctx>, V<'ctx>) = (a.into(), b.into(), sum.into());
        if self.isa.fma {
            llvm.intrinsic("llvm.fma", &[sum.get_type()], &[a, b, sum]).expect("a sum")
        } else {
            let product = llvm.bin(InstructionOpcode::FMul, a, b);
            llvm.bin(InstructionOpcode::FAdd, sum, product)
        }
    }

    fn add_integer_pairs<'ctx>(
        &self,
        llvm: &Llvm<'ctx>,
        a: VectorValue<'ctx>,
        b: VectorValue<'ctx>,
        sum: VectorValue<'ctx>,
    ) -> V<'ctx> {
        let i16 = |v| halves(llvm, v, llvm.int_type(16).into());
        if self.isa.avx512_vnni {
            let name = match self.block.lanes {
                4 => "llvm.x86.avx512.vpdpwssd.128",
                8 => "llvm.x86.avx512.vpdpwssd.256",
                _ => "llvm.x86.avx512.vpdpwssd.512",
            };
            return llvm.intrinsic(name, &[], &[sum.into(), i16(a), i16(b)]).expect("a sum");
        }
        let name = match self.block.lanes {
            4 => "llvm.x86.sse2.pmadd.wd",
            8 => "llvm.x86.avx2.pmadd.wd",
            _ => "llvm.x86.avx512.pmaddw.d.512",
        };
        let products = llvm.intrinsic(name, &[], &[i16(a), i16(b)]).expect("sums of two products");
        llvm.bin(InstructionOpcode::Add, sum.into(), products)
    }

    fn load_block<'ctx>(&self, llvm: &Llvm<'ctx>, c: Sums<'ctx>, at: PointerValue<'ctx>) -> Vec<V<'ctx>> {
        let elem = self.problem.c.elem;
        let ty = vector_type(stored_type(llvm, elem), self.block.lanes);
        let load = |at| {
            let loaded = match self.start {
                Start::Content => llvm.load(ty, at, elem.bytes()),
                Start::Zero => ty.const_zero(),
            };
            if elem == Scalar::F16 {
                convert::to_f32(llvm, &self.isa, loaded.into_vector_value(), elem).into()
            } else {
                loaded
            }
        };
        self.places(c).map(|bytes| load(further(llvm, at, bytes))).collect()
    }

    fn store_block<'ctx>(&self, llvm: &Llvm<'ctx>, c: Sums<'ctx>, at: PointerValue<'ctx>, sums: &[V<'ctx>]) {
        let elem = self.problem.c.elem;
        for (&sum, bytes) in sums.iter().zip(self.places(c)) {
            let value = if elem == Scalar::F16 {
                convert::to_f16(llvm, &self.isa, sum.into_vector_value()).into()
            } else {
                sum
            };
            llvm.store(value, further(llvm, at, bytes), elem.bytes());
        }
    }

    /// Where the vectors of a block of `c` lie, in bytes from its first.
    fn places(&self, c: Sums<'_>) -> impl Iterator<Item = u64> + use<> {
        let (block, row_bytes, col_bytes) = (self.block, c.row, c.col);
        let row = move |row| (0..block.vectors).map(move |v| row * row_bytes + u64::from(v * block.lanes) * col_bytes);
        (0..u64::from(block.rows)).flat_map(row)
    }
}

/// Asks for a part of the panel that follows, while the present one meets the `row`th of so many blocks of `a`: it may have
/// left L2 since it was packed. Behind the last panel lies that of the next group, or something else that does no harm. Of
/// long panels the begin is asked for; the hardware foresees the rest.
fn ask_for_next_panel<'ctx>(llvm: &Llvm<'ctx>, b: View<'ctx>, row: IntValue<'ctx>, blocks: u32) {
    let part = b.block.div_ceil(blocks.into()).next_multiple_of(CACHE_LINE).min(MOST_ASKED);
    let next = stepped(llvm, further(llvm, b.base, b.block), row, part);
    for line in (0..part).step_by(CACHE_LINE as usize) {
        let (reads, in_l2, data) = (llvm.const_i32(0).into(), llvm.const_i32(2).into(), llvm.const_i32(1).into());
        llvm.intrinsic("llvm.prefetch", &[llvm.ptr().into()], &[further(llvm, next, line).into(), reads, in_l2, data]);
    }
}

/// What `body` makes of values if a condition holds, else they themselves.
fn when<'ctx>(
    llvm: &Llvm<'ctx>,
    condition: IntValue<'ctx>,
    values: Vec<V<'ctx>>,
    body: impl FnOnce(Vec<V<'ctx>>) -> Vec<V<'ctx>>,
) -> Vec<V<'ctx>> {
    let (before, inside, after) = (llvm.here(), llvm.new_block("when"), llvm.new_block("after"));
    llvm.branch(condition, inside, after);
    llvm.builder.position_at_end(inside);
    let made = body(values.clone());
    let end = llvm.here();
    llvm.jump(after);
    llvm.builder.position_at_end(after);
    let join = |(made, value): (V<'ctx>, V<'ctx>)| {
        let phi = llvm.builder.build_phi(made.get_type(), "").expect("a phi");
        phi.add_incoming(&[(&made, end), (&value, before)]);
        phi.as_basic_value()
    };
    made.into_iter().zip(values).map(join).collect()
}

/// 32-bit lanes as twice as many of 16 bits.
fn halves<'ctx>(llvm: &Llvm<'ctx>, v: VectorValue<'ctx>, elem: inkwell::types::BasicTypeEnum<'ctx>) -> V<'ctx> {
    let ty = vector_type(elem, 2 * v.get_type().get_size());
    llvm.builder.build_bit_cast(v, ty, "").expect("lanes of the same size")
}
