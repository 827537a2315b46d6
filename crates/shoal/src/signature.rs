//! Signatures as text: how a kernel is specialised without arguments at hand.
//!
//! ```text
//! *fp32:16, *fp32:16, *kfp32, i32:16, fp32, 1024, BLOCK=256, None, True, "relu", fp16
//! ```
//!
//! One item for each parameter, by position or as `name=item`: `*T` a pointer, `*kT` one that is only read, `T` a
//! number, `:16` divisible by 16, `tensordesc<T[64, 32]>` a descriptor; anything else is a value that is compiled in. An
//! item for a `constexpr` parameter is always a value, so `fp16` there is the type itself.

use std::fmt;

use shoal_ir::types::Padding;

use crate::constant::Constant;
use crate::dtype::{dtype_from_name, signature_name};
use crate::param::{Param, ParamKind};
use crate::specialise::Spec;
use crate::{DType, Error};

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = |divisible: &bool| if *divisible { ":16" } else { "" };
        match self {
            Spec::Constant(value) => write!(f, "{value}"),
            Spec::Number { dtype, divisible } => write!(f, "{}{}", signature_name(*dtype), hint(divisible)),
            Spec::Pointer { dtype, divisible, read_only } => {
                let star = if *read_only { "*k" } else { "*" };
                write!(f, "{star}{}{}", signature_name(*dtype), hint(divisible))
            }
            Spec::Descriptor { dtype, block, padding } => {
                let nan = match padding {
                    Padding::Zero => "",
                    Padding::Nan => ", nan",
                };
                write!(f, "tensordesc<{}{block:?}{nan}>", signature_name(*dtype))
            }
            Spec::Tuple(items) => {
                f.write_str("(")?;
                for item in items {
                    write!(f, "{item},")?;
                }
                f.write_str(")")
            }
        }
    }
}

/// Reads a signature for these parameters. Parameters that are left out take their defaults.
pub(crate) fn read(params: &[Param], text: &str) -> Result<Vec<Spec>, Error> {
    let mut specs: Vec<Option<Spec>> = vec![None; params.len()];
    for (place, item) in split(text)?.into_iter().enumerate() {
        let (at, item) = match item.split_once('=') {
            Some((name, item)) => {
                let name = name.trim();
                let at = params.iter().position(|p| p.name == name);
                (at.ok_or_else(|| wrong(format!("there is no parameter `{name}`")))?, item.trim())
            }
            None if place < params.len() => (place, item.as_str()),
            None => return Err(wrong(format!("there are {} parameters, but more items", params.len()))),
        };
        if specs[at].is_some() {
            return Err(wrong(format!("`{}` is given twice", params[at].name)));
        }
        specs[at] = Some(one(&params[at], item)?);
    }
    let or_default = |(param, spec): (&Param, Option<Spec>)| {
        let default = || param.default.as_ref().and_then(Constant::of).map(Spec::Constant);
        spec.or_else(default).ok_or_else(|| wrong(format!("`{}` is missing", param.name)))
    };
    params.iter().zip(specs).map(or_default).collect()
}

fn wrong(why: String) -> Error {
    Error::Text(format!("cannot read the signature: {why}"))
}

/// Cuts at commas that are in no bracket and no quotes.
fn split(text: &str) -> Result<Vec<String>, Error> {
    let mut items = Vec::new();
    let mut item = String::new();
    let (mut depth, mut quoted) = (0i32, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' | '<' if !quoted => depth += 1,
            ')' | ']' | '>' if !quoted => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 && !quoted {
            items.push(std::mem::take(&mut item).trim().to_owned());
        } else {
            item.push(c);
        }
    }
    if depth != 0 || quoted {
        return Err(wrong("a bracket or a quote is not closed".into()));
    }
    let last = item.trim();
    if !last.is_empty() {
        items.push(last.to_owned());
    }
    Ok(items)
}

fn one(param: &Param, item: &str) -> Result<Spec, Error> {
    if param.kind == ParamKind::Constexpr {
        return constant(item).map(Spec::Constant);
    }
    if let Some(inner) = item.strip_prefix('(').and_then(|i| i.strip_suffix(')')) {
        let element = param.element();
        return Ok(Spec::Tuple(split(inner)?.iter().map(|i| one(&element, i)).collect::<Result<_, _>>()?));
    }
    if let Some(inner) = item.strip_prefix("tensordesc<").and_then(|i| i.strip_suffix('>')) {
        return descriptor(inner);
    }
    let (ty, divisible) = match item.split_once(':') {
        Some((ty, "16")) => (ty.trim(), true),
        Some((ty, "1")) => (ty.trim(), false),
        Some((_, hint)) => return Err(wrong(format!("`{item}`: the hint is 16 or 1, not {hint}"))),
        None => (item, false),
    };
    if let Some(pointee) = ty.strip_prefix('*') {
        let (name, read_only) = match pointee.strip_prefix('k') {
            Some(rest) if dtype_from_name(rest).is_some() => (rest, true),
            _ => (pointee, false),
        };
        return Ok(Spec::Pointer { dtype: element_type(name)?, divisible, read_only });
    }
    match dtype_from_name(ty) {
        Some(dtype) => Ok(Spec::Number { dtype, divisible }),
        None => constant(item).map(Spec::Constant),
    }
}

