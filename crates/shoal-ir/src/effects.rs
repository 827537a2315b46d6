//! What an operation does besides computing its results.
//!
//! This is all that CSE, LICM, DCE, pipelining and barrier insertion know about an operation.

use crate::func::{Func, OpId, Region};
use crate::op::{OpKind, Scope, Sem};

/// The effects of an operation, those of its regions included.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Its result depends on memory.
    pub reads: bool,
    /// It changes memory.
    pub writes: bool,
    /// It orders other accesses around it, at a scope.
    pub order: Option<(Sem, Scope)>,
    /// Somebody outside the program sees it happen: it prints, fails, or hands something to the host.
    pub observable: bool,
    /// It may not return until another program acts.
    pub waits: bool,
    /// It must be done exactly as often and exactly where it is written, even if its result is unused.
    pub pinned: bool,
    /// It ends a region.
    pub terminator: bool,
}

impl Effects {
    /// None at all.
    pub const PURE: Effects = Effects {
        reads: false,
        writes: false,
        order: None,
        observable: false,
        waits: false,
        pinned: false,
        terminator: false,
    };

    const READ: Effects = Effects { reads: true, ..Effects::PURE };
    const WRITE: Effects = Effects { writes: true, ..Effects::PURE };
    const OBSERVABLE: Effects = Effects { observable: true, ..Effects::PURE };
    const TERMINATOR: Effects = Effects { terminator: true, ..Effects::PURE };
    const UNKNOWN: Effects = Effects { reads: true, writes: true, observable: true, pinned: true, ..Effects::PURE };

    /// Computes its results from its operands and nothing else.
    pub fn is_pure(self) -> bool {
        self == Effects::PURE
    }

    /// May be removed when no result is used.
    pub fn is_removable(self) -> bool {
        !self.writes && !self.observable && !self.pinned && !self.terminator && self.order.is_none() && !self.waits
    }

    /// Whether swapping two neighbours with these effects could be noticed.
    pub fn conflicts(self, other: Effects) -> bool {
        let memory = (self.writes && (other.reads || other.writes)) || (self.reads && other.writes);
        let touches = |e: Effects| e.reads || e.writes || e.order.is_some() || e.observable;
        let ordered = (self.order.is_some() && touches(other)) || (other.order.is_some() && touches(self));
        let fences = (self.pinned && touches(other)) || (other.pinned && touches(self));
        memory || ordered || fences || (self.observable && other.observable) || self.terminator || other.terminator
    }

    /// Both together.
    pub fn union(self, other: Effects) -> Effects {
        let order = match (self.order, other.order) {
            (Some((a, s)), Some((b, t))) => Some((if a == b { a } else { Sem::AcqRel }, s.max(t))),
            (one, None) => one,
            (None, one) => one,
        };
        Effects {
            reads: self.reads || other.reads,
            writes: self.writes || other.writes,
            order,
            observable: self.observable || other.observable,
            waits: self.waits || other.waits,
            pinned: self.pinned || other.pinned,
            terminator: self.terminator || other.terminator,
        }
    }

    fn atomic(reads: bool, writes: bool, sem: Sem, scope: Scope) -> Effects {
        Effects { reads, writes, order: Some((sem, scope)), pinned: true, ..Effects::PURE }
    }
}

/// The effects of a kind by itself, without its regions.
pub fn of_kind(kind: &OpKind) -> Effects {
    match kind {
        OpKind::Const(_)
        | OpKind::Iota { .. }
        | OpKind::ProgramId { .. }
        | OpKind::NumPrograms { .. }
        | OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Math(_)
        | OpKind::Cmp(_)
        | OpKind::Select
        | OpKind::Fma
        | OpKind::Cast(_)
        | OpKind::Bitcast
        | OpKind::PtrAdd
        | OpKind::MapElementwise { .. }
        | OpKind::Splat
        | OpKind::Broadcast
        | OpKind::Reshape
        | OpKind::Transpose { .. }
        | OpKind::Join
        | OpKind::Split
        | OpKind::Gather { .. }
        | OpKind::Reduce { .. }
        | OpKind::Scan { .. }
        | OpKind::Histogram
        | OpKind::Dot { .. }
        | OpKind::MakeDesc
        | OpKind::If
        | OpKind::For(_) => Effects::PURE,
        // A loop that may never end is not removed: its end is what the user waits for.
        OpKind::While { .. } => Effects { pinned: true, ..Effects::PURE },
        OpKind::Extern(f) => pure_or_unknown(f.pure),
        OpKind::InlineAsm(asm) => pure_or_unknown(asm.pure),
        OpKind::Load(attrs) => Effects { pinned: attrs.volatile, ..Effects::READ },
        OpKind::DescLoad => Effects::READ,
        OpKind::Store { .. } | OpKind::DescStore => Effects::WRITE,
        OpKind::AtomicRmw { sem, scope, .. } | OpKind::AtomicCas { sem, scope } => {
            Effects::atomic(true, true, *sem, *scope)
        }
        OpKind::AtomicLoad { sem, scope } => Effects::atomic(true, false, *sem, *scope),
        OpKind::AtomicStore { sem, scope } => Effects::atomic(false, true, *sem, *scope),
        OpKind::AtomicPoll { sem, scope } => Effects { waits: true, ..Effects::atomic(true, false, *sem, *scope) },
        OpKind::Barrier => Effects { order: Some((Sem::AcqRel, Scope::Cta)), pinned: true, ..Effects::PURE },
        OpKind::Print { .. } | OpKind::Assert { .. } => Effects::OBSERVABLE,
        OpKind::Assume => Effects { pinned: true, ..Effects::PURE },
        OpKind::Condition | OpKind::Yield | OpKind::Return => Effects::TERMINATOR,
        OpKind::Call { .. } => Effects::UNKNOWN,
    }
}

fn pure_or_unknown(pure: bool) -> Effects {
    if pure { Effects::PURE } else { Effects::UNKNOWN }
}

/// The effects of an operation, those of its regions included.
pub fn of_op(func: &Func, op: OpId) -> Effects {
    let data = func.op(op);
    data.regions().iter().fold(of_kind(&data.kind), |all, &region| all.union(of_region(func, region)))
}

/// The effects of a region's operations, its terminator apart.
pub fn of_region(func: &Func, region: Region) -> Effects {
    let all = func.region(region).ops().iter().fold(Effects::PURE, |all, &op| all.union(of_op(func, op)));
    Effects { terminator: false, ..all }
}
