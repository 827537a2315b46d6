//! What an operation does besides computing its results.
//!
//! This is all that CSE, LICM, DCE, pipelining and barrier insertion know about an operation.

mod calls;
mod comm;
mod looks;
mod spaces;
mod waits;

pub use calls::{CallEffects, EffectTable};
pub use looks::only_looks;
pub use spaces::Spaces;
pub use waits::{may_wait, watches_memory};

use crate::class::{AccessOp, AtomicOp, ControlOp, DescOp, EffectOp, ElementwiseOp, OpClass};
use crate::func::{Func, OpId, Region};
use crate::op::{OpKind, Scope, Sem};
use crate::types::{Elem, Space};

/// The effects of an operation, those of its regions included.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Effects {
    /// The memory its result depends on.
    pub reads: Spaces,
    /// The memory it changes.
    pub writes: Spaces,
    /// It orders other accesses around it, at a scope.
    pub order: Option<(Sem, Scope)>,
    /// Somebody outside the program sees it happen: it prints, fails, or hands something to the host.
    pub observable: bool,
    /// It may not return until another program acts. What others did meanwhile is seen after it and not before, so
    /// nothing but pure computation moves across it.
    pub waits: bool,
    /// It is asynchronous: its accesses go on after it, until an operation that orders them is over. It keeps its
    /// place among operations that order, wait or are asynchronous themselves.
    pub pending: bool,
    /// It must be done exactly as often and exactly where it is written, even if its result is unused.
    pub pinned: bool,
    /// It ends a region.
    pub terminator: bool,
}

impl Effects {
    /// None at all.
    pub const PURE: Effects = Effects {
        reads: Spaces::NONE,
        writes: Spaces::NONE,
        order: None,
        observable: false,
        waits: false,
        pending: false,
        pinned: false,
        terminator: false,
    };

    /// Any memory is read, and nothing else happens.
    pub const READ: Effects = Effects { reads: Spaces::ALL, ..Effects::PURE };

    /// Any memory is written, and nothing else happens.
    pub const WRITE: Effects = Effects { writes: Spaces::ALL, ..Effects::PURE };

    const OBSERVABLE: Effects = Effects { observable: true, ..Effects::PURE };
    const TERMINATOR: Effects = Effects { terminator: true, ..Effects::PURE };

    /// Anything a device function can do.
    pub const UNKNOWN: Effects = Effects { waits: true, pending: true, ..Effects::OPAQUE };

    /// Anything a function of somebody else's can do. It cannot wait for another program: it does not know of any.
    const OPAQUE: Effects = Effects {
        reads: Spaces::ALL,
        writes: Spaces::ALL,
        order: Some((Sem::AcqRel, Scope::Sys)),
        observable: true,
        pinned: true,
        ..Effects::PURE
    };

    /// Computes its results from its operands and nothing else.
    pub fn is_pure(self) -> bool {
        self == Effects::PURE
    }

    /// Reads memory and does nothing else.
    pub fn only_reads(self) -> bool {
        self.reads.any() && Effects { reads: Spaces::NONE, ..self }.is_pure()
    }

    /// Does more than compute: accesses memory, orders accesses, waits, or is seen from outside.
    pub fn acts(self) -> bool {
        self.reads.any() || self.writes.any() || self.orders() || self.observable
    }

    /// May be removed when no result is used.
    pub fn is_removable(self) -> bool {
        !self.writes.any() && !self.observable && !self.pinned && !self.terminator && !self.orders()
    }

    /// Whether swapping two neighbours with these effects could be noticed.
    pub fn conflicts(self, other: Effects) -> bool {
        let memory = self.writes.overlaps(other.reads.union(other.writes)) || self.reads.overlaps(other.writes);
        let ordered = (self.orders() && other.acts()) || (other.orders() && self.acts());
        let fences = (self.pinned && other.acts()) || (other.pinned && self.acts());
        let waits = (self.waits && !other.is_pure()) || (other.waits && !self.is_pure());
        memory
            || ordered
            || fences
            || waits
            || (self.observable && other.observable)
            || self.terminator
            || other.terminator
    }

    /// Both together.
    #[must_use]
    pub fn union(self, other: Effects) -> Effects {
        let order = match (self.order, other.order) {
            (Some((a, s)), Some((b, t))) => Some((if a == b { a } else { Sem::AcqRel }, s.max(t))),
            (one, None) => one,
            (None, one) => one,
        };
        Effects {
            reads: self.reads.union(other.reads),
            writes: self.writes.union(other.writes),
            order,
            observable: self.observable || other.observable,
            waits: self.waits || other.waits,
            pending: self.pending || other.pending,
            pinned: self.pinned || other.pinned,
            terminator: self.terminator || other.terminator,
        }
    }

    /// Keeps its place among accesses, although it may access nothing itself.
    fn orders(self) -> bool {
        self.order.is_some() || self.waits || self.pending
    }

    /// The same where only `space` is accessed.
    fn in_space(self, space: Space) -> Effects {
        let narrowed = |spaces: Spaces| if spaces.any() { Spaces::one(space) } else { Spaces::NONE };
        Effects { reads: narrowed(self.reads), writes: narrowed(self.writes), ..self }
    }
}

