//! Mutants: kernels in which one piece of synchronisation is weaker or gone. One in which nothing is found is either not
//! tested, or needs that piece not; the source may say why it can go:
//!
//! ```text
//! # shoal: redundant because the next barrier orders it
//! # shoal: redundant scope because the ranks share a device here
//! ```
//!
//! alone in the line above or at the end of the line. The second form speaks of one change only: `order`, `scope`,
//! `wait`, `signal`, `fence`, `barrier` or `call`. Whatever survives without such a reason is to be looked at.

use std::collections::HashMap;

use shoal_interp::explore::{Settings, search};
use shoal_ir::class::{EffectOp, OpClass};
use shoal_ir::comm::CommOp;
use shoal_ir::op::{OpKind, Scope, Sem};
use shoal_ir::shmem::{Meeting, ShmemOp};
use shoal_ir::{Const, Func, Module as Ir, OpId, Scalar, Span};
use shoal_lang::Lowered;
use shoal_source::SourceMap;

use super::shrink::Silent;
use super::{CheckOptions, Watcher, cannot_run, file_harness};
use crate::{Error, Module};

/// A kernel in which one thing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// What was changed: `wait: the order becomes relaxed`.
    pub change: String,
    /// Where: file, line and column.
    pub place: String,
    /// What was found in it; `None` if it survived.
    pub killed_by: Option<String>,
    /// Why it may survive, as the source says.
    pub reason: Option<String>,
}

/// Mutants of one or several harnesses. A change that several of them contain counts once, and is found if any of them
/// shows it.
#[derive(Debug, Clone, Default)]
pub struct Mutants {
    all: Vec<Mutant>,
    known: HashMap<(String, String), usize>,
}

impl Mutants {
    /// All of them, in the order of the source of the harnesses' kernels.
    #[must_use]
    pub fn all(&self) -> &[Mutant] {
        &self.all
    }

    /// Those that nothing was found in.
    pub fn survivors(&self) -> impl Iterator<Item = &Mutant> {
        self.all.iter().filter(|mutant| mutant.killed_by.is_none())
    }

    /// Those of them for which the source gives no reason.
    pub fn unexplained(&self) -> impl Iterator<Item = &Mutant> {
        self.survivors().filter(|mutant| mutant.reason.is_none())
    }

    /// Whether a change is known to be found.
    fn is_killed(&self, key: &(String, String)) -> bool {
        self.known.get(key).is_some_and(|&at| self.all[at].killed_by.is_some())
    }

    fn add(&mut self, key: (String, String), killed_by: Option<String>, reason: Option<String>) {
        let next = self.all.len();
        let at = *self.known.entry(key.clone()).or_insert(next);
        match self.all.get_mut(at) {
            Some(mutant) => mutant.killed_by = mutant.killed_by.take().or(killed_by),
            None => self.all.push(Mutant { place: key.0, change: key.1, killed_by, reason }),
        }
    }
}

/// A change of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Order(Sem),
    Scope(Scope),
    Remove,
    /// A `wait` that waits for no word.
    WaitForNothing,
    /// A barrier of a team that completes nothing.
    Sync,
}

/// The kernels of which there are mutants.
#[derive(Debug, Clone, Copy)]
pub struct Mutated<'a> {
    /// The harness that launches them.
    pub harness: &'a str,
    /// One of them, if not all are meant.
    pub kernel: Option<&'a str>,
}

