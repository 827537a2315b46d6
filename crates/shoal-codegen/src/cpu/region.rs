//! The operations of a region, in order: scalars are computed, tiles are deferred or fused, roots run.

use inkwell::values::InstructionOpcode;
use shoal_abi::Hook;
use shoal_ir::class::{
    AccessOp, ApplyOp, AtomicOp, ControlOp, EffectOp, ElementwiseOp, OpClass, ShapeOp, SourceOp, TileOp,
};
use shoal_ir::op::OpKind;
use shoal_ir::{CommOp, OpId, Region, Type, Value, effects};

use super::chunk::Chunk;
use super::emitter::Emitter;
use super::index::Index;
use crate::shared::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Emits all operations of a region but its terminator, which it gives back.
    pub(super) fn region_body(&mut self, region: Region) -> OpId {
        let func = self.func;
        let (last, rest) = func.region(region).ops().split_last().expect("a region ends in a terminator");
        for &op in rest {
            self.op(op);
        }
        self.locate(*last);
        *last
    }

    /// Emits a region of scalar operations, control flow included, and gives what it yields.
    pub(super) fn run_scalar_region(&mut self, region: Region, args: &[V<'ctx>]) -> Vec<V<'ctx>> {
        let func = self.func;
        for (&param, &arg) in func.region(region).params().iter().zip(args) {
            self.bound.remove(&param);
            self.scalars.insert(param, arg);
        }
        let last = self.region_body(region);
        func.op(last).operands().iter().map(|&v| self.scalar(v)).collect()
    }

    fn op(&mut self, op: OpId) {
        self.locate(op);
        let data = self.func.op(op);
        match data.kind.class() {
            OpClass::Source(SourceOp::ProgramId { axis }) => {
                self.scalars.insert(data.result(), self.program[usize::from(axis)]);
            }
            OpClass::Source(SourceOp::NumPrograms { axis }) => {
                self.scalars.insert(data.result(), self.grid[usize::from(axis)]);
            }
            OpClass::Elementwise(ElementwiseOp::Extern(function)) if !function.pure => self.impure_extern(op),
            OpClass::Source(SourceOp::Const(_) | SourceOp::Iota { .. })
            | OpClass::Elementwise(_)
            | OpClass::Shape(_) => self.fusible(op),
            OpClass::Tile(TileOp::Histogram) => self.histogram_op(op),
            OpClass::Tile(TileOp::Dot { .. }) => self.dot_op(op),
            OpClass::Apply(ApplyOp::Reduce { .. }) => self.reduce_op(op),
            OpClass::Apply(ApplyOp::Scan { .. }) => self.scan_op(op),
            OpClass::Apply(ApplyOp::MapElementwise { .. }) => self.map_op(op),
            OpClass::Access(AccessOp::Store { .. }) => self.store_op(op),
            OpClass::Access(AccessOp::Load(attrs)) => {
                match (self.func.ty(data.result()).is_tile(), attrs.mode.is_pinned()) {
                    (false, _) => self.scalar_load(op),
                    (true, true) => self.pinned_load(op),
                    (true, false) => self.defer(op),
                }
            }
            OpClass::Atomic(AtomicOp::Poll, ..) => self.atomic_poll(op),
            OpClass::Atomic(AtomicOp::Rmw(_) | AtomicOp::Cas | AtomicOp::Load | AtomicOp::Store, ..) => {
                self.atomic_op(op);
            }
            OpClass::Comm(kind) => self.comm_op(op, kind),
            OpClass::Effect(EffectOp::Print { .. }) => self.print_op(op),
            OpClass::Effect(EffectOp::Assert { .. }) => self.assert_op(op),
            OpClass::Effect(EffectOp::Assume) => {
                let condition = self.scalar(data.operands()[0]);
                self.llvm.intrinsic("llvm.assume", &[], &[condition]);
            }
            // One thread runs a program: everything before is done.
            OpClass::Effect(EffectOp::Barrier) => self.read_before_write(),
            OpClass::Effect(EffectOp::Fence { sem, .. }) => self.fence(sem),
            OpClass::Effect(EffectOp::Clock) => {
                let now = self.llvm.call(self.llvm.hook(Hook::ClockNs), &[]).expect("a time");
                self.scalars.insert(data.result(), now);
            }
            OpClass::Effect(EffectOp::GridWords) => {
                let words =
                    self.llvm.call(self.llvm.hook(Hook::GridWords), &[self.context.into()]).expect("an address");
                let words = self.llvm.cast(InstructionOpcode::IntToPtr, words, self.llvm.ptr().into());
                self.scalars.insert(data.result(), words);
            }
            OpClass::Control(ControlOp::If) => self.if_op(op),
            OpClass::Control(ControlOp::For(_)) => self.for_op(op),
            OpClass::Control(ControlOp::While { .. }) => self.while_op(op),
            OpClass::Desc(_) | OpClass::Call(_) => unreachable!("{:?} is refused before emission", data.kind),
            OpClass::Terminator(_) => unreachable!("a terminator is emitted by the operation around its region"),
        }
        self.mark_done(op);
    }

    /// An operation whose tiles can be computed chunk by chunk, and whose scalars are computed now.
    pub(super) fn fusible(&mut self, op: OpId) {
        if self.func.op(op).results().iter().all(|&r| self.func.ty(r).is_tile()) {
            self.defer(op);
        } else {
            self.scalar_op(op);
        }
    }

    /// A tile that will be computed where it is used, or by the first root that passes.
    fn defer(&mut self, op: OpId) {
        let data = self.func.op(op);
        for &result in data.results() {
            if self.fusion.is_materialised(result) {
                self.deferred.push(result);
            } else if matches!(data.kind, OpKind::Load(_)) {
                self.unread_loads.push(result);
            }
        }
    }

    /// An operation on scalars, or one that takes a scalar out of a tile.
    fn scalar_op(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let value = match data.kind.class() {
            OpClass::Source(SourceOp::Const(c)) => self.constant(c),
            OpClass::Shape(ShapeOp::Reshape) => {
                self.prepare_aside(data.operands());
                let rank = self.shape(data.operands()[0]).len();
                let first = self.first_place(rank);
                self.scalar_at(data.operands()[0], &first)
            }
            OpClass::Shape(ShapeOp::Split) => {
                self.prepare_aside(data.operands());
                for (i, &result) in data.results().iter().enumerate() {
                    let mut place = self.first_place(1);
                    place.dims[0].base = self.llvm.const_i64(i as i64);
                    let value = self.scalar_at(data.operands()[0], &place);
                    self.scalars.insert(result, value);
                }
                return;
            }
            // It costs nothing: what matters is that it comes after the wait.
            OpClass::Comm(CommOp::ConsumeToken) => self.scalar(data.operands()[0]),
            OpClass::Elementwise(_) => {
                let chunks: Vec<Chunk<'ctx>> =
                    data.operands().iter().map(|&v| Chunk::Uniform(self.scalar(v))).collect();
                match self.elementwise(op, &chunks, 1) {
                    Chunk::Uniform(v) | Chunk::Affine { base: v, .. } => v,
                    Chunk::Vector(v) => self.llvm.extract(v, 0),
                }
            }
            OpClass::Source(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Access(_)
            | OpClass::Atomic(..)
            | OpClass::Desc(_)
            | OpClass::Comm(_)
            | OpClass::Effect(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => unreachable!("{:?} has no scalar that is computed from scalars", data.kind),
        };
        self.scalars.insert(data.results()[0], value);
    }

    /// Everything deferred that these values need is computed now: only one element of them will be read.
    pub(super) fn prepare_aside(&mut self, operands: &[Value]) {
        for &operand in operands {
            if self.func.ty(operand).is_tile() && !self.buffers.contains_key(&operand) {
                self.materialise(operand);
            }
        }
    }

    fn first_place(&self, rank: usize) -> Index<'ctx> {
        let zero = super::index::Dim { base: self.llvm.const_i64(0), lanes: super::index::LaneBits::new() };
        Index { dims: (0..rank).map(|_| zero.clone()).collect(), log_lanes: 0 }
    }

    /// A function with effects is called for each element, in order.
    fn impure_extern(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        self.read_before_write();
        self.prepare(data.operands());
        let result = data.results()[0];
        if !func.ty(result).is_tile() {
            let args: Vec<V<'ctx>> = data.operands().iter().map(|&v| self.scalar(v)).collect();
            let value = self.apply(op, &args);
            self.scalars.insert(result, value);
            return;
        }
        let shape = shoal_ir::Shape::from_slice(self.shape(result));
        let buffer = self.allocate(self.elem(result), &shape);
        self.for_each_chunk(&shape, super::tile_loops::Width::One, &mut |e, index| {
            let args: Vec<V<'ctx>> = data.operands().iter().map(|&v| e.scalar_at(v, index)).collect();
            let value = e.apply(op, &args);
            buffer.write(e.llvm, index, Chunk::Uniform(value));
        });
        self.finish_root();
        self.buffers.insert(result, buffer);
    }

    /// Before control flow: what is deferred is computed, and what must be read before memory changes is read.
    pub(super) fn flush_before(&mut self, op: OpId) {
        let inside = effects::of_op(self.func, op);
        if inside.writes.any() || inside.order.is_some() || inside.waits || inside.observable {
            self.read_before_write();
        }
        self.flush_deferred();
    }

    /// The type in which a scalar value is held, for a phi.
    pub(super) fn scalar_type(&self, value: Value) -> inkwell::types::BasicTypeEnum<'ctx> {
        match self.func.ty(value) {
            Type::Token => self.token().get_type(),
            Type::Elem(elem) => crate::shared::value_type::register_type(self.llvm, *elem),
            Type::Tile(_) | Type::Desc(_) => unreachable!("not held in a register"),
        }
    }

    pub(super) fn as_bool(&self, value: V<'ctx>) -> inkwell::values::IntValue<'ctx> {
        self.llvm.cast(InstructionOpcode::Trunc, value, self.llvm.i1().into()).into_int_value()
    }
}
