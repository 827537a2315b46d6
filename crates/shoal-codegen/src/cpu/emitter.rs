//! The state of emission, and the value of any chunk of any tile.

use std::collections::{HashMap, HashSet};

use inkwell::basic_block::BasicBlock;
use inkwell::values::{InstructionOpcode, IntValue, PointerValue};
use shoal_ir::class::{AccessOp, OpClass, ShapeOp, SourceOp};
use shoal_ir::source::SourceMap;
use shoal_ir::{CommOp, Const, Elem, Func, OpId, Scalar, Value, effects};

use super::addressing::Offsets;
use super::affine::AffineTiles;
use super::check::Checks;
use super::chunk::{Buffer, Chunk, Order};
use super::dot::Round;
use crate::shared::debug_info::DebugInfo;
use crate::shared::value_type::{lane_type, register_type};

use super::alias_guard::AliasGuard;
use super::finish::Unfinished;
use super::fusion::FusionPlan;
use super::index::{Dim, Index, IndexKey, LaneBits};
use super::isa::Isa;
use super::postpone::Postponed;
use super::tile_queue::TileQueue;
use crate::shared::llvm::{Llvm, V, vector_type};
use crate::shared::recursion::deep;

/// What a compiled kernel turned out to need.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Needs {
    pub(super) scratch_bytes: u64,
    pub(super) can_fail: bool,
    pub(super) uses_amx: bool,
    /// Whether stores bypass the caches, so that a fence must follow.
    pub(super) nontemporal_stores: bool,
}

