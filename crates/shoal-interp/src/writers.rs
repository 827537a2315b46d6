//! Who could still write a word that somebody waits for: what is left of the programs that live, and of those that have
//! not started. Where a write goes is not known before it is made, so this says who has a write of that size left.

use shoal_ir::class::{AccessOp, AtomicOp, OpClass};
use shoal_ir::comm::CommOp;
use shoal_ir::shmem::{ShmemOp, Way};
use shoal_ir::{Elem, Func, OpId, Span};

use crate::control::Owner;
use crate::error::{Place, Writer, WriterState};
use crate::plan::Plan;
use crate::program::Program;
use crate::rank::RankPlan;

/// Calls that are followed.
const MAX_DEPTH: u32 = 8;

/// A program that waits, as one that may write a word of so many bytes later.
pub(crate) fn later(program: &Program<'_>, bytes: u32) -> Option<Writer> {
    let span = next_write(program, bytes)?;
    let state = program.waits_for().map_or(WriterState::Runs, |wait| WriterState::Waits(wait.report.at.span));
    Some(Writer { at: Place { span, ..program.whole_place() }, state })
}

/// A program that has not started, as one that may write a word of so many bytes.
pub(crate) fn unstarted(plan: &RankPlan<'_>, program: [u32; 3], bytes: u32) -> Option<Writer> {
    let func = plan.kernel.func;
    let span = first_write(plan.plan, func, func.walk(), bytes, 0)?;
    let rank = plan.in_world.then_some(plan.number);
    Some(Writer { at: Place { span, rank, program }, state: WriterState::NotStarted })
}

/// The next write of that size in what is left of a program.
fn next_write(program: &Program<'_>, bytes: u32) -> Option<Span> {
    let mut activations = program.activations.iter().rev();
    let mut func = activations.next()?.func();
    for frame in program.frames.iter().rev() {
        let ops = func.region(frame.region).ops();
        // A loop may come to all of its body again.
        let again = matches!(frame.owner, Owner::For(..) | Owner::Before(..) | Owner::Body(..));
        let from = if again { 0 } else { frame.next.min(ops.len()) };
        let left = ops[from..].iter().flat_map(|&op| std::iter::once(op).chain(inside(func, op))).collect();
        if let Some(span) = first_write(program.rank.plan, func, left, bytes, 0) {
            return Some(span);
        }
        if matches!(frame.owner, Owner::Call(_)) {
            func = activations.next()?.func();
        }
    }
    None
}

/// All operations in the regions of one.
fn inside(func: &Func, op: OpId) -> Vec<OpId> {
    let mut all = Vec::new();
    let mut open: Vec<OpId> = vec![op];
    while let Some(op) = open.pop() {
        for &region in func.op(op).regions() {
            all.extend(func.region(region).ops());
            open.extend(func.region(region).ops());
        }
    }
    all
}

fn first_write(plan: &Plan<'_>, func: &Func, ops: Vec<OpId>, bytes: u32, depth: u32) -> Option<Span> {
    ops.into_iter().find_map(|op| {
        if let (OpClass::Call(callee), true) = (func.op(op).kind.class(), depth < MAX_DEPTH) {
            let callee = plan.func(callee)?.func;
            return first_write(plan, callee, callee.walk(), bytes, depth + 1);
        }
        writes(func, op, bytes).then(|| func.op(op).span)
    })
}

/// Whether an operation writes words of that size.
fn writes(func: &Func, op: OpId, bytes: u32) -> bool {
    let data = func.op(op);
    let element = || {
        let pointer = data.operands().first().and_then(|&v| func.ty(v).elem()).and_then(Elem::ptr);
        pointer.is_some_and(|pointer| pointer.element().bytes() == bytes)
    };
    match data.kind.class() {
        OpClass::Access(AccessOp::Store { .. }) => element(),
        OpClass::Atomic(AtomicOp::Rmw(_) | AtomicOp::Cas | AtomicOp::Store, ..) => element(),
        OpClass::Comm(CommOp::Notify { .. }) => bytes == 8,
        OpClass::Comm(CommOp::Shmem(op)) => match op {
            ShmemOp::PutSignal { .. } | ShmemOp::Signal { .. } | ShmemOp::Meet { .. } => bytes == 8,
            ShmemOp::Copy { way: Way::Put, .. } | ShmemOp::PutValue => true,
            ShmemOp::Copy { way: Way::Get, .. }
            | ShmemOp::Collect { .. }
            | ShmemOp::TeamRank
            | ShmemOp::TeamSize
            | ShmemOp::TeamTranslate
            | ShmemOp::SignalWait { .. }
            | ShmemOp::Fence
            | ShmemOp::Quiet => false,
        },
        OpClass::Access(AccessOp::Load(_))
        | OpClass::Atomic(AtomicOp::Load | AtomicOp::Poll, ..)
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
        | OpClass::Call(_) => false,
    }
}
