//! Loads and stores of chunks, plain and atomic.

use inkwell::values::{InstructionOpcode, IntValue, PointerValue, VectorValue};
use shoal_ir::{Elem, OpId, Shape};

use super::chunk::Chunk;
use super::emitter::Emitter;
use super::index::Index;
use super::tile_loops::Width;
use crate::shared::llvm::{V, vector_type};
use crate::shared::value_type::{from_memory, memory_type, to_memory};

impl<'ctx> Emitter<'_, 'ctx> {
    /// The elements of a load at an index.
    pub(super) fn load_chunk(&mut self, op: OpId, index: &Index<'ctx>) -> Chunk<'ctx> {
        let func = self.func;
        let operands = func.op(op).operands();
        let result = func.op(op).result();
        let pointers = self.chunk(operands[0], index);
        self.read_ahead(op, pointers);
        let mask = operands.get(1).map(|&m| self.chunk(m, index));
        self.check(op, pointers, mask, index.lanes());
        let pointers = self.guarded_pointers(result, pointers, index);
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
            // Whole vectors are there or not: a branch leaves the vector unit to others.
            Chunk::Affine { base, step } if step == bytes => match mask {
                Some(Chunk::Uniform(mask)) => {
                    let otherwise = match other {
                        Some(other) => other.widen(llvm, lanes).into(),
                        None => vector_type(crate::shared::value_type::lane_type(llvm, elem), lanes).const_zero(),
                    };
                    let load = |e: &mut Self| e.load_vector(elem, base.into_pointer_value(), None, None, lanes).into();
                    Chunk::Vector(self.when(mask, &[otherwise], |e| vec![load(e)])[0].into_vector_value())
                }
                mask => Chunk::Vector(self.load_vector(elem, base.into_pointer_value(), mask, other, lanes)),
            },
            Chunk::Uniform(_) | Chunk::Affine { .. } | Chunk::Vector(_) => {
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
        self.check(op, Chunk::Uniform(pointer.into()), mask.map(Chunk::Uniform), 1);
        let value = self.load_scalar(self.elem(data.result()), pointer, mask, other);
        self.scalars.insert(data.result(), value);
    }

    /// A load that must happen exactly where it stands.
    pub(super) fn pinned_load(&mut self, op: OpId) {
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
        if let Some(unfinished) = self.unfinished.remove(&op) {
            self.flush_aside_only(operands, true);
            if self.fits_one_body(operands) {
                return self.store_finished_blocks(op, unfinished);
            }
            self.finish_product(unfinished);
        }
        self.prepare(operands);
        let elem = self.elem(operands[1]);
        if shape.is_empty() {
            let (pointer, value) = (self.scalar(operands[0]).into_pointer_value(), self.scalar(operands[1]));
            let mask = operands.get(2).map(|&m| self.scalar(m));
            self.check(op, Chunk::Uniform(pointer.into()), mask.map(Chunk::Uniform), 1);
            self.store_scalar(elem, pointer, value, mask);
            return;
        }
        let streams = self.streams(op);
        self.for_each_chunk(&shape, Width::Vector, &mut |e, index| e.store_at(op, index, streams));
        self.finish_root();
    }

    /// Whether a store of a tile should bypass the caches: a condition, or `None` if never.
    pub(super) fn streams(&mut self, op: OpId) -> Option<IntValue<'ctx>> {
        let value = self.func.op(op).operands()[1];
        let elements: u64 = self.shape(value).iter().map(|&d| u64::from(d)).product();
        self.bypasses_caches(elements * u64::from(self.elem(value).bytes()))
    }

    /// Does what a store of a tile does at an index.
    pub(super) fn store_at(&mut self, op: OpId, index: &Index<'ctx>, streams: Option<IntValue<'ctx>>) {
        let operands = self.func.op(op).operands();
        let pointers = self.chunk(operands[0], index);
        let value = self.chunk(operands[1], index);
        let mask = operands.get(2).map(|&m| self.chunk(m, index));
        self.check(op, pointers, mask, index.lanes());
        self.store_chunk(self.elem(operands[1]), pointers, value, mask, index.lanes(), streams);
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
        streams: Option<IntValue<'ctx>>,
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
        if let Some(Chunk::Uniform(mask)) = mask {
            self.when(mask, &[], |e| {
                e.store_chunk(elem, pointers, value, None, lanes, streams);
                Vec::new()
            });
            return;
        }
        let value = to_memory(llvm, elem, value.widen(llvm, lanes).into());
        match (pointers, mask) {
            (Chunk::Affine { base, step }, mask) if step == i64::from(elem.bytes()) => {
                let (to, bytes) = (base.into_pointer_value(), lanes * elem.bytes());
                let mask: Option<V<'ctx>> = mask.map(|m| m.widen(llvm, lanes).into());
                let store = |e: &mut Self| e.store_vector(elem, to, value, mask);
                match streams {
                    Some(condition) if bytes >= 16 => self.store_nontemporal(condition, value, to, mask, bytes, store),
                    _ => store(self),
                }
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

    fn store_vector(&mut self, elem: Elem, to: PointerValue<'ctx>, value: V<'ctx>, mask: Option<V<'ctx>>) {
        let llvm = self.llvm;
        match mask {
            None => llvm.store(value, to, elem.bytes()),
            Some(mask) => {
                llvm.intrinsic("llvm.masked.store", &[value.get_type(), llvm.ptr().into()], &[value, to.into(), mask]);
            }
        }
    }
}
