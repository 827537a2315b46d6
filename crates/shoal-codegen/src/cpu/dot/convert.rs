//! Narrow floats to `f32`, and `f32` to `f16`.
//!
//! With integer instructions where the CPU has no conversion, so that no call into a support library is left in the
//! code.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, VectorValue};
use shoal_ir::Scalar;
use shoal_ir::numeric::{FloatFormat, NonFinite};

use crate::cpu::isa::Isa;
use crate::shared::llvm::{Llvm, V, vector_type};

/// The values of `v`, the bits of elements of type `elem`, as `f32`. Exact.
pub(super) fn to_f32<'ctx>(llvm: &Llvm<'ctx>, isa: &Isa, v: VectorValue<'ctx>, elem: Scalar) -> VectorValue<'ctx> {
    match elem {
        Scalar::F32 => v,
        Scalar::BF16 => {
            let lanes = Lanes::of(llvm, v);
            let wide = llvm.cast(InstructionOpcode::ZExt, v.into(), llvm.i32().into());
            lanes.as_f32(lanes.shl(wide, 16)).into_vector_value()
        }
        Scalar::F16 if isa.f16c => {
            let lanes = Lanes::of(llvm, v);
            let half = lanes.bitcast(v.into(), llvm.context.f16_type().into());
            llvm.cast(InstructionOpcode::FPExt, half, llvm.f32().into()).into_vector_value()
        }
        Scalar::F16 | Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::F8E4B15 | Scalar::F8E4M3Fnuz | Scalar::F8E5M2Fnuz => {
            let format = elem.float_format().expect("a float");
            widen(&Lanes::of(llvm, v), v, format)
        }
        Scalar::I1
        | Scalar::I8
        | Scalar::I16
        | Scalar::I32
        | Scalar::I64
        | Scalar::U8
        | Scalar::U16
        | Scalar::U32
        | Scalar::U64
        | Scalar::F64 => unreachable!("`{elem}` is not contained in f32"),
    }
}

/// The bits of `v`, a vector of `f32`, rounded to `f16`.
pub(super) fn to_f16<'ctx>(llvm: &Llvm<'ctx>, isa: &Isa, v: VectorValue<'ctx>) -> VectorValue<'ctx> {
    let lanes = Lanes::of(llvm, v);
    if isa.f16c {
        let half = llvm.cast(InstructionOpcode::FPTrunc, v.into(), llvm.context.f16_type().into());
        return lanes.bitcast(half, llvm.int_type(16).into()).into_vector_value();
    }
    let bits = lanes.bitcast(v.into(), llvm.i32().into());
    let magnitude = lanes.and(bits, 0x7fff_ffff);
    // Normal results: the exponent is moved to its new bias, and the bits that fall off round to nearest even.
    let odd = lanes.and(lanes.shr(magnitude, 13), 1);
    let rebias = 15u32.wrapping_sub(127) << 23;
    let normal = lanes.shr(lanes.add(lanes.add(magnitude, lanes.splat(rebias.wrapping_add(0xfff))), odd), 13);
    // Subnormal results: an addition of 1/2 puts them at the low end of a mantissa, rounded.
    let half = 0.5f32.to_bits();
    let sum = llvm.bin(InstructionOpcode::FAdd, lanes.as_f32(magnitude), lanes.as_f32(lanes.splat(half)));
    let subnormal = lanes.sub(lanes.bitcast(sum, llvm.i32().into()), lanes.splat(half));
    // Too great for f16, infinite, or not a number.
    let infinity = lanes.splat(0x7c00);
    let nan = lanes.or(lanes.and(lanes.shr(magnitude, 13), 0x3ff), lanes.splat(0x7e00));
    let great = llvm.select(lanes.exceeds(magnitude, 0x7f80_0000), nan, infinity);

    let finite = llvm.select(lanes.below(magnitude, 0x3880_0000), subnormal, normal);
    let rounded = llvm.select(lanes.below(magnitude, 0x4780_0000), finite, great);
    let sign = lanes.and(lanes.shr(bits, 16), 0x8000);
    llvm.cast(InstructionOpcode::Trunc, lanes.or(rounded, sign), llvm.int_type(16).into()).into_vector_value()
}

