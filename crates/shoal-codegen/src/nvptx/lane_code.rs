//! Code for single threads: branches and loops that each lane takes for itself.
//!
//! In the IR such code runs if any lane wants it, under the mask of those that do. Where nothing in it needs the whole
//! program, a thread does not ask the others: it walks through a branch with its accesses masked, and leaves a loop when its
//! own lane is done.
//!
//! ```text
//! %any = reduce or (%mask)            a barrier of the block, or nothing
//! if (%any) { … accesses under %mask }    a branch,           or no branch
//! ```

use std::collections::HashSet;

use shoal_ir::class::{AccessOp, ApplyOp, AtomicOp, ControlOp, ElementwiseOp, OpClass, ShapeOp};
use shoal_ir::comm::CommOp;
use shoal_ir::op::BinaryOp;
use shoal_ir::{Elem, Func, OpId, OpKind, Region, Scalar, Value};
use shoal_layout::LinearLayout;

use super::place::registers;

/// Which operations threads do without asking each other.
#[derive(Debug, Default)]
pub(super) struct LaneCode {
    /// Branches and loops.
    alone: HashSet<OpId>,
    /// Questions whether any lane wants to, which nobody else asks.
    unasked: HashSet<OpId>,
}

impl LaneCode {
    pub(super) fn of(func: &Func) -> LaneCode {
        let alone: HashSet<OpId> = func.walk().into_iter().filter(|&op| acts_alone(func, op)).collect();
        let is_unasked = |op: &OpId| is_any(func, *op) && asked_by(func, *op).is_some_and(|by| by.is_subset(&alone));
        LaneCode { unasked: func.walk().into_iter().filter(is_unasked).collect(), alone }
    }

    /// Whether each thread takes a branch or a loop for itself.
    pub(super) fn is_alone(&self, op: OpId) -> bool {
        self.alone.contains(&op)
    }

    /// Whether nobody needs the answer to a question of all lanes.
    pub(super) fn is_unasked(&self, op: OpId) -> bool {
        self.unasked.contains(&op)
    }
}

/// Whether an operation on the lanes' own elements is one that each thread does once, for its own.
pub(super) fn is_by_threads(func: &Func, op: OpId) -> bool {
    func.by_lanes.contains(op) && func.op(op).operands().first().is_some_and(|&value| one_in_each_thread(func, value))
}

/// The lanes that make another trip, or take a branch; `None` if all lanes do the same.
pub(super) fn mask_of(func: &Func, op: OpId) -> Option<Value> {
    let data = func.op(op);
    let condition = if data.kind == OpKind::If {
        data.operands().first()?
    } else if matches!(data.kind, OpKind::While { .. }) {
        func.op(func.terminator(data.regions()[0])?).operands().first()?
    } else {
        return None;
    };
    let asked = func.def_op(*condition)?;
    let mask = is_any(func, asked).then(|| func.op(asked).operands()[0])?;
    one_in_each_thread(func, mask).then_some(mask)
}

/// Whether an operation asks if anything in a row of truths is true.
pub(super) fn is_any(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    let [value] = data.operands() else { return false };
    let is_row = func.ty(*value).shape().len() == 1 && func.ty(*value).elem() == Some(Elem::Scalar(Scalar::I1));
    if !matches!(data.kind, OpKind::Reduce { .. }) || !is_row {
        return false;
    }
    let combined = func.region(data.regions()[0]);
    let [first, last] = combined.ops() else { return false };
    let operands = func.op(*first).operands();
    func.op(*first).kind == OpKind::Binary(BinaryOp::Or)
        && operands.iter().all(|operand| combined.params().contains(operand))
        && operands[0] != operands[1]
        && func.op(*last).operands() == func.op(*first).results()
}

fn one_in_each_thread(func: &Func, value: Value) -> bool {
    func.ty(value).layout().is_some_and(|layout| registers(layout) == 1 && !has_copies(layout))
}

fn has_copies(layout: &LinearLayout) -> bool {
    let copies = layout.free_variable_masks();
    copies.register != 0 || copies.lane != 0 || copies.warp != 0
}

fn acts_alone(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    let Some(mask) = mask_of(func, op).filter(|_| func.by_lanes.contains(op)) else { return false };
    let like_mask =
        |value: &Value| one_in_each_thread(func, *value) && func.ty(*value).shape() == func.ty(mask).shape();
    // The other arm of a branch only hands on what was before.
    let regions = if data.kind == OpKind::If { &data.regions()[..1] } else { data.regions() };
    data.results().iter().all(like_mask) && regions.iter().all(|&region| is_for_lanes(func, region))
}

/// Whether a region does nothing that needs all threads, nor anything for lanes that are masked out.
fn is_for_lanes(func: &Func, region: Region) -> bool {
    func.region(region).ops().iter().all(|&op| {
        let data = func.op(op);
        let has_mask = |at: usize| data.operands().len() > at && is_by_threads(func, op);
        match data.kind.class() {
            OpClass::Source(_) | OpClass::Terminator(_) => true,
            OpClass::Elementwise(kind) => !matches!(kind, ElementwiseOp::Extern(_) | ElementwiseOp::InlineAsm(_)),
            OpClass::Shape(kind) => matches!(kind, ShapeOp::Splat) && one_in_each_thread(func, data.result()),
            OpClass::Access(AccessOp::Load(_)) => has_mask(1),
            OpClass::Access(AccessOp::Store { .. }) => has_mask(2),
            OpClass::Atomic(AtomicOp::Load, ..) => has_mask(1),
            OpClass::Atomic(AtomicOp::Rmw(_) | AtomicOp::Store, ..) => has_mask(2),
            OpClass::Atomic(AtomicOp::Cas, ..) => has_mask(3),
            OpClass::Comm(CommOp::SymmAt) => data.operands().len() == 3,
            OpClass::Comm(CommOp::Rank { axis } | CommOp::NumRanks { axis }) => axis.is_none(),
            OpClass::Control(ControlOp::If | ControlOp::While { .. }) => acts_alone(func, op),
            // Of interest only to branches and loops, which are looked at themselves.
            OpClass::Apply(ApplyOp::Reduce { .. }) => {
                let marked = |by: &OpId| func.by_lanes.contains(*by);
                is_any(func, op) && asked_by(func, op).is_some_and(|by| by.iter().all(marked))
            }
            OpClass::Apply(ApplyOp::Scan { .. } | ApplyOp::MapElementwise { .. })
            | OpClass::Atomic(AtomicOp::Poll, ..)
            | OpClass::Comm(CommOp::Wait { .. } | CommOp::ConsumeToken | CommOp::Notify { .. } | CommOp::Shmem(_))
            | OpClass::Control(ControlOp::For(_))
            | OpClass::Tile(_)
            | OpClass::Desc(_)
            | OpClass::Effect(_)
            | OpClass::Call(_) => false,
        }
    })
}

/// The branches and loops that a question decides; `None` if somebody else needs the answer.
fn asked_by(func: &Func, op: OpId) -> Option<HashSet<OpId>> {
    let uses = func.value(func.op(op).result()).uses();
    let decided = |used: &shoal_ir::Use| {
        let user = func.op(used.op);
        let decides = used.index == 0 && matches!(user.kind, OpKind::If | OpKind::Condition);
        let by = if user.kind == OpKind::If { Some(used.op) } else { func.region(user.parent()?).owner() };
        by.filter(|_| decides)
    };
    uses.iter().map(decided).collect()
}
