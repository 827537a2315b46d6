//! What an operation costs the compiler: about how many machine instructions its code has.
//!
//! A tile's size does not matter, because code loops over tiles. The numbers are coarse on purpose: they bound the time
//! and the memory of a compilation, so they have to be right to a small factor for the operations that grow most
//! (`dot`, functions of mathematics, accesses), and the same for every target. Measured on a CPU, a unit takes up to
//! 50 µs of LLVM's time.

use crate::class::{AccessOp, ApplyOp, DescOp, EffectOp, ElementwiseOp, OpClass, ShapeOp, TileOp};
use crate::op::{BinaryOp, MathFn, OpKind};
use crate::{Func, OpId, Region, Scalar};

/// The greatest weight of a function whose compilation takes seconds, not minutes, once all calls are inlined.
pub const MAX_WEIGHT: u64 = 1 << 16;

impl OpKind {
    /// An operation's weight as far as its kind tells; [`Func::op_weight`] tells the rest.
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
        // Large angles are reduced by many digits of pi.
        let reduces = matches!(self, MathFn::Sin | MathFn::Cos | MathFn::Tan);
        match (has_instruction, reduces) {
            (true, _) => 2,
            (false, false) => 64,
            (false, true) => 128,
        }
    }
}

impl Func {
    /// An operation's weight, by its kind and its types; its regions and the function it calls are counted on their own.
    #[must_use]
    pub fn op_weight(&self, op: OpId) -> u64 {
        let data = self.op(op);
        let number = |value| self.ty(value).number();
        let is_tile = data.operands().first().is_some_and(|&value| self.ty(value).is_tile());
        let extra = match data.kind.class() {
            // The address of each lane, its mask, and whether something else is there.
            OpClass::Access(AccessOp::Load(_)) if is_tile => 6,
            OpClass::Access(AccessOp::Store { .. }) if is_tile => 12,
            OpClass::Elementwise(ElementwiseOp::Binary(BinaryOp::Div | BinaryOp::Rem)) => {
                if data.operands().iter().any(|&v| number(v).is_some_and(Scalar::is_int)) { 11 } else { 0 }
            }
            OpClass::Elementwise(ElementwiseOp::Cast(_)) => {
                // What an abandoned attempt has left behind has neither operands nor results.
                let ends = data.operands().iter().take(1).chain(data.results()).map(|&value| number(value));
                let narrowest = ends.flatten().filter(|ty| ty.is_float()).map(|ty| ty.bits()).min();
                narrowest.map_or(0, |bits| if bits <= 8 { 31 } else { 7 })
            }
            OpClass::Source(_)
            | OpClass::Elementwise(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Access(_)
            | OpClass::Atomic(..)
            | OpClass::Desc(_)
            | OpClass::Comm(_)
            | OpClass::Effect(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => 0,
        };
        data.kind.weight() + extra
    }

    /// The weight of all operations of a region, nested ones included; calls count as one operation each.
    #[must_use]
    pub fn region_weight(&self, region: Region) -> u64 {
        let mut ops = Vec::new();
        self.walk_region(region, &mut ops);
        ops.iter().map(|&op| self.op_weight(op)).sum()
    }
}
