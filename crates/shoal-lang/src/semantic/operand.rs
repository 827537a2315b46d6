//! What operations take: tensors, and Python numbers that have no type of their own yet.

use std::fmt;

use shoal_ir::types::{Elem, Scalar, Type};
use shoal_ir::{Const as IrConst, Value as IrValue};

use crate::builtin::describe;
use crate::dtype;
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Access, Const, Tensor, Value};

/// A Python number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// `True` or `False`
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
}

/// One side of an operation.
#[derive(Debug, Clone)]
pub(crate) enum Operand {
    /// A value on the device.
    Tensor(Tensor),
    /// A Python number: it takes the other side's type where it can.
    Number(Number),
}

impl Number {
    /// The number a constant is, if it is one.
    pub(crate) fn of(value: &Const) -> Option<Number> {
        match value {
            Const::Bool(b) => Some(Number::Bool(*b)),
            Const::Int(i) => Some(Number::Int(*i)),
            Const::Float(f) => Some(Number::Float(*f)),
            Const::None | Const::Str(_) | Const::Ellipsis => None,
        }
    }

    /// The type it takes by itself; `None` for an integer that no type holds.
    pub(crate) fn literal_type(self) -> Option<Scalar> {
        dtype::literal_type(&self.into())
    }

    /// Its value as an integer, unless it is a float.
    pub(crate) fn as_int(self) -> Option<i128> {
        match self {
            Number::Bool(b) => Some(i128::from(b)),
            Number::Int(i) => Some(i),
            Number::Float(_) => None,
        }
    }

    /// Its value as a float.
    pub(crate) fn as_float(self) -> f64 {
        match self {
            Number::Bool(b) => f64::from(u8::from(b)),
            Number::Int(i) => i as f64,
            Number::Float(f) => f,
        }
    }

    /// The constant of type `ty` that a cast of this number gives: integers wrap, floats round, and anything but zero
    /// is true.
    pub(crate) fn at(self, ty: Scalar) -> IrConst {
        match (self, ty) {
            (number, Scalar::I1) => IrConst::bool(number.as_float() != 0.0),
            (number, Scalar::F64) => IrConst::from_f64(ty, number.as_float()),
            // Narrow floats are reached through `fp32`, as a cast on the device does.
            (number, _) if ty.is_float() => IrConst::from_f64(ty, f64::from(number.as_float() as f32)),
            (Number::Float(f), _) => IrConst::from_f64(ty, f),
            (number, _) => IrConst::from_bits(ty, number.as_int().unwrap_or(0) as u64),
        }
    }
}

impl From<Number> for Const {
    fn from(number: Number) -> Const {
        match number {
            Number::Bool(b) => Const::Bool(b),
            Number::Int(i) => Const::Int(i),
            Number::Float(f) => Const::Float(f),
        }
    }
}

/// As Python shows it.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Const::from(*self).fmt(f)
    }
}

impl Operand {
    /// A value as an operand.
    pub(crate) fn new(e: &Emit<'_>, value: &Value) -> LowerResult<Operand> {
        match value {
            Value::Tensor(t) => return Ok(Operand::Tensor(t.clone())),
            Value::Invalid => return Err(LowerError::reported()),
            _ => {}
        }
        match value.as_const().and_then(Number::of) {
            Some(number) => Ok(Operand::Number(number)),
            None => Err(e.lower_error(format!("expected a tensor or a number, found {}", describe(value)))),
        }
    }

    /// The tensor, if it is one.
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Operand::Tensor(t) => Some(t),
            Operand::Number(_) => None,
        }
    }

    /// Whether it is a tensor of pointers.
    pub(crate) fn is_pointer(&self) -> bool {
        self.tensor().is_some_and(|t| elem(t).ptr().is_some())
    }

    /// In the user's words: `fp32[128]`, `the number 1.5`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Operand::Tensor(t) => format!("`{}`", t.type_name()),
            Operand::Number(n @ Number::Bool(_)) => format!("`{n}`"),
            Operand::Number(n @ Number::Int(_)) => format!("the integer `{n}`"),
            Operand::Number(n @ Number::Float(_)) => format!("the float `{n}`"),
        }
    }
}

impl From<Tensor> for Operand {
    fn from(t: Tensor) -> Operand {
        Operand::Tensor(t)
    }
}

impl From<Number> for Operand {
    fn from(n: Number) -> Operand {
        Operand::Number(n)
    }
}

/// The element type of a tensor.
pub(crate) fn elem(t: &Tensor) -> Elem {
    t.ty.elem().expect("a tensor is a scalar or a tile")
}

/// The number type of a tensor, unless it holds pointers.
pub(crate) fn number_type(t: &Tensor) -> Option<Scalar> {
    t.ty.number()
}

/// The tensor of an IR value that points to memory as `like` does.
pub(crate) fn tensor_like(e: &Emit<'_>, value: IrValue, like: &Tensor) -> Tensor {
    Tensor { access: like.access, ..e.tensor(value) }
}

/// What both may do with memory.
pub(crate) fn joint_access(a: &Tensor, b: &Tensor) -> Access {
    if a.access == Access::ReadOnly || b.access == Access::ReadOnly { Access::ReadOnly } else { Access::ReadWrite }
}

/// A scalar constant, converted as a cast does.
pub(crate) fn constant(e: &mut Emit<'_>, number: Number, ty: Scalar) -> Tensor {
    let value = e.b().constant(number.at(ty), Type::scalar(ty));
    e.tensor(value)
}

/// The operand on the device; a number takes its literal's type.
pub(crate) fn materialize(e: &mut Emit<'_>, operand: &Operand) -> LowerResult<Tensor> {
    match operand {
        Operand::Tensor(t) => Ok(t.clone()),
        Operand::Number(n) => match n.literal_type() {
            Some(ty) => Ok(constant(e, *n, ty)),
            None => Err(too_large(e, *n)),
        },
    }
}

/// The value on the device; a number takes its literal's type.
pub(crate) fn to_tensor(e: &mut Emit<'_>, value: &Value) -> LowerResult<Tensor> {
    let operand = Operand::new(e, value)?;
    materialize(e, &operand)
}

/// The error for an integer that no type holds.
pub(crate) fn too_large(e: &Emit<'_>, number: Number) -> LowerError {
    let shown = Operand::Number(number).describe();
    e.error(format!("{shown} fits no integer type")).help("the widest types are `tl.int64` and `tl.uint64`").into()
}
