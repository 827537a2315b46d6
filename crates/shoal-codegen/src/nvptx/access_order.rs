//! Accesses to global memory happen in the order of the program, as in the interpreter and on CPUs: threads wait for each other
//! between two that may reach the same element by different threads, if one of them writes. Accesses through the same
//! pointers are each thread's own only where these are known to differ.
//!
//! Memory of different parameters counts as different memory. What lanes do for themselves is ordered by the barriers that
//! the kernel has (`lane_code`).

use shoal_ir::class::{AccessOp, AtomicOp, OpClass};
use shoal_ir::op::BinaryOp;
use shoal_ir::provenance::{self, Provenance};
use shoal_ir::{CommOp, Func, OpId, OpKind, Scalar, Value, ValueDef};

use super::emitter::Emitter;
use super::lane_code;

/// An access since the last barrier.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    memory: Provenance,
    by: By,
    writes: bool,
}

/// Which threads access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum By {
    /// Those that hold these pointers, each its own; of copies the first, if it writes.
    Holders(Value),
    /// The same, where the place alone says which thread holds it, in any trip of any loop: see [`is_by_place`].
    Places(Value),
    /// The first.
    One,
    /// Every one.
    Each,
    /// Any: another trip of a loop did it.
    Any,
}

/// The access of an operation; `None` if it has none, or orders itself.
fn access_of(func: &Func, op: OpId) -> Option<Access> {
    let data = func.op(op);
    let writes = match data.kind.class() {
        OpClass::Access(AccessOp::Load(_)) | OpClass::Atomic(AtomicOp::Load, ..) => false,
        OpClass::Access(AccessOp::Store { .. })
        | OpClass::Atomic(AtomicOp::Rmw(_) | AtomicOp::Cas | AtomicOp::Store, ..) => true,
        OpClass::Atomic(AtomicOp::Poll, ..)
        | OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => return None,
    };
    if lane_code::is_by_threads(func, op) {
        return None;
    }
    let pointers = data.operands()[0];
    let atomic = matches!(data.kind.class(), OpClass::Atomic(..));
    let by = match (func.ty(pointers).is_tile(), writes || atomic) {
        (true, _) if is_by_place(func, pointers) => By::Places(pointers),
        (true, _) => By::Holders(pointers),
        (false, true) => By::One,
        (false, false) => By::Each,
    };
    Some(Access { memory: provenance::of_any_rank(func, pointers), by, writes })
}

/// Whether the thread that accesses an element follows from its place behind the parameter: the tile is a run of neighbours
/// that begins at a multiple of its length, so that the layout maps remainders to threads.
fn is_by_place(func: &Func, pointers: Value) -> bool {
    let operands = |value: Value, kind: &OpKind| match func.value(value).def() {
        ValueDef::Result(op, _) if func.op(op).kind == *kind => Some(func.op(op).operands()),
        ValueDef::Result(..) | ValueDef::Param(..) => None,
    };
    let Some(&[base, offsets]) = operands(pointers, &OpKind::PtrAdd) else { return false };
    let Some(&[mut start]) = operands(base, &OpKind::Splat) else { return false };
    if let Some(&[place, _]) = operands(start, &OpKind::Comm(CommOp::SymmAt)) {
        start = place;
    }
    let is_param =
        matches!(func.value(start).def(), ValueDef::Param(region, _) if func.region(region).owner().is_none());
    let ty = func.ty(pointers);
    let &[length] = ty.shape() else { return false };
    let facts = &func.value(offsets).facts;
    let covers = |list: &[u64]| list.first().is_some_and(|&run| run >= u64::from(length));
    is_param && covers(&facts.contiguous) && covers(&facts.divisible) && !has_copies(func, pointers)
}

/// Whether several threads hold the same pointer.
fn has_copies(func: &Func, pointers: Value) -> bool {
    let copies = func.ty(pointers).layout().map(shoal_layout::LinearLayout::free_variable_masks);
    copies.is_some_and(|copies| copies.lane != 0 || copies.warp != 0)
}

/// Whether the elements of a tile are known to differ from each other, so that each is one thread's, but for copies.
fn are_different(func: &Func, mut tile: Value) -> bool {
    while !is_run(func, tile) {
        let ValueDef::Result(op, _) = func.value(tile).def() else { return false };
        let data = func.op(op);
        tile = match (&data.kind, data.operands()) {
            (OpKind::Reshape | OpKind::Transpose { .. } | OpKind::ConvertLayout, &[of]) => of,
            (OpKind::PtrAdd | OpKind::Binary(BinaryOp::Add | BinaryOp::Sub), &[a, b]) if is_one_number(func, a) => b,
            (OpKind::PtrAdd | OpKind::Binary(BinaryOp::Add | BinaryOp::Sub), &[a, b]) if is_one_number(func, b) => a,
            (OpKind::Cast(_), &[of]) if widens(func, of, tile) => of,
            _ => return false,
        };
    }
    true
}

