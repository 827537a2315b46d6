//! Which operations run their regions as control flow.
//!
//! Whoever follows values around loops and through branches looks at operations through [`Structure`]; for all other
//! kinds they need to know nothing but operands, results and effects.

use crate::func::{Func, OpId};
use crate::op::OpKind;

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

    /// How many regions such an operation owns.
    pub fn regions(self) -> usize {
        match self {
            Structure::Plain => 0,
            Structure::For | Structure::Elements => 1,
            Structure::If | Structure::While => 2,
        }
    }
}
