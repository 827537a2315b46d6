//! Blocks of tensors through the copy engine (TMA): one thread asks for them, the engine moves them between global and
//! shared memory, and tells a barrier in shared memory when what was asked for is there.
//!
//! The engine sees memory by ways of its own. What threads wrote is fenced before the engine reads it, and what the engine
//! wrote to global memory is waited for and fenced before threads may look at it.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::class::{AccessOp, EffectOp, OpClass};
use shoal_ir::nonnegative::is_non_negative;
use shoal_ir::tensor_map::{BlockBuffer, made_desc};
use shoal_ir::types::{DescType, Padding};
use shoal_ir::{Elem, Func, OpId, OpKind, Structure, Value};
use shoal_layout::{InDim, LinearLayout};

use super::control::any_inside;
use super::convert::braced;
use super::emitter::{Emitter, SharedTile};
use crate::shared::llvm::V;

/// Buffers begin at multiples of this, for the sake of the widest swizzle.
pub(super) const ALIGNMENT: u32 = 1024;
/// The bytes of a barrier.
pub(super) const BARRIER: u32 = 8;
/// Where shared memory is scarce, more than this is stored in parts.
const LARGE: u32 = 32 << 10;

/// The operations that make a kernel's descriptors, in the order in which their maps are passed.
pub(super) fn mapped(func: &Func) -> Vec<OpId> {
    func.walk().into_iter().filter(|&op| made_desc(func, op).is_some()).collect()
}

