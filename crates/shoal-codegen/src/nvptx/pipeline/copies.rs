//! A loop that runs ahead of itself: its copies, and what goes from trip to trip for them.

use std::rc::Rc;

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::{OpId, Value};
use shoal_layout::SharedAccess;

use super::super::emitter::{Emitter, Held, SharedTile, Slot};
use super::super::tensor_copy::{BARRIER, threads_write};
use super::{AheadLoad, How, Moves, Plan, Unfinished};
use crate::shared::llvm::V;

/// A loop that runs ahead of itself.
pub(in super::super) struct Pipeline<'ctx> {
    pub(super) plan: Rc<Plan>,
    /// The slots that this trip reads and writes, for each kind of ring.
    slots: Vec<[V<'ctx>; 2]>,
    /// The parity of the barrier that this trip waits for: it changes when the longest ring was gone around.
    parity: V<'ctx>,
    /// The counter and the carried values, so many trips ahead.
    counter: V<'ctx>,
    ahead: Vec<V<'ctx>>,
    /// For each load what its addresses add to its pointer, as numbers.
    offsets: Vec<Option<Vec<V<'ctx>>>>,
}

impl<'ctx> Pipeline<'ctx> {
    /// A loop that other warps bring its loads to: it copies nothing itself.
    pub(super) fn fed(plan: Rc<Plan>, zero: V<'ctx>) -> Pipeline<'ctx> {
        Pipeline { plan, slots: Vec::new(), parity: zero, counter: zero, ahead: Vec::new(), offsets: Vec::new() }
    }

    /// The product that goes on while the next trip begins.
    pub(in super::super) fn unfinished(&self) -> Option<&Unfinished> {
        self.plan.unfinished.as_ref()
    }

    fn has_copies_by_threads(&self) -> bool {
        self.plan.loads.iter().any(|load| !load.is_by_engine())
    }

    /// What goes from trip to trip.
    fn state(&self) -> Vec<V<'ctx>> {
        let slots = self.slots.iter().flatten().copied();
        let parity = self.plan.engine.map(|_| self.parity);
        slots.chain(parity).chain([self.counter]).chain(self.ahead.iter().copied()).collect()
    }

