//! Types of device values in the user's words: names, the methods kernels call on them, and their display.

use std::fmt;

use shoal_ir::types::{Elem, Ptr, Scalar, Type};

use crate::enums;
use crate::value::{Access, Const, Dtype, Value};

/// The name of a type of numbers in `shoal.language`, and its short name in signatures and messages.
fn names(scalar: Scalar) -> (&'static str, &'static str) {
    match scalar {
        Scalar::I1 => ("int1", "i1"),
        Scalar::I8 => ("int8", "i8"),
        Scalar::I16 => ("int16", "i16"),
        Scalar::I32 => ("int32", "i32"),
        Scalar::I64 => ("int64", "i64"),
        Scalar::U8 => ("uint8", "u8"),
        Scalar::U16 => ("uint16", "u16"),
        Scalar::U32 => ("uint32", "u32"),
        Scalar::U64 => ("uint64", "u64"),
        Scalar::F8E4M3 => ("float8e4nv", "fp8e4nv"),
        Scalar::F8E5M2 => ("float8e5", "fp8e5"),
        Scalar::F8E4B15 => ("float8e4b15", "fp8e4b15"),
        Scalar::F8E4M3Fnuz => ("float8e4b8", "fp8e4b8"),
        Scalar::F8E5M2Fnuz => ("float8e5b16", "fp8e5b16"),
        Scalar::F16 => ("float16", "fp16"),
        Scalar::BF16 => ("bfloat16", "bf16"),
        Scalar::F32 => ("float32", "fp32"),
        Scalar::F64 => ("float64", "fp64"),
    }
}

/// The dtype with this name in `shoal.language`, such as `float32`.
#[must_use]
pub(crate) fn from_language_name(name: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|&scalar| names(scalar).0 == name)
}

/// The dtype with this name in a signature: `fp32`, `i32`, also `float32` and `int32`.
#[must_use]
pub(crate) fn from_signature_name(name: &str) -> Option<Scalar> {
    if matches!(name, "u1" | "uint1" | "bool") { Some(Scalar::I1) } else { named(name) }
}

/// The dtype with this name, short or not.
fn named(name: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|&scalar| names(scalar).0 == name || names(scalar).1 == name)
}

/// All names in `shoal.language`.
pub(crate) fn language_names() -> impl Iterator<Item = &'static str> {
    Scalar::ALL.into_iter().map(language_name)
}

/// The name of a number type in `shoal.language`: `float32`.
#[must_use]
pub fn language_name(scalar: Scalar) -> &'static str {
    names(scalar).0
}

/// The short name of a number type: `fp32`.
#[must_use]
pub fn scalar_name(scalar: Scalar) -> &'static str {
    names(scalar).1
}

/// The name that `str(dtype)` has in kernels: `fp32`, `int32`, `uint8`.
fn python_name(scalar: Scalar) -> &'static str {
    if scalar.is_int() { language_name(scalar) } else { scalar_name(scalar) }
}

/// A type in the user's words: `fp32`, `fp16[128, 64]`, `*fp32`, `tensordesc<fp16[128, 64]>`.
#[must_use]
pub(crate) fn display(ty: &Type, access: Access) -> String {
    match ty {
        Type::Elem(e) => elem_name(*e, access),
        Type::Tile(t) if crate::lanes::is_lane_type(ty) => format!("{} per lane", elem_name(t.elem, access)),
        Type::Tile(t) => format!("{}{:?}", elem_name(t.elem, access), t.shape.as_slice()),
        Type::Desc(d) => format!("tensordesc<{}{:?}>", scalar_name(d.elem), d.block.as_slice()),
        Type::Token => "token".to_owned(),
    }
}

fn elem_name(elem: Elem, access: Access) -> String {
    match elem {
        Elem::Scalar(s) => scalar_name(s).to_owned(),
        Elem::Ptr(p) => {
            let k = if access == Access::ReadOnly { "k" } else { "" };
            format!("*{k}{}", elem_name(p.element(), Access::ReadWrite))
        }
    }
}

impl Dtype {
    /// A number type.
    #[must_use]
    pub fn scalar(scalar: Scalar) -> Dtype {
        Dtype { ty: Type::scalar(scalar), access: Access::ReadWrite }
    }

    /// The type of the elements.
    #[must_use]
    pub fn elem(&self) -> Option<Elem> {
        self.ty.elem()
    }

    /// The number type, unless it is a pointer.
    #[must_use]
    pub fn number(&self) -> Option<Scalar> {
        self.ty.number()
    }

