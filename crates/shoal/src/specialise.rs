//! What of an argument is compiled into a kernel, by Triton's rules.
//!
//! | argument | parameter's type | compiled in |
//! |---|---|---|
//! | for a `constexpr` parameter; `None`; a value of the host | – | its value |
//! | truth value | `i1` | nothing |
//! | integer 1 | – | its value, unless `do_not_specialize` or annotated |
//! | integer | the first of `i32`, `i64`, `u64` that holds it | whether 16 divides it, unless told not to |
//! | float | `f32` | nothing |
//! | memory | pointer to its elements | whether its address is a multiple of 16, unless told not to |
//! | descriptor | descriptor | element type, block shape, padding |
//! | tuple | its elements | as for its elements, which are always specialised |
//!
//! An annotation decides the type; what is left to specialise is divisibility, and nothing for floats and truth values.
//!
//! [`Class`] is the outcome for one argument. It borrows, so a launch that finds its kernel compiled allocates nothing;
//! [`ArgSpec`] is the owned form, made when a kernel has to be compiled.

use std::sync::Arc;

use shoal_ir::types::{DescType, Ptr};
use shoal_lang::{Access, ArgSpec, ArgType, HostNamedTuple};
use shoal_source::{Diagnostic, Kind};

use crate::DType;
use crate::arg::{Arg, Memory};
use crate::constant::constant_of;
use crate::descriptor::TensorDescriptor;
use crate::dtype_name;
use crate::param::{Param, ParamKind, Specialise};

/// What is compiled in of one argument.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Class<'a> {
    /// Its value.
    Constant(&'a Arg<'a>),
    /// A number's type.
    Number { dtype: DType, divisible: bool },
    /// A pointer's type.
    Pointer { memory: Memory<'a>, dtype: DType, divisible: bool, read_only: bool },
    /// A descriptor's type.
    Descriptor(&'a TensorDescriptor<'a>),
    /// The elements on their own, and the class that names them.
    Tuple(Option<&'a Arc<HostNamedTuple>>, &'a [Arg<'a>]),
}

/// Why an argument cannot be passed.
pub(crate) type Fault = Box<Diagnostic>;

/// What is compiled in of `arg`, passed for `param`.
#[inline]
pub(crate) fn classify<'a>(param: &Param, arg: &'a Arg<'a>) -> Result<Class<'a>, Fault> {
    match (param.kind, arg) {
        (ParamKind::Constexpr, Arg::Memory(_) | Arg::Descriptor(_)) => Err(needs_constant(param, arg)),
        (ParamKind::Constexpr, Arg::Tuple(items) | Arg::NamedTuple(_, items))
            if items.iter().any(|i| constant_of(i).is_none()) =>
        {
            Err(needs_constant(param, arg))
        }
        (ParamKind::Constexpr, _) | (_, Arg::None | Arg::Host(_)) => Ok(Class::Constant(arg)),
        (_, Arg::Text(_) | Arg::DType(_) | Arg::Function(_)) => Err(only_constexpr(param, arg)),
        (ParamKind::Open, Arg::Bool(_)) => Ok(Class::Number { dtype: DType::I1, divisible: false }),
        (ParamKind::Open, Arg::Int(1)) if param.value == Specialise::Yes => Ok(Class::Constant(arg)),
        (ParamKind::Open, Arg::Int(value)) => {
            let dtype = smallest_int(*value).ok_or_else(|| too_large(param, *value))?;
            Ok(Class::Number { dtype, divisible: divisible(param, *value) })
        }
        (ParamKind::Open, Arg::Float(_)) => Ok(Class::Number { dtype: DType::F32, divisible: false }),
        (ParamKind::Open | ParamKind::Const, Arg::Memory(memory)) => {
            Ok(pointer(param, *memory, memory.dtype, param.kind == ParamKind::Const))
        }
        (ParamKind::Open, Arg::Descriptor(descriptor)) => Ok(Class::Descriptor(descriptor)),
        (ParamKind::Open, Arg::Tuple(items)) => Ok(Class::Tuple(None, items)),
        (ParamKind::Open, Arg::NamedTuple(class, items)) => Ok(Class::Tuple(Some(class), items)),
        (ParamKind::Number(dtype), Arg::Bool(_) | Arg::Int(_) | Arg::Float(_)) => annotated_number(param, dtype, arg),
        (ParamKind::Pointer(dtype, access), Arg::Memory(memory)) if memory.dtype == dtype => {
            Ok(pointer(param, *memory, dtype, access == Access::ReadOnly))
        }
        (
            ParamKind::Number(_) | ParamKind::Pointer(..) | ParamKind::Const,
            Arg::Bool(_)
            | Arg::Int(_)
            | Arg::Float(_)
            | Arg::Memory(_)
            | Arg::Descriptor(_)
            | Arg::Tuple(_)
            | Arg::NamedTuple(..),
        ) => Err(wrong_type(param, arg)),
    }
}

fn pointer<'a>(param: &Param, memory: Memory<'a>, dtype: DType, read_only: bool) -> Class<'a> {
    let read_only = read_only || memory.access == crate::Access::Protected;
    Class::Pointer { memory, dtype, divisible: divisible(param, memory.address as i128), read_only }
}

