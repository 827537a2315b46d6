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
//! [`ArgClass`] is the outcome for one value. It borrows, so a launch that finds its kernel compiled allocates nothing;
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
use crate::leaves::DEEPEST;
use crate::pack::bits;
use crate::param::{Param, ParamKind, Specialise};

/// What is compiled in of one value, and what is passed of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ArgClass<'a> {
    /// Its value; nothing is passed.
    Constant(&'a Arg<'a>),
    /// A number's type; its bits are passed.
    Number { dtype: DType, divisible: bool, bits: u64 },
    /// A pointer's type; its address is passed.
    Pointer { memory: &'a Memory<'a>, divisible: bool, read_only: bool },
    /// A descriptor's type; its parts are passed.
    Descriptor(&'a TensorDescriptor<'a>),
    /// The number of elements, which follow on their own, and the class that names them.
    Tuple(Option<&'a Arc<HostNamedTuple>>, usize),
}

/// Why an argument cannot be passed.
pub(crate) type ArgumentError = Box<Diagnostic>;

/// How a parameter, or an element of a tuple passed for it, takes its argument.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'p> {
    param: &'p Param,
    of: RulesOf,
}

/// What rules are about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RulesOf {
    /// The parameter's own argument.
    Parameter,
    /// An element of a tuple: nothing is said about it, and it is always specialised.
    Element,
}

impl<'p> Rules<'p> {
    #[inline]
    pub(crate) fn of(param: &'p Param) -> Rules<'p> {
        Rules { param, of: RulesOf::Parameter }
    }

    /// For elements of a tuple.
    pub(crate) fn element(self) -> Rules<'p> {
        Rules { of: RulesOf::Element, ..self }
    }

    /// By reference: each launch looks at the kind of each parameter, and copies of it would cost more than the look.
    #[inline]
    fn kind(self) -> &'p ParamKind {
        match self.of {
            RulesOf::Parameter => &self.param.kind,
            RulesOf::Element => &ParamKind::Open,
        }
    }

    #[inline]
    fn specialises_value(self) -> bool {
        self.of == RulesOf::Element || self.param.value == Specialise::Yes
    }

    #[inline]
    fn specialises_alignment(self) -> bool {
        self.of == RulesOf::Element || self.param.alignment == Specialise::Yes
    }
}

