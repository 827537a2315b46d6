//! Functions of mathematics: the hardware's approximations where they are good, expansions by passes where there are any, and
//! calls of `math_library` for the rest.
//!
//! | function | error |
//! |---|---|
//! | `exp2` | 2 units of the last place (`ex2.approx`); results below 2^-126 are zero |
//! | `exp` | 3 units of the last place; results below 2^-126 are zero |
//! | `sqrt` on `f32` | 1 unit of the last place (`sqrt.approx`); `sqrt_rn` rounds correctly |
//! | `rsqrt` | 2 units of the last place |

use inkwell::values::InstructionOpcode as Op;
use shoal_ir::op::MathFn;
use shoal_ir::{Elem, Scalar};

use crate::shared::arith::{call1, copysign, in_compute_type};
use crate::shared::lane_call::math_call;
use crate::shared::llvm::{Llvm, V};
use crate::shared::value_type::register_type;

#[expect(clippy::wildcard_enum_match_arm, reason = "all other functions are the library's, by their names")]
pub(super) fn math<'ctx>(llvm: &Llvm<'ctx>, function: MathFn, ty: Scalar, operands: &[V<'ctx>]) -> V<'ctx> {
    if function == MathFn::Copysign {
        return copysign(llvm, ty, operands[0], operands[1]);
    }
    in_compute_type(llvm, ty, operands, |ty, v| {
        let one = |name| call1(llvm, name, v[0]);
        let float = register_type(llvm, Elem::Scalar(ty));
        let single = ty == Scalar::F32;
        match function {
            MathFn::Sqrt if single => llvm.ptx_value("sqrt.approx.f32 $0, $1;", float, v),
            MathFn::Sqrt | MathFn::SqrtRn => one("llvm.sqrt"),
            MathFn::Rsqrt if single => llvm.ptx_value("rsqrt.approx.f32 $0, $1;", float, v),
            MathFn::Rsqrt => {
                let unit = float.into_float_type().const_float(1.0);
                llvm.bin(Op::FDiv, unit.into(), one("llvm.sqrt"))
            }
            MathFn::Floor => one("llvm.floor"),
            MathFn::Ceil => one("llvm.ceil"),
            MathFn::Trunc => one("llvm.trunc"),
            MathFn::Rint => one("llvm.roundeven"),
            MathFn::Fdim => {
                let greater = llvm.fcmp(inkwell::FloatPredicate::UGT, v[0], v[1]);
                llvm.select(greater, llvm.bin(Op::FSub, v[0], v[1]), float.const_zero())
            }
            MathFn::Exp2 if single => exp2(llvm, v[0]),
            MathFn::Exp if single => exp(llvm, v[0]),
            other => math_call(llvm, other, ty, v),
        }
    })
}

fn exp2<'ctx>(llvm: &Llvm<'ctx>, x: V<'ctx>) -> V<'ctx> {
    llvm.ptx_value("ex2.approx.ftz.f32 $0, $1;", llvm.f32().into(), &[x])
}

/// `2^(x log2 e)`. What rounding the product lost is put back: it would cost a relative error of `|x|` units.
fn exp<'ctx>(llvm: &Llvm<'ctx>, x: V<'ctx>) -> V<'ctx> {
    let float = |value: f64| -> V<'ctx> { llvm.f32().const_float(value).into() };
    let fma = |a, b, c| llvm.intrinsic("llvm.fma", &[llvm.f32().into()], &[a, b, c]).expect("a value");
    let product = llvm.bin(Op::FMul, x, float(f64::from(std::f32::consts::LOG2_E)));
    let high = f64::from(std::f32::consts::LN_2);
    let lost = fma(product, float(high - std::f64::consts::LN_2), fma(product, float(-high), x));
    let power = exp2(llvm, product);
    // e^lost is 1 + lost for so small a number. Powers of 0 and infinity stay what they are.
    let corrected = fma(power, lost, power);
    let size = call1(llvm, "llvm.fabs", product);
    let ordinary = llvm.fcmp(inkwell::FloatPredicate::OLT, size, float(126.0));
    llvm.select(ordinary, corrected, power)
}
