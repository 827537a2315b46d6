//! Loads that run ahead of a loop: what a matrix product of a later trip needs is copied to shared memory while this
//! trip computes.
//!
//! ```text
//!  before       copy for trips 0 … stages-2, each a group of its own
//!  each trip    wait until the oldest group is there; all threads wait for each other;
//!               copy for the trip `stages-1` later, into the slot that the last trip has read; compute
//! ```
//!
//! A product that only adds up, in a loop whose operands all run ahead, is not waited for until the next one has begun:
//! the matrix unit never runs dry. Its operands are then read for one trip longer, so there is one slot more.
//!
//! Only loads whose addresses can be computed early are taken: from the loop's counter, from values outside the loop, and
//! from carried values that are themselves computed from such. Those are carried a second time, so many trips ahead.

use std::collections::HashSet;

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::class::{ElementwiseOp, OpClass, ShapeOp};
use shoal_ir::{OpId, OpKind, Region, Value, ValueDef};
use shoal_layout::{
    AccessKind, Direction, InDim, LinearLayout, Major, MatrixAccess, SharedAccess, Swizzle, TmaSwizzle,
};

use super::control::any_inside;
use super::emitter::{Emitter, Held, SharedTile};
use super::place::registers;
use crate::shared::llvm::V;

/// Shared memory that is left for what a loop's body does besides.
const LEFT_FOR_BODY: u32 = 24 << 10;

/// Which loads of a loop run ahead, and what must be known for them.
pub(super) struct Plan {
    loads: Vec<AheadLoad>,
    /// The operations that their addresses need, in order.
    slice: Vec<OpId>,
    /// The carried values that those need, by position.
    carried: Vec<usize>,
    /// Trips that are under way at the same time.
    stages: u32,
    /// Slots of each ring.
    slots: u32,
    /// The product that goes on while the next trip begins.
    unfinished: Option<OpId>,
}

struct AheadLoad {
    op: OpId,
    memory: LinearLayout,
    access: SharedAccess,
    /// Elements of one copy.
    run: u32,
    /// Bytes of one slot.
    bytes: u32,
    /// Where the slots begin.
    base: u32,
}

/// A loop that runs ahead of itself.
pub(super) struct Pipeline<'ctx> {
    plan: Plan,
    /// The slots that this trip reads and writes, the counter ahead, and the carried values ahead.
    read: V<'ctx>,
    write: V<'ctx>,
    counter: V<'ctx>,
    ahead: Vec<V<'ctx>>,
}

impl<'ctx> Pipeline<'ctx> {
    /// What goes from trip to trip.
    pub(super) fn state(&self) -> Vec<V<'ctx>> {
        [self.read, self.write, self.counter].into_iter().chain(self.ahead.iter().copied()).collect()
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Which loads of a loop can run ahead; `None` if no stages are asked for, or no load can.
    pub(super) fn plan_pipeline(&mut self, op: OpId) -> Option<Plan> {
        let func = self.func;
        let data = func.op(op);
        let OpKind::For(attrs) = &data.kind else { return None };
        let stages = attrs.num_stages.unwrap_or(func.gpu.num_stages);
        let body = data.regions()[0];
        if stages < 2 || any_inside(func, body, writes_or_orders) {
            return None;
        }
        let mut slice = Slice { func, body, ops: HashSet::new(), carried: HashSet::new() };
        let mut loads = Vec::new();
        for &candidate in func.region(body).ops() {
            let Some(load) = self.ahead_load(candidate) else { continue };
            let mut with = slice.clone();
            let known = func.op(candidate).operands().iter().all(|&operand| with.add(operand));
            if known {
                slice = with;
                loads.push(load);
            }
        }
        if loads.is_empty() {
            return None;
        }
        let floor = self.shared.floor.next_multiple_of(1024);
        let room = self.shared.limit.saturating_sub(floor);
        let one: u32 = loads.iter().map(|load| load.bytes).sum();
        let body_needs = if any_inside(func, body, uses_scratch) { LEFT_FOR_BODY } else { 0 };
        let most = room.saturating_sub(body_needs) / one;
        let unfinished = self.unfinished_product(op, &loads).filter(|_| most > 2);
        let extra = u32::from(unfinished.is_some());
        let stages = stages.min(most - extra.min(most));
        if stages < 2 {
            return None;
        }
        let slots = stages + extra;
        let mut at = floor;
        for load in &mut loads {
            load.base = at;
            at += load.bytes * slots;
        }
        self.shared.floor = at;
        self.shared.needed = self.shared.needed.max(at);
        let mut carried: Vec<usize> = slice.carried.iter().copied().collect();
        carried.sort_unstable();
        let slice = func.region(body).ops().iter().copied().filter(|op| slice.ops.contains(op)).collect();
        Some(Plan { loads, slice, carried, stages, slots, unfinished })
    }