fn element_type(name: &str) -> Result<DType, Error> {
    dtype_from_name(name).ok_or_else(|| {
        let known: Vec<&str> = DType::ALL.into_iter().map(signature_name).collect();
        wrong(format!("there is no type `{name}`; the types are {}", known.join(", ")))
    })
}

fn descriptor(text: &str) -> Result<Spec, Error> {
    let bad = || wrong(format!("`tensordesc<{text}>` should look like `tensordesc<fp16[64, 32]>`"));
    let (dtype, rest) = text.split_once('[').ok_or_else(bad)?;
    let (block, tail) = rest.split_once(']').ok_or_else(bad)?;
    let sides: Result<Vec<u32>, _> = block.split(',').map(|side| side.trim().parse()).collect();
    let padding = match tail.trim_start_matches(',').trim() {
        "" => Padding::Zero,
        "nan" => Padding::Nan,
        _ => return Err(bad()),
    };
    Ok(Spec::Descriptor { dtype: element_type(dtype.trim())?, block: sides.map_err(|_| bad())?, padding })
}

/// Reads a value: a number, `True`, `False`, `None`, a type, a quoted text, or a tuple of values.
pub fn constant(text: &str) -> Result<Constant, Error> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('(').and_then(|i| i.strip_suffix(')')) {
        return Ok(Constant::Tuple(split(inner)?.iter().map(|i| constant(i)).collect::<Result<_, _>>()?));
    }
    if let Some(inner) = text.strip_prefix('"').and_then(|i| i.strip_suffix('"')) {
        return Ok(Constant::Text(inner.to_owned()));
    }
    Ok(match text {
        "None" => Constant::None,
        "True" | "true" => Constant::Bool(true),
        "False" | "false" => Constant::Bool(false),
        _ => {
            if let Ok(value) = text.replace('_', "").parse() {
                Constant::Int(value)
            } else if let Ok(value) = text.parse() {
                Constant::Float(value)
            } else if let Some(dtype) = dtype_from_name(text) {
                Constant::DType(dtype)
            } else {
                return Err(wrong(format!("`{text}` is neither a type nor a value; put texts into double quotes")));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Specialise;

    fn params() -> Vec<Param> {
        let param = |name: &str, kind, default| Param {
            name: name.into(),
            span: shoal_source::Span::NONE,
            kind,
            default,
            value: Specialise::Yes,
            alignment: Specialise::Yes,
        };
        vec![
            param("x", ParamKind::Open, None),
            param("n", ParamKind::Open, None),
            param("BLOCK", ParamKind::Constexpr, None),
            param("KIND", ParamKind::Constexpr, Some(crate::Arg::None)),
        ]
    }

    fn show(text: &str) -> String {
        match read(&params(), text) {
            Ok(specs) => specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn signatures_are_read() {
        assert_eq!(show("*fp32:16, i32, 256"), "*fp32:16 | i32 | 256 | None");
        assert_eq!(show("*kbf16, 1, BLOCK=64, KIND=fp16"), "*kbf16 | 1 | 64 | float16");
        assert_eq!(show("tensordesc<fp16[64, 32], nan>, (i32, *i8), 1, \"a, b\""),
            "tensordesc<fp16[64, 32], nan> | (i32,*i8,) | 1 | \"a, b\"");
        assert_eq!(show("*fp8e4nv, i64:16, BLOCK=(1, 2)"), "*fp8e4nv | i64:16 | (1,2,) | None");
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(show("*fp33, i32, 1"),
            "cannot read the signature: there is no type `fp33`; the types are u1, i8, i16, i32, i64, u8, u16, u32, u64, \
             fp8e4nv, fp8e5, fp8e4b15, fp8e4b8, fp8e5b16, fp16, bf16, fp32, fp64");
        assert_eq!(show("*fp32, i32"), "cannot read the signature: `BLOCK` is missing");
        assert_eq!(show("*fp32, i32, 1, 2, 3"), "cannot read the signature: there are 4 parameters, but more items");
        assert_eq!(show("*fp32, i32:8, 1"), "cannot read the signature: `i32:8`: the hint is 16 or 1, not 8");
        assert_eq!(show("*fp32, x=i32, BLOCK=1"), "cannot read the signature: `x` is given twice");
        assert_eq!(show("*fp32, (i32, 1"), "cannot read the signature: a bracket or a quote is not closed");
        assert_eq!(show("*fp32, i32, relu"),
            "cannot read the signature: `relu` is neither a type nor a value; put texts into double quotes");
    }
}