    /// A pointer to elements of this type.
    #[must_use]
    pub fn pointer_to(&self, access: Access) -> Option<Dtype> {
        match &self.ty {
            Type::Elem(e) => {
                if e.ptr().is_some_and(|p| p.depth == u8::MAX) {
                    return None;
                }
                Some(Dtype { ty: Type::Elem(Elem::Ptr(Ptr::to(*e))), access })
            }
            Type::Tile(_) | Type::Desc(_) | Type::Token => None,
        }
    }

    /// An attribute that is a plain value, such as `primitive_bitwidth`.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<Value> {
        let elem = self.elem()?;
        Some(match name {
            "primitive_bitwidth" => Value::int(elem.bits()),
            "itemsize" => Value::int(elem.bytes()),
            "int_bitwidth" => Value::int(elem.scalar().filter(|s| s.is_int())?.bits()),
            "fp_mantissa_width" => Value::int(mantissa_bits(elem.scalar()?)?),
            "exponent_bias" => Value::int(exponent_bias(elem.scalar()?)?),
            "int_signedness" => {
                enums::SIGNEDNESS.member(elem.scalar().filter(|s| s.is_int())?.is_unsigned_int().into())?
            }
            "const" => Value::bool(elem.ptr().is_some() && self.access == Access::ReadOnly),
            "name" => Value::str(&self.to_string()),
            "scalar" => Value::Dtype(Dtype { ty: Type::Elem(elem), access: self.access }),
            "element_ty" => Value::Dtype(match (&self.ty, elem) {
                (Type::Elem(_), Elem::Ptr(p)) => Dtype { ty: Type::Elem(p.element()), access: Access::ReadWrite },
                _ => Dtype { ty: Type::Elem(elem), access: self.access },
            }),
            "shape" => Value::ints(self.ty.as_tile()?.shape.as_slice()),
            "numel" => Value::int(self.ty.as_tile()?.len()),
            "nbytes" => Value::int(self.ty.as_tile()?.len() * u64::from(elem.bytes())),
            _ => return None,
        })
    }

    /// A predicate method such as `is_floating`, or another method without arguments.
    #[must_use]
    pub fn method(&self, name: &str) -> Option<Value> {
        let elem = self.elem()?;
        let number = elem.scalar();
        let is = |f: fn(Scalar) -> bool| number.is_some_and(f);
        let equals = |s: Scalar| number == Some(s);
        Some(match name {
            "is_floating" => Value::bool(is(Scalar::is_float)),
            "is_standard_floating" => Value::bool(is(|s| s.is_float() && !s.is_fp8())),
            "is_int" => Value::bool(is(Scalar::is_int)),
            "is_int_signed" => Value::bool(is(Scalar::is_signed_int)),
            "is_int_unsigned" => Value::bool(is(Scalar::is_unsigned_int)),
            "is_bool" => Value::bool(equals(Scalar::I1)),
            "is_fp8" => Value::bool(is(Scalar::is_fp8)),
            "is_ptr" => Value::bool(elem.ptr().is_some() && !self.ty.is_tile()),
            "is_block" => Value::bool(self.ty.is_tile()),
            "is_const" => Value::bool(self.access == Access::ReadOnly && elem.ptr().is_some()),
            "is_void" => Value::bool(false),
            "kind" => enums::KIND.member(match number? {
                Scalar::I1 => 0,
                s if s.is_int() => 1,
                _ => 2,
            })?,
            "get_block_shapes" => self.attribute("shape")?,
            "get_int_max_value" => Value::int(int_range(number?)?.1),
            "get_int_min_value" => Value::int(int_range(number?)?.0),
            _ => {
                let wanted = named(name.strip_prefix("is_")?)?;
                Value::bool(equals(wanted))
            }
        })
    }
}

/// The least and the greatest value of an integer type.
#[must_use]
pub(crate) fn int_range(scalar: Scalar) -> Option<(i128, i128)> {
    if !scalar.is_int() {
        return None;
    }
    let bits = scalar.bits();
    Some(if scalar.is_signed_int() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    })
}

fn mantissa_bits(scalar: Scalar) -> Option<u32> {
    Some(match scalar {
        Scalar::F8E4M3 | Scalar::F8E4B15 | Scalar::F8E4M3Fnuz => 3,
        Scalar::F8E5M2 | Scalar::F8E5M2Fnuz => 2,
        Scalar::F16 => 10,
        Scalar::BF16 => 7,
        Scalar::F32 => 23,
        Scalar::F64 => 52,
        Scalar::I1
        | Scalar::I8
        | Scalar::I16
        | Scalar::I32
        | Scalar::I64
        | Scalar::U8
        | Scalar::U16
        | Scalar::U32
        | Scalar::U64 => return None,
    })
}

