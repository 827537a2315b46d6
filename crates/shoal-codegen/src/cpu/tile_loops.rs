//! Loops over the elements of a tile, in chunks, and what must be in memory before one starts.

use std::collections::{HashMap, HashSet};

use inkwell::values::IntValue;
use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Shape, Value};

use super::chunk::{Buffer, Order};
use super::emitter::Emitter;
use super::fusion;
use super::index::{Dim, Index, LaneBits, split_linear};
use crate::shared::llvm::V;
use crate::shared::recursion::deep;

/// The weight of operations that one loop's body may compute.
const MOST_FUSED: u64 = 256;

/// The weight of the longest operation that is computed in line.
const MOST_INLINE: u64 = 16;

/// The weight of reading a materialised tile: an address and a load.
const READ_WEIGHT: u64 = 4;

/// How many elements a loop handles at a time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// As many as fit into a vector.
    Vector,
    /// One, in row-major order.
    One,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Lane bits for each dimension of a shape, innermost first.
    fn spread_lanes(&self, shape: &[u32], width: Width) -> (Vec<LaneBits>, u8) {
        let most = match width {
            Width::Vector => self.isa.lanes(32).trailing_zeros() as u8,
            Width::One => 0,
        };
        let mut lanes = vec![LaneBits::new(); shape.len()];
        let mut used = 0;
        for (dim, &size) in shape.iter().enumerate().rev() {
            let bits = (size.trailing_zeros() as u8).min(most - used);
            lanes[dim] = (0..bits).map(|b| (used + b, b)).collect();
            used += bits;
        }
        (lanes, used)
    }

    /// Runs `body` for each chunk of a tile of this shape, in row-major order.
    pub(super) fn for_each_chunk(
        &mut self,
        shape: &[u32],
        width: Width,
        body: &mut dyn FnMut(&mut Self, &Index<'ctx>),
    ) {
        let (lanes, log_lanes) = self.spread_lanes(shape, width);
        // At most three loops: all outer dimensions as one, then the last two.
        let split = shape.len().saturating_sub(2);
        let outer: u64 = shape[..split].iter().map(|&d| u64::from(d)).product();
        let llvm = self.llvm;
        let outer_lanes: LaneBits = {
            let fixed = |dims: &[LaneBits]| Index {
                dims: dims.iter().map(|l| Dim { base: llvm.const_i64(0), lanes: l.clone() }).collect(),
                log_lanes,
            };
            fixed(&lanes[..split]).linear(llvm, &shape[..split]).lanes
        };
        let step = |lanes: &LaneBits| 1u64 << lanes.len();
        let this = std::cell::RefCell::new((self, body));
        llvm.counted_loop(outer, step(&outer_lanes), &[], &mut |base, _| {
            let linear = Dim { base, lanes: outer_lanes.clone() };
            let mut dims: smallvec::SmallVec<[Dim<'ctx>; 4]> = shape[..split].iter().map(|_| linear.clone()).collect();
            split_linear(llvm, &linear, &shape[..split], &mut dims);
            let inner = &shape[split..];
            let middle = if inner.len() == 2 { u64::from(inner[0]) } else { 1 };
            let middle_lanes = if inner.len() == 2 { lanes[split].clone() } else { LaneBits::new() };
            llvm.counted_loop(middle, step(&middle_lanes), &[], &mut |row, _| {
                let last = inner.last().map_or(1, |&d| u64::from(d));
                let last_lanes = lanes.last().cloned().unwrap_or_default();
                llvm.counted_loop(last, step(&last_lanes), &[], &mut |column, _| {
                    let mut index = Index { dims: dims.clone(), log_lanes };
                    if inner.len() == 2 {
                        index.dims.push(Dim { base: row, lanes: middle_lanes.clone() });
                    }
                    if !inner.is_empty() {
                        index.dims.push(Dim { base: column, lanes: last_lanes.clone() });
                    }
                    let mut guard = this.borrow_mut();
                    let (emitter, body) = &mut *guard;
                    emitter.scoped(|e| e.at_root_place(&index, |e| body(e, &index)));
                    Vec::new()
                });
                Vec::new()
            });
            Vec::new()
        });
    }

    /// Runs `body` for each chunk of a block of a matrix; a row's chunks, which are few, one after the other.
    pub(super) fn for_each_chunk_of_block(
        &mut self,
        [first_row, first_column]: [IntValue<'ctx>; 2],
        shape: [u32; 2],
        body: &mut dyn FnMut(&mut Self, &Index<'ctx>),
    ) {
        let (lanes, log_lanes) = self.spread_lanes(&shape, Width::Vector);
        let llvm = self.llvm;
        let [rows, columns] = [0, 1].map(|dim| 1u32 << lanes[dim].len());
        let this = std::cell::RefCell::new((self, body));
        llvm.counted_loop(shape[0].into(), rows.into(), &[], &mut |row, _| {
            for column in (0..shape[1]).step_by(columns as usize) {
                let places = [(first_row, row), (first_column, llvm.const_i64(column.into()))];
                let dims = places.iter().zip(&lanes);
                let dims = dims.map(|(&(a, b), lanes)| Dim { base: llvm.add64(a, b), lanes: lanes.clone() });
                let index = Index { dims: dims.collect(), log_lanes };
                let mut guard = this.borrow_mut();
                let (emitter, body) = &mut *guard;
                emitter.scoped(|e| e.at_root_place(&index, |e| body(e, &index)));
            }
            Vec::new()
        });
    }

    /// The outer coordinates of a shape from one row-major number.
    pub(super) fn coordinates(&self, linear: IntValue<'ctx>, shape: &[u32]) -> smallvec::SmallVec<[Dim<'ctx>; 4]> {
        let linear = Dim { base: linear, lanes: LaneBits::new() };
        let mut dims: smallvec::SmallVec<[Dim<'ctx>; 4]> = shape.iter().map(|_| linear.clone()).collect();
        split_linear(self.llvm, &linear, shape, &mut dims);
        dims
    }

    /// Materialises all deferred tiles that these values need.
    pub(super) fn flush_deferred_behind(&mut self, values: &[Value]) {
        self.flush_aside(values, false);
    }

    /// Makes sure that all deferred tiles a root reads can be filled by its loop, and materialises the others now.
    pub(super) fn prepare(&mut self, operands: &[Value]) {
        self.flush_aside(operands, true);
    }

    fn flush_aside(&mut self, values: &[Value], same_place: bool) {
        self.flush_aside_only(values, same_place);
        self.split_long_body(values);
    }

    /// The same, however long the loop's body becomes.
    pub(super) fn flush_aside_only(&mut self, values: &[Value], same_place: bool) {
        let (mut seen, mut aside) = (HashSet::new(), Vec::new());
        for &value in values {
            self.deferred_aside(value, same_place, &mut seen, &mut aside);
        }
        for value in aside {
            self.materialise(value);
        }
    }

    /// Materialises parts of what a loop would compute for these values if its body would grow long: LLVM takes time
    /// that is quadratic in the length of a block, and a trip through scratch costs little beside so much work.
    fn split_long_body(&mut self, values: &[Value]) {
        for value in self.parts_of_body(values) {
            self.materialise(value);
        }
    }

    /// Whether one loop's body may compute all of these values.
    pub(super) fn fits_one_body(&self, values: &[Value]) -> bool {
        self.parts_of_body(values).is_empty()
    }

    fn parts_of_body(&self, values: &[Value]) -> Vec<Value> {
        let (mut seen, mut parts) = (HashSet::new(), Vec::new());
        for &value in values {
            self.body_weight(value, &mut seen, &mut parts);
        }
        parts
    }

    /// What a loop's body gains with a value. Collects the tiles to split it at, operands before their users.
    fn body_weight(&self, value: Value, seen: &mut HashSet<Value>, parts: &mut Vec<Value>) -> u64 {
        if !self.func.ty(value).is_tile() || !seen.insert(value) {
            return 0;
        }
        let op = self.func.def_op(value).filter(|_| !self.buffers.contains_key(&value));
        let Some(op) = op else { return READ_WEIGHT };
        let data = self.func.op(op);
        let operands: u64 = deep(|| data.operands().iter().map(|&v| self.body_weight(v, seen, parts)).sum());
        let weight = data.kind.weight().min(MOST_INLINE) + operands;
        if weight > MOST_FUSED {
            parts.push(value);
            return READ_WEIGHT;
        }
        weight
    }

    /// Collects deferred tiles that `value` needs at other places than its own.
    fn deferred_aside(
        &self,
        value: Value,
        same_place: bool,
        seen: &mut HashSet<(Value, bool)>,
        aside: &mut Vec<Value>,
    ) {
        let in_memory = !self.func.ty(value).is_tile() || self.buffers.contains_key(&value);
        if in_memory || !seen.insert((value, same_place)) {
            return;
        }
        let Some(op) = self.func.def_op(value) else { return };
        if !same_place && self.deferred.contains(value) {
            aside.push(value);
            return;
        }
        let kind = &self.func.op(op).kind;
        let stays = same_place && fusion::is_fusible(kind) && !moves_elements(kind);
        deep(|| {
            for &operand in self.func.op(op).operands() {
                self.deferred_aside(operand, stays, seen, aside);
            }
        });
    }

    /// Computes a tile into scratch.
    pub(super) fn materialise(&mut self, value: Value) -> Buffer<'ctx> {
        self.materialise_in_order(value, Order::RowMajor)
    }

    /// Computes a tile into scratch, where it is not there yet, to lie there in some order.
    pub(super) fn materialise_in_order(&mut self, value: Value, order: Order) -> Buffer<'ctx> {
        if let Some(buffer) = self.buffers.get(&value) {
            return buffer.clone();
        }
        let buffer = Buffer { order, ..self.allocate(self.elem(value), self.shape(value)) };
        self.compute_into(value, &buffer);
        self.buffers.insert(value, buffer.clone());
        self.deferred.remove(value);
        self.unread_loads.remove(value);
        buffer
    }

    /// Computes a tile into given memory, where all it needs is at hand.
    pub(super) fn fill(&mut self, value: Value, buffer: &Buffer<'ctx>) {
        let mut shape = Shape::from_slice(self.shape(value));
        buffer.order.swap(&mut shape);
        self.for_each_chunk(&shape, Width::Vector, &mut |e, place| {
            let mut index = place.clone();
            buffer.order.swap(&mut index.dims);
            let chunk = e.chunk(value, &index);
            buffer.write(e.llvm, &index, chunk);
        });
    }

    /// Computes a tile into given memory, which the tile may itself read element by element.
    pub(super) fn compute_into(&mut self, value: Value, buffer: &Buffer<'ctx>) {
        let was_deferred = self.deferred.remove(value);
        let func = self.func;
        if let (Some(op), false) = (func.def_op(value), self.buffers.contains_key(&value)) {
            // Materialises operands, and they theirs: as deep as the longest chain of operations.
            deep(|| self.flush_aside(func.op(op).operands(), !moves_elements(&func.op(op).kind)));
        }
        self.fill(value, buffer);
        self.finish_root();
        if was_deferred && !self.buffers.contains_key(&value) {
            self.buffers.insert(value, buffer.clone());
        }
    }

    /// Materialises everything that is still deferred: control flow follows.
    pub(super) fn flush_deferred(&mut self) {
        while let Some(value) = self.deferred.first() {
            self.materialise(value);
        }
    }

    /// Reads what must be read before memory changes.
    pub(super) fn read_before_write(&mut self) {
        let loads: Vec<Value> = self.unread_loads.iter().collect();
        for value in loads {
            if self.is_awaited(value) && !self.buffers.contains_key(&value) {
                self.materialise(value);
            }
        }
        self.unread_loads.clear();
        // Deferred tiles computed from memory must be computed now, too.
        let mut known = HashMap::new();
        let deferred: Vec<Value> = self.deferred.iter().filter(|&v| self.depends_on_memory(v, &mut known)).collect();
        for value in deferred {
            self.materialise(value);
        }
    }

    /// Whether some root that has not run yet reads a tile.
    pub(super) fn is_awaited(&self, value: Value) -> bool {
        self.fusion.unfinished_readers(value, &self.done, None) > 0
    }

    fn depends_on_memory(&self, value: Value, known: &mut HashMap<Value, bool>) -> bool {
        if self.buffers.contains_key(&value) || !self.func.ty(value).is_tile() {
            return false;
        }
        let Some(op) = self.func.def_op(value) else { return false };
        if let Some(&known) = known.get(&value) {
            return known;
        }
        let data = self.func.op(op);
        let depends = matches!(data.kind, OpKind::Load(_))
            || deep(|| data.operands().iter().any(|&v| self.depends_on_memory(v, known)));
        known.insert(value, depends);
        depends
    }

    pub(super) fn mark_done(&mut self, op: OpId) {
        self.done.insert(op);
    }

    /// A scalar as it is, a chunk of one lane as a scalar.
    pub(super) fn scalar_at(&mut self, value: Value, index: &Index<'ctx>) -> V<'ctx> {
        let elem = self.elem(value);
        self.chunk(value, index).single(self.llvm, elem)
    }
}

/// Whether element `i` of the result comes from other places of the operands than `i`.
pub(super) fn moves_elements(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Broadcast
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Join
            | OpKind::Split
            | OpKind::Gather { .. }
    )
}