    fn set_state(&mut self, state: &[V<'ctx>]) {
        let (slots, rest) = state.split_at(2 * self.slots.len());
        self.slots = slots.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
        let (parity, rest) = rest.split_at(usize::from(self.plan.engine.is_some()));
        self.parity = parity.first().copied().unwrap_or(self.parity);
        self.counter = rest[0];
        self.ahead = rest[1..].to_vec();
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// What goes from trip to trip of the innermost loop that runs ahead.
    pub(in super::super) fn pipeline_state(&self) -> Vec<V<'ctx>> {
        self.pipelines.last().map(|(_, pipeline)| pipeline.state()).unwrap_or_default()
    }

    /// Copies what the first trips need; the loop's pipeline is the innermost from then on.
    pub(in super::super) fn fill_pipeline(&mut self, op: OpId, plan: Plan) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        if let Some(engine) = plan.engine {
            let slots = plan.rings.last().copied().unwrap_or(0) as usize;
            self.make_barriers(engine.barriers, &vec![1; slots], self.is_first_thread());
            // What threads wrote there before, and in global memory.
            let all = if threads_write(func) { "fence.proxy.async;" } else { "fence.proxy.async.shared::cta;" };
            llvm.ptx_act(all, &[]);
            self.wait_for_stored_blocks();
        }
        // Whoever used this memory before must be done with it.
        self.block_barrier();
        let ahead: Vec<V<'ctx>> = {
            let values: Vec<Value> = plan.carried.iter().map(|&index| data.operands()[3 + index]).collect();
            self.flatten(&values)
        };
        let (first, counter) = (llvm.const_i32(0).into(), self.scalar(data.operands()[0]));
        let stages = plan.stages;
        let slots = vec![[first; 2]; plan.rings.len()];
        let offsets = plan.loads.iter().map(|load| self.offsets(load)).collect();
        let mut pipeline = Pipeline { plan: Rc::new(plan), slots, parity: first, counter, ahead, offsets };
        for _ in 1..stages {
            self.copy_ahead(op, &mut pipeline);
        }
        self.pipelines.push((op, pipeline));
    }

    /// The start of a trip: waits for what it needs, and copies what a later one will.
    pub(in super::super) fn advance_pipeline(&mut self, state: &[V<'ctx>]) {
        let llvm = self.llvm;
        let Some((op, mut pipeline)) = self.pipelines.pop() else { unreachable!("a loop that runs ahead") };
        pipeline.set_state(state);
        let stages = pipeline.plan.stages;
        if pipeline.has_copies_by_threads() {
            llvm.ptx_act(&format!("cp.async.wait_group {};", stages - 2), &[]);
            if self.uses_wgmma {
                llvm.ptx_act("fence.proxy.async.shared::cta;", &[]);
            }
        }
        if let (Some(engine), Some(slots)) = (pipeline.plan.engine, pipeline.slots.last()) {
            let barrier = self.barrier_of(engine.barriers, slots[0]);
            self.wait_for_barrier(barrier, pipeline.parity);
        }
        self.block_barrier();
        for load in &pipeline.plan.loads {
            self.hold_slot(load, pipeline.slots[load.ring][0]);
        }
        for (slots, &count) in pipeline.slots.iter_mut().zip(&pipeline.plan.rings) {
            slots[0] = next_slot(llvm, slots[0], count);
        }
        if let (Some(_), Some(slots)) = (pipeline.plan.engine, pipeline.slots.last()) {
            pipeline.parity = flipped_at_start(llvm, pipeline.parity, slots[0]);
        }
        if pipeline.plan.copy_after.is_none() {
            self.copy_ahead(op, &mut pipeline);
        }
        let unfinished = pipeline.plan.unfinished.clone();
        self.pending = unfinished.filter(|product| !product.only_adds).map(|product| product.param);
        self.pipelines.push((op, pipeline));
    }

    /// Holds what a load has brought to a slot.
    pub(super) fn hold_slot(&mut self, load: &AheadLoad, index: V<'ctx>) {
        let slot = Slot { index: index.into_int_value(), first: load.base, bytes: load.bytes };
        let tile = SharedTile { base: self.slot(load, index), memory: load.memory.clone(), slot: Some(slot) };
        self.hold(self.func.op(load.op).result(), Held::Shared(tile));
        self.ahead.insert(load.op);
    }

    /// A product has begun: makes the trip's copies, if they were to wait for it.
    pub(in super::super) fn copy_after(&mut self, product: OpId) {
        let due = self.pipelines.last().is_some_and(|(_, pipeline)| pipeline.plan.copy_after == Some(product));
        if due && let Some((op, mut pipeline)) = self.pipelines.pop() {
            self.copy_ahead(op, &mut pipeline);
            self.pipelines.push((op, pipeline));
        }
    }

    /// No copy may arrive after the loop, and no product be unfinished: gives the carried values as they are then.
    pub(in super::super) fn drain_pipeline(&mut self, op: OpId, mut carried: Vec<V<'ctx>>) -> Vec<V<'ctx>> {
        let Some((_, pipeline)) = self.pipelines.pop() else { unreachable!("a loop that runs ahead") };
        if pipeline.has_copies_by_threads() {
            self.llvm.ptx_act("cp.async.wait_group 0;", &[]);
        }
        if let Some(engine) = pipeline.plan.engine {
            self.block_barrier();
            let slots = pipeline.plan.rings.last().copied().unwrap_or(0);
            self.end_barriers(engine.barriers, slots, self.is_first_thread());
        }
        for load in &pipeline.plan.loads {
            self.ahead.remove(&load.op);
        }
        self.finish_unfinished(op, &pipeline, &mut carried);
        carried
    }

    /// Waits for the product that the last trip left unfinished, whose sums are among the carried values.
    pub(super) fn finish_unfinished(&mut self, op: OpId, pipeline: &Pipeline<'ctx>, carried: &mut Vec<V<'ctx>>) {
        if let Some(product) = &pipeline.plan.unfinished {
            let before: usize = self.func.op(op).results()[..product.carried].iter().map(|&v| self.count_of(v)).sum();
            let sums = before..before + self.count_of(product.param);
            let finished = self.finish_products(&carried[sums.clone()]);
            carried.splice(sums, finished);
        }
    }

    pub(super) fn slot(&self, load: &AheadLoad, slot: V<'ctx>) -> IntValue<'ctx> {
        let llvm = self.llvm;
        let scaled = llvm.bin(Op::Mul, slot, llvm.const_i32(load.bytes.into()).into());
        llvm.bin(Op::Add, scaled, llvm.const_i32(load.base.into()).into()).into_int_value()
    }

    /// Copies what the trip of `pipeline.counter` needs, and goes on to the next.
    fn copy_ahead(&mut self, op: OpId, pipeline: &mut Pipeline<'ctx>) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let body = data.regions()[0];
        let params = func.region(body).params();
        let carried: Vec<Value> = pipeline.plan.carried.iter().map(|&index| params[1 + index]).collect();
        // The same operations, with the values that they have so many trips later.
        let outside = self.held.clone();
        self.hold(params[0], Held::Scalar(pipeline.counter));
        self.hold_flat(&carried, &pipeline.ahead.clone());
        for &op in &pipeline.plan.slice {
            self.op(op);
        }
        let (to, step) = (self.scalar(data.operands()[1]), self.scalar(data.operands()[2]));
        let signed = self.number(data.operands()[0]).is_signed_int();
        let predicate = if signed { IntPredicate::SLT } else { IntPredicate::ULT };
        let happens = llvm.icmp(predicate, pipeline.counter, to);
        for (load, offsets) in pipeline.plan.loads.iter().zip(&pipeline.offsets) {
            let How::Threads { access, run, moves } = &load.how else { continue };
            let base = self.slot(load, pipeline.slots[load.ring][1]);
            let from = self.addresses(load.op, moves.as_ref(), offsets.as_deref());
            self.copy(load.op, (access, *run), &from, base, happens);
        }
        if pipeline.has_copies_by_threads() {
            llvm.ptx_act("cp.async.commit_group;", &[]);
        }
        if let (Some(engine), Some(slots)) = (pipeline.plan.engine, pipeline.slots.last()) {
            let barrier = self.barrier_of(engine.barriers, slots[1]);
            let asks = llvm.bin(Op::And, happens, self.is_first_thread());
            self.expect_bytes(barrier, engine.bytes, asks);
            for load in pipeline.plan.loads.iter().filter(|load| load.is_by_engine()) {
                self.copy_ahead_block(load, pipeline.slots[load.ring][1], barrier, asks);
            }
        }
        let yielded: Vec<Value> = pipeline.plan.carried.iter().map(|&index| func.yielded(body)[index]).collect();
        pipeline.ahead = self.flatten(&yielded);
        self.held = outside;
        pipeline.counter = llvm.bin(Op::Add, pipeline.counter, step);
        for (slots, &count) in pipeline.slots.iter_mut().zip(&pipeline.plan.rings) {
            slots[1] = next_slot(llvm, slots[1], count);
        }
    }

    /// Asks for the block of a load, into a slot of its ring.
    pub(super) fn copy_ahead_block(&self, load: &AheadLoad, slot: V<'ctx>, barrier: V<'ctx>, asks: V<'ctx>) {
        let operands = self.func.op(load.op).operands();
        let offsets: Vec<V<'ctx>> = operands[1..].iter().map(|&offset| self.scalar(offset)).collect();
        self.copy_block(operands[0], &offsets, self.slot(load, slot), barrier, asks);
    }

    /// The barrier of a slot.
    pub(super) fn barrier_of(&self, first: u32, slot: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let scaled = llvm.bin(Op::Mul, slot, llvm.const_i32(BARRIER.into()).into());
        self.shared_address(llvm.bin(Op::Add, scaled, llvm.const_i32(first.into()).into()).into_int_value())
    }

    /// What a load's addresses add to its pointer; computed here, before the loop.
    fn offsets(&mut self, load: &AheadLoad) -> Option<Vec<V<'ctx>>> {
        let How::Threads { moves: Some(moves), .. } = &load.how else { return None };
        let llvm = self.llvm;
        let outside = self.held.clone();
        // The addresses that a pointer to nowhere would give.
        self.hold(moves.pointer, Held::Scalar(llvm.ptr().const_null().into()));
        for &op in &moves.chain {
            self.op(op);
        }
        let addresses = self.numbers(self.func.op(load.op).operands()[0]);
        self.held = outside;
        Some(addresses.iter().map(|&address| llvm.ptr_to_int(address.into_pointer_value()).into()).collect())
    }

    /// The addresses of a load in this trip, as numbers: one sum for each, or as the kernel computes them.
    fn addresses(&mut self, load: OpId, moves: Option<&Moves>, offsets: Option<&[V<'ctx>]>) -> Vec<V<'ctx>> {
        let llvm = self.llvm;
        match (moves, offsets) {
            (Some(moves), Some(offsets)) => {
                let pointer = llvm.ptr_to_int(self.scalar(moves.pointer).into_pointer_value());
                // As if it were new in each trip: LLVM would carry every sum instead, which takes more instructions.
                let pointer = llvm.ptx_value("mov.b64 $0, $1;", llvm.i64().into(), &[pointer.into()]);
                offsets.iter().map(|&offset| llvm.bin(Op::Add, pointer, offset)).collect()
            }
            _ => self.numbers(self.func.op(load).operands()[0]).to_vec(),
        }
    }

    /// Copies one tile; what is masked out, or of a trip that does not happen, becomes zeros.
    fn copy(
        &mut self,
        load: OpId,
        (access, run): (&SharedAccess, u32),
        from: &[V<'ctx>],
        base: IntValue<'ctx>,
        happens: V<'ctx>,
    ) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(load));
        let masks = data.operands().get(1).map(|&mask| self.numbers(mask));
        let addresses = self.window_addresses(access, base);
        let bytes = run * access.element_bits / 8;
        let cache = if bytes == 16 { "cg" } else { "ca" };
        // The predicate says that nothing is read.
        let text = format!("cp.async.{cache}.shared.global [$0], [$1], {bytes}, $2;");
        for (list, &address) in access.registers.iter().zip(&addresses) {
            for (part, registers) in list.chunks(run as usize).enumerate() {
                let at = llvm.bin(Op::Add, address, llvm.const_i32(i64::from(part as u32 * bytes)).into());
                let register = registers[0] as usize;
                let wanted = masks.as_ref().map_or(happens, |masks| llvm.bin(Op::And, happens, masks[register]));
                llvm.ptx_act(&text, &[at, from[register], llvm.not(wanted)]);
            }
        }
    }
}

/// A parity that changes when a ring begins anew.
pub(super) fn flipped_at_start<'ctx>(
    llvm: &crate::shared::llvm::Llvm<'ctx>,
    parity: V<'ctx>,
    slot: V<'ctx>,
) -> V<'ctx> {
    let anew = llvm.icmp(IntPredicate::EQ, slot, llvm.const_i32(0).into());
    llvm.bin(Op::Xor, parity, llvm.cast(Op::ZExt, anew, llvm.i32().into()))
}

pub(super) fn next_slot<'ctx>(llvm: &crate::shared::llvm::Llvm<'ctx>, slot: V<'ctx>, slots: u32) -> V<'ctx> {
    let next = llvm.bin(Op::Add, slot, llvm.const_i32(1).into());
    let over = llvm.icmp(IntPredicate::EQ, next, llvm.const_i32(slots.into()).into());
    llvm.select(over, llvm.const_i32(0).into(), next)
}