/// What is compiled in of `arg`, and what is passed of it.
#[inline]
pub(crate) fn classify<'a>(rules: Rules<'_>, arg: &'a Arg<'a>) -> Result<ArgClass<'a>, ArgumentError> {
    let param = rules.param;
    let number = |dtype, divisible| Ok(ArgClass::Number { dtype, divisible, bits: bits(dtype, arg) });
    match (rules.kind(), arg) {
        (ParamKind::Constexpr, Arg::Memory(_) | Arg::Descriptor(_)) => Err(needs_constant(param, arg)),
        (ParamKind::Constexpr, Arg::Tuple(_) | Arg::NamedTuple(..)) => {
            check_constant(rules, arg, arg, 0)?;
            Ok(ArgClass::Constant(arg))
        }
        (ParamKind::Constexpr, _) | (_, Arg::None | Arg::Host(_)) => Ok(ArgClass::Constant(arg)),
        (_, Arg::Text(_) | Arg::DType(_) | Arg::Function(_)) => Err(only_constexpr(param, arg)),
        (ParamKind::Open, Arg::Bool(_)) => number(DType::I1, false),
        (ParamKind::Open, Arg::Int(1)) if rules.specialises_value() => Ok(ArgClass::Constant(arg)),
        (ParamKind::Open, Arg::Int(value)) => {
            let dtype = smallest_int(*value).ok_or_else(|| too_large(param, *value))?;
            number(dtype, divisible(rules, *value))
        }
        (ParamKind::Open, Arg::Float(_)) => number(DType::F32, false),
        (ParamKind::Open, Arg::Memory(memory)) => pointer(rules, memory, Access::ReadWrite),
        (ParamKind::Const, Arg::Memory(memory)) => pointer(rules, memory, Access::ReadOnly),
        (ParamKind::Open, Arg::Descriptor(descriptor)) => {
            check_memory(param, &descriptor.base)?;
            Ok(ArgClass::Descriptor(descriptor))
        }
        (ParamKind::Open, Arg::Tuple(items)) => Ok(ArgClass::Tuple(None, items.len())),
        (ParamKind::Open, Arg::NamedTuple(class, items)) => Ok(ArgClass::Tuple(Some(class), items.len())),
        (ParamKind::Number(dtype), Arg::Bool(_) | Arg::Int(_) | Arg::Float(_)) => annotated_number(rules, *dtype, arg),
        (ParamKind::Pointer(dtype, access), Arg::Memory(memory)) if memory.dtype == *dtype => {
            pointer(rules, memory, *access)
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

/// Whether an element of `whole`, passed for a `constexpr`, is known at compile time.
fn check_constant(rules: Rules<'_>, whole: &Arg<'_>, arg: &Arg<'_>, depth: usize) -> Result<(), ArgumentError> {
    if depth > DEEPEST {
        return Err(too_deep(rules));
    }
    match arg {
        Arg::Memory(_) | Arg::Descriptor(_) => Err(needs_constant(rules.param, whole)),
        Arg::Tuple(items) => items.iter().try_for_each(|item| check_constant(rules, whole, item, depth + 1)),
        Arg::NamedTuple(_, items) => items.iter().try_for_each(|item| match item {
            // Classes of the host hold values of the host.
            Arg::Function(_) => Err(needs_constant(rules.param, whole)),
            item => check_constant(rules, whole, item, depth + 1),
        }),
        Arg::None
        | Arg::Bool(_)
        | Arg::Int(_)
        | Arg::Float(_)
        | Arg::Text(_)
        | Arg::DType(_)
        | Arg::Function(_)
        | Arg::Host(_) => Ok(()),
    }
}

#[inline]
fn pointer<'a>(rules: Rules<'_>, memory: &'a Memory<'a>, access: Access) -> Result<ArgClass<'a>, ArgumentError> {
    check_memory(rules.param, memory)?;
    let read_only = access == Access::ReadOnly || memory.access == Access::ReadOnly;
    Ok(ArgClass::Pointer { memory, divisible: divisible(rules, memory.address as i128), read_only })
}

/// Memory that has elements has an address: storage that was freed, or tensors that only have a shape, do not.
#[inline]
fn check_memory(param: &Param, memory: &Memory<'_>) -> Result<(), ArgumentError> {
    if memory.address == 0 && memory.bytes > 0 { Err(no_memory(param)) } else { Ok(()) }
}

#[inline]
fn divisible(rules: Rules<'_>, value: i128) -> bool {
    value % 16 == 0 && rules.specialises_value() && rules.specialises_alignment()
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

fn annotated_number<'a>(rules: Rules<'_>, dtype: DType, arg: &'a Arg<'a>) -> Result<ArgClass<'a>, ArgumentError> {
    let number = |divisible| Ok(ArgClass::Number { dtype, divisible, bits: bits(dtype, arg) });
    match arg {
        Arg::Int(value) if dtype.is_int() && dtype != DType::I1 => {
            let bits = dtype.bits();
            let least = if dtype.is_signed_int() { -(1i128 << (bits - 1)) } else { 0 };
            if *value < least || *value - least >= 1i128 << bits {
                return Err(out_of_range(rules.param, dtype, *value));
            }
            number(divisible(rules, *value))
        }
        Arg::Float(_) if dtype.is_int() => Err(wrong_type(rules.param, arg)),
        _ => number(false),
    }
}