/// Emits the body of one kernel. Loops and operations that run by themselves are in the files beside this one.
pub(super) struct Emitter<'a, 'ctx> {
    pub(super) llvm: &'a Llvm<'ctx>,
    pub(super) isa: &'a Isa,
    pub(super) func: &'a Func,
    pub(super) sources: &'a SourceMap,
    pub(super) debug: Option<DebugInfo<'ctx>>,
    /// The runtime's `Context`.
    pub(super) context: PointerValue<'ctx>,
    pub(super) scratch: PointerValue<'ctx>,
    pub(super) program: [V<'ctx>; 3],
    pub(super) grid: [V<'ctx>; 3],
    pub(super) fusion: FusionPlan,
    pub(super) affine: AffineTiles,
    pub(super) offsets: Offsets,
    /// Whether the kernel orders memory, so that stores must not be reordered by bypassing the caches.
    pub(super) orders_memory: bool,
    pub(super) needs: Needs,
    /// Values of scalar type.
    pub(super) scalars: HashMap<Value, V<'ctx>>,
    /// Parameters of regions that are applied to whole chunks at a time.
    pub(super) bound: HashMap<Value, Chunk<'ctx>>,
    /// Materialised tiles that have been computed.
    pub(super) buffers: HashMap<Value, Buffer<'ctx>>,
    /// Tiles to be materialised that nobody has asked for yet: the first root that visits all their elements computes
    /// them.
    pub(super) deferred: TileQueue,
    /// Fused loads: they must have been read before memory changes.
    pub(super) unread_loads: TileQueue,
    /// Fused loads that are read from a copy if their memory overlaps that of the store they are fused with.
    pub(super) guards: HashMap<Value, AliasGuard<'ctx>>,
    pub(super) done: HashSet<OpId>,
    pub(super) scratch_top: u64,
    /// How often each loop around the present place runs, for those that store tiles.
    pub(super) trips: Vec<IntValue<'ctx>>,
    /// Products that are computed for several rounds of their loop at a time.
    pub(super) postponed: HashMap<OpId, Postponed<'ctx>>,
    /// Those whose sums are finished by a store.
    pub(super) unfinished: HashMap<OpId, Unfinished<'ctx>>,
    /// Where the loop around the present place is, if it has such products.
    pub(super) round: Option<Round<'ctx>>,
    /// How many loops around the present place only look at memory.
    pub(super) looking: usize,
    /// Where a program goes that is to end early; made when a loop needs it.
    pub(super) leave: Option<BasicBlock<'ctx>>,
    /// Set when accesses are checked.
    pub(super) checks: Option<Checks<'ctx>>,
    memo: Vec<HashMap<(Value, IndexKey, u8), Chunk<'ctx>>>,
    /// The place the current root's loop is at; deferred tiles of this shape are filled there.
    root_place: Option<(IndexKey, u8)>,
    /// Deferred tiles that the current root's loop materialises.
    filled: HashMap<Value, Buffer<'ctx>>,
}

impl<'a, 'ctx> Emitter<'a, 'ctx> {
    #[expect(clippy::too_many_arguments, reason = "one call, in one place")]
    pub(super) fn new(
        llvm: &'a Llvm<'ctx>,
        isa: &'a Isa,
        func: &'a Func,
        sources: &'a SourceMap,
        debug: Option<DebugInfo<'ctx>>,
        context: PointerValue<'ctx>,
        scratch: PointerValue<'ctx>,
        program: [V<'ctx>; 3],
        grid: [V<'ctx>; 3],
    ) -> Self {
        Emitter {
            llvm,
            isa,
            func,
            sources,
            debug,
            context,
            scratch,
            program,
            grid,
            fusion: FusionPlan::new(func),
            affine: AffineTiles::new(func),
            offsets: Offsets::new(func),
            orders_memory: effects::of_region(func, func.body()).order.is_some(),
            needs: Needs::default(),
            scalars: HashMap::new(),
            bound: HashMap::new(),
            buffers: HashMap::new(),
            deferred: TileQueue::default(),
            unread_loads: TileQueue::default(),
            guards: HashMap::new(),
            done: HashSet::new(),
            scratch_top: 0,
            trips: Vec::new(),
            postponed: HashMap::new(),
            unfinished: HashMap::new(),
            round: None,
            looking: 0,
            leave: None,
            checks: None,
            memo: vec![HashMap::new()],
            root_place: None,
            filled: HashMap::new(),
        }
    }

    pub(super) fn elem(&self, value: Value) -> Elem {
        self.func.ty(value).elem().expect("a scalar or a tile")
    }

    pub(super) fn number(&self, value: Value) -> Scalar {
        self.func.ty(value).number().expect("a number")
    }

    pub(super) fn shape(&self, value: Value) -> &'a [u32] {
        self.func.ty(value).shape()
    }

    /// Room in scratch for a tile.
    pub(super) fn allocate(&mut self, elem: Elem, shape: &[u32]) -> Buffer<'ctx> {
        let elements: u64 = shape.iter().map(|&d| u64::from(d)).product();
        let base = self.allocate_bytes(elements * u64::from(elem.bytes()));
        Buffer { base, elem, shape: shape.into(), order: Order::RowMajor }
    }

    pub(super) fn allocate_bytes(&mut self, bytes: u64) -> PointerValue<'ctx> {
        let offset = self.scratch_top;
        self.scratch_top += bytes.next_multiple_of(64);
        self.needs.scratch_bytes = self.needs.scratch_bytes.max(self.scratch_top);
        self.llvm.offset(self.scratch, self.llvm.const_i64(offset as i64))
    }

    /// Code that is emitted inside `body` runs conditionally or repeatedly: what is computed there is not known
    /// outside.
    pub(super) fn scoped<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.memo.push(HashMap::new());
        let result = body(self);
        self.memo.pop();
        result
    }