    /// The only product of a loop, if it does nothing but add to a carried value that nobody else looks at, and both of its
    /// operands run ahead.
    fn unfinished_product(&self, op: OpId, loads: &[AheadLoad]) -> Option<OpId> {
        let func = self.func;
        let body = func.op(op).regions()[0];
        let mut inside = Vec::new();
        func.walk_region(body, &mut inside);
        let mut products = inside.into_iter().filter(|&op| matches!(func.op(op).kind, OpKind::Dot { .. }));
        let product = products.next()?;
        let data = func.op(product);
        let acc = data.operands()[2];
        let ValueDef::Param(region, index) = func.value(acc).def() else { return None };
        let carried = region == body && index > 0 && func.yielded(body)[index as usize - 1] == data.result();
        let alone = func.value(acc).uses().len() == 1 && func.value(data.result()).uses().len() == 1;
        let single = self.number(acc) == shoal_ir::Scalar::F32;
        let ahead = |value: Value| {
            let mut source = value;
            while let Some(op) = func.def_op(source).filter(|&op| matches!(func.op(op).kind, OpKind::Transpose { .. }))
            {
                source = func.op(op).operands()[0];
            }
            func.def_op(source).is_some_and(|op| loads.iter().any(|load| load.op == op))
        };
        let operands = data.operands()[..2].iter().all(|&operand| ahead(operand));
        let fits = carried && alone && single && operands && products.next().is_none();
        (fits && super::dot::is_wgmma(func, product, self.arch)).then_some(product)
    }

    /// How a load would be copied to shared memory; `None` if it cannot be, or no product needs it there.
    fn ahead_load(&self, op: OpId) -> Option<AheadLoad> {
        let func = self.func;
        let data = func.op(op);
        let OpKind::Load(attrs) = &data.kind else { return None };
        let result = data.result();
        let ty = func.ty(result).as_tile()?;
        let other = data.operands().get(2);
        let zero = other.is_none_or(|&other| is_zero(func, other));
        if attrs.volatile || !zero || !self.feeds_unit(result) || ty.rank() != 2 {
            return None;
        }
        let (layout, bits) = (self.layout(result), ty.elem.bytes() * 8);
        let memory = buffer_layout(layout, &ty.shape, bits)?;
        let access = layout.access(&memory, bits, Direction::Store, MatrixAccess::None).ok()?;
        let AccessKind::Vector { elements } = access.kind else { return None };
        let width = self.access_width(layout, data.operands()[0], data.operands().get(1).copied());
        let run = elements.min(width);
        let follows = |list: &Vec<u32>| {
            list.chunks(run as usize).all(|part| {
                part[0].is_multiple_of(run)
                    && part.iter().enumerate().all(|(at, &register)| register == part[0] + at as u32)
            })
        };
        let bytes = run * bits / 8;
        if !matches!(bytes, 4 | 8 | 16) || !access.registers.iter().all(follows) {
            return None;
        }
        let size = (ty.len() as u32 * bits / 8).next_multiple_of(1024);
        Some(AheadLoad { op, memory, access, run, bytes: size, base: 0 })
    }

