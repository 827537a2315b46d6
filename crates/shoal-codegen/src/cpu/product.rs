//! `dot`: where its operands lie and which memory accumulates; the arithmetic is in [`super::dot`].

use inkwell::types::BasicTypeEnum;
use inkwell::values::{InstructionOpcode, IntValue, PointerValue};
use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Value};

use super::chunk::{Buffer, Order};
use super::control::{Reads, SlotReads};
use super::dot::{DotPlan, DotPointers, Operand, Problem, Stride};
use super::emitter::Emitter;
use super::fusion::behind_transpose;
use super::index::{Dim, Index, LaneBits};
use super::whole::Conditions;
use crate::shared::llvm::V;

/// An operand of a product.
pub(super) struct Matrix<'ctx> {
    /// Where it lies: in scratch, or in the kernel's own memory.
    pub(super) buffer: Buffer<'ctx>,
    operand: Operand,
    /// In bytes, if it is known at run time only.
    pub(super) stride: Option<IntValue<'ctx>>,
    /// Whether it lies where the kernel loads it from, if only the code knows; else it is a copy.
    pub(super) whole: Option<IntValue<'ctx>>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn dot_op(&mut self, op: OpId) {
        if let Some(&postponed) = self.postponed.get(&op) {
            return self.postponed_dot(op, postponed);
        }
        let func = self.func;
        let data = func.op(op);
        let (a, b) = (self.operand(op, 0), self.operand(op, 1));
        let acc = data.operands()[2];
        let (batch, (m, n)) = match self.shape(acc) {
            [m, n] => (1, (*m, *n)),
            [b, m, n] => (*b, (*m, *n)),
            other => unreachable!("a product of rank {}", other.len()),
        };
        let problem = self.problem(op, &a, &b);
        let k = problem.k;
        let plan = DotPlan::new(self.isa, problem);
        let from_zero =
            plan.starting_at_zero().filter(|_| matches!(func.def_kind(acc), Some(OpKind::Const(c)) if c.is_zero()));
        let c = match from_zero {
            Some(_) => self.target(op, [&a.buffer, &b.buffer]),
            None => self.accumulator(op, [&a.buffer, &b.buffer]),
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
            let (a_stride, b_stride) = (a.stride, b.stride);
            let (a, b, c) = (at(&a.buffer, m * k), at(&b.buffer, k * n), at(&c, m * n));
            let pointers = DotPointers { a, b, a_stride, b_stride, a_whole: None, b_whole: None, c, scratch };
            plan.emit(llvm, pointers);
            Vec::<V<'ctx>>::new()
        });
        self.buffers.insert(data.result(), c);
    }

    /// One product of a batch.
    pub(super) fn problem(&self, op: OpId, a: &Matrix<'ctx>, b: &Matrix<'ctx>) -> Problem {
        let operands = self.func.op(op).operands();
        let [.., m, n] = *self.shape(operands[2]) else { unreachable!("sums are a matrix") };
        let k = *self.shape(operands[0]).last().expect("a matrix");
        let c = Operand::row_major(self.number(operands[2]), n);
        Problem { m, n, k, a: a.operand, b: b.operand, c }
    }

    /// A matrix in memory; a transpose is only another way to walk it.
    pub(super) fn operand(&mut self, op: OpId, index: usize) -> Matrix<'ctx> {
        let value = self.func.op(op).operands()[index];
        let (source, transposed) = behind_transpose(self.func, value);
        let order = self.order_in_memory(source, op);
        let matrix = match self.loaded_matrix(source, order, op) {
            Some(matrix) => matrix,
            None => self.materialised_matrix(source, order),
        };
        if transposed { Matrix { operand: matrix.operand.transposed(), ..matrix } } else { matrix }
    }

    /// A matrix in scratch.
    fn materialised_matrix(&mut self, value: Value, order: Order) -> Matrix<'ctx> {
        let elem = self.number(value);
        let buffer = self.materialise_in_order(value, order);
        let [.., rows, columns] = buffer.shape[..] else { unreachable!("a matrix, not {:?}", buffer.shape) };
        let operand = match buffer.order {
            Order::RowMajor => Operand::row_major(elem, columns),
            Order::ColumnMajor => Operand::column_major(elem, rows),
        };
        Matrix { buffer, operand, stride: None, whole: None }
    }

    /// A matrix that nobody else reads, of whole rows or columns at even distances, where the kernel loads it from: the
    /// product packs it from there, which saves a copy. If only the code can tell, it makes the copy where it must.
    fn loaded_matrix(&mut self, value: Value, order: Order, op: OpId) -> Option<Matrix<'ctx>> {
        let conditions = self.matrix_conditions(value, order, op)?;
        let load = self.func.def_op(value).map(|op| self.func.op(op))?;
        let pointers = load.operands()[0];
        let [rows, columns] = *self.shape(value) else { return None };
        let next = match order {
            Order::RowMajor => [1, 0],
            Order::ColumnMajor => [0, 1],
        };
        let (base, second) = (self.address_at(pointers, [0, 0]), self.address_at(pointers, next));
        let llvm = self.llvm;
        let (from, to) = (llvm.ptr_to_int(base), llvm.ptr_to_int(second));
        let stride = llvm.bin(InstructionOpcode::Sub, to.into(), from.into()).into_int_value();
        let elem = self.number(value);
        let operand = match order {
            Order::RowMajor => Operand { row_stride: Stride::AtRunTime, ..Operand::row_major(elem, columns) },
            Order::ColumnMajor => Operand { col_stride: Stride::AtRunTime, ..Operand::column_major(elem, rows) },
        };
        self.deferred.remove(value);
        let buffer = Buffer { base, elem: elem.into(), shape: [rows, columns].as_slice().into(), order };
        if conditions.always_hold() {
            return Some(Matrix { buffer, operand, stride: Some(stride), whole: None });
        }
        self.flush_deferred_behind(load.operands());
        let whole = self.hold(&conditions);
        let copy = Buffer { order, ..self.allocate(elem.into(), &[rows, columns]) };
        let (before, aside, after) = (llvm.here(), llvm.new_block("part"), llvm.new_block("whole"));
        llvm.branch(whole, after, aside);
        llvm.builder.position_at_end(aside);
        self.scoped(|e| e.fill(value, &copy));
        let copied = llvm.here();
        llvm.jump(after);
        llvm.builder.position_at_end(after);
        let chosen = |ty: BasicTypeEnum<'ctx>, there: V<'ctx>, here: V<'ctx>| {
            let phi = llvm.builder.build_phi(ty, "").expect("a phi");
            phi.add_incoming(&[(&there, before), (&here, copied)]);
            phi.as_basic_value()
        };
        let line = if order == Order::RowMajor { columns } else { rows };
        let line_bytes = llvm.const_i64(i64::from(line) * i64::from(elem.bytes()));
        let base = chosen(llvm.ptr().into(), base.into(), copy.base.into()).into_pointer_value();
        let stride = chosen(llvm.i64().into(), stride.into(), line_bytes.into()).into_int_value();
        Some(Matrix { buffer: Buffer { base, ..buffer }, operand, stride: Some(stride), whole: Some(whole) })
    }

    /// What must hold for a tile to be a matrix in the kernel's memory that a product may read there.
    pub(super) fn matrix_conditions(&self, value: Value, order: Order, op: OpId) -> Option<Conditions> {
        let func = self.func;
        let load = func.def_op(value).map(|op| func.op(op))?;
        let (OpKind::Load(attrs), [pointers, masked @ ..]) = (&load.kind, load.operands()) else { return None };
        let [rows, columns] = *self.shape(value) else { return None };
        let read_here = !self.buffers.contains_key(&value) && self.fusion.is_read_only_by(value, op);
        let (along, across) = match order {
            Order::RowMajor => (1, rows),
            Order::ColumnMajor => (0, columns),
        };
        // Accesses are checked where they are loads.
        let plain = !attrs.mode.is_pinned() && self.checks.is_none();
        if !plain || !read_here || across == 1 {
            return None;
        }
        let runs = &func.value(*pointers).facts.contiguous;
        let whole = runs.get(along).is_some_and(|&run| run >= u64::from([rows, columns][along]));
        if masked.is_empty() && whole && self.affine.is_affine(func, *pointers) {
            return Some(Conditions::default());
        }
        let bytes = i64::from(self.number(value).bytes());
        Conditions::of(func, *pointers, masked.first().copied(), along, bytes)
    }

    fn address_at(&mut self, pointers: Value, place: [i64; 2]) -> PointerValue<'ctx> {
        let dims = place.map(|at| Dim { base: self.llvm.const_i64(at), lanes: LaneBits::new() });
        self.scalar_at(pointers, &Index { dims: dims.into_iter().collect(), log_lanes: 0 }).into_pointer_value()
    }

    /// A matrix loaded for this product alone is read along whichever side it is contiguous in memory.
    pub(super) fn order_in_memory(&self, value: Value, op: OpId) -> Order {
        let Some(load) = self.func.def_op(value).map(|op| self.func.op(op)) else { return Order::RowMajor };
        if !matches!(load.kind, OpKind::Load(_)) || !self.fusion.is_read_only_by(value, op) {
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
        let slot = self.slot_of(op).filter(|slot| {
            operands.iter().all(|o| o.base != slot.base) && SlotReads::of(slot).by(self, acc) != Reads::Elsewhere
        });
        slot.unwrap_or_else(|| self.allocate(self.elem(acc), self.shape(acc)))
    }

    /// Whether nobody reads a tile after `op`.
    fn is_last_use(&self, value: Value, op: OpId) -> bool {
        self.fusion.unfinished_readers(value, &self.done, Some(op)) == 0
    }

    /// If the result of `op` is carried to the next iteration, the memory it will be carried in, provided that its
    /// present content is no longer needed.
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