/// Any format with less exponent and mantissa than `f32`.
fn widen<'ctx>(lanes: &Lanes<'_, 'ctx>, v: VectorValue<'ctx>, format: FloatFormat) -> VectorValue<'ctx> {
    let llvm = lanes.llvm;
    let sign_bit = 1u32 << (format.exponent + format.mantissa);
    let bits = llvm.cast(InstructionOpcode::ZExt, v.into(), llvm.i32().into());
    let magnitude = lanes.and(bits, sign_bit - 1);
    let rebias = ((127 - format.bias) as u32) << 23;
    let normal = lanes.add(lanes.shl(magnitude, 23 - format.mantissa), lanes.splat(rebias));
    // Subnormal numbers are multiples of the smallest; computed so, no subnormal f32 occurs, which would be slow.
    let smallest = 2f32.powi(1 - format.bias - format.mantissa as i32);
    let multiple = llvm.cast(InstructionOpcode::SIToFP, magnitude, llvm.f32().into());
    let scaled = llvm.bin(InstructionOpcode::FMul, multiple, lanes.as_f32(lanes.splat(smallest.to_bits())));
    let subnormal = lanes.bitcast(scaled, llvm.i32().into());
    let finite = llvm.select(lanes.below(magnitude, 1 << format.mantissa), subnormal, normal);

    let nan = lanes.splat(f32::NAN.to_bits());
    let value = match format.non_finite {
        NonFinite::Ieee => {
            let top = (((1u32 << format.exponent) - 1) << format.mantissa) - 1;
            llvm.select(lanes.exceeds(magnitude, top), lanes.or(normal, lanes.splat(0x7f80_0000)), finite)
        }
        NonFinite::AllOnesNan => llvm.select(lanes.exceeds(magnitude, sign_bit - 2), nan, finite),
        NonFinite::SignNan => {
            let is_nan = llvm.icmp(IntPredicate::EQ, bits, lanes.splat(sign_bit));
            llvm.select(is_nan, nan, finite)
        }
        NonFinite::Saturating => finite,
    };
    let sign = lanes.shl(lanes.and(bits, sign_bit), 31 - (format.exponent + format.mantissa));
    lanes.as_f32(lanes.or(value, sign)).into_vector_value()
}

/// Arithmetic on vectors of 32-bit lanes.
struct Lanes<'a, 'ctx> {
    llvm: &'a Llvm<'ctx>,
    count: u32,
}

impl<'a, 'ctx> Lanes<'a, 'ctx> {
    fn of(llvm: &'a Llvm<'ctx>, v: VectorValue<'ctx>) -> Self {
        Lanes { llvm, count: v.get_type().get_size() }
    }

    fn splat(&self, value: u32) -> V<'ctx> {
        self.llvm.const_vector(self.llvm.i32(), (0..self.count).map(|_| i64::from(value as i32))).into()
    }

    fn bitcast(&self, v: V<'ctx>, elem: inkwell::types::BasicTypeEnum<'ctx>) -> V<'ctx> {
        self.llvm.builder.build_bit_cast(v, vector_type(elem, self.count), "").expect("lanes of the same size")
    }

    fn as_f32(&self, v: V<'ctx>) -> V<'ctx> {
        self.bitcast(v, self.llvm.f32().into())
    }

    fn and(&self, v: V<'ctx>, mask: u32) -> V<'ctx> {
        self.llvm.bin(InstructionOpcode::And, v, self.splat(mask))
    }

    fn or(&self, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
        self.llvm.bin(InstructionOpcode::Or, a, b)
    }

    fn add(&self, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
        self.llvm.bin(InstructionOpcode::Add, a, b)
    }

    fn sub(&self, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
        self.llvm.bin(InstructionOpcode::Sub, a, b)
    }

    fn shl(&self, v: V<'ctx>, bits: u32) -> V<'ctx> {
        self.llvm.bin(InstructionOpcode::Shl, v, self.splat(bits))
    }

    fn shr(&self, v: V<'ctx>, bits: u32) -> V<'ctx> {
        self.llvm.bin(InstructionOpcode::LShr, v, self.splat(bits))
    }

    fn below(&self, v: V<'ctx>, limit: u32) -> V<'ctx> {
        self.llvm.icmp(IntPredicate::ULT, v, self.splat(limit))
    }

    fn exceeds(&self, v: V<'ctx>, limit: u32) -> V<'ctx> {
        self.llvm.icmp(IntPredicate::UGT, v, self.splat(limit))
    }
}