    /// Whether every use of a tile is, perhaps in another layout or transposed, an operand of a product that a matrix unit
    /// computes.
    fn feeds_unit(&self, value: Value) -> bool {
        let func = self.func;
        let uses = func.value(value).uses();
        !uses.is_empty()
            && uses.iter().all(|this| {
                let data = func.op(this.op);
                let is_operand = matches!(data.kind, OpKind::Dot { .. }) && this.index < 2;
                let is_moved = matches!(data.kind, OpKind::ConvertLayout | OpKind::Transpose { .. });
                is_operand && super::dot::has_unit(func, this.op, self.arch)
                    || is_moved && self.feeds_unit(data.result())
            })
    }

    /// Copies what the first trips need.
    pub(super) fn fill_pipeline(&mut self, op: OpId, plan: Plan) -> Pipeline<'ctx> {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        // Whoever used this memory before must be done with it.
        self.block_barrier();
        let ahead: Vec<V<'ctx>> = {
            let values: Vec<Value> = plan.carried.iter().map(|&index| data.operands()[3 + index]).collect();
            self.flatten(&values)
        };
        let (first, counter) = (llvm.const_i32(0).into(), self.scalar(data.operands()[0]));
        let stages = plan.stages;
        self.unfinished = plan.unfinished;
        let mut pipeline = Pipeline { plan, read: first, write: first, counter, ahead };
        for _ in 1..stages {
            self.copy_ahead(op, &mut pipeline);
        }
        pipeline
    }

    /// The start of a trip: waits for what it needs, and copies what a later one will.
    pub(super) fn advance_pipeline(&mut self, op: OpId, pipeline: &mut Pipeline<'ctx>, state: Vec<V<'ctx>>) {
        let llvm = self.llvm;
        (pipeline.read, pipeline.write, pipeline.counter) = (state[0], state[1], state[2]);
        pipeline.ahead = state[3..].to_vec();
        let stages = pipeline.plan.stages;
        llvm.ptx_act(&format!("cp.async.wait_group {};", stages - 2), &[]);
        if self.uses_wgmma {
            llvm.ptx_act("fence.proxy.async.shared::cta;", &[]);
        }
        self.block_barrier();
        for load in &pipeline.plan.loads {
            let base = self.slot(load, pipeline.read);
            let tile = SharedTile { base, memory: load.memory.clone() };
            let result = self.func.op(load.op).result();
            self.hold(result, Held::Shared(tile));
            self.ahead.insert(load.op);
        }
        self.copy_ahead(op, pipeline);
        pipeline.read = self.next_slot(pipeline.read, pipeline.plan.slots);
    }

    /// No copy may arrive after the loop, and no product be unfinished: gives the carried values as they are then.
    pub(super) fn drain_pipeline(&mut self, pipeline: &Pipeline<'ctx>, carried: Vec<V<'ctx>>) -> Vec<V<'ctx>> {
        self.llvm.ptx_act("cp.async.wait_group 0;", &[]);
        for load in &pipeline.plan.loads {
            self.ahead.remove(&load.op);
        }
        if self.unfinished.take().is_some() { self.finish_products(carried) } else { carried }
    }

    fn slot(&self, load: &AheadLoad, slot: V<'ctx>) -> IntValue<'ctx> {
        let llvm = self.llvm;
        let scaled = llvm.bin(Op::Mul, slot, llvm.const_i32(load.bytes.into()).into());
        llvm.bin(Op::Add, scaled, llvm.const_i32(load.base.into()).into()).into_int_value()
    }

    fn next_slot(&self, slot: V<'ctx>, slots: u32) -> V<'ctx> {
        let llvm = self.llvm;
        let next = llvm.bin(Op::Add, slot, llvm.const_i32(1).into());
        let over = llvm.icmp(IntPredicate::EQ, next, llvm.const_i32(slots.into()).into());
        llvm.select(over, llvm.const_i32(0).into(), next)
    }

    /// Copies what the trip of `pipeline.counter` needs, and goes on to the next.
    fn copy_ahead(&mut self, op: OpId, pipeline: &mut Pipeline<'ctx>) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let body = data.regions()[0];
        let params = func.region(body).params();
        let carried: Vec<Value> = pipeline.plan.carried.iter().map(|&index| params[1 + index]).collect();
        // The same operations, with the values that they have so many trips later.
        let outside = self.held.clone();
        self.hold(params[0], Held::Scalar(pipeline.counter));
        self.hold_flat(&carried, &pipeline.ahead.clone());
        for &op in &pipeline.plan.slice {
            self.op(op);
        }
        let (to, step) = (self.scalar(data.operands()[1]), self.scalar(data.operands()[2]));
        let signed = self.number(data.operands()[0]).is_signed_int();
        let predicate = if signed { IntPredicate::SLT } else { IntPredicate::ULT };
        let happens = llvm.icmp(predicate, pipeline.counter, to);
        for load in &pipeline.plan.loads {
            let base = self.slot(load, pipeline.write);
            self.copy(load, base, happens);
        }
        llvm.ptx_act("cp.async.commit_group;", &[]);
        let yielded: Vec<Value> = pipeline.plan.carried.iter().map(|&index| func.yielded(body)[index]).collect();
        pipeline.ahead = self.flatten(&yielded);
        self.held = outside;
        pipeline.counter = llvm.bin(Op::Add, pipeline.counter, step);
        pipeline.write = self.next_slot(pipeline.write, pipeline.plan.slots);
    }

    /// Copies one tile; what is masked out, or of a trip that does not happen, becomes zeros.
    fn copy(&mut self, load: &AheadLoad, base: IntValue<'ctx>, happens: V<'ctx>) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(load.op));
        let pointers = self.numbers(data.operands()[0]);
        let masks = data.operands().get(1).map(|&mask| self.numbers(mask));
        let addresses = self.access_addresses(&load.access, base);
        let element_bytes = load.access.element_bits / 8;
        let bytes = load.run * element_bytes;
        let cache = if bytes == 16 { "cg" } else { "ca" };
        let text = format!("cp.async.{cache}.shared.global [$0], [$1], {bytes}, $2;");
        let (all, none): (V<'ctx>, V<'ctx>) = (llvm.const_i32(bytes.into()).into(), llvm.const_i32(0).into());
        for (list, &address) in load.access.registers.iter().zip(&addresses) {
            for (part, registers) in list.chunks(load.run as usize).enumerate() {
                let offset = llvm.const_i32(i64::from(part as u32 * bytes));
                let at = llvm.builder.build_int_nuw_add(address, offset, "").expect("integers");
                let register = registers[0] as usize;
                let wanted = masks.as_ref().map_or(happens, |masks| llvm.bin(Op::And, happens, masks[register]));
                let size = llvm.select(wanted, all, none);
                llvm.ptx_act(&text, &[self.shared_address(at), pointers[register], size]);
            }
        }
    }
}