#[inline]
fn divisible(param: &Param, value: i128) -> bool {
    param.value == Specialise::Yes && param.alignment == Specialise::Yes && value % 16 == 0
}

#[inline]
fn smallest_int(value: i128) -> Option<DType> {
    if i32::try_from(value).is_ok() {
        Some(DType::I32)
    } else if i64::try_from(value).is_ok() {
        Some(DType::I64)
    } else {
        u64::try_from(value).is_ok().then_some(DType::U64)
    }
}

fn annotated_number<'a>(param: &Param, dtype: DType, arg: &'a Arg<'a>) -> Result<Class<'a>, Fault> {
    match arg {
        Arg::Int(value) if dtype.is_int() && dtype != DType::I1 => {
            let bits = dtype.bits();
            let least = if dtype.is_signed_int() { -(1i128 << (bits - 1)) } else { 0 };
            if *value < least || *value - least >= 1i128 << bits {
                return Err(out_of_range(param, dtype, *value));
            }
            Ok(Class::Number { dtype, divisible: divisible(param, *value) })
        }
        Arg::Float(_) if dtype.is_int() => Err(wrong_type(param, arg)),
        _ => Ok(Class::Number { dtype, divisible: false }),
    }
}

impl Class<'_> {
    /// The owned form. Elements of tuples are classified on the way.
    pub(crate) fn to_spec(self, param: &Param) -> Result<ArgSpec, Fault> {
        let value = |ty, divisible: bool| ArgSpec::Value { ty, divisible: if divisible { 16 } else { 1 } };
        Ok(match self {
            Class::Constant(arg) => ArgSpec::Constant(constant_of(arg).ok_or_else(|| needs_constant(param, arg))?),
            Class::Number { dtype, divisible } => value(ArgType::Scalar(dtype), divisible),
            Class::Pointer { dtype, divisible, read_only, .. } => {
                let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
                value(ArgType::Pointer(Ptr::global(dtype), access), divisible)
            }
            Class::Descriptor(d) => {
                let block = d.block.as_slice().into();
                value(ArgType::Descriptor(DescType { elem: d.dtype(), block, padding: d.padding }), false)
            }
            Class::Tuple(class, items) => {
                let element = param.element();
                let spec = |item| classify(&element, item)?.to_spec(&element);
                let items = items.iter().map(spec).collect::<Result<_, _>>()?;
                match class {
                    Some(class) => ArgSpec::NamedTuple(class.clone(), items),
                    None => ArgSpec::Tuple(items),
                }
            }
        })
    }
}

fn needs_constant(param: &Param, arg: &Arg<'_>) -> Fault {
    let text = format!("`{}` must be known at compile time, but {} was passed", param.name, arg.described());
    let help = "pass a number, a truth value, a text, a type or None; or take `constexpr` off the parameter";
    Box::new(Diagnostic::error(param.span, text).label("declared `constexpr` here").help(help))
}

fn only_constexpr(param: &Param, arg: &Arg<'_>) -> Fault {
    let text =
        format!("{} was passed for `{}`, but it can only be passed at compile time", arg.described(), param.name);
    let help = format!("declare it as `{}: tl.constexpr`", param.name);
    Box::new(Diagnostic::error(param.span, text).label("this parameter is a run-time value").help(help))
}

fn too_large(param: &Param, value: i128) -> Fault {
    let text = format!("the integer {value}, passed for `{}`, has more than 64 bits", param.name);
    let help = "integers from -2^63 to 2^64 - 1 can be passed";
    Box::new(Diagnostic::error(param.span, text).kind(Kind::OutOfRange).label("this parameter").help(help))
}

fn out_of_range(param: &Param, dtype: DType, value: i128) -> Fault {
    let text = format!("the integer {value}, passed for `{}`, does not fit into {}", param.name, dtype_name(dtype));
    let help = "annotate the parameter with a wider type, or leave the annotation out: the value then decides";
    let label = format!("annotated as {} here", dtype_name(dtype));
    Box::new(Diagnostic::error(param.span, text).kind(Kind::OutOfRange).label(label).help(help))
}

fn wrong_type(param: &Param, arg: &Arg<'_>) -> Fault {
    let (expected, help) = match param.kind {
        ParamKind::Number(dtype) => (dtype_name(dtype).to_owned(), "pass a number of that kind"),
        ParamKind::Pointer(dtype, _) => (
            format!("a pointer to {}", dtype_name(dtype)),
            "convert the data, or take the annotation off the parameter",
        ),
        ParamKind::Const => ("a pointer".into(), "pass a tensor or a slice"),
        ParamKind::Open | ParamKind::Constexpr => ("another value".into(), "pass another value"),
    };
    let text = format!("`{}` is annotated as {expected}, but {} was passed", param.name, arg.described());
    Box::new(Diagnostic::error(param.span, text).label("annotated here").help(help))
}
