//! What an operation costs the compiler: about how many machine instructions its code has.
//!
//! A tile's size does not matter, because code loops over tiles. The numbers are coarse on purpose: they bound the time
//! and the memory of a compilation, so they have to be right to a small factor for the operations that grow most
//! (`dot`, functions of mathematics), and the same for every target.

use crate::op::{MathFn, OpKind};
use crate::{Func, Region};

/// The greatest weight of a function whose compilation takes seconds, not minutes, once all calls are inlined.
pub const MAX_WEIGHT: u64 = 1 << 18;

impl OpKind {
    /// The operation's weight; its regions and the function it calls are counted on their own.
    #[must_use]
    pub fn weight(&self) -> u64 {
        match self {
            OpKind::Const(_)
            | OpKind::Iota { .. }
            | OpKind::ProgramId { .. }
            | OpKind::NumPrograms { .. }
            | OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Cmp(_)
            | OpKind::Select
            | OpKind::Fma
            | OpKind::Cast(_)
            | OpKind::Bitcast
            | OpKind::PtrAdd
            | OpKind::Splat
            | OpKind::Broadcast
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Join
            | OpKind::Split
            | OpKind::Barrier
            | OpKind::Assume
            | OpKind::Condition
            | OpKind::Yield
            | OpKind::Return
            | OpKind::Call { .. } => 1,
            OpKind::Load(_) => 2,
            OpKind::If | OpKind::For(_) | OpKind::While { .. } | OpKind::Store { .. } => 4,
            OpKind::Extern(_)
            | OpKind::InlineAsm(_)
            | OpKind::MapElementwise { .. }
            | OpKind::AtomicRmw { .. }
            | OpKind::AtomicCas { .. }
            | OpKind::AtomicLoad { .. }
            | OpKind::AtomicStore { .. }
            | OpKind::AtomicPoll { .. }
            | OpKind::Print { .. }
            | OpKind::Assert { .. } => 8,
            OpKind::Gather { .. } | OpKind::MakeDesc | OpKind::DescLoad | OpKind::DescStore => 16,
            OpKind::Reduce { .. } | OpKind::Scan { .. } | OpKind::Histogram => 32,
            OpKind::Math(function) => function.weight(),
            OpKind::Dot { .. } => 256,
        }
    }
}

impl MathFn {
    /// Functions that CPUs and GPUs have instructions for weigh little; all others are polynomials or calls.
    fn weight(self) -> u64 {
        let has_instruction = matches!(
            self,
            MathFn::Ceil | MathFn::Copysign | MathFn::Floor | MathFn::Sqrt | MathFn::SqrtRn | MathFn::Trunc
        );
        if has_instruction { 2 } else { 64 }
    }
}

impl Func {
    /// The weight of all operations of a region, nested ones included; calls count as one operation each.
    #[must_use]
    pub fn region_weight(&self, region: Region) -> u64 {
        let mut ops = Vec::new();
        self.walk_region(region, &mut ops);
        ops.iter().map(|&op| self.op(op).kind.weight()).sum()
    }
}
