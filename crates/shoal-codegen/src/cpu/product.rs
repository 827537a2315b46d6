//! `dot`: where its operands lie and which memory accumulates; the arithmetic is in [`super::dot`].

use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Value};

use super::chunk::{Buffer, Order};
use super::control::Reads;
use super::dot::{DotPlan, DotPointers, Operand, Problem};
use super::emitter::Emitter;
use super::plan::behind_transpose;
use crate::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn dot_op(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let (a, b) = (self.operand(op, 0), self.operand(op, 1));
        let acc = data.operands()[2];
        let (batch, (m, n)) = match self.shape(acc) {
            [m, n] => (1, (*m, *n)),
            [b, m, n] => (*b, (*m, *n)),
            other => unreachable!("a product of rank {}", other.len()),
        };
        let k = *self.shape(data.operands()[0]).last().expect("a matrix");
        let problem = Problem { m, n, k, a: a.1, b: b.1, c: Operand::row_major(self.number(acc), n) };
        let plan = DotPlan::new(self.isa, problem);
        let from_zero =
            plan.starting_at_zero().filter(|_| matches!(func.def_kind(acc), Some(OpKind::Const(c)) if c.is_zero()));
        let c = match from_zero {
            Some(_) => self.target(op, [&a.0, &b.0]),
            None => self.accumulator(op, [&a.0, &b.0]),
        };
        let plan = from_zero.unwrap_or(plan);
        self.needs.uses_amx |= plan.uses_amx();
        let top = self.scratch_top;
        let scratch = self.allocate_bytes(plan.scratch_bytes());
        self.scratch_top = top;
        let llvm = self.llvm;
        llvm.counted_loop(u64::from(batch), 1, &[], &mut |i, _| {
            let at = |buffer: &Buffer<'ctx>, elements: u32| {
                let bytes = i64::from(elements) * i64::from(buffer.elem.bytes());
                llvm.offset(buffer.base, llvm.mul64(i, llvm.const_i64(bytes)))
            };
            plan.emit(llvm, DotPointers { a: at(&a.0, m * k), b: at(&b.0, k * n), c: at(&c, m * n), scratch });
            Vec::<V<'ctx>>::new()
        });
        self.buffers.insert(data.result(), c);
    }

    /// A matrix in memory; a transpose is only another way to walk it.
    fn operand(&mut self, op: OpId, index: usize) -> (Buffer<'ctx>, Operand) {
        let value = self.func.op(op).operands()[index];
        let (source, transposed) = behind_transpose(self.func, value);
        let order = self.order_in_memory(source, op);
        let buffer = self.keep_in_order(source, order);
        let (rows, columns) = match &buffer.shape[..] {
            [.., rows, columns] => (u64::from(*rows), u64::from(*columns)),
            other => unreachable!("a matrix, not {other:?}"),
        };
        let elem = self.number(value);
        let (row_stride, col_stride) = match buffer.order {
            Order::RowMajor => (columns, 1),
            Order::ColumnMajor => (1, rows),
        };
        let operand = if transposed {
            Operand { elem, row_stride: col_stride, col_stride: row_stride }
        } else {
            Operand { elem, row_stride, col_stride }
        };
        (buffer, operand)
    }

    /// A matrix loaded for this product alone is read along whichever side it is contiguous in memory.
    fn order_in_memory(&self, value: Value, op: OpId) -> Order {
        let Some(load) = self.func.def_op(value).map(|op| self.func.op(op)) else { return Order::RowMajor };
        if !matches!(load.kind, OpKind::Load(_)) || self.plan.roots(value).iter().any(|&root| root != op) {
            return Order::RowMajor;
        }
        let runs = &self.func.value(load.operands()[0]).facts.contiguous;
        match runs[..] {
            [.., along_columns, along_rows] if along_columns > along_rows => Order::ColumnMajor,
            _ => Order::RowMajor,
        }
    }

    /// Memory that holds the accumulator's old value and may be overwritten.
    fn accumulator(&mut self, op: OpId, operands: [&Buffer<'ctx>; 2]) -> Buffer<'ctx> {
        let data = self.func.op(op);
        let acc = data.operands()[2];
        if let Some(held) = self.buffers.get(&acc).cloned() {
            let local = Some(self.func.defining_region(acc)) == data.parent();
            if local && self.is_last_use(acc, op) && operands.iter().all(|o| o.base != held.base) {
                return held;
            }
        }
        let target = self.target(op, operands);
        self.compute_into(acc, &target);
        target
    }

    /// Memory for the result, which may hold what the accumulator is computed from.
    fn target(&mut self, op: OpId, operands: [&Buffer<'ctx>; 2]) -> Buffer<'ctx> {
        let acc = self.func.op(op).operands()[2];
        let slot = self
            .slot_of(op)
            .filter(|slot| operands.iter().all(|o| o.base != slot.base) && self.reads(acc, slot) != Reads::Elsewhere);
        slot.unwrap_or_else(|| self.allocate(self.elem(acc), self.shape(acc)))
    }

    /// Whether nobody reads a tile after `op`.
    fn is_last_use(&self, value: Value, op: OpId) -> bool {
        self.plan.roots(value).iter().all(|root| *root == op || self.done.contains(root))
    }

    /// If the result of `op` is carried to the next iteration, the memory it will be carried in, provided that its present content
    /// is no longer needed.
    fn slot_of(&self, op: OpId) -> Option<Buffer<'ctx>> {
        let data = self.func.op(op);
        let region = data.parent()?;
        let owner = self.func.region(region).owner()?;
        let last = self.func.terminator(region)?;
        let position = self.func.op(last).operands().iter().position(|&v| v == data.result())?;
        if !matches!(self.func.op(owner).kind, OpKind::For(_)) {
            return None;
        }
        let param = *self.func.region(region).params().get(position + 1)?;
        self.is_last_use(param, op).then(|| self.buffers.get(&param).cloned()).flatten()
    }
}
