//! Values that are compiled into a kernel: between launch arguments and the front end's constants.

use std::borrow::Cow;

use shoal_lang::{Const, ConstValue, Dtype, HostValue};

use crate::arg::Arg;

/// What an argument is at compile time; `None` for memory and descriptors, which only exist at run time.
pub(crate) fn constant_of(arg: &Arg<'_>) -> Option<ConstValue> {
    Some(match arg {
        Arg::None => ConstValue::Const(Const::None),
        Arg::Bool(value) => ConstValue::Const(Const::Bool(*value)),
        Arg::Int(value) => ConstValue::Const(Const::Int(*value)),
        Arg::Float(value) => ConstValue::Const(Const::Float(*value)),
        Arg::Text(text) => ConstValue::Const(Const::Str(text.as_ref().into())),
        Arg::DType(dtype) => ConstValue::Dtype(Dtype::scalar(*dtype)),
        Arg::Function(name) => ConstValue::Function(name.clone().into_owned()),
        Arg::Host(value) => ConstValue::Host(value.clone()),
        Arg::Tuple(items) => ConstValue::Tuple(items.iter().map(constant_of).collect::<Option<_>>()?),
        Arg::NamedTuple(..) => ConstValue::Host(host_of(arg)?),
        Arg::Memory(_) | Arg::Descriptor(_) => return None,
    })
}

/// The argument as a value of the host; `None` for what no host has.
fn host_of(arg: &Arg<'_>) -> Option<HostValue> {
    let all = |items: &[Arg<'_>]| items.iter().map(host_of).collect::<Option<Vec<_>>>();
    Some(match arg {
        Arg::None => HostValue::None,
        Arg::Bool(value) => HostValue::Bool(*value),
        Arg::Int(value) => HostValue::Int(*value),
        Arg::Float(value) => HostValue::Float(*value),
        Arg::Text(text) => HostValue::Str(text.to_string()),
        Arg::DType(dtype) => HostValue::Dtype(crate::dtype_name(*dtype).to_owned()),
        Arg::Host(value) => value.clone(),
        Arg::Tuple(items) => HostValue::Tuple(all(items)?),
        Arg::NamedTuple(class, items) => HostValue::NamedTuple(class.clone(), all(items)?),
        Arg::Function(_) | Arg::Memory(_) | Arg::Descriptor(_) => return None,
    })
}

/// The argument that stands for a constant; `None` for what cannot be passed (`...` and dtypes of pointers).
pub(crate) fn arg_of(constant: &ConstValue) -> Option<Arg<'static>> {
    Some(match constant {
        ConstValue::Const(Const::None) => Arg::None,
        ConstValue::Const(Const::Bool(value)) => Arg::Bool(*value),
        ConstValue::Const(Const::Int(value)) => Arg::Int(*value),
        ConstValue::Const(Const::Float(value)) => Arg::Float(*value),
        ConstValue::Const(Const::Str(text)) => Arg::Text(Cow::Owned(text.to_string())),
        ConstValue::Const(Const::Ellipsis) => return None,
        ConstValue::Dtype(dtype) => Arg::DType(dtype.number()?),
        ConstValue::Function(name) => Arg::Function(Cow::Owned(name.clone())),
        ConstValue::Host(value) => Arg::Host(value.clone()),
        ConstValue::Tuple(items) => Arg::Tuple(items.iter().map(arg_of).collect::<Option<_>>()?),
    })
}

impl Arg<'static> {
    /// Reads a value as kernels spell it: `1024`, `0.5`, `True`, `None`, `'text'`, `float16`, `(1, 2)`, or the name of
    /// a function.
    #[must_use]
    pub fn parse_constant(text: &str) -> Option<Arg<'static>> {
        arg_of(&ConstValue::parse(text)?)
    }
}
