//! Mutants: kernels in which one piece of synchronisation is weaker or gone. One in which nothing is found is either not
//! tested, or needs that piece not.

use shoal_interp::explore::{Settings, explore};
use shoal_ir::class::OpClass;
use shoal_ir::comm::CommOp;
use shoal_ir::op::{OpKind, Scope, Sem};
use shoal_ir::shmem::ShmemOp;
use shoal_ir::{Const, Func, OpId, Scalar, Span};

use super::{CheckOptions, Watcher, cannot_run, file_harness};
use crate::{Error, Module};

/// A kernel in which one thing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// What was changed: `release becomes relaxed`.
    pub change: String,
    /// Where: file and line.
    pub place: String,
    /// What was found in it; `None` if it survived.
    pub killed_by: Option<String>,
}

/// A change of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Order(Sem),
    Scope(Scope),
    Remove,
    /// A `wait` that waits for no word.
    WaitForNothing,
}

/// Weakens or removes each wait, order, scope, signal and barrier of a harness's kernels in turn, and checks.
///
/// # Errors
/// As [`check`](super::check).
pub fn mutate(
    module: &Module,
    harness: &str,
    options: &CheckOptions,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Mutant>, Error> {
    let mut recording = file_harness::record(module, harness, options)?;
    let settings = Settings { max_steps: 2_000_000, max_findings: 1, ..options.settings() };
    let originals: Vec<_> = recording.modules().into_iter().cloned().collect();
    let mut mutants: Vec<Mutant> = Vec::new();
    for (variant, original) in originals.iter().enumerate() {
        for (at, func) in original.module.funcs.iter().enumerate() {
            for op in func.walk() {
                for change in changes(&func.op(op).kind) {
                    if watcher.is_interrupted() {
                        return Ok(mutants);
                    }
                    let mut mutant = original.clone();
                    apply(&mut mutant.module.funcs[at], op, change);
                    recording.replaced.insert(variant, mutant);
                    let outcome = explore(&recording.scenario(), &settings, &mut ()).map_err(cannot_run)?;
                    let killed_by = outcome.found.first().map(|found| found.finding.kind().to_owned());
                    let place = place(&recording.sources, func.op(op).span);
                    mutants.push(Mutant { change: describe(&func.op(op).kind, change), place, killed_by });
                    watcher.progress(mutants.len());
                }
            }
        }
        recording.replaced.remove(&variant);
    }
    Ok(mutants)
}

fn changes(kind: &OpKind) -> Vec<Change> {
    let order = |sem: Sem, scope: Scope| {
        let weaker: &[Sem] = match sem {
            Sem::Relaxed => &[],
            Sem::Acquire | Sem::Release => &[Sem::Relaxed],
            Sem::AcqRel => &[Sem::Acquire, Sem::Release],
        };
        let mut changes: Vec<Change> = weaker.iter().map(|&sem| Change::Order(sem)).collect();
        changes.extend((scope == Scope::Sys).then_some(Change::Scope(Scope::Gpu)));
        changes
    };
    match kind.class() {
        OpClass::Atomic(_, sem, scope) => order(sem, scope),
        OpClass::Comm(CommOp::Wait { sem, scope }) => {
            let mut changes = order(sem, scope);
            changes.push(Change::WaitForNothing);
            changes
        }
        OpClass::Comm(CommOp::Notify { .. }) => vec![Change::Remove],
        OpClass::Comm(CommOp::Shmem(ShmemOp::Fence | ShmemOp::Quiet | ShmemOp::SignalWait { .. })) => {
            vec![Change::Remove]
        }
        OpClass::Effect(_) if matches!(kind, OpKind::Barrier) => vec![Change::Remove],
        OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Access(_)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => Vec::new(),
    }
}

fn apply(func: &mut Func, op: OpId, change: Change) {
    match change {
        Change::Remove => func.erase(op),
        Change::WaitForNothing => {
            let Some(region) = func.op(op).parent() else { return };
            let at = func.index_in_region(op);
            let zero = Const::from_i64(Scalar::I32, 0);
            let none = func.make_op(OpKind::Const(zero), [], [Scalar::I32.into()], [], Span::NONE);
            func.insert(region, at, none);
            let value = func.op(none).results()[0];
            func.set_operand(op, 1, value);
        }
        Change::Order(new) => reorder(&mut func.op_mut(op).kind, |sem, _| *sem = new),
        Change::Scope(new) => reorder(&mut func.op_mut(op).kind, |_, scope| *scope = new),
    }
}

fn reorder(kind: &mut OpKind, change: impl FnOnce(&mut Sem, &mut Scope)) {
    if let OpKind::AtomicRmw { sem, scope, .. }
    | OpKind::AtomicCas { sem, scope }
    | OpKind::AtomicLoad { sem, scope }
    | OpKind::AtomicStore { sem, scope }
    | OpKind::AtomicPoll { sem, scope }
    | OpKind::Comm(CommOp::Wait { sem, scope }) = kind
    {
        change(sem, scope);
    }
}

fn describe(kind: &OpKind, change: Change) -> String {
    let name = match kind.class() {
        OpClass::Comm(CommOp::Wait { .. }) => "wait",
        OpClass::Comm(CommOp::Notify { .. }) => "notify",
        OpClass::Comm(CommOp::Shmem(ShmemOp::Fence)) => "fence",
        OpClass::Comm(CommOp::Shmem(ShmemOp::Quiet)) => "quiet",
        OpClass::Comm(CommOp::Shmem(_)) => "signal_wait_until",
        OpClass::Effect(_) => "barrier",
        _ => "atomic",
    };
    match change {
        Change::Order(sem) => format!("{name}: the order becomes `{sem}`"),
        Change::Scope(scope) => format!("{name}: the scope becomes `{scope}`"),
        Change::Remove | Change::WaitForNothing => format!("{name}: removed"),
    }
}

fn place(sources: &shoal_source::SourceMap, span: Span) -> String {
    match (!span.is_none()).then(|| sources.line_col(span)).flatten() {
        Some((line, _)) => format!("{}:{line}", sources.name(span.file)),
        None => "somewhere".into(),
    }
}