/// Weakens or removes each wait, order, scope, fence, signal and barrier of a harness's kernels in turn, and each call of
/// a function that is there for these, and checks in worlds of these sizes, one after the other. Adds to `mutants`.
///
/// # Errors
/// As [`check`](super::check).
pub fn mutate(
    mutants: &mut Mutants,
    module: &Module,
    mutated: Mutated<'_>,
    (ranks, options): (&[usize], &CheckOptions),
    watcher: &mut dyn Watcher,
) -> Result<(), Error> {
    let settings = Settings { max_steps: 2_000_000, max_findings: 1, ..options.settings() };
    for &ranks in ranks {
        let mut recording = file_harness::record(module, mutated.harness, &CheckOptions { ranks, ..options.clone() })?;
        let originals: Vec<Lowered> = recording.modules().into_iter().cloned().collect();
        let is_meant = |original: &Lowered| mutated.kernel.is_none_or(|kernel| original.kernel == kernel);
        for (variant, original) in originals.iter().enumerate().filter(|(_, original)| is_meant(original)) {
            for (site, span) in sites(original) {
                let sources = &recording.sources;
                let kind = &original.module.funcs[site.func].op(site.op).kind;
                let key = (place(sources, span), describe(kind, site.change));
                let reason = reason(sources, span, subject(kind, site.change));
                if mutants.is_killed(&key) {
                    continue;
                }
                if watcher.is_interrupted() {
                    return Ok(());
                }
                let mut mutant = original.clone();
                apply(&mut mutant.module.funcs[site.func], site.op, site.change);
                recording.replaced.insert(variant, mutant);
                let outcome = search(&recording.scenario(), &settings, &mut Silent(watcher)).map_err(cannot_run)?;
                recording.replaced.remove(&variant);
                if outcome.interrupted && outcome.found.is_empty() {
                    return Ok(());
                }
                let killed_by = outcome.found.first().map(|found| found.finding.kind().to_owned());
                mutants.add(key, killed_by, reason);
                watcher.progress(mutants.all().len());
            }
        }
    }
    Ok(())
}

/// A change, and where in a module it is made.
struct Site {
    func: usize,
    op: OpId,
    change: Change,
}

/// All changes of a module, with their places in the source.
fn sites(original: &Lowered) -> Vec<(Site, Span)> {
    let mut sites = Vec::new();
    for (at, func) in original.module.funcs.iter().enumerate() {
        for op in func.walk() {
            let span = func.op(op).span;
            let changes = changes(&original.module, func, op).into_iter();
            sites.extend(changes.map(|change| (Site { func: at, op, change }, span)));
        }
    }
    sites
}

fn changes(module: &Ir, func: &Func, op: OpId) -> Vec<Change> {
    let kind = &func.op(op).kind;
    match kind.class() {
        OpClass::Atomic(_, sem, scope) => weaker(sem, scope),
        OpClass::Comm(CommOp::Wait { sem, scope }) => {
            let mut changes = weaker(sem, scope);
            changes.push(Change::WaitForNothing);
            changes
        }
        OpClass::Comm(CommOp::Notify { .. }) => vec![Change::Remove],
        OpClass::Comm(CommOp::Shmem(op)) => match op {
            ShmemOp::Meet { meeting: Meeting::Barrier, .. } => vec![Change::Sync, Change::Remove],
            ShmemOp::Meet { meeting: Meeting::Sync, .. }
            | ShmemOp::Fence
            | ShmemOp::Quiet
            | ShmemOp::Signal { .. }
            | ShmemOp::SignalWait { .. } => vec![Change::Remove],
            ShmemOp::TeamRank
            | ShmemOp::TeamSize
            | ShmemOp::TeamTranslate
            | ShmemOp::Copy { .. }
            | ShmemOp::PutSignal { .. }
            | ShmemOp::PutValue
            | ShmemOp::Collect { .. } => Vec::new(),
        },
        OpClass::Effect(EffectOp::Barrier) => vec![Change::Remove],
        OpClass::Effect(EffectOp::Fence { sem, scope }) => {
            let mut changes = weaker(sem, scope);
            changes.push(Change::Remove);
            changes
        }
        OpClass::Call(callee) => {
            let used = func.op(op).results().iter().any(|&result| !func.value(result).uses().is_empty());
            let needless = used || !synchronises(module, callee, &mut Vec::new());
            if needless { Vec::new() } else { vec![Change::Remove] }
        }
        OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Access(_)
        | OpClass::Desc(_)
        | OpClass::Comm(CommOp::Rank { .. } | CommOp::NumRanks { .. } | CommOp::SymmAt | CommOp::ConsumeToken)
        | OpClass::Effect(
            EffectOp::Clock | EffectOp::GridWords | EffectOp::Print { .. } | EffectOp::Assert { .. } | EffectOp::Assume,
        )
        | OpClass::Control(_)
        | OpClass::Terminator(_) => Vec::new(),
    }
}

