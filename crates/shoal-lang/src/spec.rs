//! A specialisation: for each parameter of a kernel a type with facts, or a value known at compile time.
//!
//! Every part has a text form, used in signatures on the command line and in tests:
//!
//! | text | meaning |
//! |---|---|
//! | `i32`, `fp32`, `u1` | a number |
//! | `i32:16` | a number that is a multiple of 16 |
//! | `*fp32`, `*kfp32:16`, `**fp32` | a pointer; to constant memory; aligned to 16 bytes; to pointers |
//! | `tensordesc<fp16[128, 64]>`, `tensordesc<kfp16[128]>` | a tensor descriptor; of constant memory |
//! | `1024`, `1.5`, `True`, `None`, `'text'` | a constant |
//! | `tl.float16` | a dtype as a constant |
//! | `@name` | a function of the file as a constant |
//! | `(…, …)` | a tuple of these |

use std::fmt;
use std::sync::Arc;

use shoal_ir::types::{DescType, Elem, Padding, Ptr, Scalar, Shape, Type};
use shoal_source::Cancellation;

use crate::consts::float_repr;
use crate::dtype;
use crate::host::{HostNamedTuple, HostValue};
use crate::options::Options;
use crate::value::{Access, Const, Dtype};

/// What a kernel is compiled for.
#[derive(Debug, Clone, Default)]
pub struct Specialization {
    /// Parameters by name. Parameters with a default value may be left out.
    pub args: Vec<(String, ArgSpec)>,
    /// Compile options.
    pub options: Options,
    /// Asked now and then whether to go on. A compilation that is to end fails with
    /// [`Kind::Cancelled`](shoal_source::Kind::Cancelled).
    pub cancellation: Cancellation,
}

/// What is known of one argument.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgSpec {
    /// A value passed at launch.
    Value {
        /// Its type.
        ty: ArgType,
        /// A number it is divisible by (for pointers: the address), 1 if nothing is known.
        divisible: u64,
    },
    /// A value compiled in.
    Constant(ConstValue),
    /// A tuple of arguments.
    Tuple(Vec<ArgSpec>),
    /// A tuple of arguments with the names that a class of the host program gives them.
    NamedTuple(Arc<HostNamedTuple>, Vec<ArgSpec>),
}

/// The type of an argument passed at launch.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgType {
    /// A number.
    Scalar(Scalar),
    /// A pointer.
    Pointer(Ptr, Access),
    /// A tensor descriptor, and whether it may be written through.
    Descriptor(DescType, Access),
}

/// A value that is compiled in.
#[derive(Debug, Clone)]
pub enum ConstValue {
    /// A Python constant.
    Const(Const),
    /// A dtype.
    Dtype(Dtype),
    /// A tuple.
    Tuple(Vec<ConstValue>),
    /// A function of the kernel's file, by name.
    Function(String),
    /// A value of the host program, for kernels that live there.
    Host(HostValue),
}

impl PartialEq for ConstValue {
    /// Same type and same value: `1`, `1.0` and `True` compile to different kernels.
    fn eq(&self, other: &ConstValue) -> bool {
        match (self, other) {
            (ConstValue::Host(a), ConstValue::Host(b)) => a == b,
            (ConstValue::Tuple(a), ConstValue::Tuple(b)) => a == b,
            (ConstValue::Host(_), _) | (_, ConstValue::Host(_)) => false,
            _ => self.to_string() == other.to_string(),
        }
    }
}

impl ArgSpec {
    /// A number passed at launch.
    #[must_use]
    pub fn scalar(scalar: Scalar) -> ArgSpec {
        ArgSpec::Value { ty: ArgType::Scalar(scalar), divisible: 1 }
    }

