//! Elementwise operations with their types resolved, so that applying one to many elements dispatches once.

use shoal_ir::class::{ElementwiseOp, OpClass};
use shoal_ir::numeric::{
    binary_slice, bitcast_slice, cast_slice, compare_slice, fma_slice, math_slice, select_slice, unary_slice,
};
use shoal_ir::op::{BinaryOp, CmpOp, MathFn, Rounding, UnaryOp};
use shoal_ir::{Elem, Func, OpId, Scalar};

use crate::library;

/// An elementwise operation on elements of known types.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Elementwise {
    Unary(UnaryOp, Scalar),
    Binary(BinaryOp, Scalar),
    Math(MathFn, Scalar),
    Compare(CmpOp, Scalar),
    Select,
    Fma(Scalar),
    Cast(Scalar, Scalar, Rounding),
    Bitcast(Scalar),
    /// The element's size, and the offset's type.
    PtrAdd(u64, Scalar),
}

/// The number type that acts on an element's bits: addresses are 64-bit numbers.
fn acting(elem: Elem) -> Scalar {
    elem.scalar().unwrap_or(Scalar::U64)
}

impl Elementwise {
    /// The operation, if it is elementwise and the interpreter knows what it computes.
    pub(crate) fn of(func: &Func, op: OpId) -> Option<Elementwise> {
        let op = func.op(op);
        let elem = |index: usize| op.operands().get(index).and_then(|&v| func.ty(v).elem());
        let ty = |index: usize| elem(index).map(acting);
        let result = || op.results().first().and_then(|&v| func.ty(v).elem()).map(acting);
        let OpClass::Elementwise(kind) = op.kind.class() else { return None };
        Some(match kind {
            ElementwiseOp::Unary(kind) => Elementwise::Unary(kind, ty(0)?),
            ElementwiseOp::Binary(kind) => Elementwise::Binary(kind, ty(0)?),
            ElementwiseOp::Math(function) => Elementwise::Math(function, ty(0)?),
            ElementwiseOp::Cmp(kind) => Elementwise::Compare(kind, ty(0)?),
            ElementwiseOp::Select => Elementwise::Select,
            ElementwiseOp::Fma => Elementwise::Fma(ty(0)?),
            ElementwiseOp::Cast(rounding) => Elementwise::Cast(ty(0)?, result()?, rounding),
            ElementwiseOp::Bitcast => Elementwise::Bitcast(result()?),
            ElementwiseOp::PtrAdd => Elementwise::PtrAdd(u64::from(elem(0)?.ptr()?.element().bytes()), ty(1)?),
            ElementwiseOp::Extern(function) => {
                let types: Option<Vec<Scalar>> = (0..op.operands().len()).map(ty).collect();
                let result = if op.results().len() == 1 { result()? } else { return None };
                library::known(function, &types?, result)?
            }
            ElementwiseOp::InlineAsm(_) => return None,
        })
    }

    /// Computes `out` from operands of its length.
    pub(crate) fn apply(self, args: &[&[u64]], out: &mut [u64]) {
        let arg = |index: usize| args.get(index).copied().unwrap_or(&[]);
        match self {
            Elementwise::Unary(op, ty) => unary_slice(op, ty, arg(0), out),
            Elementwise::Binary(op, ty) => binary_slice(op, ty, arg(0), arg(1), out),
            Elementwise::Math(function, ty) => math_slice(function, ty, args, out),
            Elementwise::Compare(op, ty) => compare_slice(op, ty, arg(0), arg(1), out),
            Elementwise::Select => select_slice(arg(0), arg(1), arg(2), out),
            Elementwise::Fma(ty) => fma_slice(ty, arg(0), arg(1), arg(2), out),
            Elementwise::Cast(from, to, rounding) => cast_slice(from, to, rounding, arg(0), out),
            Elementwise::Bitcast(to) => bitcast_slice(to, arg(0), out),
            Elementwise::PtrAdd(size, offset) => {
                // Widened by its own signedness, then scaled and added, wrapping as addresses do.
                cast_slice(offset, Scalar::I64, Rounding::Nearest, arg(1), out);
                out.iter_mut().zip(arg(0)).for_each(|(out, base)| *out = base.wrapping_add(out.wrapping_mul(size)));
            }
        }
    }
}