fn weaker(sem: Sem, scope: Scope) -> Vec<Change> {
    let weaker: &[Sem] = match sem {
        Sem::Relaxed => &[],
        Sem::Acquire | Sem::Release => &[Sem::Relaxed],
        Sem::AcqRel => &[Sem::Acquire, Sem::Release],
    };
    let mut changes: Vec<Change> = weaker.iter().map(|&sem| Change::Order(sem)).collect();
    changes.extend((scope == Scope::Sys).then_some(Change::Scope(Scope::Gpu)));
    changes.extend((scope == Scope::Gpu).then_some(Change::Scope(Scope::Cta)));
    changes
}

/// Whether a function is there for what it orders: it synchronises, and accesses memory in no other way.
fn synchronises(module: &Ir, name: &str, open: &mut Vec<String>) -> bool {
    let Some(func) = module.funcs.iter().find(|func| func.name == name) else { return false };
    if open.iter().any(|known| known == name) {
        return false;
    }
    open.push(name.to_owned());
    let mut orders = false;
    for op in func.walk() {
        match func.op(op).kind.class() {
            OpClass::Access(_) | OpClass::Desc(_) => return false,
            OpClass::Call(callee) => orders |= synchronises(module, callee, open),
            OpClass::Atomic(..) | OpClass::Effect(EffectOp::Barrier | EffectOp::Fence { .. }) => orders = true,
            OpClass::Comm(op) => {
                orders |= matches!(op, CommOp::Wait { .. } | CommOp::Notify { .. } | CommOp::Shmem(_));
            }
            OpClass::Source(_)
            | OpClass::Elementwise(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Effect(
                EffectOp::Clock
                | EffectOp::GridWords
                | EffectOp::Print { .. }
                | EffectOp::Assert { .. }
                | EffectOp::Assume,
            )
            | OpClass::Control(_)
            | OpClass::Terminator(_) => {}
        }
    }
    orders
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
        Change::Sync => {
            if let OpKind::Comm(CommOp::Shmem(ShmemOp::Meet { meeting, .. })) = &mut func.op_mut(op).kind {
                *meeting = Meeting::Sync;
            }
        }
    }
}

fn reorder(kind: &mut OpKind, change: impl FnOnce(&mut Sem, &mut Scope)) {
    if let OpKind::AtomicRmw { sem, scope, .. }
    | OpKind::AtomicCas { sem, scope }
    | OpKind::AtomicLoad { sem, scope }
    | OpKind::AtomicStore { sem, scope }
    | OpKind::AtomicPoll { sem, scope }
    | OpKind::Fence { sem, scope }
    | OpKind::Comm(CommOp::Wait { sem, scope }) = kind
    {
        change(sem, scope);
    }
}

/// The operation in the user's words.
fn name(kind: &OpKind) -> String {
    let name = match kind.class() {
        OpClass::Comm(CommOp::Wait { .. }) => "wait",
        OpClass::Comm(CommOp::Notify { .. }) => "notify",
        OpClass::Comm(CommOp::Shmem(ShmemOp::Fence)) | OpClass::Effect(EffectOp::Fence { .. }) => "fence",
        OpClass::Comm(CommOp::Shmem(ShmemOp::Quiet)) => "quiet",
        OpClass::Comm(CommOp::Shmem(ShmemOp::Signal { .. })) => "signal_op",
        OpClass::Comm(CommOp::Shmem(ShmemOp::Meet { .. })) | OpClass::Effect(EffectOp::Barrier) => "barrier",
        OpClass::Comm(CommOp::Shmem(_)) => "signal_wait_until",
        // Callees carry what they are specialised for behind their name.
        OpClass::Call(callee) => {
            return format!("call of `{}`", callee.split(['.', '$', '<', '(']).next().unwrap_or(callee));
        }
        _ => "atomic",
    };
    name.to_owned()
}

