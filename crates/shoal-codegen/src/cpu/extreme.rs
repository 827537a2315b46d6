//! The lesser and the greater of floats where AVX-512 has an instruction that orders zeros as well.
//!
//! It passes over a quiet NaN, but gives a signalling one back. So lanes in which the second number is NaN keep the first,
//! and the first must be *quiet*: a reduction makes its first elements so, once, and what comes out is quiet again.

use inkwell::FloatPredicate;
use inkwell::values::{CallSiteValue, InstructionOpcode as Op};
use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{Elem, Extreme, Func, Nan, Region, Scalar};

use super::avx512::{Avx512, RANGE};
use super::isa::Isa;
use crate::shared::arith::{self, call1};
use crate::shared::convert::{from_f32, to_f32};
use crate::shared::llvm::{Llvm, V};

/// Vectors of floats, if the instruction is there for them and of use.
pub(super) fn binary<'ctx>(
    llvm: &Llvm<'ctx>,
    isa: &Isa,
    op: BinaryOp,
    ty: Scalar,
    a: V<'ctx>,
    b: V<'ctx>,
) -> Option<V<'ctx>> {
    let (which, nan) = op.extreme()?;
    let avx512 = Avx512::of(llvm, isa, a)?;
    if ![Scalar::F32, Scalar::F16, Scalar::BF16].contains(&ty) {
        return None;
    }
    let constant = arith::constants(b);
    if nan == Nan::Ignore && constant.as_ref().is_some_and(|numbers| arith::wins_ties(which, numbers)) {
        return None;
    }
    let [x, y] = [a, b].map(|v| to_f32(llvm, ty, v));
    let picked = match nan {
        Nan::Propagate => {
            let nan = llvm.bin(Op::FAdd, x, y);
            llvm.select(llvm.fcmp(FloatPredicate::UNO, x, y), nan, avx512.range(which, x, y))
        }
        // A constant is quiet.
        Nan::Ignore if constant.is_some() => of_quiet(llvm, &avx512, which, y, x),
        Nan::Ignore if is_picked(x) => of_quiet(llvm, &avx512, which, x, y),
        Nan::Ignore => of_quiet(llvm, &avx512, which, quiet(llvm, x), y),
    };
    Some(if ty == Scalar::BF16 { upper_half(llvm, picked) } else { from_f32(llvm, ty, picked) })
}

/// The lesser or the greater; the other one if one is NaN. `a` is quiet, and so is the result.
fn of_quiet<'ctx>(llvm: &Llvm<'ctx>, avx512: &Avx512<'_, 'ctx>, which: Extreme, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
    llvm.select(llvm.fcmp(FloatPredicate::ORD, b, b), avx512.range(which, a, b), a)
}

fn quiet<'ctx>(llvm: &Llvm<'ctx>, a: V<'ctx>) -> V<'ctx> {
    call1(llvm, "llvm.canonicalize", a)
}

/// Whether [`of_quiet`] made this.
fn is_picked(value: V<'_>) -> bool {
    let V::VectorValue(vector) = value else { return false };
    let Some(select) = vector.as_instruction().filter(|made_by| made_by.get_opcode() == Op::Select) else {
        return false;
    };
    let picked = select.get_operand(1).and_then(|operand| operand.value()).map(V::into_vector_value);
    let call = picked.and_then(|picked| CallSiteValue::try_from(picked.as_instruction()?).ok());
    let function = call.and_then(CallSiteValue::get_called_fn_value);
    function.is_some_and(|function| function.get_name().to_bytes().starts_with(RANGE.as_bytes()))
}

/// The `bf16` that a number was made from.
fn upper_half<'ctx>(llvm: &Llvm<'ctx>, a: V<'ctx>) -> V<'ctx> {
    let bits = llvm.cast(Op::BitCast, a, llvm.i32().into());
    let upper = llvm.bin(Op::LShr, bits, llvm.splat_like(llvm.const_i32(16).into(), bits));
    llvm.cast(Op::Trunc, upper, llvm.int_type(16).into())
}

/// A function of two elements that gives the lesser or the greater, a number rather than NaN.
#[derive(Copy, Clone)]
pub(super) struct Combining {
    which: Extreme,
}

impl Combining {
    /// If that is all that a region does.
    pub(super) fn of(func: &Func, region: Region, elems: &[Elem]) -> Option<Combining> {
        let data = func.region(region);
        let (&[op, end], [Elem::Scalar(Scalar::F32)]) = (data.ops(), elems) else { return None };
        let (inside, OpKind::Binary(kind)) = (func.op(op), &func.op(op).kind) else { return None };
        let (which, Nan::Ignore) = kind.extreme()? else { return None };
        let alone = inside.operands() == data.params() && func.op(end).operands() == inside.results();
        alone.then_some(Combining { which })
    }

    /// What a reduction begins with, quiet.
    pub(super) fn first<'ctx>(self, llvm: &Llvm<'ctx>, isa: &Isa, element: V<'ctx>) -> V<'ctx> {
        if Avx512::of(llvm, isa, element).is_some() { quiet(llvm, element) } else { element }
    }

    /// What was reduced so far with more, if the instruction is there for it.
    pub(super) fn combine<'ctx>(self, llvm: &Llvm<'ctx>, isa: &Isa, a: V<'ctx>, b: V<'ctx>) -> Option<V<'ctx>> {
        Some(of_quiet(llvm, &Avx512::of(llvm, isa, a)?, self.which, a, b))
    }
}
