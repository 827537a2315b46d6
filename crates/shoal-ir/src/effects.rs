//! What an operation does besides computing its results.
//!
//! This is all that CSE, LICM, DCE, pipelining and barrier insertion know about an operation.

use crate::class::{AccessOp, AtomicOp, ControlOp, DescOp, EffectOp, ElementwiseOp, OpClass};
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
}

/// The effects of a kind by itself, without its regions.
pub fn of_kind(kind: &OpKind) -> Effects {
    match kind.class() {
        OpClass::Elementwise(ElementwiseOp::Extern(function)) => pure_or_unknown(function.pure),
        OpClass::Elementwise(ElementwiseOp::InlineAsm(asm)) => pure_or_unknown(asm.pure),
        OpClass::Source(_) | OpClass::Elementwise(_) | OpClass::Shape(_) | OpClass::Tile(_) | OpClass::Apply(_) => {
            Effects::PURE
        }
        OpClass::Access(AccessOp::Load(attrs)) => Effects { pinned: attrs.volatile, ..Effects::READ },
        OpClass::Access(AccessOp::Store { .. }) => Effects::WRITE,
        OpClass::Atomic(op, sem, scope) => atomic(op, sem, scope),
        OpClass::Desc(DescOp::Make) => Effects::PURE,
        OpClass::Desc(DescOp::Load) => Effects::READ,
        OpClass::Desc(DescOp::Store) => Effects::WRITE,
        OpClass::Effect(EffectOp::Barrier) => {
            Effects { order: Some((Sem::AcqRel, Scope::Cta)), pinned: true, ..Effects::PURE }
        }
        OpClass::Effect(EffectOp::Print { .. } | EffectOp::Assert { .. }) => Effects::OBSERVABLE,
        OpClass::Effect(EffectOp::Assume) => Effects { pinned: true, ..Effects::PURE },
        OpClass::Control(ControlOp::If | ControlOp::For(_)) => Effects::PURE,
        // A loop that may never end is not removed: its end is what the user waits for.
        OpClass::Control(ControlOp::While { .. }) => Effects { pinned: true, ..Effects::PURE },
        OpClass::Terminator(_) => Effects::TERMINATOR,
        OpClass::Call(_) => Effects::UNKNOWN,
    }
}

fn atomic(op: AtomicOp, sem: Sem, scope: Scope) -> Effects {
    let (reads, writes) = match op {
        AtomicOp::Rmw(_) | AtomicOp::Cas => (true, true),
        AtomicOp::Load | AtomicOp::Poll => (true, false),
        AtomicOp::Store => (false, true),
    };
    Effects { reads, writes, order: Some((sem, scope)), waits: op == AtomicOp::Poll, pinned: true, ..Effects::PURE }
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