    pub(super) fn scalar(&self, value: Value) -> V<'ctx> {
        *self.scalars.get(&value).unwrap_or_else(|| panic!("scalar {value} is computed before it is used"))
    }

    pub(super) fn constant(&self, c: Const) -> V<'ctx> {
        let llvm = self.llvm;
        let bits = llvm.int_type(c.ty().bits()).const_int(c.bits(), false);
        llvm.cast(InstructionOpcode::BitCast, bits.into(), register_type(llvm, Elem::Scalar(c.ty())))
    }

    /// Sets the place that deferred tiles may be filled at, for code emitted by `body`.
    pub(super) fn at_root_place<T>(&mut self, index: &Index<'ctx>, body: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.root_place.replace((index.key(), index.log_lanes));
        let result = body(self);
        self.root_place = before;
        result
    }

    /// Ends a root: what its loop filled is now in memory.
    pub(super) fn finish_root(&mut self) {
        for (value, buffer) in std::mem::take(&mut self.filled) {
            self.deferred.remove(value);
            self.buffers.insert(value, buffer);
        }
    }

    /// The lanes of `value` at `index`.
    pub(super) fn chunk(&mut self, value: Value, index: &Index<'ctx>) -> Chunk<'ctx> {
        if let Some(&chunk) = self.bound.get(&value) {
            return chunk;
        }
        if !self.func.ty(value).is_tile() {
            return Chunk::Uniform(self.scalar(value));
        }
        if index.is_uniform() && index.log_lanes > 0 {
            return self.chunk(value, &index.first());
        }
        let key = (value, index.key(), index.log_lanes);
        if let Some(chunk) = self.memo.iter().rev().find_map(|scope| scope.get(&key)) {
            return *chunk;
        }
        // Computed from its operands, and they from theirs: as deep as the kernel's longest chain of operations.
        let chunk = deep(|| match self.chunk_by_facts(value, index) {
            Some(chunk) => chunk,
            None => self.read_or_compute(value, index, &key),
        });
        self.memo.last_mut().expect("a scope").insert(key, chunk);
        chunk
    }

    /// What the promises about a value save: a run of equal or consecutive elements is known by its first.
    fn chunk_by_facts(&mut self, value: Value, index: &Index<'ctx>) -> Option<Chunk<'ctx>> {
        if self.buffers.contains_key(&value) || self.deferred.contains(value) {
            return None;
        }
        let dim = index.contiguous_dim()?;
        let facts = &self.func.value(value).facts;
        let lanes = u64::from(index.lanes());
        let at_least = |list: &[u64]| list.get(dim).is_some_and(|&n| n >= lanes);
        let (constant, contiguous) = (at_least(&facts.constant), at_least(&facts.contiguous));
        if constant {
            return Some(self.chunk(value, &index.first()));
        }
        let step = match self.elem(value) {
            Elem::Ptr(p) => i64::from(p.element().bytes()),
            Elem::Scalar(s) if s.is_int() && (s.bits() == 32 || s.bits() == 64 && self.offsets.contains(value)) => 1,
            Elem::Scalar(_) => return None,
        };
        if !contiguous {
            return None;
        }
        let elem = self.elem(value);
        let base = self.chunk(value, &index.first()).single(self.llvm, elem);
        Some(Chunk::Affine { base, step })
    }

    fn read_or_compute(&mut self, value: Value, index: &Index<'ctx>, key: &(Value, IndexKey, u8)) -> Chunk<'ctx> {
        if let Some(buffer) = self.buffers.get(&value) {
            return buffer.read(self.llvm, index);
        }
        let chunk = self.located(value, |this, op| this.compute(op, value, index));
        let at_root = self.root_place.as_ref().is_some_and(|(k, lanes)| *k == key.1 && *lanes == key.2);
        if self.deferred.contains(value) && at_root {
            let buffer = match self.filled.get(&value) {
                Some(buffer) => buffer.clone(),
                None => {
                    let buffer = self.allocate(self.elem(value), self.shape(value));
                    self.filled.insert(value, buffer.clone());
                    buffer
                }
            };
            buffer.write(self.llvm, index, chunk);
        }
        chunk
    }

    fn compute(&mut self, op: OpId, value: Value, index: &Index<'ctx>) -> Chunk<'ctx> {
        let func = self.func;
        let data = func.op(op);
        let operands = data.operands();
        match data.kind.class() {
            OpClass::Source(SourceOp::Const(c)) => Chunk::Uniform(self.constant(c)),
            OpClass::Source(SourceOp::Iota { start }) => self.iota(start, index),
            OpClass::Shape(shape) => self.rearranged(op, shape, value, index),
            OpClass::Access(AccessOp::Load(_)) => self.load_chunk(op, index),
            OpClass::Comm(CommOp::ConsumeToken) => self.chunk(operands[0], index),
            OpClass::Elementwise(_) => {
                let chunks: Vec<Chunk<'ctx>> = operands.iter().map(|&v| self.chunk(v, index)).collect();
                self.elementwise(op, &chunks, index.lanes())
            }
            OpClass::Source(SourceOp::ProgramId { .. } | SourceOp::NumPrograms { .. })
            | OpClass::Access(AccessOp::Store { .. })
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Atomic(..)
            | OpClass::Desc(_)
            | OpClass::Comm(_)
            | OpClass::Effect(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => unreachable!("{:?} materialises its tiles", data.kind),
        }
    }

    /// The elements of a rearranged tile are elsewhere in its operands.
    fn rearranged(&mut self, op: OpId, shape: ShapeOp<'_>, value: Value, index: &Index<'ctx>) -> Chunk<'ctx> {
        let data = self.func.op(op);
        let operands = data.operands();
        match shape {
            ShapeOp::Splat => Chunk::Uniform(self.scalar_or_bound(operands[0])),
            ShapeOp::Broadcast => {
                let from = self.shape(operands[0]);
                self.chunk(operands[0], &index.before_broadcast(self.llvm, from))
            }
            ShapeOp::Reshape => {
                let (from, to) = (self.shape(value), self.shape(operands[0]));
                self.chunk(operands[0], &index.reshaped(self.llvm, from, to))
            }
            ShapeOp::Transpose { perm } => {
                let order =
                    (0..perm.len()).map(|d| perm.iter().position(|&p| usize::from(p) == d).expect("a permutation"));
                self.chunk(operands[0], &index.picked(order))
            }
            ShapeOp::Join => self.join(operands, index),
            ShapeOp::Split => {
                let which = data.results().iter().position(|&r| r == value).expect("one of the results");
                let mut inside = index.clone();
                inside.dims.push(Dim { base: self.llvm.const_i64(which as i64), lanes: LaneBits::new() });
                self.chunk(operands[0], &inside)
            }
            // A CPU has no lanes or warps over which tiles could be laid out.
            ShapeOp::ConvertLayout => self.chunk(operands[0], index),
            ShapeOp::Gather { axis } => self.gather(operands, usize::from(axis), index),
        }
    }

    pub(super) fn scalar_or_bound(&self, value: Value) -> V<'ctx> {
        match self.bound.get(&value) {
            Some(Chunk::Uniform(v)) => *v,
            _ => self.scalar(value),
        }
    }

    fn iota(&mut self, start: i32, index: &Index<'ctx>) -> Chunk<'ctx> {
        let llvm = self.llvm;
        let dim = &index.dims[0];
        let place = llvm.cast(InstructionOpcode::Trunc, dim.base.into(), llvm.i32().into());
        let base = llvm.bin(InstructionOpcode::Add, place, llvm.const_i32(start.into()).into());
        if dim.lanes.is_empty() {
            Chunk::Uniform(base)
        } else if index.contiguous_dim() == Some(0) {
            Chunk::Affine { base, step: 1 }
        } else {
            let offsets = llvm.const_vector(llvm.i32(), Index::lane_offsets(&dim.lanes, index.log_lanes));
            let splat = llvm.splat(base, index.lanes());
            Chunk::Vector(llvm.bin(InstructionOpcode::Add, splat.into(), offsets.into()).into_vector_value())
        }
    }

    /// The last coordinate says which of the two.
    fn join(&mut self, operands: &[Value], index: &Index<'ctx>) -> Chunk<'ctx> {
        let llvm = self.llvm;
        let (last, rest) = index.dims.split_last().expect("a join has at least one dimension");
        let inside = Index { dims: rest.iter().cloned().collect(), log_lanes: index.log_lanes };
        let [a, b] = [self.chunk(operands[0], &inside), self.chunk(operands[1], &inside)];
        let zero = llvm.const_i64(0).into();
        let second: V<'ctx> = if last.lanes.is_empty() {
            llvm.icmp(inkwell::IntPredicate::NE, last.base.into(), zero)
        } else {
            let bits = Index::lane_offsets(&last.lanes, index.log_lanes);
            llvm.const_vector(llvm.i1(), bits).into()
        };
        match (second, a, b) {
            (V::IntValue(_), Chunk::Uniform(a), Chunk::Uniform(b)) => Chunk::Uniform(llvm.select(second, b, a)),
            _ => {
                let lanes = index.lanes();
                let (a, b) = (a.widen(llvm, lanes), b.widen(llvm, lanes));
                Chunk::Vector(llvm.select(second, b.into(), a.into()).into_vector_value())
            }
        }
    }

    fn gather(&mut self, operands: &[Value], axis: usize, index: &Index<'ctx>) -> Chunk<'ctx> {
        let llvm = self.llvm;
        let source = self.buffers.get(&operands[0]).expect("a gather's source is materialised").clone();
        let ty = self.number(operands[1]);
        let picks = self.chunk(operands[1], index);
        let lanes = index.lanes();
        let wide = if ty.is_signed_int() { InstructionOpcode::SExt } else { InstructionOpcode::ZExt };
        let to64 = |v: V<'ctx>| {
            let op = if ty.bits() == 64 { InstructionOpcode::BitCast } else { wide };
            let picked = llvm.cast(op, v, llvm.i64().into());
            // An index out of range reads some element of the tile rather than other memory.
            let top: V<'ctx> = llvm.const_i64(i64::from(source.shape[axis]) - 1).into();
            llvm.bin(InstructionOpcode::And, picked, llvm.splat_like(top, picked))
        };
        let mut others = index.clone();
        others.dims[axis] = Dim { base: llvm.const_i64(0), lanes: LaneBits::new() };
        let below: u32 = source.shape[axis + 1..].iter().map(|d| d.trailing_zeros()).sum();
        let linear = others.linear(llvm, &source.shape);
        let bytes = source.elem.bytes();
        if let (Chunk::Uniform(pick), true) = (picks, index.is_uniform()) {
            let at = llvm.add64(linear.base, llvm.shl64(to64(pick).into_int_value(), below));
            let value =
                llvm.load(crate::shared::value_type::memory_type(llvm, source.elem), source.address(llvm, at), bytes);
            return Chunk::Uniform(crate::shared::value_type::from_memory(llvm, source.elem, value));
        }
        let picks = to64(picks.widen(llvm, lanes).into());
        let shift = llvm.splat(llvm.const_i64(below.into()).into(), lanes);
        let along = llvm.bin(InstructionOpcode::Shl, picks, shift.into());
        let fixed = llvm.const_vector(llvm.i64(), Index::lane_offsets(&linear.lanes, index.log_lanes));
        let base = llvm.splat(linear.base.into(), lanes);
        let at = llvm.bin(InstructionOpcode::Add, llvm.bin(InstructionOpcode::Add, along, fixed.into()), base.into());
        let scale = llvm.splat(llvm.const_i64(bytes.into()).into(), lanes);
        let start = llvm.splat(llvm.ptr_to_int(source.base).into(), lanes);
        let addresses =
            llvm.bin(InstructionOpcode::Add, llvm.bin(InstructionOpcode::Mul, at, scale.into()), start.into());
        let value = self.gather_memory(source.elem, addresses.into_vector_value(), None, None);
        Chunk::Vector(value)
    }

    pub(super) fn vector_of(&self, elem: Elem, lanes: u32) -> inkwell::types::BasicTypeEnum<'ctx> {
        vector_type(lane_type(self.llvm, elem), lanes)
    }
}