impl ArgClass<'_> {
    /// Whether it is memory that may not be written, whatever the parameter says.
    pub(crate) fn is_read_only_memory(&self) -> bool {
        match self {
            ArgClass::Pointer { memory, .. } => memory.access == Access::ReadOnly,
            ArgClass::Descriptor(descriptor) => descriptor.base.access == Access::ReadOnly,
            ArgClass::Constant(_) | ArgClass::Number { .. } | ArgClass::Tuple(..) => false,
        }
    }

    /// The owned form; of a tuple without its elements, which follow on their own.
    pub(crate) fn to_spec(self, param: &Param) -> Result<ArgSpec, ArgumentError> {
        let value = |ty, divisible: bool| ArgSpec::Value { ty, divisible: if divisible { 16 } else { 1 } };
        let access = |read_only| if read_only { Access::ReadOnly } else { Access::ReadWrite };
        Ok(match self {
            ArgClass::Constant(arg) => ArgSpec::Constant(constant_of(arg).ok_or_else(|| needs_constant(param, arg))?),
            ArgClass::Number { dtype, divisible, .. } => value(ArgType::Scalar(dtype), divisible),
            ArgClass::Pointer { memory, divisible, read_only } => {
                value(ArgType::Pointer(Ptr::global(memory.dtype), access(read_only)), divisible)
            }
            ArgClass::Descriptor(d) => {
                let desc = DescType { elem: d.dtype(), block: d.block.as_slice().into(), padding: d.padding };
                value(ArgType::Descriptor(desc, access(self.is_read_only_memory())), false)
            }
            ArgClass::Tuple(Some(class), _) => ArgSpec::NamedTuple(class.clone(), Vec::new()),
            ArgClass::Tuple(None, _) => ArgSpec::Tuple(Vec::new()),
        })
    }
}

pub(crate) fn too_deep(rules: Rules<'_>) -> ArgumentError {
    let text = format!("the tuple passed for `{}` is nested more than {DEEPEST} deep", rules.param.name);
    let help = "pass its elements in a flatter tuple; a list that contains itself has no end";
    Box::new(Diagnostic::error(rules.param.span, text).label("this parameter").help(help))
}

fn no_memory(param: &Param) -> ArgumentError {
    let text = format!("the tensor passed for `{}` has elements but no memory: its address is null", param.name);
    let help = "its storage was freed, or it only stands for a tensor (a fake or meta tensor); pass one with data";
    Box::new(Diagnostic::error(param.span, text).label("this parameter").help(help))
}

fn needs_constant(param: &Param, arg: &Arg<'_>) -> ArgumentError {
    let text = format!("`{}` must be known at compile time, but {} was passed", param.name, arg.described());
    let help = "pass a number, a truth value, a text, a type or None; or take `constexpr` off the parameter";
    Box::new(Diagnostic::error(param.span, text).label("declared `constexpr` here").help(help))
}

fn only_constexpr(param: &Param, arg: &Arg<'_>) -> ArgumentError {
    let text =
        format!("{} was passed for `{}`, but it can only be passed at compile time", arg.described(), param.name);
    let help = format!("declare it as `{}: tl.constexpr`", param.name);
    Box::new(Diagnostic::error(param.span, text).label("this parameter is a run-time value").help(help))
}

fn too_large(param: &Param, value: i128) -> ArgumentError {
    let text = format!("the integer {value}, passed for `{}`, has more than 64 bits", param.name);
    let help = "integers from -2^63 to 2^64 - 1 can be passed";
    Box::new(Diagnostic::error(param.span, text).kind(Kind::OutOfRange).label("this parameter").help(help))
}

fn out_of_range(param: &Param, dtype: DType, value: i128) -> ArgumentError {
    let text = format!("the integer {value}, passed for `{}`, does not fit into {}", param.name, dtype_name(dtype));
    let help = "annotate the parameter with a wider type, or leave the annotation out: the value then decides";
    let label = format!("annotated as {} here", dtype_name(dtype));
    Box::new(Diagnostic::error(param.span, text).kind(Kind::OutOfRange).label(label).help(help))
}

fn wrong_type(param: &Param, arg: &Arg<'_>) -> ArgumentError {
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