/// What addresses are computed from, inside a loop's body.
#[derive(Clone)]
struct Slice<'f> {
    func: &'f shoal_ir::Func,
    body: Region,
    ops: HashSet<OpId>,
    carried: HashSet<usize>,
}

impl Slice<'_> {
    /// Adds what a value needs; `false` if that is more than arithmetic.
    fn add(&mut self, value: Value) -> bool {
        match self.func.value(value).def() {
            ValueDef::Param(region, 0) if region == self.body => true,
            ValueDef::Param(region, index) if region == self.body => {
                let index = index as usize - 1;
                !self.carried.insert(index) || self.add(self.func.yielded(self.body)[index])
            }
            ValueDef::Param(region, _) => !self.func.is_inside(region, self.body),
            ValueDef::Result(op, _) => {
                let data = self.func.op(op);
                match data.parent() {
                    Some(region) if region == self.body => {}
                    Some(region) => return !self.func.is_inside(region, self.body),
                    None => return false,
                }
                if self.ops.contains(&op) {
                    return true;
                }
                if !is_arithmetic(&data.kind) {
                    return false;
                }
                self.ops.insert(op);
                data.operands().to_vec().into_iter().all(|operand| self.add(operand))
            }
        }
    }
}

fn is_arithmetic(kind: &OpKind) -> bool {
    match kind.class() {
        OpClass::Source(_) => true,
        OpClass::Elementwise(kind) => !matches!(kind, ElementwiseOp::Extern(_) | ElementwiseOp::InlineAsm(_)),
        OpClass::Shape(kind) => !matches!(kind, ShapeOp::ConvertLayout | ShapeOp::Gather { .. }),
        OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Access(_)
        | OpClass::Atomic(..)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => false,
    }
}