/// The effects of a kind by itself: without its regions, whatever memory its operands point to, and whichever function
/// it calls.
pub fn of_kind(kind: &OpKind) -> Effects {
    match kind.class() {
        OpClass::Elementwise(ElementwiseOp::Extern(function)) => pure_or_opaque(function.pure),
        OpClass::Elementwise(ElementwiseOp::InlineAsm(asm)) => pure_or_opaque(asm.pure),
        OpClass::Source(_) | OpClass::Elementwise(_) | OpClass::Shape(_) | OpClass::Tile(_) | OpClass::Apply(_) => {
            Effects::PURE
        }
        OpClass::Access(AccessOp::Load(attrs)) => Effects { pinned: attrs.mode.is_pinned(), ..Effects::READ },
        OpClass::Access(AccessOp::Store { .. }) => Effects::WRITE,
        OpClass::Atomic(op, sem, scope) => atomic(op, sem, scope),
        OpClass::Desc(DescOp::Make | DescOp::Base | DescOp::Size { .. } | DescOp::Stride { .. }) => Effects::PURE,
        OpClass::Desc(DescOp::Load) => Effects::READ.in_space(Space::Global),
        OpClass::Desc(DescOp::Store) => Effects::WRITE.in_space(Space::Global),
        OpClass::Comm(op) => comm::effects(op),
        OpClass::Effect(EffectOp::Barrier) => {
            Effects { order: Some((Sem::AcqRel, Scope::Cta)), pinned: true, ..Effects::PURE }
        }
        OpClass::Effect(EffectOp::Fence { sem, scope }) => {
            Effects { order: Some((sem, scope)), pinned: true, ..Effects::PURE }
        }
        OpClass::Effect(EffectOp::Clock) => Effects { pinned: true, ..Effects::PURE },
        OpClass::Effect(EffectOp::GridWords) => Effects::PURE,
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
        AtomicOp::Rmw(_) | AtomicOp::Cas => (Spaces::ALL, Spaces::ALL),
        AtomicOp::Load | AtomicOp::Poll => (Spaces::ALL, Spaces::NONE),
        AtomicOp::Store => (Spaces::NONE, Spaces::ALL),
    };
    Effects { reads, writes, order: Some((sem, scope)), waits: op == AtomicOp::Poll, pinned: true, ..Effects::PURE }
}

fn pure_or_opaque(pure: bool) -> Effects {
    if pure { Effects::PURE } else { Effects::OPAQUE }
}

/// The effects of an operation by itself, those on memory narrowed to what its first operand points to.
fn of_access(func: &Func, op: OpId) -> Effects {
    let data = func.op(op);
    let effects = of_kind(&data.kind);
    match data.kind.class() {
        OpClass::Access(_) | OpClass::Atomic(..) => {
            let pointer = data.operands().first().and_then(|&v| func.ty(v).elem()).and_then(Elem::ptr);
            pointer.map_or(effects, |pointer| effects.in_space(pointer.space))
        }
        OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => effects,
    }
}

/// The effects of an operation, those of its regions included. A call has all of them; where the module is known,
/// [`CallEffects::of_op`] says more.
pub fn of_op(func: &Func, op: OpId) -> Effects {
    CallEffects::default().of_op(func, op)
}

/// The effects of a region's operations, its terminator apart.
pub fn of_region(func: &Func, region: Region) -> Effects {
    CallEffects::default().of_region(func, region)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_conflict_in_a_common_space_only() {
        let (read, write) = (Effects::READ, Effects::WRITE);
        assert!(write.conflicts(read) && read.conflicts(write) && write.conflicts(write));
        assert!(!read.conflicts(read));
        let (global, shared) = (read.in_space(Space::Global), write.in_space(Space::Shared));
        assert!(!global.conflicts(shared) && !shared.conflicts(global));
        assert!(shared.conflicts(read), "any memory is shared memory, too");
    }

    #[test]
    fn nothing_but_pure_computation_crosses_a_wait() {
        let wait = Effects { waits: true, ..Effects::PURE };
        for other in
            [Effects::READ, Effects::WRITE, Effects::OBSERVABLE, Effects { pinned: true, ..Effects::PURE }, wait]
        {
            assert!(wait.conflicts(other) && other.conflicts(wait), "{other:?}");
        }
        assert!(!wait.conflicts(Effects::PURE) && !wait.is_removable() && wait.acts());
    }

    #[test]
    fn what_is_pending_keeps_its_place_among_what_orders() {
        let pending = Effects { pending: true, ..Effects::PURE };
        let quiet = Effects { order: Some((Sem::AcqRel, Scope::Sys)), ..Effects::PURE };
        assert!(pending.conflicts(quiet) && quiet.conflicts(pending) && pending.conflicts(pending));
        assert!(!pending.is_removable() && !pending.conflicts(Effects::PURE));
    }

    #[test]
    fn functions_of_others_do_everything_but_wait() {
        assert!(Effects::OPAQUE.order.is_some() && !Effects::OPAQUE.waits);
        assert_eq!(Effects::OPAQUE.union(Effects::UNKNOWN), Effects::UNKNOWN);
    }
}
