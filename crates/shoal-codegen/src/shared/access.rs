//! What an operation that is checked accesses: the same on every target.

use shoal_abi::{AccessBase, AccessKind};
use shoal_ir::class::{AccessOp, OpClass};
use shoal_ir::provenance::{self, Provenance};
use shoal_ir::{CommOp, Func, OpId};

/// An operation's access to memory through pointers.
pub(crate) struct Access {
    /// The argument that the pointers were computed from.
    pub(crate) base: AccessBase,
    pub(crate) kind: AccessKind,
    /// The bytes of one element.
    pub(crate) bytes: u32,
    /// What the operation is called in messages.
    pub(crate) what: &'static str,
}

impl Access {
    /// That of a load, a store, an atomic operation or a wait.
    pub(crate) fn of(func: &Func, op: OpId) -> Access {
        let data = func.op(op);
        let pointers = data.operands()[0];
        let (kind, what) = match data.kind.class() {
            OpClass::Access(AccessOp::Load(_)) => (AccessKind::Read, "load"),
            OpClass::Access(AccessOp::Store { .. }) => (AccessKind::Write, "store"),
            OpClass::Atomic(..) => (AccessKind::Atomic, "atomic"),
            OpClass::Comm(CommOp::Wait { .. }) => (AccessKind::Atomic, "wait"),
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
            | OpClass::Call(_) => unreachable!("{:?} accesses no memory through pointers", data.kind),
        };
        let element = func.ty(pointers).elem().and_then(|elem| elem.ptr());
        let bytes = element.map_or(1, |pointer| pointer.element().bytes());
        let base = match provenance::of(func, pointers) {
            Provenance::Param(param) => AccessBase::Param(param as u32),
            Provenance::SomeParam => AccessBase::SomeParam,
            Provenance::Elsewhere => AccessBase::Unknown,
        };
        Access { base, kind, bytes, what }
    }
}
