//! Units: what a multiplying instruction takes per lane, and how they are read from operands.

use inkwell::types::BasicTypeEnum;
use inkwell::values::{InstructionOpcode, IntValue, PointerValue, VectorValue};
use shoal_ir::Scalar;

use super::convert;
use super::plan::{Problem, Stride};
use crate::cpu::isa::Isa;
use crate::shared::llvm::{Llvm, V, vector_type};

/// How products are formed and summed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    /// `f32` elements, one multiply-add each.
    F32,
    /// `f64` elements, one multiply-add each.
    F64,
    /// `i32` elements.
    I32,
    /// Pairs of 16-bit integers, summed in `i32`.
    I16Pairs,
    /// Pairs of `bf16`, summed in `f32`.
    Bf16Pairs,
    /// AMX tiles of pairs of `bf16`.
    AmxBf16,
    /// AMX tiles of fours of 8-bit integers.
    AmxI8,
}

/// A dimension along which units lie next to each other.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// The summed dimension.
    K,
    /// The other one: rows of `a`, columns of `b`.
    Outer,
}

impl Arithmetic {
    /// The best the CPU has for vectors of `lanes` accumulators.
    pub(super) fn choose(isa: &Isa, problem: &Problem, lanes: u32) -> Arithmetic {
        // Configuring tiles takes as long as some 2^13 products in vectors.
        let worth_it = u64::from(problem.m) * u64::from(problem.n) * u64::from(problem.k) >= 1 << 13;
        let tiles = worth_it && problem.m >= 8 && problem.n >= 8 && problem.c.col_stride == Stride::ONE;
        let pairs = problem.k >= 2 && lanes >= 4;
        match problem.c.elem {
            Scalar::F64 => Arithmetic::F64,
            Scalar::F16 => Arithmetic::F32,
            Scalar::F32 => {
                let bf16 = problem.a.elem == Scalar::BF16 && problem.b.elem == Scalar::BF16;
                if bf16 && isa.amx_bf16 && tiles && problem.k >= 2 {
                    Arithmetic::AmxBf16
                } else if bf16 && isa.avx512_bf16 && pairs {
                    Arithmetic::Bf16Pairs
                } else {
                    Arithmetic::F32
                }
            }
            Scalar::I32 => {
                if isa.amx_int8 && tiles && problem.k >= 4 {
                    Arithmetic::AmxI8
                } else if isa.vector_bits >= 256 && pairs {
                    Arithmetic::I16Pairs
                } else {
                    Arithmetic::I32
                }
            }
            Scalar::I1
            | Scalar::I8
            | Scalar::I16
            | Scalar::I64
            | Scalar::U8
            | Scalar::U16
            | Scalar::U32
            | Scalar::U64
            | Scalar::F8E4M3
            | Scalar::F8E5M2
            | Scalar::F8E4B15
            | Scalar::F8E4M3Fnuz
            | Scalar::F8E5M2Fnuz
            | Scalar::BF16 => unreachable!("`dot` does not accumulate in `{}`", problem.c.elem),
        }
    }

    /// Width of an accumulator for results of type `elem`, in registers.
    pub(super) fn accumulator_bits(elem: Scalar) -> u32 {
        elem.compute_type().bits()
    }

    pub(super) fn is_amx(self) -> bool {
        matches!(self, Arithmetic::AmxBf16 | Arithmetic::AmxI8)
    }

    /// Elements in a unit.
    pub(super) fn group(self) -> u32 {
        match self {
            Arithmetic::F32 | Arithmetic::F64 | Arithmetic::I32 => 1,
            Arithmetic::I16Pairs | Arithmetic::Bf16Pairs | Arithmetic::AmxBf16 => 2,
            Arithmetic::AmxI8 => 4,
        }
    }

    pub(super) fn unit_bytes(self) -> u32 {
        if self == Arithmetic::F64 { 8 } else { 4 }
    }

