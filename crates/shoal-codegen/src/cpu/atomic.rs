//! Atomic operations, and waiting for memory to change.

use inkwell::values::{BasicValue, InstructionOpcode, PointerValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp, IntPredicate};
use shoal_abi::Hook;
use shoal_ir::class::{AtomicOp, OpClass};
use shoal_ir::op::{BinaryOp, OpKind, RmwOp, Sem};
use shoal_ir::{Elem, OpId, Shape};

use super::chunk::Chunk;
use super::emitter::Emitter;
use super::runtime_calls::Patience;
use super::tile_loops::Width;
use crate::shared::arith;
use crate::shared::llvm::V;
use crate::shared::value_type::{from_memory, memory_type, register_type, to_memory};

impl<'ctx> Emitter<'_, 'ctx> {
    /// Atomic operations on each element, in row-major order.
    pub(super) fn atomic_op(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        self.read_before_write();
        self.prepare(data.operands());
        let shape = Shape::from_slice(self.shape(data.operands()[0]));
        let result = data.results().first().copied();
        if shape.is_empty() {
            let operands: Vec<V<'ctx>> = data.operands().iter().map(|&v| self.scalar(v)).collect();
            let value = self.atomic_element(op, &operands);
            if let (Some(result), Some(value)) = (result, value) {
                self.scalars.insert(result, value);
            }
            return;
        }
        let buffer = result.map(|r| self.allocate(self.elem(r), &shape));
        self.for_each_chunk(&shape, Width::One, &mut |e, index| {
            let operands: Vec<V<'ctx>> = data.operands().iter().map(|&v| e.scalar_at(v, index)).collect();
            if let (Some(value), Some(buffer)) = (e.atomic_element(op, &operands), &buffer) {
                buffer.write(e.llvm, index, Chunk::Uniform(value));
            }
        });
        self.finish_root();
        if let (Some(result), Some(buffer)) = (result, buffer) {
            self.buffers.insert(result, buffer);
        }
    }

    /// One atomic access; gives what was there before, if the operation has a result.
    fn atomic_element(&mut self, op: OpId, operands: &[V<'ctx>]) -> Option<V<'ctx>> {
        let func = self.func;
        let data = func.op(op);
        let OpClass::Atomic(atomic, ..) = data.kind.class() else { unreachable!("an atomic access") };
        let (mask_at, elem) = match atomic {
            AtomicOp::Load => (1, self.elem(data.results()[0])),
            AtomicOp::Rmw(_) | AtomicOp::Store => (2, self.elem(data.operands()[1])),
            AtomicOp::Cas => (3, self.elem(data.operands()[1])),
            AtomicOp::Poll => unreachable!("a poll is a loop of its own"),
        };
        let mask = operands.get(mask_at).copied();
        let access = |e: &mut Self| e.atomic_access(op, elem, operands);
        match mask {
            None => access(self),
            Some(mask) if data.results().is_empty() => {
                self.when(mask, &[], |e| {
                    access(e);
                    Vec::new()
                });
                None
            }
            Some(mask) => {
                let zero = register_type(self.llvm, elem).const_zero();
                self.when(mask, &[zero], |e| access(e).into_iter().collect()).first().copied()
            }
        }
    }

    fn atomic_access(&mut self, op: OpId, elem: Elem, operands: &[V<'ctx>]) -> Option<V<'ctx>> {
        let llvm = self.llvm;
        let pointer = operands[0].into_pointer_value();
        self.check(op, Chunk::Uniform(operands[0]), None, 1);
        let kind = &self.func.op(op).kind;
        let OpClass::Atomic(atomic, sem, _) = kind.class() else { unreachable!("{kind:?} is not an atomic access") };
        match atomic {
            AtomicOp::Load => {
                let bits = llvm.int_type(elem.bytes() * 8);
                let value = llvm.load(bits, pointer, elem.bytes());
                let instruction = value.as_instruction_value().expect("a load");
                instruction.set_atomic_ordering(load_ordering(sem)).expect("an ordering a load can have");
                Some(self.value_of(elem, value))
            }
            AtomicOp::Store => {
                let value = self.bits_of(elem, operands[1]);
                let instruction = llvm.builder.build_store(pointer, value).expect("a store");
                instruction.set_alignment(elem.bytes()).expect("an alignment");
                instruction.set_atomic_ordering(store_ordering(sem)).expect("an ordering a store can have");
                None
            }
            AtomicOp::Cas => {
                let (expected, new) = (self.bits_of(elem, operands[1]), self.bits_of(elem, operands[2]));
                let pair = llvm
                    .builder
                    .build_cmpxchg(pointer, expected, new, ordering(sem), load_ordering(sem))
                    .expect("a compare-and-swap");
                let old = llvm.builder.build_extract_value(pair, 0, "").expect("the old value");
                Some(self.value_of(elem, old))
            }
            AtomicOp::Rmw(op) => Some(self.atomic_rmw(op, sem, elem, pointer, operands[1])),
            AtomicOp::Poll => unreachable!("a poll is a loop of its own"),
        }
    }

    fn atomic_rmw(
        &mut self,
        op: RmwOp,
        sem: Sem,
        elem: Elem,
        pointer: PointerValue<'ctx>,
        operand: V<'ctx>,
    ) -> V<'ctx> {
        let llvm = self.llvm;
        let signed = elem.scalar().is_some_and(|s| s.is_signed_int());
        let float = elem.scalar().is_some_and(|s| s.is_float());
        let kind = match op {
            RmwOp::Add if float => return self.float_rmw(BinaryOp::Add, sem, elem, pointer, operand),
            RmwOp::Min if float => return self.float_rmw(BinaryOp::Min, sem, elem, pointer, operand),
            RmwOp::Max if float => return self.float_rmw(BinaryOp::Max, sem, elem, pointer, operand),
            RmwOp::Add => AtomicRMWBinOp::Add,
            RmwOp::Min if signed => AtomicRMWBinOp::Min,
            RmwOp::Min => AtomicRMWBinOp::UMin,
            RmwOp::Max if signed => AtomicRMWBinOp::Max,
            RmwOp::Max => AtomicRMWBinOp::UMax,
            RmwOp::And => AtomicRMWBinOp::And,
            RmwOp::Or => AtomicRMWBinOp::Or,
            RmwOp::Xor => AtomicRMWBinOp::Xor,
            RmwOp::Xchg => AtomicRMWBinOp::Xchg,
        };
        let bits = self.bits_of(elem, operand).into_int_value();
        let old = llvm.builder.build_atomicrmw(kind, pointer, bits, ordering(sem)).expect("an atomic operation");
        self.value_of(elem, old.into())
    }

    /// Floats are combined as everywhere else, and the result put there if nobody came in between.
    fn float_rmw(
        &mut self,
        op: BinaryOp,
        sem: Sem,
        elem: Elem,
        pointer: PointerValue<'ctx>,
        operand: V<'ctx>,
    ) -> V<'ctx> {
        let llvm = self.llvm;
        let bits = llvm.int_type(elem.bytes() * 8);
        let seen = llvm.load(bits, pointer, elem.bytes());
        let load = seen.as_instruction_value().expect("a load");
        load.set_atomic_ordering(AtomicOrdering::Monotonic).expect("an ordering a load can have");
        let before = llvm.here();
        let (again, after) = (llvm.new_block("again"), llvm.new_block("after"));
        llvm.jump(again);
        llvm.builder.position_at_end(again);
        let old = llvm.builder.build_phi(bits, "").expect("a phi");
        old.add_incoming(&[(&seen, before)]);
        let value = self.value_of(elem, old.as_basic_value());
        let new = arith::binary(llvm, op, elem.scalar().expect("a number"), value, operand);
        let new = self.bits_of(elem, new);
        let pair = llvm
            .builder
            .build_cmpxchg(pointer, old.as_basic_value(), new, ordering(sem), load_ordering(sem))
            .expect("a compare-and-swap");
        let part = |i: u32| llvm.builder.build_extract_value(pair, i, "").expect("a part");
        old.add_incoming(&[(&part(0), llvm.here())]);
        llvm.branch(part(1).into_int_value(), after, again);
        llvm.builder.position_at_end(after);
        value
    }

    /// Orders accesses around it. One that synchronises both ways is the strongest there is, as on GPUs.
    pub(super) fn fence(&mut self, sem: Sem) {
        self.read_before_write();
        let order = match sem {
            Sem::Relaxed => return,
            Sem::Acquire => AtomicOrdering::Acquire,
            Sem::Release => AtomicOrdering::Release,
            Sem::AcqRel => AtomicOrdering::SequentiallyConsistent,
        };
        self.llvm.builder.build_fence(order, false, "").expect("a fence");
    }

    /// The bits of a value as an integer, as atomics want them.
    pub(super) fn bits_of(&self, elem: Elem, value: V<'ctx>) -> V<'ctx> {
        if let V::PointerValue(p) = value {
            return self.llvm.ptr_to_int(p).into();
        }
        let memory = to_memory(self.llvm, elem, value);
        self.llvm.cast(InstructionOpcode::BitCast, memory, self.llvm.int_type(elem.bytes() * 8).into())
    }

    pub(super) fn value_of(&self, elem: Elem, bits: V<'ctx>) -> V<'ctx> {
        let memory = self.llvm.cast(InstructionOpcode::BitCast, bits, memory_type(self.llvm, elem));
        from_memory(self.llvm, elem, memory)
    }

    /// Waits, letting other programs run, until memory holds the expected value or the time is over.
    pub(super) fn atomic_poll(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let OpKind::AtomicPoll { sem, .. } = data.kind else { unreachable!("a poll") };
        self.read_before_write();
        let llvm = self.llvm;
        let elem = self.elem(data.operands()[1]);
        let pointer = self.scalar(data.operands()[0]).into_pointer_value();
        self.check(op, Chunk::Uniform(pointer.into()), None, 1);
        let expected = self.bits_of(elem, self.scalar(data.operands()[1]));
        let clock = llvm.hook(Hook::ClockNs);
        let deadline = data.operands().get(2).map(|&timeout| {
            let now = llvm.call(clock, &[]).expect("a time").into_int_value();
            llvm.add64(now, self.scalar(timeout).into_int_value())
        });
        let (head, wait, after) = (llvm.new_block("poll"), llvm.new_block("wait"), llvm.new_block("polled"));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let value = llvm.load(llvm.int_type(elem.bytes() * 8), pointer, elem.bytes());
        let instruction = value.as_instruction_value().expect("a load");
        instruction.set_atomic_ordering(load_ordering(sem)).expect("an ordering a load can have");
        let equal = llvm.icmp(IntPredicate::EQ, value, expected).into_int_value();
        llvm.branch(equal, after, wait);
        llvm.builder.position_at_end(wait);
        let patience = if deadline.is_some() { Patience::Limited } else { Patience::Endless };
        self.call_wait(op, "atomic_poll", pointer, elem, expected, patience);
        let phi_values: Vec<(V<'ctx>, _)> = match deadline {
            None => {
                llvm.jump(head);
                vec![(llvm.i1().const_int(1, false).into(), head)]
            }
            Some(deadline) => {
                let now = llvm.call(clock, &[]).expect("a time");
                let over = llvm.icmp(IntPredicate::UGE, now, deadline.into()).into_int_value();
                let here = llvm.here();
                llvm.branch(over, after, head);
                vec![(llvm.i1().const_int(1, false).into(), head), (llvm.i1().const_zero().into(), here)]
            }
        };
        llvm.builder.position_at_end(after);
        let phi = llvm.builder.build_phi(llvm.i1(), "").expect("a phi");
        for (value, block) in &phi_values {
            phi.add_incoming(&[(value, *block)]);
        }
        self.scalars.insert(data.result(), phi.as_basic_value());
        self.count_passed();
    }
}

fn ordering(sem: Sem) -> AtomicOrdering {
    match sem {
        Sem::Relaxed => AtomicOrdering::Monotonic,
        Sem::Acquire => AtomicOrdering::Acquire,
        Sem::Release => AtomicOrdering::Release,
        Sem::AcqRel => AtomicOrdering::AcquireRelease,
    }
}

pub(super) fn load_ordering(sem: Sem) -> AtomicOrdering {
    match sem {
        Sem::Relaxed | Sem::Release => AtomicOrdering::Monotonic,
        Sem::Acquire | Sem::AcqRel => AtomicOrdering::Acquire,
    }
}

fn store_ordering(sem: Sem) -> AtomicOrdering {
    match sem {
        Sem::Relaxed | Sem::Acquire => AtomicOrdering::Monotonic,
        Sem::Release | Sem::AcqRel => AtomicOrdering::Release,
    }
}
