//! Loops over the elements of a tile, in chunks, and what must be in memory before one starts.

use inkwell::values::IntValue;
use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Shape, Value};

use super::chunk::{Buffer, Order};
use super::emitter::Emitter;
use super::index::{Dim, Index, LaneBits, split_linear};
use super::plan;
use crate::llvm::V;

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

    /// The outer coordinates of a shape from one row-major number.
    pub(super) fn coordinates(&self, linear: IntValue<'ctx>, shape: &[u32]) -> smallvec::SmallVec<[Dim<'ctx>; 4]> {
        let linear = Dim { base: linear, lanes: LaneBits::new() };
        let mut dims: smallvec::SmallVec<[Dim<'ctx>; 4]> = shape.iter().map(|_| linear.clone()).collect();
        split_linear(self.llvm, &linear, shape, &mut dims);
        dims
    }

    /// Computes all pending tiles that these values need.
    pub(super) fn keep_pending_behind(&mut self, values: &[Value]) {
        let mut aside = Vec::new();
        for &value in values {
            self.pending_aside(value, false, &mut Vec::new(), &mut aside);
        }
        for value in aside {
            self.keep(value);
        }
    }

    /// Makes sure that all pending tiles a root reads can be filled by its loop, and computes the others now.
    pub(super) fn prepare(&mut self, operands: &[Value]) {
        let mut aside = Vec::new();
        for &operand in operands {
            self.pending_aside(operand, true, &mut Vec::new(), &mut aside);
        }
        for value in aside {
            self.keep(value);
        }
    }

    /// Collects pending tiles that `value` needs at other places than its own, definitions first.
    fn pending_aside(&self, value: Value, same_place: bool, seen: &mut Vec<(Value, bool)>, aside: &mut Vec<Value>) {
        if !self.func.ty(value).is_tile() || self.buffers.contains_key(&value) || seen.contains(&(value, same_place)) {
            return;
        }
        seen.push((value, same_place));
        let Some(op) = self.func.def_op(value) else { return };
        if self.pending.contains(&value) && !same_place {
            if !aside.contains(&value) {
                aside.push(value);
            }
            return;
        }
        let kind = &self.func.op(op).kind;
        let stays = same_place && plan::is_fusible(kind) && !moves_elements(kind);
        for &operand in self.func.op(op).operands() {
            self.pending_aside(operand, stays, seen, aside);
        }
    }

    /// Computes a tile into scratch.
    pub(super) fn keep(&mut self, value: Value) -> Buffer<'ctx> {
        self.keep_in_order(value, Order::RowMajor)
    }

    /// Computes a tile into scratch, where it is not there yet, to lie there in some order.
    pub(super) fn keep_in_order(&mut self, value: Value, order: Order) -> Buffer<'ctx> {
        if let Some(buffer) = self.buffers.get(&value) {
            return buffer.clone();
        }
        let buffer = Buffer { order, ..self.allocate(self.elem(value), self.shape(value)) };
        self.compute_into(value, &buffer);
        self.buffers.insert(value, buffer.clone());
        self.pending.retain(|&p| p != value);
        self.unread.retain(|&p| p != value);
        buffer
    }

    /// Computes a tile into given memory, which the tile may itself read element by element.
    pub(super) fn compute_into(&mut self, value: Value, buffer: &Buffer<'ctx>) {
        let was_pending = self.pending.contains(&value);
        self.pending.retain(|&p| p != value);
        let operands = match (self.func.def_op(value), self.buffers.contains_key(&value)) {
            (Some(op), false) => self.func.op(op).operands().to_vec(),
            _ => Vec::new(),
        };
        let moves = self.func.def_op(value).is_some_and(|op| moves_elements(&self.func.op(op).kind));
        if moves {
            self.keep_pending_behind(&operands);
        } else {
            self.prepare(&operands);
        }
        let mut shape = Shape::from_slice(self.shape(value));
        buffer.order.swap(&mut shape);
        self.for_each_chunk(&shape, Width::Vector, &mut |e, place| {
            let mut index = place.clone();
            buffer.order.swap(&mut index.dims);
            let chunk = e.chunk(value, &index);
            buffer.write(e.llvm, &index, chunk);
        });
        self.finish_root();
        if was_pending && !self.buffers.contains_key(&value) {
            self.buffers.insert(value, buffer.clone());
        }
    }

    /// Computes everything that is still pending: control flow follows.
    pub(super) fn keep_pending(&mut self) {
        while let Some(&value) = self.pending.first() {
            self.keep(value);
        }
    }

    /// Reads what must be read before memory changes.
    pub(super) fn read_before_write(&mut self) {
        let loads: Vec<Value> = self.unread.clone();
        for value in loads {
            if self.is_awaited(value) && !self.buffers.contains_key(&value) {
                self.keep(value);
            }
        }
        self.unread.clear();
        // Pending tiles computed from memory must be computed now, too.
        let pending: Vec<Value> = self.pending.iter().copied().filter(|&v| self.depends_on_memory(v)).collect();
        for value in pending {
            self.keep(value);
        }
    }

    /// Whether some root that has not run yet reads a tile.
    pub(super) fn is_awaited(&self, value: Value) -> bool {
        self.plan.roots(value).iter().any(|root| !self.done.contains(root))
    }

    fn depends_on_memory(&self, value: Value) -> bool {
        if self.buffers.contains_key(&value) || !self.func.ty(value).is_tile() {
            return false;
        }
        let Some(op) = self.func.def_op(value) else { return false };
        matches!(self.func.op(op).kind, OpKind::Load(_))
            || self.func.op(op).operands().iter().any(|&v| self.depends_on_memory(v))
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