fn describe(kind: &OpKind, change: Change) -> String {
    let name = name(kind);
    match change {
        Change::Order(sem) => format!("{name}: the order becomes `{sem}`"),
        Change::Scope(scope) => format!("{name}: the scope becomes `{scope}`"),
        Change::Remove | Change::WaitForNothing => format!("{name}: removed"),
        Change::Sync => format!("{name}: becomes `sync`, which completes nothing"),
    }
}

/// The word by which a reason speaks of a change.
fn subject(kind: &OpKind, change: Change) -> &'static str {
    match change {
        Change::Order(_) => return "order",
        Change::Scope(_) => return "scope",
        Change::WaitForNothing => return "wait",
        Change::Remove | Change::Sync => {}
    }
    match kind.class() {
        OpClass::Comm(CommOp::Notify { .. } | CommOp::Shmem(ShmemOp::Signal { .. })) => "signal",
        OpClass::Comm(CommOp::Shmem(ShmemOp::Fence | ShmemOp::Quiet)) | OpClass::Effect(EffectOp::Fence { .. }) => {
            "fence"
        }
        OpClass::Comm(CommOp::Shmem(ShmemOp::SignalWait { .. })) => "wait",
        OpClass::Call(_) => "call",
        _ => "barrier",
    }
}

/// Why a change may survive, as a comment says: at the end of the line, or alone in the lines right above.
fn reason(sources: &SourceMap, span: Span, subject: &str) -> Option<String> {
    let (line, _) = sources.line_col(span)?;
    let at = (line - sources.first_line(span.file)) as usize;
    let lines: Vec<&str> = sources.text(span.file).lines().collect();
    let here = lines.get(at).and_then(|line| read_reason(line, subject));
    let above = lines[..at.min(lines.len())].iter().rev().take_while(|line| line.trim_start().starts_with('#'));
    here.or_else(|| above.filter_map(|line| read_reason(line, subject)).next())
}

fn read_reason(line: &str, subject: &str) -> Option<String> {
    let (_, said) = line.split_once("# shoal: redundant ")?;
    let (what, why) = match said.strip_prefix("because ") {
        Some(why) => ("", why),
        None => said.split_once(" because ")?,
    };
    (what.is_empty() || what.split(", ").any(|word| word == subject)).then(|| why.trim().to_owned())
}

fn place(sources: &SourceMap, span: Span) -> String {
    match (!span.is_none()).then(|| sources.line_col(span)).flatten() {
        Some((line, column)) => format!("{}:{line}:{column}", sources.name(span.file)),
        None => "somewhere".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_from_comments() {
        let mut sources = SourceMap::default();
        let text = "a()  # shoal: redundant because it is late\n\
                    # shoal: redundant order, scope because it is early\n\
                    # Another comment.\n\
                    b()\n\
                    c()\n";
        let file = sources.add("k.py", text);
        let at = |what: &str| {
            let start = text.find(what).expect("it is there") as u32;
            Span { file, start, end: start + 1 }
        };
        assert_eq!(reason(&sources, at("a()"), "barrier").as_deref(), Some("it is late"));
        assert_eq!(reason(&sources, at("b()"), "scope").as_deref(), Some("it is early"));
        assert_eq!(reason(&sources, at("b()"), "barrier"), None);
        assert_eq!(reason(&sources, at("c()"), "scope"), None);
    }

    #[test]
    fn one_harness_that_shows_it_is_enough() {
        let mut mutants = Mutants::default();
        let key = |change: &str| ("k.py:1:1".to_owned(), change.to_owned());
        mutants.add(key("a"), None, None);
        mutants.add(key("b"), None, Some("it is late".into()));
        mutants.add(key("a"), Some("race".into()), None);
        mutants.add(key("c"), None, None);
        assert!(mutants.is_killed(&key("a")) && !mutants.is_killed(&key("c")));
        assert_eq!(mutants.survivors().count(), 2);
        assert_eq!(mutants.unexplained().map(|mutant| &*mutant.change).collect::<Vec<_>>(), ["c"]);
    }
}
