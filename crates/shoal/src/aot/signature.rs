//! A signature taken apart: what is known of each value that a launch may have to pass.
//!
//! Signatures are written as everywhere (see [`ArgSpec`]), with one addition: `i32:1` is an integer that a launch
//! passes and that must be 1, which is then compiled in.

use shoal_ir::types::{DescPart, DescType, Ptr};
use shoal_lang::spec::split_top_level;
use shoal_lang::{Access, ArgSpec, ArgType, Const, ConstValue};

use super::family::{Null, ParamType};
use crate::{DType, Error, Kernel};

/// A signature, and what is known of each single value.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    /// As the compiler takes it.
    pub(crate) specs: Vec<ArgSpec>,
    /// Tuples and descriptors taken apart, in the order of the argument block.
    pub(crate) leaves: Vec<Leaf>,
    /// For people.
    pub(crate) text: String,
}

/// A single value.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    /// The parameter, with the way to it: `x`, `pair_0`, `desc_stride_1`.
    pub(crate) name: String,
    pub(crate) known: Known,
}

/// What is known of a single value.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    /// Its type, and what it is a multiple of.
    Type(ParamType, u64),
    /// All. A type where it is passed all the same: `i32:1`.
    Value(ConstValue, Option<DType>),
}

impl Signature {
    pub(crate) fn read(kernel: &Kernel, text: &str) -> Result<Signature, Error> {
        let mut ones: Vec<(String, DType)> = Vec::new();
        let mut items = Vec::new();
        for (i, item) in split_top_level(text).into_iter().enumerate() {
            let (name, value) = match item.split_once('=') {
                Some((name, value)) => (Some(name.trim()), value.trim()),
                None => (None, item),
            };
            let position = || kernel.params().get(i).map(|param| param.name());
            match (is_one(value), name.or_else(position)) {
                (Some(dtype), Some(param)) => {
                    ones.push((param.to_owned(), dtype));
                    items.push(name.map_or("1".to_owned(), |name| format!("{name}=1")));
                }
                _ => items.push(item.to_owned()),
            }
        }
        let specs = kernel.read_signature(&items.join(", "))?;
        let (mut leaves, mut texts) = (Vec::new(), Vec::new());
        for (param, spec) in kernel.params().iter().zip(&specs) {
            let one = ones.iter().find(|(name, _)| name == param.name()).map(|(_, dtype)| *dtype);
            texts.push(one.map_or_else(|| spec.to_string(), |dtype| format!("{}:1", crate::signature_name(dtype))));
            take_apart(param.name(), spec, one, &mut leaves);
        }
        Ok(Signature { specs, leaves, text: texts.join(", ") })
    }
}

/// The integer type of `i32:1`.
fn is_one(item: &str) -> Option<DType> {
    let (ty, fact) = item.rsplit_once(':')?;
    match ArgType::parse(ty) {
        Ok(ArgType::Scalar(dtype)) if fact.trim() == "1" && dtype.is_int() && dtype != DType::I1 => Some(dtype),
        _ => None,
    }
}

fn take_apart(name: &str, spec: &ArgSpec, one: Option<DType>, leaves: &mut Vec<Leaf>) {
    let mut push = |name: String, known| leaves.push(Leaf { name, known });
    match spec {
        ArgSpec::Constant(value) => push(name.to_owned(), Known::Value(value.clone(), one)),
        ArgSpec::Value { ty: ArgType::Scalar(dtype), divisible } => {
            push(name.to_owned(), Known::Type(ParamType::Number(*dtype), *divisible));
        }
        ArgSpec::Value { ty: ArgType::Pointer(ptr, access), divisible } => {
            push(name.to_owned(), Known::Type(ParamType::Pointer(*ptr, *access, Null::Refused), *divisible));
        }
        ArgSpec::Value { ty: ArgType::Descriptor(descriptor, access), .. } => {
            for (part, ty) in parts(descriptor, *access) {
                push(format!("{name}{part}"), Known::Type(ty, 1));
            }
        }
        ArgSpec::Tuple(items) | ArgSpec::NamedTuple(_, items) => {
            for (i, item) in items.iter().enumerate() {
                take_apart(&format!("{name}_{i}"), item, None, leaves);
            }
        }
    }
}

/// The names and types of the values that a descriptor is passed as.
fn parts(descriptor: &DescType, access: Access) -> impl Iterator<Item = (String, ParamType)> {
    let pointer = ParamType::Pointer(Ptr::global(descriptor.elem), access, Null::Refused);
    DescPart::passed(descriptor.block.len()).map(move |part| match part {
        DescPart::Base => (String::new(), pointer),
        DescPart::Size(axis) => (format!("_size_{axis}"), ParamType::Number(DType::I32)),
        DescPart::Stride(axis) => (format!("_stride_{axis}"), ParamType::Number(DType::I64)),
    })
}

/// The integer that a constant is at run time, when it can be passed there.
pub(crate) fn passable(value: &ConstValue) -> Option<i64> {
    match value {
        ConstValue::Const(Const::Int(value)) => i64::try_from(*value).ok(),
        ConstValue::Const(Const::Bool(value)) => Some((*value).into()),
        ConstValue::Const(Const::None) => Some(0),
        _ => None,
    }
}