/// Whether a tile is neighbours in a row.
fn is_run(func: &Func, tile: Value) -> bool {
    let runs = &func.value(tile).facts.contiguous;
    let mut sides = func.ty(tile).shape().iter().enumerate().filter(|&(_, &side)| side > 1);
    let longest = sides.next();
    let is_whole = |(axis, &side): (usize, &u32)| runs.get(axis).is_some_and(|&run| run >= u64::from(side));
    longest.is_none_or(is_whole) && sides.next().is_none()
}

/// Whether all elements of a tile are the same number.
fn is_one_number(func: &Func, tile: Value) -> bool {
    match func.value(tile).def() {
        ValueDef::Result(op, _) => matches!(func.op(op).kind, OpKind::Splat | OpKind::Const(_)),
        ValueDef::Param(..) => false,
    }
}

/// Whether a cast keeps different integers different.
fn widens(func: &Func, from: Value, to: Value) -> bool {
    let bits = |value: Value| func.ty(value).number().filter(|number| number.is_int()).map(Scalar::bits);
    matches!((bits(from), bits(to)), (Some(from), Some(to)) if to >= from)
}

/// The accesses inside of an operation, as another trip sees them.
fn accesses_inside(func: &Func, op: OpId) -> Vec<Access> {
    let mut ops = Vec::new();
    for &region in func.op(op).regions() {
        func.walk_region(region, &mut ops);
    }
    let mut found: Vec<Access> = Vec::new();
    for access in ops.into_iter().filter_map(|inner| access_of(func, inner)) {
        // Pointers from before the loop are the same in each trip.
        let stays = match access.by {
            By::Places(_) => true,
            By::Holders(pointers) => !is_made_inside(func, op, pointers),
            By::One | By::Each | By::Any => false,
        };
        let access = if stays { access } else { Access { by: By::Any, ..access } };
        if !found.contains(&access) {
            found.push(access);
        }
    }
    found
}

fn is_made_inside(func: &Func, outer: OpId, value: Value) -> bool {
    let region = match func.value(value).def() {
        ValueDef::Result(op, _) => func.op(op).parent(),
        ValueDef::Param(region, _) => Some(region),
    };
    region.is_some_and(|region| func.op(outer).regions().iter().any(|&inner| func.is_inside(region, inner)))
}

fn may_meet(func: &Func, first: &Access, then: &Access) -> bool {
    let apart = matches!((first.memory, then.memory), (Provenance::Param(a), Provenance::Param(b)) if a != b);
    if apart || !(first.writes || then.writes) {
        return false;
    }
    match (first.by, then.by) {
        (By::Holders(a), By::Holders(b)) if a == b => {
            (has_copies(func, a) && !(first.writes && then.writes)) || !are_different(func, a)
        }
        (By::Places(a), By::Places(b)) => func.ty(a).layout() != func.ty(b).layout(),
        (By::One, By::One) => false,
        (By::Holders(_) | By::Places(_) | By::One | By::Each | By::Any, _) => true,
    }
}

impl Emitter<'_, '_> {
    /// Lets threads wait for each other if an operation may meet what others did before.
    pub(super) fn order_access(&mut self, op: OpId) {
        let Some(access) = access_of(self.func, op) else { return };
        if self.open_accesses.iter().any(|before| may_meet(self.func, before, &access)) {
            self.block_barrier();
        }
        self.open(&[access]);
    }

    /// The same for all accesses of a loop, some of which happen before its trips.
    pub(super) fn order_ahead(&mut self, op: OpId) {
        let inside = accesses_inside(self.func, op);
        if self.open_accesses.iter().any(|before| inside.iter().any(|access| may_meet(self.func, before, access))) {
            self.block_barrier();
        }
    }

    /// Before a trip of a loop and after the last: what other trips did may be open.
    pub(super) fn open_trips(&mut self, op: OpId) {
        self.open(&accesses_inside(self.func, op));
    }

    /// What may be open after a branch besides what is.
    pub(super) fn open(&mut self, accesses: &[Access]) {
        for access in accesses {
            if !self.open_accesses.contains(access) {
                self.open_accesses.push(*access);
            }
        }
    }
}