/// Whether an operation changes memory or orders accesses, so that no load may be moved across it.
fn writes_or_orders(kind: &OpKind) -> bool {
    match kind.class() {
        OpClass::Access(access) => matches!(access, shoal_ir::class::AccessOp::Store { .. }),
        OpClass::Elementwise(ElementwiseOp::Extern(function)) => !function.pure,
        OpClass::Elementwise(ElementwiseOp::InlineAsm(asm)) => !asm.pure,
        OpClass::Effect(effect) => !matches!(effect, shoal_ir::class::EffectOp::Assume),
        OpClass::Atomic(..) | OpClass::Desc(_) | OpClass::Comm(_) | OpClass::Call(_) => true,
        OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_) => false,
    }
}

/// Whether an operation may need scratch.
fn uses_scratch(kind: &OpKind) -> bool {
    match kind.class() {
        OpClass::Shape(shape) => matches!(shape, ShapeOp::ConvertLayout | ShapeOp::Gather { .. }),
        OpClass::Tile(_) | OpClass::Apply(_) | OpClass::Atomic(..) => true,
        OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Access(_)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => false,
    }
}

fn is_zero(func: &shoal_ir::Func, value: Value) -> bool {
    match func.def_kind(value) {
        Some(OpKind::Const(constant)) => constant.bits() == 0,
        Some(OpKind::Splat) => func.def_op(value).is_some_and(|op| is_zero(func, func.op(op).operands()[0])),
        _ => false,
    }
}

/// How a tile lies in shared memory: rows along its fastest dimension, swizzled so that rows of eight do not collide.
pub(super) fn buffer_layout(layout: &LinearLayout, shape: &[u32], bits: u32) -> Option<LinearLayout> {
    let along = |dim: usize| {
        layout
            .bases(InDim::Register)
            .take_while(|basis| basis.iter().enumerate().all(|(at, &c)| (at == dim) == (c != 0)))
            .count()
    };
    let major = if registers(layout) > 1 && along(0) > along(1) { Major::Column } else { Major::Row };
    swizzled_buffer(shape, bits, major)
}

/// A buffer with the widest swizzle that fits its rows; without one if none does.
pub(super) fn swizzled_buffer(shape: &[u32], bits: u32, major: Major) -> Option<LinearLayout> {
    let order = match major {
        Major::Row => [1, 0],
        Major::Column => [0, 1],
    };
    let swizzles = [TmaSwizzle::B128, TmaSwizzle::B64, TmaSwizzle::B32];
    let fits = swizzles.into_iter().find_map(|swizzle| LinearLayout::nvmma_shared(shape, bits, swizzle, major).ok());
    fits.or_else(|| LinearLayout::swizzled_shared(shape, &order, Swizzle::NONE).ok())
}
