//! Which operations run their regions as control flow, and the ends of their regions.
//!
//! Passes that follow values around loops and through branches look at operations through [`Structure`]; for all other
//! kinds they need to know nothing but operands, results and effects.

use shoal_ir::{Func, OpId, OpKind, Region, Value};

/// How an operation runs its regions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Structure {
    /// No regions.
    Plain,
    /// One of two regions; each yields the results.
    If,
    /// One region, once per trip; see [`OpKind::For`].
    For,
    /// Two regions in turn; see [`OpKind::While`].
    While,
    /// Regions that combine single elements: `reduce`, `scan`, `map_elementwise`.
    Elements,
}

impl Structure {
    /// The structure of a kind.
    pub fn of(kind: &OpKind) -> Structure {
        match kind {
            OpKind::If => Structure::If,
            OpKind::For(_) => Structure::For,
            OpKind::While { .. } => Structure::While,
            OpKind::MapElementwise { .. } | OpKind::Reduce { .. } | OpKind::Scan { .. } => Structure::Elements,
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
            | OpKind::Extern(_)
            | OpKind::InlineAsm(_)
            | OpKind::Splat
            | OpKind::Broadcast
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Join
            | OpKind::Split
            | OpKind::Gather { .. }
            | OpKind::Histogram
            | OpKind::Dot { .. }
            | OpKind::Load(_)
            | OpKind::Store { .. }
            | OpKind::AtomicRmw { .. }
            | OpKind::AtomicCas { .. }
            | OpKind::AtomicLoad { .. }
            | OpKind::AtomicStore { .. }
            | OpKind::AtomicPoll { .. }
            | OpKind::MakeDesc
            | OpKind::DescLoad
            | OpKind::DescStore
            | OpKind::Barrier
            | OpKind::Print { .. }
            | OpKind::Assert { .. }
            | OpKind::Assume
            | OpKind::Condition
            | OpKind::Yield
            | OpKind::Return
            | OpKind::Call { .. } => Structure::Plain,
        }
    }

    /// The structure of an operation.
    pub fn of_op(func: &Func, op: OpId) -> Structure {
        Structure::of(&func.op(op).kind)
    }
}

/// The values a region ends with (for the first region of a `while`, the condition is the first).
///
/// # Panics
/// If the region has no terminator yet.
pub fn ends(func: &Func, region: Region) -> &[Value] {
    let end = func.terminator(region).expect("a region ends in a terminator");
    func.op(end).operands()
}
