//! The floating-point types as Rust types, so that loops are compiled for each of them.

use std::ops::{Add, Div, Mul, Rem, Sub};
use std::sync::LazyLock;

use half::{bf16, f16};
use shoal_abi::float_format::{FloatFormat, Rounding, decode_float, encode_float};

use crate::types::Scalar;

/// A type in which floats are computed.
pub(super) trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
{
    const ZERO: Self;
    fn mul_add(self, b: Self, c: Self) -> Self;
    fn to_f64(self) -> f64;
    fn from_f64(value: f64) -> Self;
    fn from_i64(value: i64) -> Self;
    fn from_u64(value: u64) -> Self;

    #[expect(clippy::eq_op, reason = "NaN is what differs from itself")]
    fn is_nan(self) -> bool {
        self != self
    }
}

macro_rules! real {
    ($($ty:ident)*) => {$(
        impl Real for $ty {
            const ZERO: $ty = 0.0;
            fn mul_add(self, b: $ty, c: $ty) -> $ty {
                $ty::mul_add(self, b, c)
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn from_f64(value: f64) -> $ty {
                value as $ty
            }
            fn from_i64(value: i64) -> $ty {
                value as $ty
            }
            fn from_u64(value: u64) -> $ty {
                value as $ty
            }
        }
    )*};
}
real!(f32 f64);

/// A floating-point type: the bits it is stored in and the type it is computed in.
pub(super) trait Format {
    type Real: Real;
    const SCALAR: Scalar;
    fn load(bits: u64) -> Self::Real;
    /// Rounds to nearest even.
    fn store(value: Self::Real) -> u64;
}

pub(super) struct F64;
impl Format for F64 {
    type Real = f64;
    const SCALAR: Scalar = Scalar::F64;
    fn load(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn store(value: f64) -> u64 {
        value.to_bits()
    }
}

pub(super) struct F32;
impl Format for F32 {
    type Real = f32;
    const SCALAR: Scalar = Scalar::F32;
    fn load(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn store(value: f32) -> u64 {
        u64::from(value.to_bits())
    }
}

pub(super) struct F16;
impl Format for F16 {
    type Real = f32;
    const SCALAR: Scalar = Scalar::F16;
    fn load(bits: u64) -> f32 {
        f16::from_bits(bits as u16).to_f32()
    }
    fn store(value: f32) -> u64 {
        u64::from(f16::from_f32(value).to_bits())
    }
}

pub(super) struct BF16;
impl Format for BF16 {
    type Real = f32;
    const SCALAR: Scalar = Scalar::BF16;
    fn load(bits: u64) -> f32 {
        bf16::from_bits(bits as u16).to_f32()
    }
    fn store(value: f32) -> u64 {
        u64::from(bf16::from_f32(value).to_bits())
    }
}

/// The layout of a type that is known to be a float.
pub(super) fn layout(ty: Scalar) -> FloatFormat {
    ty.float_format().expect("a floating-point type")
}

macro_rules! eight_bit {
    ($($ty:ident)*) => {$(
        pub(super) struct $ty;
        impl Format for $ty {
            type Real = f32;
            const SCALAR: Scalar = Scalar::$ty;
            fn load(bits: u64) -> f32 {
                static VALUES: LazyLock<[f32; 256]> =
                    LazyLock::new(|| std::array::from_fn(|bits| decode_float(layout(Scalar::$ty), bits as u64) as f32));
                VALUES[(bits & 0xff) as usize]
            }
            fn store(value: f32) -> u64 {
                encode_float(layout(Scalar::$ty), f64::from(value), Rounding::Nearest)
            }
        }
    )*};
}
eight_bit!(F8E4M3 F8E5M2 F8E4B15 F8E4M3Fnuz F8E5M2Fnuz);

/// Evaluates an expression with `$format` naming the [`Format`] of a scalar type, or the other one for integers.
macro_rules! with_format {
    ($ty:expr, $format:ident => $float:expr, else $int:expr) => {
        match $ty {
            $crate::types::Scalar::F8E4M3 => {
                type $format = $crate::numeric::format::F8E4M3;
                $float
            }
            $crate::types::Scalar::F8E5M2 => {
                type $format = $crate::numeric::format::F8E5M2;
                $float
            }
            $crate::types::Scalar::F8E4B15 => {
                type $format = $crate::numeric::format::F8E4B15;
                $float
            }
            $crate::types::Scalar::F8E4M3Fnuz => {
                type $format = $crate::numeric::format::F8E4M3Fnuz;
                $float
            }
            $crate::types::Scalar::F8E5M2Fnuz => {
                type $format = $crate::numeric::format::F8E5M2Fnuz;
                $float
            }
            $crate::types::Scalar::F16 => {
                type $format = $crate::numeric::format::F16;
                $float
            }
            $crate::types::Scalar::BF16 => {
                type $format = $crate::numeric::format::BF16;
                $float
            }
            $crate::types::Scalar::F32 => {
                type $format = $crate::numeric::format::F32;
                $float
            }
            $crate::types::Scalar::F64 => {
                type $format = $crate::numeric::format::F64;
                $float
            }
            $crate::types::Scalar::I1
            | $crate::types::Scalar::I8
            | $crate::types::Scalar::I16
            | $crate::types::Scalar::I32
            | $crate::types::Scalar::I64
            | $crate::types::Scalar::U8
            | $crate::types::Scalar::U16
            | $crate::types::Scalar::U32
            | $crate::types::Scalar::U64 => $int,
        }
    };
}
pub(super) use with_format;
