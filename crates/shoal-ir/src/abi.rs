//! What of the binary interface follows from types: how the bits of an element mean a number, and how it is printed.

pub use shoal_abi::{AxisPosition, Topology, WaitCondition, float_format, print, team};
use shoal_abi::{float_format::FloatFormat, print::PrintKind};

use crate::op::CmpOp;
use crate::types::{Elem, Scalar};

impl From<CmpOp> for WaitCondition {
    fn from(cmp: CmpOp) -> WaitCondition {
        match cmp {
            CmpOp::Eq => WaitCondition::Equal,
            CmpOp::Ne => WaitCondition::NotEqual,
            CmpOp::Lt => WaitCondition::Less,
            CmpOp::Le => WaitCondition::LessEqual,
            CmpOp::Gt => WaitCondition::Greater,
            CmpOp::Ge => WaitCondition::GreaterEqual,
        }
    }
}

impl Scalar {
    /// The format of a floating-point type.
    pub fn float_format(self) -> Option<FloatFormat> {
        match self {
            Scalar::F8E4M3 => Some(FloatFormat::F8E4M3),
            Scalar::F8E5M2 => Some(FloatFormat::F8E5M2),
            Scalar::F8E4B15 => Some(FloatFormat::F8E4B15),
            Scalar::F8E4M3Fnuz => Some(FloatFormat::F8E4M3_FNUZ),
            Scalar::F8E5M2Fnuz => Some(FloatFormat::F8E5M2_FNUZ),
            Scalar::F16 => Some(FloatFormat::F16),
            Scalar::BF16 => Some(FloatFormat::BF16),
            Scalar::F32 => Some(FloatFormat::F32),
            Scalar::F64 => Some(FloatFormat::F64),
            Scalar::I1
            | Scalar::I8
            | Scalar::I16
            | Scalar::I32
            | Scalar::I64
            | Scalar::U8
            | Scalar::U16
            | Scalar::U32
            | Scalar::U64 => None,
        }
    }
}

impl Elem {
    /// How `device_print` calls it.
    pub fn print_kind(self) -> PrintKind {
        match self {
            Elem::Ptr(_) => PrintKind::Ptr,
            Elem::Scalar(scalar) => match scalar {
                Scalar::I1 => PrintKind::I1,
                Scalar::I8 => PrintKind::I8,
                Scalar::I16 => PrintKind::I16,
                Scalar::I32 => PrintKind::I32,
                Scalar::I64 => PrintKind::I64,
                Scalar::U8 => PrintKind::U8,
                Scalar::U16 => PrintKind::U16,
                Scalar::U32 => PrintKind::U32,
                Scalar::U64 => PrintKind::U64,
                Scalar::F8E4M3 => PrintKind::F8E4M3,
                Scalar::F8E5M2 => PrintKind::F8E5M2,
                Scalar::F8E4M3Fnuz => PrintKind::F8E4M3Fnuz,
                Scalar::F8E5M2Fnuz => PrintKind::F8E5M2Fnuz,
                Scalar::F8E4B15 => PrintKind::F8E4B15,
                Scalar::F16 => PrintKind::F16,
                Scalar::BF16 => PrintKind::BF16,
                Scalar::F32 => PrintKind::F32,
                Scalar::F64 => PrintKind::F64,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use shoal_abi::math;

    use super::*;
    use crate::op::MathFn;

    #[test]
    fn printed_elements_are_as_large_as_stored_ones() {
        for scalar in Scalar::ALL {
            assert_eq!(Elem::Scalar(scalar).print_kind().size(), scalar.bytes() as usize, "{scalar}");
            let wide = scalar.float_format().map(|format| format.exponent + format.mantissa + 1);
            assert_eq!(wide, (!scalar.is_int()).then(|| scalar.bits()), "{scalar}");
        }
    }

    #[test]
    fn every_function_of_mathematics_has_a_symbol() {
        for &function in MathFn::ALL {
            // Only the rounding that it insists on tells it from `sqrt`, and code generation has both.
            let name = if function == MathFn::SqrtRn { "sqrt" } else { function.name() };
            let found = math::FUNCTIONS.iter().find(|f| f.name == name);
            assert_eq!(found.map(|f| f.arity), Some(function.arity()), "{name}");
        }
        assert_eq!(math::FUNCTIONS.len(), MathFn::ALL.len() - 1);
    }
}
