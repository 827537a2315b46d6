//! `dot`: where its operands lie and which memory accumulates; the arithmetic is in [`super::dot`].

use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Value, ValueDef};

use super::chunk::Buffer;
use super::control::Reads;
use super::dot::{DotPlan, DotPointers, Operand, Problem};
use super::emitter::Emitter;
use super::plan::behind_transpose;
use crate::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn dot_op(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let (a, b) = (self.operand(data.operands()[0]), self.operand(data.operands()[1]));
        let c = self.accumulator(op, [&a.0, &b.0]);
        let (batch, rows_cols) = match &c.shape[..] {
            [m, n] => (1, (*m, *n)),
            [b, m, n] => (*b, (*m, *n)),
            other => unreachable!("a product of rank {}", other.len()),
        };
        let k = *self.shape(data.operands()[0]).last().expect("a matrix");
        let (m, n) = rows_cols;
        let problem = Problem { m, n, k, a: a.1, b: b.1, c: Operand::row_major(self.number(data.operands()[2]), n) };
        let plan = DotPlan::new(self.isa, problem);
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
    fn operand(&mut self, value: Value) -> (Buffer<'ctx>, Operand) {
        let (source, transposed) = behind_transpose(self.func, value);
        let buffer = self.keep(source);
        let columns = *buffer.shape.last().expect("a matrix");
        let elem = self.number(value);
        let stride = u64::from(columns);
        let operand = if transposed {
            Operand { elem, row_stride: 1, col_stride: stride }
        } else {
            Operand { elem, row_stride: stride, col_stride: 1 }
        };
        (buffer, operand)
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
        let slot = self
            .slot_of(op)
            .filter(|slot| operands.iter().all(|o| o.base != slot.base) && self.reads(acc, slot) != Reads::Elsewhere);
        let target = slot.unwrap_or_else(|| self.allocate(self.elem(acc), self.shape(acc)));
        self.compute_into(acc, &target);
        target
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
        let param = match self.func.op(owner).kind {
            OpKind::For(_) => *self.func.region(region).params().get(position + 1)?,
            _ => return None,
        };
        debug_assert!(matches!(self.func.value(param).def(), ValueDef::Param(..)));
        self.is_last_use(param, op).then(|| self.buffers.get(&param).cloned()).flatten()
    }
}
