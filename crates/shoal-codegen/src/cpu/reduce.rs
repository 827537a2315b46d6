//! Reductions, scans and histograms.
//!
//! The order in which elements are combined is part of the IR's meaning, and it was chosen so that it is also the fast
//! one: along the last axis 64 lanes run beside each other, which are four vectors on AVX-512, and are then combined
//! by halves; along any other axis whole vectors of neighbours are combined in order. What does not commute is combined in
//! the order of the elements along the last axis, too: each lane then has a run of neighbours.

use inkwell::values::{InstructionOpcode, IntValue};
use shoal_ir::op::OpKind;
use shoal_ir::{Elem, OpId, Region, Shape, Value};

use super::chunk::{Buffer, Chunk};
use super::emitter::Emitter;
use super::extreme::Combining;
use super::index::{Dim, Index, LaneBits};
use super::tile_loops::Width;
use crate::shared::llvm::{V, lanes, pointer_as_int};

/// How many lanes a reduction along the last axis runs beside each other.
const REDUCTION_LANES: u64 = 64;

/// A vector of lanes for each operand.
type Lanes<'ctx> = Vec<V<'ctx>>;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn reduce_op(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let OpKind::Reduce { axis, .. } = data.kind else { unreachable!("a reduction") };
        self.prepare(data.operands());
        let shape = Shape::from_slice(self.shape(data.operands()[0]));
        let axis = usize::from(axis);
        let mut outer = shape.clone();
        outer.remove(axis);
        let results: Vec<Option<Buffer<'ctx>>> =
            data.results().iter().map(|&r| (!outer.is_empty()).then(|| self.allocate(self.elem(r), &outer))).collect();
        if axis + 1 == shape.len() {
            self.reduce_rows(op, &shape, &results);
        } else {
            self.reduce_columns(op, &shape, axis, &results);
        }
        self.finish_root();
        for (&result, buffer) in data.results().iter().zip(results) {
            if let Some(buffer) = buffer {
                self.buffers.insert(result, buffer);
            }
        }
    }

    /// Along the last axis.
    fn reduce_rows(&mut self, op: OpId, shape: &[u32], results: &[Option<Buffer<'ctx>>]) {
        let llvm = self.llvm;
        let data = self.func.op(op);
        let (length, outer) = shape.split_last().expect("a tile has a dimension");
        let rows: u64 = outer.iter().map(|&d| u64::from(d)).product();
        let this = std::cell::RefCell::new(self);
        llvm.counted_loop(rows, 1, &[], &mut |row, _| {
            let mut guard = this.borrow_mut();
            let emitter = &mut **guard;
            emitter.scoped(|e| {
                let dims = e.coordinates(row, outer);
                let lanes = e.reduce_row(op, &dims, u64::from(*length));
                for ((value, buffer), &result) in lanes.into_iter().zip(results).zip(data.results()) {
                    match buffer {
                        Some(buffer) => {
                            let place = Index { dims: dims.clone(), log_lanes: 0 };
                            buffer.write(e.llvm, &place, Chunk::Uniform(value));
                        }
                        None => {
                            e.scalars.insert(result, value);
                        }
                    }
                }
            });
            Vec::new()
        });
    }

    /// One row to one element for each operand.
    fn reduce_row(&mut self, op: OpId, outer: &[Dim<'ctx>], length: u64) -> Vec<V<'ctx>> {
        let (llvm, func) = (self.llvm, self.func);
        let data = func.op(op);
        let (region, operands) = (data.regions()[0], data.operands());
        let width = length.min(REDUCTION_LANES);
        let lanes = u64::from(self.isa.lanes(32)).min(width);
        let vectors = width / lanes;
        let elems: Vec<Elem> = operands.iter().map(|&v| self.elem(v)).collect();
        // Which bit of an element's index a bit of its lane's number is, and how far apart the elements of a lane are.
        let in_order = matches!(data.kind, OpKind::Reduce { in_order: true, .. });
        let top = length.trailing_zeros() as u8;
        let index_bit = |bit: u8| if in_order { top - 1 - bit } else { bit };
        let (step, end) = if in_order { (1, length / width) } else { (width, length) };
        let log_lanes = lanes.trailing_zeros() as u8;
        let first_of = |vector: u64| -> u64 {
            let bits = (log_lanes..width.trailing_zeros() as u8).filter(|bit| (vector * lanes) >> bit & 1 == 1);
            bits.map(|bit| 1 << index_bit(bit)).sum()
        };
        let lane_bits: LaneBits = (0..log_lanes).map(|bit| (bit, index_bit(bit))).collect();
        let read = |e: &mut Self, base: IntValue<'ctx>| -> Vec<Lanes<'ctx>> {
            let at = |vector| llvm.add64(base, llvm.const_i64(first_of(vector) as i64));
            (0..vectors)
                .map(|vector| e.row_lanes(operands, outer, Dim { base: at(vector), lanes: lane_bits.clone() }))
                .collect()
        };
        let first = read(self, llvm.const_i64(0));
        let carried: Vec<V<'ctx>> = first.into_iter().flat_map(|first| self.first(region, first, &elems)).collect();
        let count = operands.len();
        let this = std::cell::RefCell::new(self);
        let sums = llvm.range_loop(step, end, step, &carried, &mut |base, carried| {
            let mut guard = this.borrow_mut();
            let emitter = &mut **guard;
            emitter.scoped(|e| {
                let next = read(e, base);
                next.iter()
                    .enumerate()
                    .flat_map(|(v, b)| e.combine(region, &carried[v * count..(v + 1) * count], b, &elems))
                    .collect()
            })
        });
        let emitter = this.into_inner();
        let mut sums: Vec<Lanes<'ctx>> = sums.chunks(count).map(<[V<'ctx>]>::to_vec).collect();
        while sums.len() > 1 {
            let high = sums.split_off(sums.len() / 2);
            sums = sums.iter().zip(&high).map(|(a, b)| emitter.combine(region, a, b, &elems)).collect();
        }
        let mut last = sums.pop().expect("at least one vector");
        let mut left = lanes;
        while left > 1 {
            left /= 2;
            let half = |from: u64| -> Lanes<'ctx> { last.iter().map(|&v| emitter.part(v, from, left)).collect() };
            let (a, b) = (half(0), half(left));
            last = emitter.combine(region, &a, &b, &elems);
        }
        last.iter().zip(&elems).map(|(&v, &elem)| emitter.lane_zero(v, elem)).collect()
    }

    /// Lane 0, as a scalar is held.
    fn lane_zero(&self, value: V<'ctx>, elem: Elem) -> V<'ctx> {
        as_chunk(value).single(self.llvm, elem)
    }

    /// `count` lanes of a vector; one lane is a scalar.
    fn part(&self, value: V<'ctx>, from: u64, count: u64) -> V<'ctx> {
        let vector = value.into_vector_value();
        if count == 1 {
            return self.llvm.extract(vector, from);
        }
        let picks: Vec<u32> = (from..from + count).map(|p| p as u32).collect();
        self.llvm.shuffle(vector, vector, &picks).into()
    }

    fn row_lanes(&mut self, operands: &[Value], outer: &[Dim<'ctx>], along: Dim<'ctx>) -> Lanes<'ctx> {
        let log_lanes = along.lanes.len() as u8;
        let dims = outer.iter().cloned().chain([along]).collect();
        let index = Index { dims, log_lanes };
        self.at_root_place(&index, |e| e.lanes_at(operands, &index))
    }

    /// The first elements, as [`Emitter::combine`] takes what is combined so far.
    fn first(&self, region: Region, first: Lanes<'ctx>, elems: &[Elem]) -> Lanes<'ctx> {
        match Combining::of(self.func, region, elems) {
            Some(extreme) => vec![extreme.first(self.llvm, self.isa, first[0])],
            None => first,
        }
    }

    /// Applies the combining region to two groups of lanes, the first of which are combined ones.
    fn combine(&mut self, region: Region, a: &[V<'ctx>], b: &[V<'ctx>], elems: &[Elem]) -> Lanes<'ctx> {
        let extreme = Combining::of(self.func, region, elems);
        if let Some(picked) = extreme.and_then(|extreme| extreme.combine(self.llvm, self.isa, a[0], b[0])) {
            return vec![picked];
        }
        let lanes = lanes(a[0]).unwrap_or(1);
        if !self.is_straight_line(region) {
            return self.combine_by_lane(region, a, b, elems, lanes);
        }
        let args: Vec<Chunk<'ctx>> = a.iter().chain(b).map(|&v| as_chunk(v)).collect();
        let results = self.apply_region(region, &args, lanes);
        results
            .iter()
            .zip(a)
            .map(|(c, like)| match (like, c) {
                (V::VectorValue(_), _) => c.widen(self.llvm, lanes).into(),
                (_, Chunk::Uniform(v) | Chunk::Affine { base: v, .. }) => *v,
                (_, Chunk::Vector(v)) => self.llvm.extract(*v, 0),
            })
            .collect()
    }

    /// A region with control flow runs lane by lane.
    fn combine_by_lane(
        &mut self,
        region: Region,
        a: &[V<'ctx>],
        b: &[V<'ctx>],
        elems: &[Elem],
        lanes: u32,
    ) -> Lanes<'ctx> {
        let llvm = self.llvm;
        let lane_of = |v: V<'ctx>, elem: Elem, lane: u64| {
            let V::VectorValue(vector) = v else { return v };
            match (elem, llvm.extract(vector, lane)) {
                (Elem::Ptr(_), V::IntValue(i)) => llvm.int_to_ptr(i).into(),
                (_, value) => value,
            }
        };
        let mut results: Vec<V<'ctx>> = elems.iter().map(|&e| llvm.undef(self.vector_of(e, lanes))).collect();
        for lane in 0..u64::from(lanes) {
            let pick =
                |v: &[V<'ctx>]| -> Vec<V<'ctx>> { v.iter().zip(elems).map(|(&v, &e)| lane_of(v, e, lane)).collect() };
            let args: Vec<V<'ctx>> = pick(a).into_iter().chain(pick(b)).collect();
            let values = self.scoped(|e| e.run_scalar_region(region, &args));
            if lanes == 1 {
                return values;
            }
            for (vector, value) in results.iter_mut().zip(values) {
                *vector = llvm.insert(vector.into_vector_value(), pointer_as_int(llvm, value), lane).into();
            }
        }
        results
    }

    /// Along an axis that is not the last: whole chunks of neighbours, in order.
    fn reduce_columns(&mut self, op: OpId, shape: &[u32], axis: usize, results: &[Option<Buffer<'ctx>>]) {
        let llvm = self.llvm;
        let data = self.func.op(op);
        let (region, operands) = (data.regions()[0], data.operands());
        let elems: Vec<Elem> = operands.iter().map(|&v| self.elem(v)).collect();
        let mut outer = Shape::from_slice(shape);
        outer.remove(axis);
        self.for_each_chunk(&outer, Width::Vector, &mut |e, place| {
            let at = |e: &mut Self, step: IntValue<'ctx>| -> Lanes<'ctx> {
                let mut index = place.clone();
                index.dims.insert(axis, Dim { base: step, lanes: LaneBits::new() });
                e.at_root_place(&index, |e| e.lanes_at(operands, &index))
            };
            let first = at(e, llvm.const_i64(0));
            let first = e.first(region, first, &elems);
            let this = std::cell::RefCell::new(e);
            let sums = llvm.range_loop(1, u64::from(shape[axis]), 1, &first, &mut |step, carried| {
                let mut guard = this.borrow_mut();
                let emitter = &mut **guard;
                emitter.scoped(|e| {
                    let next = at(e, step);
                    e.combine(region, carried, &next, &elems)
                })
            });
            let e = this.into_inner();
            for (value, buffer) in sums.into_iter().zip(results) {
                let buffer = buffer.as_ref().expect("a reduction along an outer axis gives tiles");
                buffer.write(e.llvm, place, as_chunk(value));
            }
        });
    }

    fn lanes_at(&mut self, operands: &[Value], index: &Index<'ctx>) -> Lanes<'ctx> {
        operands
            .iter()
            .map(|&v| {
                let chunk = self.chunk(v, index);
                if index.log_lanes == 0 {
                    chunk.single(self.llvm, self.elem(v))
                } else {
                    chunk.widen(self.llvm, index.lanes()).into()
                }
            })
            .collect()
    }

    /// Inclusive prefixes, in order along the axis; neighbours run beside each other where the axis is not the last.
    pub(super) fn scan_op(&mut self, op: OpId) {
        let llvm = self.llvm;
        let func = self.func;
        let data = func.op(op);
        let OpKind::Scan { axis, reverse } = data.kind else { unreachable!("a scan") };
        let (axis, region, operands) = (usize::from(axis), data.regions()[0], data.operands());
        self.prepare(operands);
        let shape = Shape::from_slice(self.shape(operands[0]));
        let elems: Vec<Elem> = operands.iter().map(|&v| self.elem(v)).collect();
        let buffers: Vec<Buffer<'ctx>> = elems.iter().map(|&elem| self.allocate(elem, &shape)).collect();
        let mut outer = shape.clone();
        outer.remove(axis);
        let width = if axis + 1 == shape.len() { Width::One } else { Width::Vector };
        let length = u64::from(shape[axis]);
        self.for_each_chunk(&outer, width, &mut |e, place| {
            let index_at = |step: IntValue<'ctx>| {
                let along = if reverse {
                    let last = llvm.const_i64(length as i64 - 1);
                    llvm.bin(InstructionOpcode::Sub, last.into(), step.into()).into_int_value()
                } else {
                    step
                };
                let mut index = place.clone();
                index.dims.insert(axis, Dim { base: along, lanes: LaneBits::new() });
                index
            };
            let write = |e: &mut Self, index: &Index<'ctx>, values: &[V<'ctx>]| {
                for (buffer, &value) in buffers.iter().zip(values) {
                    buffer.write(e.llvm, index, as_chunk(value));
                }
            };
            let index = index_at(llvm.const_i64(0));
            let first = e.at_root_place(&index, |e| e.lanes_at(operands, &index));
            let first = e.first(region, first, &elems);
            write(e, &index, &first);
            let this = std::cell::RefCell::new(e);
            llvm.range_loop(1, length, 1, &first, &mut |step, carried| {
                let mut guard = this.borrow_mut();
                let emitter = &mut **guard;
                emitter.scoped(|e| {
                    let index = index_at(step);
                    let next = e.at_root_place(&index, |e| e.lanes_at(operands, &index));
                    let sums = e.combine(region, carried, &next, &elems);
                    write(e, &index, &sums);
                    sums
                })
            });
        });
        self.finish_root();
        for (&result, buffer) in data.results().iter().zip(buffers) {
            self.buffers.insert(result, buffer);
        }
    }

    pub(super) fn histogram_op(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let llvm = self.llvm;
        self.prepare(data.operands());
        let (values, mask) = (data.operands()[0], data.operands().get(1).copied());
        let result = data.result();
        let bins = Shape::from_slice(self.shape(result));
        let buffer = self.allocate(self.elem(result), &bins);
        let zero = Chunk::Uniform(llvm.i32().const_zero().into());
        self.for_each_chunk(&bins, Width::Vector, &mut |e, index| buffer.write(e.llvm, index, zero));
        let ty = self.number(values);
        let shape = Shape::from_slice(self.shape(values));
        self.for_each_chunk(&shape, Width::One, &mut |e, index| {
            let value = e.scalar_at(values, index);
            let extend = match ty.bits() {
                64 => InstructionOpcode::BitCast,
                _ if ty.is_signed_int() => InstructionOpcode::SExt,
                _ => InstructionOpcode::ZExt,
            };
            let bin = llvm.cast(extend, value, llvm.i64().into());
            let mut counts = llvm.icmp(inkwell::IntPredicate::ULT, bin, llvm.const_i64(i64::from(bins[0])).into());
            if let Some(mask) = mask {
                counts = llvm.bin(InstructionOpcode::And, counts, e.scalar_at(mask, index));
            }
            e.when(counts, &[], |e| {
                let address = buffer.address(e.llvm, bin.into_int_value());
                let old = e.llvm.load(e.llvm.i32(), address, 4);
                let new = e.llvm.bin(InstructionOpcode::Add, old, e.llvm.const_i32(1).into());
                e.llvm.store(new, address, 4);
                Vec::new()
            });
        });
        self.finish_root();
        self.buffers.insert(result, buffer);
    }

    /// Groups of `pack` elements, one after another.
    pub(super) fn map_op(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let OpKind::MapElementwise { pack } = data.kind else { unreachable!("a map") };
        let (llvm, region, pack) = (self.llvm, data.regions()[0], u64::from(pack));
        self.prepare(data.operands());
        for &operand in data.operands() {
            // Elements of a group are neighbours in row-major order: read them from memory.
            if self.func.ty(operand).is_tile() {
                self.materialise(operand);
            }
        }
        let shape = Shape::from_slice(self.shape(data.operands()[0]));
        if shape.is_empty() {
            let args: Vec<V<'ctx>> = data.operands().iter().map(|&v| self.scalar(v)).collect();
            let values = self.scoped(|e| e.run_scalar_region(region, &args));
            self.scalars.extend(data.results().iter().copied().zip(values));
            return;
        }
        let count: u64 = shape.iter().map(|&d| u64::from(d)).product();
        let buffers: Vec<Buffer<'ctx>> = data.results().iter().map(|&r| self.allocate(self.elem(r), &shape)).collect();
        let this = std::cell::RefCell::new(&mut *self);
        llvm.counted_loop(count, pack, &[], &mut |base, _| {
            let mut guard = this.borrow_mut();
            guard.scoped(|e| {
                let place = |e: &Self, i: u64| {
                    let linear = llvm.add64(base, llvm.const_i64(i as i64));
                    Index { dims: e.coordinates(linear, &shape), log_lanes: 0 }
                };
                let mut args = Vec::new();
                for &operand in data.operands() {
                    for i in 0..pack {
                        let index = place(e, i);
                        args.push(e.scalar_at(operand, &index));
                    }
                }
                let values = e.run_scalar_region(region, &args);
                for (i, value) in values.into_iter().enumerate() {
                    let index = place(e, i as u64 % pack);
                    buffers[i / pack as usize].write(e.llvm, &index, Chunk::Uniform(value));
                }
            });
            Vec::new()
        });
        self.finish_root();
        for (&result, buffer) in data.results().iter().zip(buffers) {
            self.buffers.insert(result, buffer);
        }
    }
}

fn as_chunk(value: V<'_>) -> Chunk<'_> {
    if let V::VectorValue(v) = value { Chunk::Vector(v) } else { Chunk::Uniform(value) }
}
