//! Loads and stores of chunks, plain and atomic.

use inkwell::values::{BasicValue, InstructionOpcode, PointerValue, VectorValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp, IntPredicate};
use shoal_ir::op::{OpKind, RmwOp, Sem};
use shoal_ir::{Elem, OpId, Shape, Type};

use super::chunk::{Chunk, from_memory, memory_type, register_type, to_memory};
use super::emitter::Emitter;
use super::index::Index;
use super::nest::Width;
use crate::llvm::{V, vector_type};

impl<'ctx> Emitter<'_, 'ctx> {
    /// The elements of a load at an index.
    pub(super) fn load_chunk(&mut self, op: OpId, index: &Index<'ctx>) -> Chunk<'ctx> {
        let func = self.func;
        let operands = func.op(op).operands();
        let result = func.op(op).result();
        let pointers = self.chunk(operands[0], index);
        let pointers = self.guarded_pointers(result, pointers, index);
        let mask = operands.get(1).map(|&m| self.chunk(m, index));
        let other = operands.get(2).map(|&o| self.chunk(o, index));
        self.load_from(result, pointers, mask, other, index.lanes())
    }

    fn load_from(
        &mut self,
        result: shoal_ir::Value,
        pointers: Chunk<'ctx>,
        mask: Option<Chunk<'ctx>>,
        other: Option<Chunk<'ctx>>,
        lanes: u32,
    ) -> Chunk<'ctx> {
        let llvm = self.llvm;
        let elem = self.elem(result);
        let bytes = i64::from(elem.bytes());
        match pointers {
            Chunk::Uniform(pointer)
                if matches!(mask, None | Some(Chunk::Uniform(_)))
                    && matches!(other, None | Some(Chunk::Uniform(_))) =>
            {
                let mask = mask.map(|m| m.single(llvm, Elem::Scalar(shoal_ir::Scalar::I1)));
                let other = other.map(|o| o.single(llvm, elem));
                Chunk::Uniform(self.load_scalar(elem, pointer.into_pointer_value(), mask, other))
            }
            Chunk::Affine { base, step } if step == bytes => {
                Chunk::Vector(self.load_vector(elem, base.into_pointer_value(), mask, other, lanes))
            }
            pointers => {
                let addresses = pointers.widen(llvm, lanes);
                let mask = mask.map(|m| m.widen(llvm, lanes));
                let other = other.map(|o| o.widen(llvm, lanes));
                Chunk::Vector(self.gather_memory(elem, addresses, mask, other))
            }
        }
    }

    fn load_vector(
        &mut self,
        elem: Elem,
        base: PointerValue<'ctx>,
        mask: Option<Chunk<'ctx>>,
        other: Option<Chunk<'ctx>>,
        lanes: u32,
    ) -> VectorValue<'ctx> {
        let llvm = self.llvm;
        let ty = vector_type(memory_type(llvm, elem), lanes);
        let value = match mask {
            None => llvm.load(ty, base, elem.bytes()),
            Some(mask) => {
                let mask = mask.widen(llvm, lanes);
                let fallback = match other {
                    Some(other) => to_memory(llvm, elem, other.widen(llvm, lanes).into()),
                    None => ty.const_zero(),
                };
                llvm.intrinsic("llvm.masked.load", &[ty, llvm.ptr().into()], &[base.into(), mask.into(), fallback])
                    .expect("a value")
            }
        };
        from_memory(llvm, elem, value).into_vector_value()
    }

    /// Reads each lane's address.
    pub(super) fn gather_memory(
        &mut self,
        elem: Elem,
        addresses: VectorValue<'ctx>,
        mask: Option<VectorValue<'ctx>>,
        other: Option<VectorValue<'ctx>>,
    ) -> VectorValue<'ctx> {
        let llvm = self.llvm;
        let lanes = addresses.get_type().get_size();
        let ty = vector_type(memory_type(llvm, elem), lanes);
        let pointers = self.pointers(addresses);
        let all = || llvm.splat(llvm.i1().const_int(1, false).into(), lanes);
        let fallback = match other {
            Some(other) => to_memory(llvm, elem, other.into()),
            None => ty.const_zero(),
        };
        let mask = mask.unwrap_or_else(all);
        let value = llvm
            .intrinsic(
                "llvm.masked.gather",
                &[ty, pointers.get_type().into()],
                &[pointers.into(), mask.into(), fallback],
            )
            .expect("a value");
        from_memory(llvm, elem, value).into_vector_value()
    }

    fn pointers(&self, addresses: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let llvm = self.llvm;
        llvm.cast(InstructionOpcode::IntToPtr, addresses.into(), llvm.ptr().into()).into_vector_value()
    }

    fn load_scalar(
        &mut self,
        elem: Elem,
        from: PointerValue<'ctx>,
        mask: Option<V<'ctx>>,
        other: Option<V<'ctx>>,
    ) -> V<'ctx> {
        let llvm = self.llvm;
        let memory = memory_type(llvm, elem);
        let Some(mask) = mask else {
            return from_memory(llvm, elem, llvm.load(memory, from, elem.bytes()));
        };
        let fallback = match other {
            Some(other) => to_memory(llvm, elem, other),
            None => memory.const_zero(),
        };
        let loaded = self.when(mask, &[fallback], |e| vec![e.llvm.load(memory, from, elem.bytes())]);
        from_memory(llvm, elem, loaded[0])
    }

    /// Runs `body` if the condition holds; gives its values, or `otherwise`.
    pub(super) fn when(
        &mut self,
        condition: V<'ctx>,
        otherwise: &[V<'ctx>],
        body: impl FnOnce(&mut Self) -> Vec<V<'ctx>>,
    ) -> Vec<V<'ctx>> {
        let llvm = self.llvm;
        let before = llvm.here();
        let (then, after) = (llvm.new_block("then"), llvm.new_block("after"));
        llvm.branch(condition.into_int_value(), then, after);
        llvm.builder.position_at_end(then);
        let values = self.scoped(body);
        let end = llvm.here();
        llvm.jump(after);
        llvm.builder.position_at_end(after);
        let join = |(a, b): (&V<'ctx>, &V<'ctx>)| {
            let phi = llvm.builder.build_phi(a.get_type(), "").expect("a phi");
            phi.add_incoming(&[(a, end), (b, before)]);
            phi.as_basic_value()
        };
        values.iter().zip(otherwise).map(join).collect()
    }

    /// A load of one element, done where it stands.
    pub(super) fn scalar_load(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let scalar = |e: &Self, i: usize| data.operands().get(i).map(|&v| e.scalar(v));
        let pointer = self.scalar(data.operands()[0]).into_pointer_value();
        let (mask, other) = (scalar(self, 1), scalar(self, 2));
        let value = self.load_scalar(self.elem(data.result()), pointer, mask, other);
        self.scalars.insert(data.result(), value);
    }

    /// A load that must happen exactly where it stands.
    pub(super) fn volatile_load(&mut self, op: OpId) {
        let result = self.func.op(op).result();
        let buffer = self.allocate(self.elem(result), self.shape(result));
        self.prepare(self.func.op(op).operands());
        let shape = Shape::from_slice(self.shape(result));
        self.for_each_chunk(&shape, Width::Vector, &mut |e, index| {
            let chunk = e.load_chunk(op, index);
            buffer.write(e.llvm, index, chunk);
        });
        self.finish_root();
        self.buffers.insert(result, buffer);
    }

    pub(super) fn store_op(&mut self, op: OpId) {
        let func = self.func;
        let operands = func.op(op).operands();
        let shape = Shape::from_slice(self.shape(operands[0]));
        self.read_before_store(op);
        self.prepare(operands);
        let elem = self.elem(operands[1]);
        if shape.is_empty() {
            let (pointer, value) = (self.scalar(operands[0]).into_pointer_value(), self.scalar(operands[1]));
            let mask = operands.get(2).map(|&m| self.scalar(m));
            self.store_scalar(elem, pointer, value, mask);
            return;
        }
        self.for_each_chunk(&shape, Width::Vector, &mut |e, index| {
            let pointers = e.chunk(operands[0], index);
            let value = e.chunk(operands[1], index);
            let mask = operands.get(2).map(|&m| e.chunk(m, index));
            e.store_chunk(elem, pointers, value, mask, index.lanes());
        });
        self.finish_root();
    }

    fn store_scalar(&mut self, elem: Elem, to: PointerValue<'ctx>, value: V<'ctx>, mask: Option<V<'ctx>>) {
        let value = to_memory(self.llvm, elem, value);
        match mask {
            None => self.llvm.store(value, to, elem.bytes()),
            Some(mask) => {
                self.when(mask, &[], |e| {
                    e.llvm.store(value, to, elem.bytes());
                    Vec::new()
                });
            }
        }
    }

    fn store_chunk(
        &mut self,
        elem: Elem,
        pointers: Chunk<'ctx>,
        value: Chunk<'ctx>,
        mask: Option<Chunk<'ctx>>,
        lanes: u32,
    ) {
        let llvm = self.llvm;
        if lanes == 1 {
            let pointer = match pointers {
                Chunk::Uniform(p) | Chunk::Affine { base: p, .. } => p.into_pointer_value(),
                Chunk::Vector(v) => llvm.int_to_ptr(llvm.extract(v, 0).into_int_value()),
            };
            let mask = mask.map(|m| m.single(llvm, Elem::Scalar(shoal_ir::Scalar::I1)));
            self.store_scalar(elem, pointer, value.single(llvm, elem), mask);
            return;
        }
        let value = to_memory(llvm, elem, value.widen(llvm, lanes).into());
        match (pointers, mask) {
            (Chunk::Affine { base, step }, None) if step == i64::from(elem.bytes()) => {
                llvm.store(value, base.into_pointer_value(), elem.bytes());
            }
            (Chunk::Affine { base, step }, Some(mask)) if step == i64::from(elem.bytes()) => {
                let mask = mask.widen(llvm, lanes);
                llvm.intrinsic(
                    "llvm.masked.store",
                    &[value.get_type(), llvm.ptr().into()],
                    &[value, base, mask.into()],
                );
            }
            (pointers, mask) => {
                let pointers = self.pointers(pointers.widen(llvm, lanes));
                let mask = mask
                    .map_or_else(|| llvm.splat(llvm.i1().const_int(1, false).into(), lanes), |m| m.widen(llvm, lanes));
                let types = [value.get_type(), pointers.get_type().into()];
                llvm.intrinsic("llvm.masked.scatter", &types, &[value, pointers.into(), mask.into()]);
            }
        }
    }

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
        let (mask_at, elem) = match &data.kind {
            OpKind::AtomicLoad { .. } => (1, self.elem(data.results()[0])),
            _ => (2, self.elem(data.operands()[1])),
        };
        let masked =
            matches!(data.kind, OpKind::AtomicRmw { .. } | OpKind::AtomicLoad { .. } | OpKind::AtomicStore { .. });
        let mask = operands.get(mask_at).filter(|_| masked).copied();
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
        match &self.func.op(op).kind {
            OpKind::AtomicLoad { sem, .. } => {
                let bits = llvm.int_type(elem.bytes() * 8);
                let value = llvm.load(bits, pointer, elem.bytes());
                let instruction = value.as_instruction_value().expect("a load");
                instruction.set_atomic_ordering(load_ordering(*sem)).expect("an ordering a load can have");
                Some(self.value_of(elem, value))
            }
            OpKind::AtomicStore { sem, .. } => {
                let value = self.bits_of(elem, operands[1]);
                let instruction = llvm.builder.build_store(pointer, value).expect("a store");
                instruction.set_alignment(elem.bytes()).expect("an alignment");
                instruction.set_atomic_ordering(store_ordering(*sem)).expect("an ordering a store can have");
                None
            }
            OpKind::AtomicCas { sem, .. } => {
                let (expected, new) = (self.bits_of(elem, operands[1]), self.bits_of(elem, operands[2]));
                let pair = llvm
                    .builder
                    .build_cmpxchg(pointer, expected, new, ordering(*sem), load_ordering(*sem))
                    .expect("a compare-and-swap");
                let old = llvm.builder.build_extract_value(pair, 0, "").expect("the old value");
                Some(self.value_of(elem, old))
            }
            OpKind::AtomicRmw { op, sem, .. } => Some(self.atomic_rmw(*op, *sem, elem, pointer, operands[1])),
            kind => unreachable!("{kind:?} is not an atomic access"),
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
            RmwOp::Add if float => return self.float_rmw(AtomicRMWBinOp::FAdd, sem, pointer, operand),
            RmwOp::Min if float => return self.float_rmw(AtomicRMWBinOp::FMin, sem, pointer, operand),
            RmwOp::Max if float => return self.float_rmw(AtomicRMWBinOp::FMax, sem, pointer, operand),
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

    /// inkwell builds integer exchanges only; floats go through LLVM's own call.
    fn float_rmw(&mut self, op: AtomicRMWBinOp, sem: Sem, pointer: PointerValue<'ctx>, operand: V<'ctx>) -> V<'ctx> {
        use inkwell::values::AsValueRef;
        // SAFETY: all values belong to this module, and the operand has the float type the operation asks for.
        unsafe {
            let raw = inkwell::llvm_sys::core::LLVMBuildAtomicRMW(
                self.llvm.builder.as_mut_ptr(),
                op.into(),
                pointer.as_value_ref(),
                operand.as_value_ref(),
                ordering(sem).into(),
                0,
            );
            V::new(raw)
        }
    }

    /// The bits of a value as an integer, as atomics want them.
    pub(super) fn bits_of(&self, elem: Elem, value: V<'ctx>) -> V<'ctx> {
        match value {
            V::PointerValue(p) => self.llvm.ptr_to_int(p).into(),
            other => {
                let memory = to_memory(self.llvm, elem, other);
                self.llvm.cast(InstructionOpcode::BitCast, memory, self.llvm.int_type(elem.bytes() * 8).into())
            }
        }
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
        self.needs.may_wait = true;
        self.read_before_write();
        let llvm = self.llvm;
        let elem = self.elem(data.operands()[1]);
        let pointer = self.scalar(data.operands()[0]).into_pointer_value();
        let expected = self.bits_of(elem, self.scalar(data.operands()[1]));
        let clock = llvm.external("shoal_clock_ns", Some(llvm.i64().into()), &[]);
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
        self.call_wait("shoal_poll_wait", op, "atomic_poll");
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
        debug_assert!(matches!(self.func.ty(data.result()), Type::Elem(_)));
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

fn load_ordering(sem: Sem) -> AtomicOrdering {
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
