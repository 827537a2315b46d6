//! Loads that run ahead of a loop: what a matrix product of a later trip needs is copied to shared memory while this
//! trip computes.
//!
//! ```text
//!  before       copy for trips 0 … stages-2, each a group of its own
//!  each trip    wait until the oldest group is there; all threads wait for each other;
//!               begin the first product; copy for the trip `stages-1` later, into the slot that the last trip has read
//! ```
//!
//! One product of a loop is not waited for until the next trip (`unfinished`): the matrix unit never runs dry. What it
//! reads is read for one trip longer, so there is one slot more for that.
//!
//! Loads through pointers are copied by all threads (`cp.async`). Blocks of tensors are copied by the copy engine, which one
//! thread asks; each slot of a ring has a barrier that says when it is full.
//!
//! A loop may also have warps of its own that do nothing but ask the copy engine (`specialised`, `feeder`).
//!
//! Only loads whose addresses can be computed early are taken: from the loop's counter, from values outside the loop, and
//! from carried values that are themselves computed from such (`slice`). Those are carried a second time, so many trips
//! ahead.

mod copies;
mod feeder;
mod slice;
mod specialised;
mod unfinished;

use std::collections::HashSet;

use shoal_ir::class::{OpClass, ShapeOp};
use shoal_ir::{Func, OpId, OpKind, Region, Value};
use shoal_layout::{AccessKind, Direction, LinearLayout, MatrixAccess, SharedAccess};

pub(super) use copies::Pipeline;
use slice::{Slice, writes_or_orders};
pub(super) use specialised::Specialised;
pub(super) use unfinished::Unfinished;

use super::control::any_inside;
use super::emitter::{Emitter, Held};
use super::shared_tile::{behind_transposes, buffer_layout, is_zero};
use super::tensor_copy::{ALIGNMENT, BARRIER, block_buffer};

/// Shared memory that is left for what a loop's body does besides.
const LEFT_FOR_BODY: u32 = 24 << 10;

/// Shared memory that is left for barriers.
const BARRIERS: u32 = 256;

/// Which loads of a loop run ahead, and what must be known for them.
pub(super) struct Plan {
    loads: Vec<AheadLoad>,
    /// The operations that their addresses need, in order.
    slice: Vec<OpId>,
    /// The carried values that those need, by position.
    carried: Vec<usize>,
    /// Trips that are under way at the same time.
    stages: u32,
    /// How many slots the rings have: one kind of ring, or two.
    rings: Vec<u32>,
    /// The product that goes on while the next trip begins.
    unfinished: Option<Unfinished>,
    /// The product after whose beginning a trip's copies are made; without one they are made first.
    copy_after: Option<OpId>,
    /// What the copy engine does, if it does anything.
    engine: Option<EngineUse>,
}

/// What the copy engine does in a trip.
#[derive(Copy, Clone, Debug)]
struct EngineUse {
    /// Where the barriers begin, one for each slot of the longest ring.
    barriers: u32,
    /// The bytes that it brings.
    bytes: u32,
}

struct AheadLoad {
    op: OpId,
    memory: LinearLayout,
    /// Bits of an element.
    bits: u32,
    how: How,
    /// Bytes of one slot.
    bytes: u32,
    /// Where the slots begin.
    base: u32,
    /// Which kind of ring they are in.
    ring: usize,
}

/// Who copies what is loaded.
enum How {
    /// All threads.
    Threads {
        access: Box<SharedAccess>,
        /// Elements of one copy.
        run: u32,
        /// How its addresses come about, if all that changes from trip to trip is one pointer.
        moves: Option<Moves>,
    },
    /// The copy engine.
    Engine,
}

impl AheadLoad {
    fn is_by_engine(&self) -> bool {
        matches!(self.how, How::Engine)
    }
}

