//! A number together with its type.

use std::fmt;

use shoal_abi::float_format::{decode_float, encode_float};

use crate::op::Rounding;
use crate::types::Scalar;

/// A number of some type, as its bits: the low `ty.bits()` of them, the others zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Const {
    ty: Scalar,
    bits: u64,
}

impl Const {
    /// From bits; those beyond the type's width are dropped.
    pub fn from_bits(ty: Scalar, bits: u64) -> Const {
        let width = ty.bits();
        let kept = if width == 64 { bits } else { bits & ((1 << width) - 1) };
        Const { ty, bits: kept }
    }

    /// Zero.
    pub fn zero(ty: Scalar) -> Const {
        Const { ty, bits: 0 }
    }

    /// One.
    pub fn one(ty: Scalar) -> Const {
        Const::from_i64(ty, 1)
    }

    /// From an integer: wrapped for integer types (`i1`: the low bit), rounded for floats.
    pub fn from_i64(ty: Scalar, value: i64) -> Const {
        if ty.is_float() {
            super::cast(Const::from_bits(Scalar::I64, value as u64), ty, Rounding::Nearest)
        } else {
            Const::from_bits(ty, value as u64)
        }
    }

    /// From a float: rounded for float types, truncated and saturated for integers (`i1`: not zero).
    pub fn from_f64(ty: Scalar, value: f64) -> Const {
        match ty.float_format() {
            Some(format) => Const { ty, bits: encode_float(format, value, Rounding::Nearest) },
            None => super::cast(Const { ty: Scalar::F64, bits: value.to_bits() }, ty, Rounding::Nearest),
        }
    }

    /// A truth value.
    pub fn bool(value: bool) -> Const {
        Const { ty: Scalar::I1, bits: u64::from(value) }
    }

    /// Its type.
    pub fn ty(self) -> Scalar {
        self.ty
    }

    /// Its bits.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// Its value as an integer, if it has an integer type.
    pub fn as_int(self) -> Option<i128> {
        if !self.ty.is_int() {
            return None;
        }
        let unused = 64 - self.ty.bits();
        Some(if self.ty.is_signed_int() {
            i128::from(((self.bits << unused) as i64) >> unused)
        } else {
            i128::from(self.bits)
        })
    }

    /// Its value as a float: exact for floats, rounded for 64-bit integers.
    pub fn as_f64(self) -> f64 {
        match self.ty.float_format() {
            Some(format) => decode_float(format, self.bits),
            None => self.as_int().unwrap_or(0) as f64,
        }
    }

    /// Whether every bit is zero.
    pub fn is_zero(self) -> bool {
        self.bits == 0
    }
}

impl fmt::Display for Const {
    /// Integers in decimal, floats in the shortest decimal that reads back, `0x…` bits for NaNs and infinities.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_int() {
            Some(int) if self.ty == Scalar::I1 => f.write_str(if int == 0 { "false" } else { "true" }),
            Some(int) => write!(f, "{int}"),
            None => {
                let value = self.as_f64();
                if value.is_finite() {
                    // `as f32` is exact for all narrower types and gives the shorter spelling.
                    if self.ty == Scalar::F64 { write!(f, "{value:?}") } else { write!(f, "{:?}", value as f32) }
                } else {
                    write!(f, "{:#x}", self.bits)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_constants_as_casts_do() {
        assert_eq!(Const::from_f64(Scalar::I8, 300.7).as_int(), Some(127));
        assert_eq!(Const::from_f64(Scalar::U16, -2.0).as_int(), Some(0));
        assert_eq!(Const::from_f64(Scalar::I1, 0.5), Const::bool(true));
        assert_eq!(Const::from_i64(Scalar::I8, 300).as_int(), Some(44));
        // Rounded once: through `f64` this would end at the lower neighbour.
        let odd = (1 << 60) + (1 << 36) + 1;
        assert_eq!(Const::from_i64(Scalar::F32, odd).as_f64(), f64::from(odd as f32));
        assert_eq!(Const::from_i64(Scalar::F16, -3).as_f64(), -3.0);
    }
}
