//! How values of the tile IR's types are held: in registers, in the lanes of vectors, in memory.

use inkwell::types::BasicTypeEnum;
use inkwell::values::InstructionOpcode;
use shoal_ir::{Elem, Scalar};

use super::llvm::{Llvm, V};

/// How values of a type are held in registers. 8-bit floats are held as their bits; so is `bf16`, because LLVM would
/// take it through `f32` and back between blocks, with an instruction that makes zeros of subnormals.
pub(crate) fn register_type<'ctx>(llvm: &Llvm<'ctx>, elem: Elem) -> BasicTypeEnum<'ctx> {
    match elem {
        Elem::Ptr(_) => llvm.ptr().into(),
        Elem::Scalar(scalar) => match scalar {
            Scalar::F16 => llvm.context.f16_type().into(),
            Scalar::F32 => llvm.f32().into(),
            Scalar::F64 => llvm.context.f64_type().into(),
            Scalar::I1
            | Scalar::I8
            | Scalar::I16
            | Scalar::I32
            | Scalar::I64
            | Scalar::U8
            | Scalar::U16
            | Scalar::U32
            | Scalar::U64
            | Scalar::BF16
            | Scalar::F8E4M3
            | Scalar::F8E5M2
            | Scalar::F8E4B15
            | Scalar::F8E4M3Fnuz
            | Scalar::F8E5M2Fnuz => llvm.int_type(scalar.bits()).into(),
        },
    }
}

/// How values of a type are held in the lanes of a vector.
pub(crate) fn lane_type<'ctx>(llvm: &Llvm<'ctx>, elem: Elem) -> BasicTypeEnum<'ctx> {
    match elem {
        Elem::Ptr(_) => llvm.i64().into(),
        Elem::Scalar(_) => register_type(llvm, elem),
    }
}

/// How values of a type lie in memory: a truth value takes a byte, a pointer is an integer.
pub(crate) fn memory_type<'ctx>(llvm: &Llvm<'ctx>, elem: Elem) -> BasicTypeEnum<'ctx> {
    match elem {
        Elem::Scalar(Scalar::I1) => llvm.i8().into(),
        Elem::Scalar(_) | Elem::Ptr(_) => lane_type(llvm, elem),
    }
}

/// A number or address from its form in memory.
pub(crate) fn from_memory<'ctx>(llvm: &Llvm<'ctx>, elem: Elem, value: V<'ctx>) -> V<'ctx> {
    match (elem, value) {
        (Elem::Scalar(Scalar::I1), _) => {
            let zero = value.get_type().const_zero();
            llvm.icmp(inkwell::IntPredicate::NE, value, zero)
        }
        (Elem::Ptr(_), V::IntValue(address)) => llvm.int_to_ptr(address).into(),
        _ => value,
    }
}

/// A number or address in its form in memory.
pub(crate) fn to_memory<'ctx>(llvm: &Llvm<'ctx>, elem: Elem, value: V<'ctx>) -> V<'ctx> {
    match (elem, value) {
        (Elem::Scalar(Scalar::I1), _) => llvm.cast(InstructionOpcode::ZExt, value, llvm.i8().into()),
        (Elem::Ptr(_), V::PointerValue(pointer)) => llvm.ptr_to_int(pointer).into(),
        _ => value,
    }
}