/// How blocks of a descriptor lie in shared memory.
pub(super) fn block_buffer(func: &Func, desc: Value) -> Option<BlockBuffer> {
    BlockBuffer::of(made_desc(func, func.def_op(desc)?)?)
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Whether this is the thread that speaks for the program.
    pub(super) fn is_first_thread(&self) -> V<'ctx> {
        self.llvm.icmp(IntPredicate::EQ, self.thread.into(), self.llvm.const_i32(0).into())
    }

    /// Makes barriers, one behind the other, each of which expects so many arrivals. All threads must wait for each other
    /// before they use them.
    pub(super) fn make_barriers(&self, at: u32, arrivals: &[u32], by: V<'ctx>) {
        let llvm = self.llvm;
        for (index, arrivals) in arrivals.iter().enumerate() {
            let barrier = self.shared_address(llvm.const_i32((at + BARRIER * index as u32).into()));
            llvm.ptx_act(&format!("@$1 mbarrier.init.shared::cta.b64 [$0], {arrivals};"), &[barrier, by]);
        }
        llvm.ptx_act("fence.mbarrier_init.release.cluster;", &[]);
    }

    /// Gives the memory of barriers free. No thread may wait for them any more.
    pub(super) fn end_barriers(&self, at: u32, count: u32, by: V<'ctx>) {
        for index in 0..count {
            let barrier = self.shared_address(self.llvm.const_i32((at + BARRIER * index).into()));
            self.llvm.ptx_act("@$1 mbarrier.inval.shared::cta.b64 [$0];", &[barrier, by]);
        }
    }

    /// Lets a barrier expect so many bytes; one arrival.
    pub(super) fn expect_bytes(&self, barrier: V<'ctx>, bytes: u32, by: V<'ctx>) {
        let text = format!("@$1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {bytes};");
        self.llvm.ptx_act(&text, &[barrier, by]);
    }

    /// Waits until the phase of a barrier with this parity is over.
    pub(super) fn wait_for_barrier(&self, barrier: V<'ctx>, parity: V<'ctx>) {
        let text = "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n\
                    @!done bra.uni again;\n}";
        self.llvm.ptx_act(text, &[barrier, parity]);
    }

    /// Asks for a block of a tensor, if `wanted`; the barrier is told of its bytes.
    pub(super) fn copy_block(
        &self,
        desc: Value,
        offsets: &[V<'ctx>],
        base: IntValue<'ctx>,
        barrier: V<'ctx>,
        wanted: V<'ctx>,
    ) {
        let rank = offsets.len();
        let text = format!(
            "@$1 cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [$2], [$0, {}], [$3];",
            braced(4, rank)
        );
        let buffer = block_buffer(self.func, desc).expect("what the engine cannot move was refused");
        for (map, place, coordinates) in self.block_copies(desc, &buffer, offsets, base) {
            let operands: Vec<V<'ctx>> = [map, wanted, place, barrier].into_iter().chain(coordinates).collect();
            self.llvm.ptx_act(&text, &operands);
        }
    }

    /// For each copy of a block: the map, the address in shared memory, and the coordinates as the engine takes them.
    fn block_copies(
        &self,
        desc: Value,
        buffer: &BlockBuffer,
        offsets: &[V<'ctx>],
        base: IntValue<'ctx>,
    ) -> Vec<(V<'ctx>, V<'ctx>, Vec<V<'ctx>>)> {
        let llvm = self.llvm;
        let maker = self.func.def_op(desc).expect("descriptors are made in the kernel");
        let map = self.tensor_maps[&maker].into();
        let start = self.shared_address(base);
        let add = |number: V<'ctx>, more: u32| match more {
            0 => number,
            more => llvm.bin(Op::Add, number, llvm.const_i32(more.into()).into()),
        };
        buffer
            .copies()
            .into_iter()
            .map(|copy| {
                let coordinates = offsets.iter().zip(&copy.first).rev().map(|(&offset, &first)| add(offset, first));
                (map, add(start, copy.offset), coordinates.collect())
            })
            .collect()
    }

    /// Blocks that the program stored are in memory: before it asks for others, or stores more.
    pub(super) fn wait_for_stored_blocks(&self) {
        if any_inside(self.func, self.func.body(), |kind| matches!(kind, OpKind::DescStore)) {
            self.llvm.ptx_act("cp.async.bulk.wait_group 0;", &[]);
        }
    }

    /// A block of a tensor, in registers.
    pub(super) fn desc_load(&mut self, op: OpId) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let (desc, result) = (data.operands()[0], data.result());
        let offsets: Vec<V<'ctx>> = data.operands()[1..].iter().map(|&offset| self.scalar(offset)).collect();
        let buffer = block_buffer(func, desc).expect("what the engine cannot move was refused");
        self.shared.floor = self.shared.floor.next_multiple_of(ALIGNMENT);
        let at = self.use_scratch((buffer.bytes() + BARRIER).next_multiple_of(ALIGNMENT));
        let (base, barrier_at) = (llvm.const_i32(at.into()), at + buffer.bytes());
        let barrier = self.shared_address(llvm.const_i32(barrier_at.into()));
        if threads_write(func) {
            // What they wrote, and what they learned that others wrote.
            llvm.ptx_act("fence.proxy.async;", &[]);
            self.block_barrier();
        }
        let first = self.is_first_thread();
        self.make_barriers(barrier_at, &[1], first);
        llvm.ptx_act("fence.proxy.async.shared::cta;", &[]);
        self.wait_for_stored_blocks();
        self.expect_bytes(barrier, buffer.bytes(), first);
        self.copy_block(desc, &offsets, base, barrier, first);
        self.block_barrier();
        self.wait_for_barrier(barrier, llvm.const_i32(0).into());
        self.block_barrier();
        self.end_barriers(barrier_at, 1, first);
        let tile = SharedTile { base, memory: buffer.memory, slot: None };
        let layout = self.layout(result).clone();
        let numbers = self.read_shared(&tile, &layout, self.elem(result));
        self.scratch_is_read();
        self.hold_tile(result, numbers);
    }

    /// Writes a block of a tensor, in parts if shared memory is scarce.
    pub(super) fn desc_store(&mut self, op: OpId) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let value = data.operands()[1];
        let mut offsets: Vec<V<'ctx>> = data.operands()[2..].iter().map(|&offset| self.scalar(offset)).collect();
        let numbers = self.numbers(value);
        let (buffer, layout, parts) = self.stored_part(op);
        let each = numbers.len() / parts as usize;
        let columns = layout.shape().last().copied().unwrap_or(0);
        self.wait_for_stored_blocks();
        for (part, numbers) in numbers.chunks(each).enumerate() {
            if part > 0
                && let Some(last) = offsets.last_mut()
            {
                *last = llvm.bin(Op::Add, *last, llvm.const_i32(columns.into()).into());
            }
            self.store_part(op, (&buffer, &layout), numbers, &offsets);
        }
        if is_observed(func, op) {
            llvm.ptx_act("cp.async.bulk.wait_group 0;", &[]);
            llvm.ptx_act("fence.proxy.async;", &[]);
            self.block_barrier();
        }
        self.scratch_is_read();
    }

    /// Writes a part of a block; its memory is there again when it was read. The engine takes no negative coordinates to
    /// write to: where there may be one, the threads are ready to write what of the block is inside the tensor.
    fn store_part(
        &mut self,
        op: OpId,
        (buffer, layout): (&BlockBuffer, &LinearLayout),
        numbers: &[V<'ctx>],
        offsets: &[V<'ctx>],
    ) {
        let llvm = self.llvm;
        let (rank, operands) = (offsets.len(), self.func.op(op).operands());
        let desc = operands[0];
        let signed = offsets.iter().zip(&operands[2..]).filter(|&(_, &offset)| !is_non_negative(self.func, offset));
        let zero: V<'ctx> = llvm.const_i32(0).into();
        let negative =
            signed.map(|(&offset, _)| llvm.icmp(IntPredicate::SLT, offset, zero)).reduce(|a, b| llvm.bin(Op::Or, a, b));
        self.shared.floor = self.shared.floor.next_multiple_of(ALIGNMENT);
        let at = self.use_scratch(buffer.bytes().next_multiple_of(ALIGNMENT));
        let base = llvm.const_i32(at.into());
        self.write_shared(numbers, layout, &buffer.memory, base, self.desc_elem(desc));
        llvm.ptx_act("fence.proxy.async.shared::cta;", &[]);
        self.block_barrier();
        let mut first = self.is_first_thread();
        if let Some(negative) = negative {
            first = llvm.bin(Op::And, first, llvm.not(negative));
        }
        let text =
            format!("@$1 cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [$0, {}], [$2];", braced(3, rank));
        for (map, place, coordinates) in self.block_copies(desc, buffer, offsets, base) {
            let operands: Vec<V<'ctx>> = [map, first, place].into_iter().chain(coordinates).collect();
            llvm.ptx_act(&text, &operands);
        }
        llvm.ptx_act("cp.async.bulk.commit_group;", &[]);
        llvm.ptx_act("cp.async.bulk.wait_group.read 0;", &[]);
        if let Some(negative) = negative {
            self.when(Some(negative.into_int_value()), |e| e.store_inside(desc, buffer, offsets, base));
        }
        self.scratch_is_read();
    }

    /// The threads write what of a block in shared memory is inside the tensor.
    fn store_inside(&mut self, desc: Value, buffer: &BlockBuffer, offsets: &[V<'ctx>], base: IntValue<'ctx>) {
        let (llvm, func) = (self.llvm, self.func);
        let make = func.def_op(desc).map(|op| func.op(op).operands()).expect("descriptors are made in the kernel");
        let wide = |e: &Self, value: Value| {
            let how = if e.number(value).is_unsigned_int() { Op::ZExt } else { Op::SExt };
            llvm.cast(how, e.scalar(value), llvm.i64().into())
        };
        let rank = offsets.len();
        let (sizes, strides) = (&make[1..=rank], &make[1 + rank..]);
        let bytes = self.desc_elem(desc).bytes();
        let elements = u64::from(buffer.bytes() / bytes);
        let threads = u64::from(32 * func.gpu.num_warps);
        let this = std::cell::RefCell::new(&mut *self);
        llvm.counted_loop(elements.max(threads), threads, &[], &mut |round, _| {
            let mut guard = this.borrow_mut();
            let e = &mut **guard;
            let round = llvm.cast(Op::Trunc, round.into(), llvm.i32().into());
            let at = llvm.bin(Op::Add, round, e.thread.into()).into_int_value();
            let mut inside = llvm.icmp(IntPredicate::ULT, at.into(), llvm.const_i32(elements as i64).into());
            let mut distance: V<'ctx> = llvm.const_i64(0).into();
            for dim in 0..rank {
                let columns: Vec<u64> = buffer.memory.bases(InDim::Offset).map(|basis| basis[dim].into()).collect();
                let coordinate = llvm.cast(Op::ZExt, e.column_sum(at, &columns).into(), llvm.i64().into());
                let first = llvm.cast(Op::SExt, offsets[dim], llvm.i64().into());
                let index = llvm.bin(Op::Add, first, coordinate);
                let from = llvm.icmp(IntPredicate::SGE, index, llvm.const_i64(0).into());
                let to = llvm.icmp(IntPredicate::SLT, index, wide(e, sizes[dim]));
                inside = llvm.bin(Op::And, inside, llvm.bin(Op::And, from, to));
                distance = llvm.bin(Op::Add, distance, llvm.bin(Op::Mul, index, wide(e, strides[dim])));
            }
            e.when(Some(inside.into_int_value()), |e| {
                let scale = |number: V<'ctx>, by: V<'ctx>| llvm.bin(Op::Mul, number, by).into_int_value();
                let from = scale(at.into(), llvm.const_i32(bytes.into()).into());
                let number = e.load_shared(
                    llvm.int_type(bytes * 8),
                    llvm.bin(Op::Add, base.into(), from.into()).into_int_value(),
                    bytes,
                );
                let to = llvm.offset(e.global(e.scalar(make[0])), scale(distance, llvm.const_i64(bytes.into()).into()));
                llvm.store(number, to, bytes);
            });
            Vec::new()
        });
        // Before the engine reads what was written here.
        llvm.ptx_act("fence.proxy.async;", &[]);
        self.block_barrier();
    }

    fn desc_elem(&self, desc: Value) -> Elem {
        let made = self.func.def_op(desc).and_then(|op| made_desc(self.func, op));
        Elem::Scalar(made.expect("descriptors are made in the kernel").elem)
    }

    /// The part of a block that a store writes at once: its buffer, its layout, and how many parts there are, side by side.
    /// Where loops have rings for themselves, large blocks are cut in halves as long as the registers are.
    fn stored_part(&self, op: OpId) -> (BlockBuffer, LinearLayout, u32) {
        let func = self.func;
        let (desc, value) = (func.op(op).operands()[0], func.op(op).operands()[1]);
        let layout = self.layout(value).clone();
        let whole = block_buffer(func, desc).expect("what the engine cannot move was refused");
        let mut found = (whole.clone(), layout, 1);
        if !self.specialises {
            return found;
        }
        while found.0.bytes() > LARGE {
            let Some((buffer, layout)) = half(&whole, &found.1, self.desc_elem(desc)) else { break };
            found = (buffer, layout, 2 * found.2);
        }
        found
    }

    /// The shared memory that a store needs.
    pub(super) fn store_bytes(&self, op: OpId) -> u32 {
        self.stored_part(op).0.bytes() + ALIGNMENT
    }
}

/// The left half of a tile, if the last register bit tells the halves apart and the engine moves both by the same copies.
fn half(whole: &BlockBuffer, layout: &LinearLayout, elem: Elem) -> Option<(BlockBuffer, LinearLayout)> {
    let mut shape = layout.shape();
    let columns = shape.last_mut()?;
    *columns /= 2;
    let registers: Vec<Vec<u32>> = layout.bases(InDim::Register).collect();
    let (last, kept) = registers.split_last()?;
    let (at, rest) = last.split_last()?;
    let others = InDim::ALL.into_iter().filter(|&dim| dim != InDim::Register);
    let bases = others.map(|dim| (dim, layout.bases(dim).collect::<Vec<_>>()));
    let halved = bases.chain([(InDim::Register, kept.to_vec())]).collect::<Vec<_>>();
    if *at != *columns || rest.iter().any(|&coordinate| coordinate != 0) {
        return None;
    }
    let layout = LinearLayout::from_bases(halved, &shape).ok()?;
    let desc = DescType { elem: elem.scalar()?, block: shape.as_slice().into(), padding: Padding::Zero };
    let buffer = BlockBuffer::of(&desc)?;
    (buffer.copy == whole.copy && buffer.swizzle == whole.swizzle).then_some((buffer, layout))
}

/// Whether threads of a kernel write global memory, or learn of what others wrote.
pub(super) fn threads_write(func: &Func) -> bool {
    func.walk().into_iter().any(|op| match func.op(op).kind.class() {
        OpClass::Access(AccessOp::Store { .. }) | OpClass::Atomic(..) | OpClass::Comm(_) => true,
        OpClass::Effect(effect) => matches!(effect, EffectOp::Barrier | EffectOp::Fence { .. }),
        OpClass::Access(AccessOp::Load(_))
        | OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Desc(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => false,
    })
}

/// Whether the program does anything after a store that must come after it, and by other ways than the engine's: accesses
/// memory, or tells others. What the engine does next waits itself ([`Emitter::wait_for_stored_blocks`]).
fn is_observed(func: &Func, store: OpId) -> bool {
    let around = around_of(func, store);
    let mut after = false;
    func.walk().into_iter().any(|op| {
        let again = around.is_some_and(|outer| is_inside(func, op, outer));
        let later = (after || again) && reaches_memory(func, op);
        after |= op == store;
        later
    })
}

/// The outermost loop around an operation.
fn around_of(func: &Func, op: OpId) -> Option<OpId> {
    let mut found = None;
    let mut region = func.op(op).parent();
    while let Some(owner) = region.and_then(|region| func.region(region).owner()) {
        if matches!(Structure::of_op(func, owner), Structure::For | Structure::While) {
            found = Some(owner);
        }
        region = func.op(owner).parent();
    }
    found
}

fn is_inside(func: &Func, op: OpId, outer: OpId) -> bool {
    let parent = func.op(op).parent();
    parent.is_some_and(|region| func.op(outer).regions().iter().any(|&inner| func.is_inside(region, inner)))
}

fn reaches_memory(func: &Func, op: OpId) -> bool {
    match func.op(op).kind.class() {
        OpClass::Access(_) | OpClass::Atomic(..) | OpClass::Comm(_) => true,
        OpClass::Effect(effect) => matches!(effect, EffectOp::Barrier | EffectOp::Fence { .. }),
        OpClass::Desc(_)
        | OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => false,
    }
}
