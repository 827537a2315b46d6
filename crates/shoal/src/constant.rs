//! Values that are compiled into a kernel.

use std::borrow::Cow;
use std::fmt;

use crate::DType;
use crate::arg::Arg;

/// A value that is known when a kernel is compiled.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// Nothing.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A text.
    Text(String),
    /// An element type.
    DType(DType),
    /// Several of them.
    Tuple(Vec<Constant>),
}

impl Constant {
    /// What an argument is at compile time; `None` for memory and descriptors, which only exist at run time.
    pub(crate) fn of(arg: &Arg<'_>) -> Option<Constant> {
        Some(match arg {
            Arg::None => Constant::None,
            Arg::Bool(value) => Constant::Bool(*value),
            Arg::Int(value) => Constant::Int(*value),
            Arg::Float(value) => Constant::Float(*value),
            Arg::Text(text) => Constant::Text(text.clone().into_owned()),
            Arg::DType(dtype) => Constant::DType(*dtype),
            Arg::Tuple(items) => Constant::Tuple(items.iter().map(Constant::of).collect::<Option<_>>()?),
            Arg::Memory(_) | Arg::Descriptor(_) => return None,
        })
    }

    /// The argument that stands for this value.
    pub(crate) fn into_arg(self) -> Arg<'static> {
        match self {
            Constant::None => Arg::None,
            Constant::Bool(value) => Arg::Bool(value),
            Constant::Int(value) => Arg::Int(value),
            Constant::Float(value) => Arg::Float(value),
            Constant::Text(text) => Arg::Text(Cow::Owned(text)),
            Constant::DType(dtype) => Arg::DType(dtype),
            Constant::Tuple(items) => Arg::Tuple(items.into_iter().map(Constant::into_arg).collect()),
        }
    }
}

/// As Python shows it.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::None => f.write_str("None"),
            Constant::Bool(true) => f.write_str("True"),
            Constant::Bool(false) => f.write_str("False"),
            Constant::Int(value) => write!(f, "{value}"),
            Constant::Float(value) => write!(f, "{value:?}"),
            Constant::Text(text) => write!(f, "{text:?}"),
            Constant::DType(dtype) => f.write_str(crate::dtype_name(*dtype)),
            Constant::Tuple(items) => {
                f.write_str("(")?;
                for item in items {
                    write!(f, "{item},")?;
                }
                f.write_str(")")
            }
        }
    }
}