/// Addresses that are one pointer and what stays the same in a loop.
struct Moves {
    /// The pointer.
    pointer: Value,
    /// What makes the addresses of it, in order.
    chain: Vec<OpId>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Which loads of a loop can run ahead; `None` if no stages are asked for, or no load can.
    pub(super) fn plan_pipeline(&mut self, op: OpId) -> Option<Plan> {
        let func = self.func;
        let data = func.op(op);
        let OpKind::For(attrs) = &data.kind else { return None };
        let stages = attrs.num_stages.unwrap_or(func.gpu.num_stages);
        let body = data.regions()[0];
        // Copies that run ahead go where nobody has checked.
        if stages < 2 || self.checks.is_some() || any_inside(func, body, writes_or_orders) {
            return None;
        }
        let mut slice = Slice { func, body, ops: HashSet::new(), carried: HashSet::new() };
        let mut loads = Vec::new();
        for &candidate in func.region(body).ops() {
            let Some(load) = self.ahead_load(candidate) else { continue };
            let mut with = slice.clone();
            // A descriptor stays what it is; its map was made before the kernel started.
            let from_desc = usize::from(load.is_by_engine());
            let known = func.op(candidate).operands()[from_desc..].iter().all(|&operand| with.add(operand));
            if known {
                slice = with;
                loads.push(load);
            }
        }
        if loads.is_empty() {
            return None;
        }
        let floor = self.shared.floor.next_multiple_of(1024);
        let by_engine = loads.iter().any(AheadLoad::is_by_engine);
        let taken = floor + if by_engine { BARRIERS } else { 0 };
        let room = self.shared.limit.saturating_sub(taken).saturating_sub(self.body_needs(body, &loads));
        let one: u32 = loads.iter().map(|load| load.bytes).sum();
        let unfinished = self.unfinished_product(op, &loads);
        let longer = |load: &AheadLoad| unfinished.as_ref().is_some_and(|product| product.reads.contains(&load.op));
        let extra: u32 = loads.iter().filter(|load| longer(load)).map(|load| load.bytes).sum();
        // One slot more only where there are two besides.
        let (unfinished, extra) = if room >= 2 * one + extra { (unfinished, extra) } else { (None, 0) };
        let stages = stages.min((room - extra.min(room)) / one);
        if stages < 2 {
            return None;
        }
        let longer = |load: &AheadLoad| unfinished.as_ref().is_some_and(|product| product.reads.contains(&load.op));
        let mut rings: Vec<u32> = loads.iter().map(|load| stages + u32::from(longer(load))).collect();
        let mut at = floor;
        for (load, &slots) in loads.iter_mut().zip(&rings) {
            load.base = at;
            load.ring = slots as usize;
            at += load.bytes * slots;
        }
        rings.sort_unstable();
        rings.dedup();
        for load in &mut loads {
            load.ring = rings.iter().position(|&slots| slots as usize == load.ring).expect("a ring for each load");
        }
        let bytes: u32 = loads.iter().filter(|load| load.is_by_engine()).map(|load| load.bytes).sum();
        let engine = (bytes > 0).then_some(EngineUse { barriers: at, bytes });
        if engine.is_some() {
            at += BARRIER * rings.last().copied().unwrap_or(0);
        }
        self.shared.floor = at;
        self.shared.needed = self.shared.needed.max(at);
        let mut carried: Vec<usize> = slice.carried.iter().copied().collect();
        carried.sort_unstable();
        let slice = func.region(body).ops().iter().copied().filter(|op| slice.ops.contains(op)).collect();
        let copy_after = func.region(body).ops().iter().copied().find(|&op| super::dot::is_wgmma(func, op, self.arch));
        Some(Plan { loads, slice, carried, stages, rings, unfinished, copy_after, engine })
    }