    /// An integer constant.
    #[must_use]
    pub fn int(value: i128) -> ArgSpec {
        ArgSpec::Constant(ConstValue::Const(Const::Int(value)))
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<ArgSpec, String> {
        let text = text.trim();
        if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            let parts = split_top_level(inner).into_iter().map(ArgSpec::parse).collect::<Result<Vec<_>, _>>()?;
            return Ok(ArgSpec::Tuple(parts));
        }
        if let Some(constant) = ConstValue::parse_literal(text) {
            return Ok(ArgSpec::Constant(constant));
        }
        let (ty, divisible) = match text.rsplit_once(':') {
            Some((ty, facts)) => {
                let facts = facts.trim();
                let divisible = if facts == "D" { Some(16) } else { facts.parse().ok().filter(|d| *d > 0) };
                (ty, divisible.ok_or_else(|| format!("`{facts}` is not a number to be divisible by"))?)
            }
            None => (text, 1),
        };
        Ok(ArgSpec::Value { ty: ArgType::parse(ty)?, divisible })
    }
}

impl ArgType {
    /// Reads the text form.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<ArgType, String> {
        let text = text.trim();
        if let Some(inner) = text.strip_prefix("tensordesc<").and_then(|t| t.strip_suffix('>')) {
            return parse_descriptor(inner);
        }
        if let Some(pointee) = text.strip_prefix('*') {
            let (access, pointee) = match pointee.strip_prefix('k') {
                Some(rest) => (Access::ReadOnly, rest),
                None => (Access::ReadWrite, pointee),
            };
            let element = match ArgType::parse(pointee)? {
                ArgType::Scalar(s) => Elem::Scalar(s),
                ArgType::Pointer(p, _) if p.depth < 8 => Elem::Ptr(p),
                ArgType::Pointer(..) => return Err(format!("`{text}` has too many `*`")),
                ArgType::Descriptor(..) => return Err("there are no pointers to tensor descriptors".to_owned()),
            };
            return Ok(ArgType::Pointer(Ptr::to(element), access));
        }
        dtype::from_signature_name(text)
            .map(ArgType::Scalar)
            .ok_or_else(|| format!("`{text}` is not a type; types look like `i32`, `fp32`, `*fp32:16`"))
    }

    /// The type as a dtype; `None` for descriptors.
    #[must_use]
    pub fn as_dtype(&self) -> Option<Dtype> {
        match self {
            ArgType::Scalar(s) => Some(Dtype::scalar(*s)),
            ArgType::Pointer(p, access) => Some(Dtype { ty: Type::Elem(Elem::Ptr(*p)), access: *access }),
            ArgType::Descriptor(..) => None,
        }
    }
}

fn parse_descriptor(text: &str) -> Result<ArgType, String> {
    let wrong = || format!("`tensordesc<{text}>` should look like `tensordesc<fp16[128, 64]>`");
    let (elem, rest) = text.split_once('[').ok_or_else(wrong)?;
    let (dims, options) = rest.split_once(']').ok_or_else(wrong)?;
    let (access, elem) = match elem.trim().strip_prefix('k') {
        Some(rest) => (Access::ReadOnly, rest),
        None => (Access::ReadWrite, elem.trim()),
    };
    let elem = dtype::from_signature_name(elem).ok_or_else(wrong)?;
    let padding = match options.trim().trim_start_matches(',').trim() {
        "" => Padding::Zero,
        "nan" => Padding::Nan,
        _ => return Err(wrong()),
    };
    let mut block = Shape::new();
    for dim in dims.split(',') {
        let dim: u32 = dim.trim().parse().map_err(|_| wrong())?;
        if !dim.is_power_of_two() {
            return Err(format!("the block sizes of a descriptor must be powers of two, {dim} is not"));
        }
        block.push(dim);
    }
    let elements: u64 = block.iter().fold(1u64, |n, &d| n.saturating_mul(u64::from(d)));
    if block.len() > 5 || elements > shoal_ir::types::MAX_TILE_ELEMENTS {
        return Err("a descriptor has at most 5 dimensions and 2^20 elements in a block".to_owned());
    }
    Ok(ArgType::Descriptor(DescType { elem, block, padding }, access))
}

