//! What an operation costs the compiler: about how many machine instructions its code has.
//!
//! A tile's size does not matter, because code loops over tiles. The numbers are coarse on purpose: they bound the time
//! and the memory of a compilation, so they have to be right to a small factor for the operations that grow most
//! (`dot`, functions of mathematics), and the same for every target.

use crate::class::{AccessOp, ApplyOp, DescOp, EffectOp, ElementwiseOp, OpClass, ShapeOp, TileOp};
use crate::op::{MathFn, OpKind};
use crate::{Func, Region};

/// The greatest weight of a function whose compilation takes seconds, not minutes, once all calls are inlined.
pub const MAX_WEIGHT: u64 = 1 << 17;

impl OpKind {
    /// The operation's weight; its regions and the function it calls are counted on their own.
    #[must_use]
    pub fn weight(&self) -> u64 {
        match self.class() {
            OpClass::Elementwise(ElementwiseOp::Math(function)) => function.weight(),
            OpClass::Elementwise(ElementwiseOp::Extern(_) | ElementwiseOp::InlineAsm(_)) => 8,
            OpClass::Shape(ShapeOp::Gather { .. } | ShapeOp::ConvertLayout)
            | OpClass::Desc(DescOp::Make | DescOp::Load | DescOp::Store) => 16,
            OpClass::Source(_)
            | OpClass::Elementwise(_)
            | OpClass::Shape(_)
            | OpClass::Desc(DescOp::Base | DescOp::Size { .. } | DescOp::Stride { .. })
            | OpClass::Effect(
                EffectOp::Barrier | EffectOp::Fence { .. } | EffectOp::Clock | EffectOp::GridWords | EffectOp::Assume,
            )
            | OpClass::Terminator(_)
            | OpClass::Call(_) => 1,
            OpClass::Tile(TileOp::Histogram) | OpClass::Apply(ApplyOp::Reduce { .. } | ApplyOp::Scan { .. }) => 32,
            OpClass::Tile(TileOp::Dot { .. }) => 256,
            OpClass::Apply(ApplyOp::MapElementwise { .. })
            | OpClass::Atomic(..)
            | OpClass::Comm(_)
            | OpClass::Effect(EffectOp::Print { .. } | EffectOp::Assert { .. }) => 8,
            OpClass::Access(AccessOp::Load(_)) => 2,
            OpClass::Access(AccessOp::Store { .. }) | OpClass::Control(_) => 4,
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