    /// How a load would be copied to shared memory; `None` if it cannot be, or no product needs it there.
    fn ahead_load(&self, op: OpId) -> Option<AheadLoad> {
        let func = self.func;
        let data = func.op(op);
        if matches!(data.kind, OpKind::DescLoad) {
            return self.ahead_block(op);
        }
        let OpKind::Load(attrs) = &data.kind else { return None };
        let result = data.result();
        let ty = func.ty(result).as_tile()?;
        let other = data.operands().get(2);
        let zero = other.is_none_or(|&other| is_zero(func, other));
        if attrs.mode.is_pinned() || !zero || !self.feeds_unit(result) || ty.rank() != 2 {
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
        let moves = func.op(op).parent().and_then(|body| moves_of(func, body, op));
        let how = How::Threads { access: Box::new(access), run, moves };
        Some(AheadLoad { op, memory, bits, how, bytes: size, base: 0, ring: 0 })
    }

    /// How a block of a tensor would be copied to shared memory; `None` if no product needs it there.
    fn ahead_block(&self, op: OpId) -> Option<AheadLoad> {
        let func = self.func;
        let data = func.op(op);
        let result = data.result();
        if !self.feeds_unit(result) || func.ty(result).shape().len() != 2 {
            return None;
        }
        let buffer = block_buffer(func, data.operands()[0])?;
        let (bits, bytes) = (self.elem(result).bytes() * 8, buffer.bytes());
        // A slot is as large as what fills it, and the next begins where a swizzle may begin.
        bytes.is_multiple_of(ALIGNMENT).then_some(())?;
        Some(AheadLoad { op, memory: buffer.memory, bits, how: How::Engine, bytes, base: 0, ring: 0 })
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

    /// The scratch that a loop's body may need, where these loads run ahead.
    fn body_needs(&self, body: Region, loads: &[AheadLoad]) -> u32 {
        let func = self.func;
        let mut inside = Vec::new();
        func.walk_region(body, &mut inside);
        let ready = |value: Value| {
            let (source, _) = behind_transposes(func, value);
            let ahead = func.def_op(source).is_some_and(|op| loads.iter().any(|load| load.op == op));
            ahead || matches!(self.held.get(&source), Some(Held::Shared(_)))
        };
        let needs = |&op: &OpId| {
            let data = func.op(op);
            if super::dot::is_wgmma(func, op, self.arch) {
                // What the unit cannot read where it is is written for each product; registers are taken as they are.
                let in_place = |operand: Value, index: usize| {
                    let (source, flipped) = behind_transposes(func, operand);
                    let load = func.def_op(source).and_then(|op| loads.iter().find(|load| load.op == op));
                    load.map_or_else(|| ready(operand), |load| unfinished::is_read_in_place(load, flipped, index))
                };
                let written = |&(index, &operand): &(usize, &Value)| {
                    !in_place(operand, index) && !self.is_wgmma_operand_layout(operand)
                };
                let operands = data.operands()[..2].iter().enumerate().filter(written);
                return operands.map(|(_, &operand)| tile_bytes(func, operand).next_multiple_of(1024)).sum();
            }
            if matches!(data.kind, OpKind::DescLoad) {
                let ahead = loads.iter().any(|load| load.op == op);
                return if ahead { 0 } else { tile_bytes(func, data.result()) + ALIGNMENT };
            }
            if matches!(data.kind, OpKind::DescStore) {
                return self.store_bytes(op);
            }
            let by_unit = matches!(data.kind, OpKind::Dot { .. }) && super::dot::has_unit(func, op, self.arch);
            let read = matches!(data.kind, OpKind::ConvertLayout) && ready(data.operands()[0]);
            if by_unit || read || !uses_scratch(&data.kind) { 0 } else { LEFT_FOR_BODY }
        };
        inside.iter().map(needs).max().unwrap_or(0)
    }
}

/// How the addresses of a load come about; `None` if more than one pointer changes in the loop.
fn moves_of(func: &Func, body: Region, load: OpId) -> Option<Moves> {
    let stays = |value: Value| !func.is_inside(func.defining_region(value), body);
    let (mut value, mut chain) = (func.op(load).operands()[0], Vec::new());
    while func.ty(value).is_tile() {
        let op = func.def_op(value).filter(|&op| func.op(op).parent() == Some(body))?;
        let data = func.op(op);
        let added = matches!(data.kind, OpKind::PtrAdd) && stays(data.operands()[1]);
        if !added && !matches!(data.kind, OpKind::Splat | OpKind::Broadcast) {
            return None;
        }
        chain.push(op);
        value = data.operands()[0];
    }
    chain.reverse();
    Some(Moves { pointer: value, chain })
}

fn tile_bytes(func: &Func, value: Value) -> u32 {
    func.ty(value).as_tile().map_or(0, |tile| tile.len() as u32 * tile.elem.bytes())
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