impl ConstValue {
    /// Reads a constant: also bare dtype names, as for parameters that are `constexpr`.
    #[must_use]
    pub fn parse(text: &str) -> Option<ConstValue> {
        let text = text.trim();
        if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            return split_top_level(inner)
                .into_iter()
                .map(ConstValue::parse)
                .collect::<Option<_>>()
                .map(ConstValue::Tuple);
        }
        ConstValue::parse_literal(text)
            .or_else(|| ArgType::parse(text).ok()?.as_dtype().map(ConstValue::Dtype))
            .or_else(|| is_identifier(text).then(|| ConstValue::Function(text.to_owned())))
    }

    fn parse_literal(text: &str) -> Option<ConstValue> {
        let constant = match text {
            "None" => Const::None,
            "True" => Const::Bool(true),
            "False" => Const::Bool(false),
            _ => {
                if let Some(name) = text.strip_prefix('@') {
                    return is_identifier(name).then(|| ConstValue::Function(name.to_owned()));
                }
                if let Some(name) = text.strip_prefix("tl.").or_else(|| text.strip_prefix("sl.")) {
                    return dtype::from_language_name(name).map(|s| ConstValue::Dtype(Dtype::scalar(s)));
                }
                for quote in ['\'', '"'] {
                    if let Some(inner) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
                        return Some(ConstValue::Const(Const::Str(inner.into())));
                    }
                }
                let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
                if let (true, Ok(i)) = (number, text.parse()) {
                    Const::Int(i)
                } else if let (true, Ok(f)) = (number, text.parse()) {
                    Const::Float(f)
                } else {
                    return None;
                }
            }
        };
        Some(ConstValue::Const(constant))
    }
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// Splits at the commas that are not inside brackets or quotes.
#[must_use]
pub fn split_top_level(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut quote, mut start) = (0i32, None, 0);
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '<') => depth += 1,
            (None, ')' | ']' | '>') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            (None, _) => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|p| !p.is_empty());
    parts
}

impl fmt::Display for ArgSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgSpec::Value { ty, divisible: 1 } => ty.fmt(f),
            ArgSpec::Value { ty, divisible } => write!(f, "{ty}:{divisible}"),
            ArgSpec::Constant(c) => c.fmt(f),
            ArgSpec::Tuple(parts) => write_tuple(f, parts),
            ArgSpec::NamedTuple(class, parts) => {
                f.write_str(&class.name)?;
                write_tuple(f, parts)
            }
        }
    }
}

impl fmt::Display for ArgType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgType::Scalar(s) => f.write_str(dtype::scalar_name(*s)),
            ArgType::Pointer(p, access) => f.write_str(&dtype::display(&Type::Elem(Elem::Ptr(*p)), *access)),
            ArgType::Descriptor(d, access) => {
                let constant = if *access == Access::ReadOnly { "k" } else { "" };
                let nan = match d.padding {
                    Padding::Zero => "",
                    Padding::Nan => ", nan",
                };
                write!(f, "tensordesc<{constant}{}{:?}{nan}>", dtype::scalar_name(d.elem), d.block.as_slice())
            }
        }
    }
}

impl fmt::Display for ConstValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConstValue::Const(Const::Float(x)) => f.write_str(&float_repr(*x)),
            ConstValue::Const(c) => c.fmt(f),
            ConstValue::Dtype(d) => match d.number() {
                Some(s) => write!(f, "tl.{}", dtype::language_name(s)),
                None => write!(f, "dtype {}", dtype::display(&d.ty, d.access)),
            },
            ConstValue::Tuple(parts) => write_tuple(f, parts),
            ConstValue::Function(name) => write!(f, "@{name}"),
            ConstValue::Host(value) => value.fmt(f),
        }
    }
}

fn write_tuple<T: fmt::Display>(f: &mut fmt::Formatter<'_>, parts: &[T]) -> fmt::Result {
    f.write_str("(")?;
    for (i, part) in parts.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{part}")?;
    }
    f.write_str(")")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        for text in [
            "i32",
            "i32:16",
            "*fp32",
            "*kfp16:16",
            "**fp32",
            "tensordesc<fp16[128, 64]>",
            "tensordesc<fp32[16, 16], nan>",
            "tensordesc<kfp16[16]>",
            "1024",
            "-1",
            "1.5",
            "True",
            "None",
            "'ieee'",
            "tl.float16",
            "@gelu",
            "(i32, (*fp32, 3))",
        ] {
            assert_eq!(ArgSpec::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        for text in ["", "i33", "*", "*fp32:0", "tensordesc<fp16>", "tensordesc<fp16[100]>", "nan"] {
            assert!(ArgSpec::parse(text).is_err(), "{text}");
        }
    }
}