    pub(super) fn unit_type<'ctx>(self, llvm: &Llvm<'ctx>) -> BasicTypeEnum<'ctx> {
        match self {
            Arithmetic::F32 => llvm.f32().into(),
            Arithmetic::F64 => llvm.context.f64_type().into(),
            Arithmetic::I32
            | Arithmetic::I16Pairs
            | Arithmetic::Bf16Pairs
            | Arithmetic::AmxBf16
            | Arithmetic::AmxI8 => llvm.i32().into(),
        }
    }

    /// Whether elements of this type must be converted to become parts of units.
    pub(super) fn converts(self, elem: Scalar) -> bool {
        match self {
            Arithmetic::F32 => elem != Scalar::F32,
            Arithmetic::I32 | Arithmetic::I16Pairs => true,
            Arithmetic::F64 | Arithmetic::Bf16Pairs | Arithmetic::AmxBf16 | Arithmetic::AmxI8 => false,
        }
    }

    fn convert<'ctx>(self, llvm: &Llvm<'ctx>, isa: &Isa, v: VectorValue<'ctx>, elem: Scalar) -> VectorValue<'ctx> {
        let extend = if elem.is_signed_int() { InstructionOpcode::SExt } else { InstructionOpcode::ZExt };
        match self {
            Arithmetic::F32 => convert::to_f32(llvm, isa, v, elem),
            Arithmetic::I32 => llvm.cast(extend, v.into(), llvm.i32().into()).into_vector_value(),
            Arithmetic::I16Pairs => llvm.cast(extend, v.into(), llvm.int_type(16).into()).into_vector_value(),
            Arithmetic::F64 | Arithmetic::Bf16Pairs | Arithmetic::AmxBf16 | Arithmetic::AmxI8 => v,
        }
    }
}

/// A distance in memory.
#[derive(Copy, Clone)]
pub(super) enum Bytes<'ctx> {
    Known(u64),
    AtRunTime(IntValue<'ctx>),
}

impl<'ctx> Bytes<'ctx> {
    pub(super) fn times(self, llvm: &Llvm<'ctx>, factor: u64) -> IntValue<'ctx> {
        match self {
            Bytes::Known(bytes) => llvm.const_i64((bytes * factor) as i64),
            Bytes::AtRunTime(bytes) => llvm.mul64(bytes, llvm.const_i64(factor as i64)),
        }
    }

    /// The number, of an operand that is read in place.
    pub(super) fn known(self) -> u64 {
        match self {
            Bytes::Known(bytes) => bytes,
            Bytes::AtRunTime(_) => unreachable!("an operand with a stride of run time is packed"),
        }
    }
}

/// An operand as it lies in memory, read unit by unit.
#[derive(Copy, Clone)]
pub(super) struct Source<'ctx> {
    pub(super) base: PointerValue<'ctx>,
    pub(super) elem: Scalar,
    pub(super) arithmetic: Arithmetic,
    /// From one element to the next along `k`, in bytes.
    pub(super) k_bytes: Bytes<'ctx>,
    /// From one row of `a`, or column of `b`, to the next, in bytes.
    pub(super) outer_bytes: Bytes<'ctx>,
}

