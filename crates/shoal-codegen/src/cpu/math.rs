//! Functions of mathematics: instructions where there are any, the runtime's functions elsewhere.

use inkwell::values::InstructionOpcode as Op;
use shoal_ir::op::MathFn;
use shoal_ir::{Elem, Scalar};

use super::exponential;
use super::isa::Isa;
use crate::shared::arith::{call1, copysign, in_compute_type};
use crate::shared::lane_call::math_call;
use crate::shared::llvm::{Llvm, V};
use crate::shared::value_type::register_type;

/// Functions that are instructions or a few of them; the others are calls for each lane.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other functions are the runtime's, by their names")]
pub(super) fn math<'ctx>(llvm: &Llvm<'ctx>, isa: &Isa, function: MathFn, ty: Scalar, operands: &[V<'ctx>]) -> V<'ctx> {
    if function == MathFn::Copysign {
        return copysign(llvm, ty, operands[0], operands[1]);
    }
    in_compute_type(llvm, ty, operands, |ty, v| {
        let one = |name| call1(llvm, name, v[0]);
        match function {
            MathFn::Sqrt | MathFn::SqrtRn => one("llvm.sqrt"),
            MathFn::Floor => one("llvm.floor"),
            MathFn::Ceil => one("llvm.ceil"),
            MathFn::Trunc => one("llvm.trunc"),
            MathFn::Rint => one("llvm.roundeven"),
            MathFn::Exp if ty == Scalar::F32 => exponential::exp(llvm, isa, v[0]),
            MathFn::Exp2 if ty == Scalar::F32 => exponential::exp2(llvm, isa, v[0]),
            MathFn::Rsqrt => {
                let root = one("llvm.sqrt");
                let unit = register_type(llvm, Elem::Scalar(ty)).into_float_type().const_float(1.0);
                llvm.bin(Op::FDiv, llvm.splat_like(unit.into(), root), root)
            }
            other => math_call(llvm, other, ty, v),
        }
    })
}
