//! What each value is held in, and the operations of a region.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use inkwell::values::{InstructionOpcode as Op, IntValue, PointerValue};
use shoal_abi::NvptxArch;
use shoal_ir::class::{AccessOp, ApplyOp, ControlOp, DescOp, EffectOp, OpClass, ShapeOp, SourceOp, TileOp};
use shoal_ir::source::{Diagnostic, SourceMap};
use shoal_ir::{Const, Elem, Func, OpId, Region, Scalar, Value};
use shoal_layout::LinearLayout;

use super::access_order::Access;
use super::check::Checks;
use super::dot::uses_wgmma;
use super::inline_ptx::Does;
use super::lane_code::LaneCode;
use super::pipeline::{Pipeline, Specialised};
use super::place::registers;
use super::shared_memory::SharedMemory;
use crate::shared::debug_info::DebugInfo;
use crate::shared::llvm::{Llvm, V};
use crate::shared::value_type::register_type;

/// What a value is held in.
#[derive(Clone)]
pub(super) enum Held<'ctx> {
    /// One number, the same in every thread.
    Scalar(V<'ctx>),
    /// One number for each register of the tile's layout.
    Tile(Rc<[V<'ctx>]>),
    /// A tile that lies in shared memory, to be read where it is needed.
    Shared(SharedTile<'ctx>),
}

/// A tile in shared memory.
#[derive(Clone)]
pub(super) struct SharedTile<'ctx> {
    /// Where it begins, in bytes from the start of shared memory.
    pub(super) base: IntValue<'ctx>,
    /// Which element is at which offset.
    pub(super) memory: LinearLayout,
    /// Where `base` comes from, if the tile lies in one of several slots.
    pub(super) slot: Option<Slot<'ctx>>,
}

/// One of several places of the same size.
#[derive(Copy, Clone)]
pub(super) struct Slot<'ctx> {
    /// Which one.
    pub(super) index: IntValue<'ctx>,
    /// Where the first begins, and the bytes of each.
    pub(super) first: u32,
    pub(super) bytes: u32,
}

/// Makes code for one kernel.
pub(super) struct Emitter<'a, 'ctx> {
    pub(super) llvm: &'a Llvm<'ctx>,
    pub(super) func: &'a Func,
    pub(super) arch: NvptxArch,
    sources: &'a SourceMap,
    pub(super) debug: Option<DebugInfo<'ctx>>,
    pub(super) held: HashMap<Value, Held<'ctx>>,
    /// This thread's number in its block, its lane, and its warp.
    pub(super) thread: IntValue<'ctx>,
    pub(super) lane: IntValue<'ctx>,
    pub(super) warp: IntValue<'ctx>,
    /// The warp as its first lane says it: what is computed of it needs no registers of the threads.
    pub(super) uniform_warp: IntValue<'ctx>,
    pub(super) shared: SharedMemory<'ctx>,
    /// What accessed global memory since the last barrier.
    pub(super) open_accesses: Vec<Access>,
    /// Whether the kernel multiplies by `wgmma`.
    pub(super) uses_wgmma: bool,
    /// Loads that ran ahead: what they loaded is held already.
    pub(super) ahead: HashSet<OpId>,
    /// The table of ranks, if the kernel asks for them.
    pub(super) ranks: Option<PointerValue<'ctx>>,
    /// Whether other ranks are reached through NVSHMEM.
    pub(super) by_nvshmem: bool,
    /// What threads do without asking each other.
    pub(super) lane_code: LaneCode,
    /// What accesses are compared with, if they are checked.
    pub(super) checks: Option<Checks<'ctx>>,
    /// The maps of the tensors that the copy engine reaches, by the operations that make their descriptors.
    pub(super) tensor_maps: HashMap<OpId, PointerValue<'ctx>>,
    /// The loops around that run ahead of themselves, the innermost last.
    pub(super) pipelines: Vec<(OpId, Pipeline<'ctx>)>,
    /// The loops that further warps feed.
    pub(super) specialised: Specialised<'ctx>,
    /// Whether there are, or will be, such loops.
    pub(super) specialises: bool,
    /// A carried value whose product the last trip did not wait for: whoever needs it first does.
    pub(super) pending: Option<Value>,
    /// The first thing that cannot be done.
    failure: Option<Diagnostic>,
}

impl<'a, 'ctx> Emitter<'a, 'ctx> {
    pub(super) fn new(
        llvm: &'a Llvm<'ctx>,
        func: &'a Func,
        arch: NvptxArch,
        sources: &'a SourceMap,
        debug: Option<DebugInfo<'ctx>>,
        shared: PointerValue<'ctx>,
    ) -> Self {
        let thread = special_register(llvm, "tid.x");
        let lane = llvm.bin(Op::And, thread.into(), llvm.const_i32(31).into()).into_int_value();
        let warp = llvm.bin(Op::LShr, thread.into(), llvm.const_i32(5).into()).into_int_value();
        let shared = SharedMemory::new(llvm, shared, arch);
        let uses_wgmma = uses_wgmma(func, arch);
        let uniform_warp = if uses_wgmma {
            let text = "shfl.sync.idx.b32 $0, $1, 0, 31, -1;";
            llvm.ptx(text, &[llvm.i32().into()], &[], &[warp.into()], Does::Exchange)[0].into_int_value()
        } else {
            warp
        };
        Emitter {
            llvm,
            func,
            arch,
            sources,
            debug,
            held: HashMap::new(),
            thread,
            lane,
            warp,
            uniform_warp,
            shared,
            open_accesses: Vec::new(),
            uses_wgmma,
            ahead: HashSet::new(),
            ranks: None,
            by_nvshmem: false,
            lane_code: LaneCode::of(func),
            checks: None,
            tensor_maps: HashMap::new(),
            pipelines: Vec::new(),
            specialised: Specialised::default(),
            specialises: false,
            pending: None,
            failure: None,
        }
    }

    /// The bytes of shared memory that a program needs, or why there is no code.
    pub(super) fn finish(self) -> Result<u32, Diagnostic> {
        match self.failure {
            Some(failure) => Err(failure),
            None if self.shared.needed > self.shared.limit => {
                let (needed, limit) = (self.shared.needed, self.shared.limit);
                let text = format!(
                    "`{}` needs {needed} bytes of shared memory; {} has {limit}",
                    self.func.name,
                    self.arch.name()
                );
                Err(Diagnostic::error(self.func.span, text).help("use smaller blocks, or fewer stages"))
            }
            None => Ok(self.shared.needed),
        }
    }

    /// Notes that an operation cannot be done; code goes on, and is thrown away.
    pub(super) fn fail(&mut self, op: OpId, text: impl Into<String>) {
        let span = self.func.op(op).span;
        self.failure.get_or_insert_with(|| Diagnostic::error(span, text).label("not available on NVIDIA GPUs"));
    }

    pub(super) fn hold(&mut self, value: Value, held: Held<'ctx>) {
        self.held.insert(value, held);
    }

    pub(super) fn hold_tile(&mut self, value: Value, numbers: Vec<V<'ctx>>) {
        debug_assert_eq!(numbers.len(), registers(self.layout(value)) as usize, "one number for each register");
        self.held.insert(value, Held::Tile(numbers.into()));
    }

    /// Holds what an operation gives: numbers of a tile, or one.
    pub(super) fn hold_numbers(&mut self, value: Value, numbers: Vec<V<'ctx>>) {
        if self.func.ty(value).is_tile() {
            self.hold_tile(value, numbers);
        } else {
            self.hold(value, Held::Scalar(numbers[0]));
        }
    }

    pub(super) fn scalar(&self, value: Value) -> V<'ctx> {
        match &self.held[&value] {
            Held::Scalar(number) => *number,
            Held::Tile(_) | Held::Shared(_) => unreachable!("a scalar, not a tile"),
        }
    }

    /// The numbers of a tile in this thread's registers; of a scalar, one.
    pub(super) fn numbers(&mut self, value: Value) -> Rc<[V<'ctx>]> {
        if self.pending == Some(value) {
            self.finish_pending(&[]);
        }
        match self.held[&value].clone() {
            Held::Scalar(number) => Rc::from([number]),
            Held::Tile(numbers) => numbers,
            Held::Shared(tile) => {
                // Not kept: the next use may be on another way through the kernel.
                let layout = self.layout(value).clone();
                self.read_shared(&tile, &layout, self.elem(value)).into()
            }
        }
    }

    pub(super) fn layout(&self, value: Value) -> &'a LinearLayout {
        let func = self.func;
        func.ty(value).layout().expect("the pass `assign_layouts` gave every tile a layout")
    }

    pub(super) fn elem(&self, value: Value) -> Elem {
        self.func.ty(value).elem().expect("a number or a pointer")
    }

    pub(super) fn number(&self, value: Value) -> Scalar {
        self.func.ty(value).number().expect("a number")
    }

    /// Lets the code emitted from now on belong to an operation.
    pub(super) fn locate(&mut self, op: OpId) {
        let span = self.func.op(op).span;
        if let Some(debug) = &mut self.debug {
            debug.locate(self.llvm, span, self.sources);
        }
    }

    /// The file, line and column that an operation was written at; nothing and zeros if nobody knows.
    pub(super) fn place(&self, op: OpId) -> (String, u32, u32) {
        let span = self.func.op(op).span;
        let (line, col) = self.sources.line_col(span).unwrap_or((0, 0));
        let file = if span.is_none() { "" } else { self.sources.name(span.file) };
        (file.to_owned(), line, col)
    }

    pub(super) fn constant(&self, c: Const) -> V<'ctx> {
        let bits = self.llvm.int_type(c.ty().bits()).const_int(c.bits(), false);
        self.llvm.cast(Op::BitCast, bits.into(), register_type(self.llvm, Elem::Scalar(c.ty())))
    }

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

    /// Applies a region of scalar operations, and gives what it yields.
    pub(super) fn apply_region(&mut self, region: Region, args: &[V<'ctx>]) -> Vec<V<'ctx>> {
        let func = self.func;
        for (&param, &arg) in func.region(region).params().iter().zip(args) {
            self.hold(param, Held::Scalar(arg));
        }
        let last = self.region_body(region);
        func.op(last).operands().iter().map(|&v| self.scalar(v)).collect()
    }

    pub(super) fn op(&mut self, op: OpId) {
        if self.ahead.contains(&op) || self.lane_code.is_unasked(op) {
            return;
        }
        self.locate(op);
        let func = self.func;
        let data = func.op(op);
        match data.kind.class() {
            OpClass::Source(kind) => self.source(op, kind),
            OpClass::Elementwise(_) => self.elementwise(op),
            OpClass::Shape(kind) => match kind {
                ShapeOp::ConvertLayout => self.convert_layout(op),
                ShapeOp::Gather { axis } => self.gather(op, usize::from(axis)),
                ShapeOp::Splat
                | ShapeOp::Broadcast
                | ShapeOp::Reshape
                | ShapeOp::Transpose { .. }
                | ShapeOp::Join
                | ShapeOp::Split => self.move_in_registers(op, kind),
            },
            OpClass::Tile(TileOp::Histogram) => self.histogram(op),
            OpClass::Tile(TileOp::Dot { precision, .. }) => self.dot(op, precision),
            OpClass::Apply(ApplyOp::Reduce { axis, in_order }) => self.reduce(op, usize::from(axis), in_order),
            OpClass::Apply(ApplyOp::Scan { axis, reverse }) => self.scan(op, usize::from(axis), reverse),
            OpClass::Apply(ApplyOp::MapElementwise { pack }) => self.map_elementwise(op, pack),
            OpClass::Access(AccessOp::Load(attrs)) => self.load(op, attrs),
            OpClass::Access(AccessOp::Store { cache, evict }) => self.store(op, cache, evict),
            OpClass::Atomic(kind, sem, scope) => self.atomic(op, kind, sem, scope),
            OpClass::Comm(kind) => self.comm_op(op, kind),
            OpClass::Effect(EffectOp::Barrier) => self.block_barrier(),
            OpClass::Effect(EffectOp::Fence { sem, scope }) => self.fence(sem, scope),
            OpClass::Effect(EffectOp::Clock) => {
                let ty = self.llvm.i64().into();
                let now = self.llvm.ptx("mov.u64 $0, %globaltimer;", &[ty], &[], &[], Does::Act)[0];
                self.hold(data.result(), Held::Scalar(now));
            }
            OpClass::Effect(EffectOp::Assume) => {
                let condition = self.scalar(data.operands()[0]);
                self.llvm.intrinsic("llvm.assume", &[], &[condition]);
            }
            OpClass::Control(ControlOp::If) => self.branch(op),
            OpClass::Control(ControlOp::For(_)) => self.counted_loop(op),
            OpClass::Control(ControlOp::While { .. }) => self.open_loop(op),
            OpClass::Effect(EffectOp::Print { prefix, hex }) => self.print(op, prefix, hex),
            OpClass::Effect(EffectOp::Assert { message }) => self.assertion(op, message),
            OpClass::Desc(DescOp::Make) => {}
            OpClass::Desc(DescOp::Load) => self.desc_load(op),
            OpClass::Desc(DescOp::Store) => self.desc_store(op),
            // Refused before emission.
            OpClass::Effect(EffectOp::GridWords)
            | OpClass::Desc(DescOp::Base | DescOp::Size { .. } | DescOp::Stride { .. })
            | OpClass::Call(_) => self.fail(op, "this operation reaches no NVIDIA GPU yet"),
            OpClass::Terminator(_) => {}
        }
    }

    fn source(&mut self, op: OpId, kind: SourceOp) {
        let result = self.func.op(op).result();
        let axis_name = |axis: u8| ["x", "y", "z"][usize::from(axis)];
        match kind {
            SourceOp::Const(c) => {
                let number = self.constant(c);
                let count = if self.func.ty(result).is_tile() { registers(self.layout(result)) } else { 1 };
                self.hold_numbers(result, vec![number; count as usize]);
            }
            SourceOp::Iota { start } => {
                let start = self.llvm.const_i32(start.into());
                let add = |at: IntValue<'ctx>| {
                    if start.get_zero_extended_constant() == Some(0) {
                        return at.into();
                    }
                    self.llvm.bin(Op::Add, at.into(), start.into())
                };
                let numbers = self.coordinates(self.layout(result), 0).into_iter().map(add).collect();
                self.hold_tile(result, numbers);
            }
            SourceOp::ProgramId { axis } => {
                let number = special_register(self.llvm, &format!("ctaid.{}", axis_name(axis)));
                self.hold(result, Held::Scalar(number.into()));
            }
            SourceOp::NumPrograms { axis } => {
                let number = special_register(self.llvm, &format!("nctaid.{}", axis_name(axis)));
                self.hold(result, Held::Scalar(number.into()));
            }
        }
    }
}

/// A number that the hardware gives each thread.
pub(super) fn special_register<'ctx>(llvm: &Llvm<'ctx>, name: &str) -> IntValue<'ctx> {
    let number = llvm.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{name}"), &[], &[]);
    number.expect("a number").into_int_value()
}