impl<'ctx> Source<'ctx> {
    /// From one unit to the `count`th after it along `run`, in bytes.
    pub(super) fn steps(&self, llvm: &Llvm<'ctx>, run: Run, count: u64) -> IntValue<'ctx> {
        match run {
            Run::K => self.k_bytes.times(llvm, count * u64::from(self.arithmetic.group())),
            Run::Outer => self.outer_bytes.times(llvm, count),
        }
    }

    /// From one unit to the next along `run`, in bytes, of an operand that is read in place.
    pub(super) fn stride(&self, run: Run) -> u64 {
        match run {
            Run::K => self.k_bytes.known() * u64::from(self.arithmetic.group()),
            Run::Outer => self.outer_bytes.known(),
        }
    }

    /// Whether elements follow each other along `run`.
    pub(super) fn is_contiguous(&self, run: Run) -> bool {
        let stride = match run {
            Run::K => self.k_bytes,
            Run::Outer => self.outer_bytes,
        };
        matches!(stride, Bytes::Known(bytes) if bytes == u64::from(self.elem.bytes()))
    }

    /// The elements of `count` units along `run`, the first of which is at `at`, as they are stored: one vector along
    /// `k`, or a vector for each element of a unit. The source is contiguous there, or `count` is 1 and `run` is
    /// [`Run::Outer`].
    pub(super) fn load(
        &self,
        llvm: &Llvm<'ctx>,
        at: PointerValue<'ctx>,
        count: u32,
        run: Run,
    ) -> Vec<VectorValue<'ctx>> {
        let stored = stored_type(llvm, self.elem);
        let load = |at, count| llvm.load(vector_type(stored, count), at, self.elem.bytes()).into_vector_value();
        let group = self.arithmetic.group();
        match run {
            Run::K => vec![load(at, count * group)],
            Run::Outer => {
                let row = |row| llvm.offset(at, self.k_bytes.times(llvm, u64::from(row)));
                (0..group).map(|i| load(if i == 0 { at } else { row(i) }, count)).collect()
            }
        }
    }

    /// The units made of what [`Source::load`] gave.
    pub(super) fn units(&self, llvm: &Llvm<'ctx>, isa: &Isa, stored: &[VectorValue<'ctx>]) -> VectorValue<'ctx> {
        let parts: Vec<_> = stored.iter().map(|&v| self.arithmetic.convert(llvm, isa, v, self.elem)).collect();
        let parts = interleave(llvm, &parts);
        let unit = self.arithmetic.unit_type(llvm);
        let count = match stored.len() {
            1 => parts.get_type().get_size() / self.arithmetic.group(),
            _ => stored[0].get_type().get_size(),
        };
        let ty = vector_type(unit, count);
        if ty == parts.get_type().into() {
            return parts;
        }
        llvm.builder.build_bit_cast(parts, ty, "").expect("units of the same size").into_vector_value()
    }
}

/// How elements are loaded: narrow floats as their bits.
pub(super) fn stored_type<'ctx>(llvm: &Llvm<'ctx>, elem: Scalar) -> BasicTypeEnum<'ctx> {
    match elem {
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
        | Scalar::F8E4M3
        | Scalar::F8E5M2
        | Scalar::F8E4B15
        | Scalar::F8E4M3Fnuz
        | Scalar::F8E5M2Fnuz
        | Scalar::F16
        | Scalar::BF16 => llvm.int_type(elem.bytes() * 8).into(),
    }
}

/// The first lanes of all `rows`, then the second of all, and so on. Their number is a power of two.
fn interleave<'ctx>(llvm: &Llvm<'ctx>, rows: &[VectorValue<'ctx>]) -> VectorValue<'ctx> {
    match rows {
        [row] => *row,
        rows => {
            let every_other = |start: usize| rows.iter().copied().skip(start).step_by(2).collect::<Vec<_>>();
            let (even, odd) = (interleave(llvm, &every_other(0)), interleave(llvm, &every_other(1)));
            let lanes = even.get_type().get_size();
            let picks: Vec<u32> = (0..lanes).flat_map(|lane| [lane, lanes + lane]).collect();
            llvm.shuffle(even, odd, &picks)
        }
    }
}

/// A vector whose lanes all hold the unit at `at`.
pub(super) fn broadcast<'ctx>(
    llvm: &Llvm<'ctx>,
    arithmetic: Arithmetic,
    at: PointerValue<'ctx>,
    lanes: u32,
) -> VectorValue<'ctx> {
    let unit: V<'ctx> = llvm.load(arithmetic.unit_type(llvm), at, 1);
    llvm.splat(unit, lanes)
}