fn exponent_bias(scalar: Scalar) -> Option<u32> {
    Some(match scalar {
        Scalar::F8E4M3 => 7,
        Scalar::F8E4M3Fnuz => 8,
        Scalar::F8E5M2 | Scalar::F8E4B15 | Scalar::F16 => 15,
        Scalar::F8E5M2Fnuz => 16,
        Scalar::BF16 | Scalar::F32 => 127,
        Scalar::F64 => 1023,
        Scalar::I1
        | Scalar::I8
        | Scalar::I16
        | Scalar::I32
        | Scalar::I64
        | Scalar::U8
        | Scalar::U16
        | Scalar::U32
        | Scalar::U64 => return None,
    })
}

/// As `str(dtype)` shows it in kernels.
impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ty {
            Type::Elem(Elem::Scalar(s)) => f.write_str(python_name(*s)),
            Type::Elem(Elem::Ptr(p)) => {
                let k = if self.access == Access::ReadOnly { "const " } else { "" };
                write!(f, "pointer<{k}{}>", Dtype { ty: Type::Elem(p.element()), access: Access::ReadWrite })
            }
            Type::Tile(t) => {
                let elem = Dtype { ty: Type::Elem(t.elem), access: self.access };
                write!(f, "<{:?}, {elem}>", t.shape.as_slice())
            }
            Type::Desc(_) | Type::Token => f.write_str(&display(&self.ty, self.access)),
        }
    }
}

/// The type a Python constant takes on the device by itself: the first of i32, u32, i64, u64 that holds an integer;
/// `fp32` for a float it can represent as a normal number, else `fp64`.
#[must_use]
pub(crate) fn literal_type(value: &Const) -> Option<Scalar> {
    match value {
        Const::Bool(_) => Some(Scalar::I1),
        Const::Int(i) => [Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64]
            .into_iter()
            .find(|s| int_range(*s).is_some_and(|(low, high)| (low..=high).contains(i))),
        Const::Float(f) => {
            let magnitude = f.abs();
            let fits = magnitude == 0.0
                || !magnitude.is_finite()
                || (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&magnitude);
            Some(if fits { Scalar::F32 } else { Scalar::F64 })
        }
        Const::None | Const::Str(_) | Const::Ellipsis => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_take_the_first_type_that_holds_them() {
        let of = |c| literal_type(&c);
        assert_eq!(of(Const::Int(7)), Some(Scalar::I32));
        assert_eq!(of(Const::Int(-(1 << 31))), Some(Scalar::I32));
        assert_eq!(of(Const::Int(1 << 31)), Some(Scalar::U32));
        assert_eq!(of(Const::Int(1 << 32)), Some(Scalar::I64));
        assert_eq!(of(Const::Int(1 << 63)), Some(Scalar::U64));
        assert_eq!(of(Const::Int(1 << 64)), None);
        assert_eq!(of(Const::Float(1.5)), Some(Scalar::F32));
        assert_eq!(of(Const::Float(f64::INFINITY)), Some(Scalar::F32));
        assert_eq!(of(Const::Float(1e300)), Some(Scalar::F64));
        assert_eq!(of(Const::Bool(true)), Some(Scalar::I1));
    }

    #[test]
    fn names_agree_with_signatures() {
        assert_eq!(from_signature_name("fp8e4nv"), Some(Scalar::F8E4M3));
        assert_eq!(from_signature_name("i1"), Some(Scalar::I1));
        assert_eq!(from_language_name("float32"), Some(Scalar::F32));
        assert_eq!(from_language_name("fp32"), None);
        assert_eq!(Dtype::scalar(Scalar::I32).to_string(), "int32");
        assert_eq!(Dtype::scalar(Scalar::F32).to_string(), "fp32");
    }

    #[test]
    fn predicates_answer_by_name() {
        let f16 = Dtype::scalar(Scalar::F16);
        assert!(matches!(f16.method("is_fp16"), Some(Value::Const(Const::Bool(true)))));
        assert!(matches!(f16.method("is_int32"), Some(Value::Const(Const::Bool(false)))));
        assert!(f16.method("is_banana").is_none());
    }
}
