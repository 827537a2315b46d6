//! Several signatures of one kernel put behind one launch function.
//!
//! - What every signature compiles in is no parameter of the function. Where its values differ they make
//!   *configurations*, among which the caller chooses: nothing in the arguments could tell them apart.
//! - Everything else is a parameter. Its type is the same in all signatures, but integers may have several widths; the
//!   widest is the parameter's. An integer that a signature compiles in (`i32:1`, or a number where others say `i32`)
//!   must have that value; a pointer for which a signature says `None` may be null.
//!
//! Variants are tried in this order: most demanding CPU or newest GPU first, then most compiled-in values, then largest known
//! divisors, then narrowest integers, then as they were given.

use std::cmp::Reverse;

use shoal_abi::Slot;
use shoal_lang::{Access, Const, ConstValue};

use super::family::{Configuration, Null, Param, ParamType, Variant};
use super::signature::{Known, Signature, passable};
use crate::{DType, Error, signature_name};

/// What a family's launch function looks like.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) params: Vec<Param>,
    pub(crate) constants: Vec<(String, ConstValue)>,
    pub(crate) configurations: Vec<Configuration>,
    /// For each signature its configuration and what it asks of the parameters.
    pub(crate) of_signature: Vec<(usize, Vec<Slot>)>,
}

/// Puts signatures together.
pub(crate) fn merge(signatures: &[Signature]) -> Result<Merged, Error> {
    let first = signatures.first().ok_or_else(|| wrong("there is no signature to compile for".into()))?;
    for other in signatures {
        let names = |s: &Signature| s.leaves.iter().map(|leaf| leaf.name.clone()).collect::<Vec<_>>();
        if names(other) != names(first) {
            return Err(wrong(format!(
                "`{}` and `{}` pass tuples or descriptors of different shapes, so no one function takes the arguments of both",
                first.text, other.text
            )));
        }
    }
    let mut merged = Merged {
        params: Vec::new(),
        constants: Vec::new(),
        configurations: Vec::new(),
        of_signature: signatures.iter().map(|_| (0, Vec::new())).collect(),
    };
    let mut differing: Vec<Configuration> = signatures.iter().map(|_| Configuration { values: Vec::new() }).collect();
    for (at, leaf) in first.leaves.iter().enumerate() {
        let all: Vec<&Known> = signatures.iter().map(|s| &s.leaves[at].known).collect();
        if let Some(values) = all.iter().map(|known| compiled_in(known)).collect::<Option<Vec<_>>>() {
            if values.iter().all(|value| *value == values[0]) {
                merged.constants.push((leaf.name.clone(), values[0].clone()));
            } else {
                let each = differing.iter_mut().zip(values);
                each.for_each(|(c, value)| c.values.push((leaf.name.clone(), value.clone())));
            }
            continue;
        }
        let ty = common_type(&leaf.name, &all)?;
        merged.params.push(Param { name: leaf.name.clone(), ty });
        for (known, (_, slots)) in all.iter().zip(&mut merged.of_signature) {
            slots.push(slot(&leaf.name, known, ty)?);
        }
    }
    for (configuration, (number, _)) in differing.into_iter().zip(&mut merged.of_signature) {
        let known = merged.configurations.iter().position(|c| *c == configuration);
        *number = known.unwrap_or_else(|| {
            merged.configurations.push(configuration);
            merged.configurations.len() - 1
        });
    }
    for (i, signature) in merged.of_signature.iter().enumerate() {
        if merged.of_signature[..i].contains(signature) {
            return Err(wrong(format!("the signature `{}` is given twice", signatures[i].text)));
        }
    }
    Ok(merged)
}

/// Puts variants in the order in which they are tried. The sort is stable: what is left is the order they were given
/// in.
pub(crate) fn sort(variants: &mut [Variant]) {
    variants.sort_by_key(|variant| {
        let values = variant.slots.iter().filter(|slot| slot.equals.is_some()).count();
        let divisors: u32 = variant.slots.iter().map(|slot| slot.divisible.ilog2()).sum();
        let bytes: u32 = variant.slots.iter().map(|slot| u32::from(slot.bytes)).sum();
        let arch = variant.description.nvptx().map(|needs| needs.arch);
        let demands = (arch, variant.description.cpu().features.len());
        (Reverse(demands), Reverse(values), Reverse(divisors), bytes)
    });
}

fn compiled_in(known: &Known) -> Option<&ConstValue> {
    match known {
        Known::Value(value, None) => Some(value),
        Known::Value(_, Some(_)) | Known::Type(..) => None,
    }
}

/// The type of a parameter that not every signature compiles in.
fn common_type(name: &str, all: &[&Known]) -> Result<ParamType, Error> {
    let null = all.iter().any(|known| matches!(known, Known::Value(ConstValue::Const(Const::None), _)));
    let mut common = None;
    for known in all {
        let ty = match known {
            Known::Type(ParamType::Pointer(ptr, access, _), _) if null => {
                ParamType::Pointer(*ptr, *access, Null::Allowed)
            }
            Known::Type(ty, _) => *ty,
            Known::Value(_, Some(dtype)) => ParamType::Number(*dtype),
            Known::Value(_, None) => continue,
        };
        common = Some(match common {
            None => ty,
            Some(before) => wider(before, ty).ok_or_else(|| {
                let help = "compile them apart, with different `--name`s";
                wrong(format!("`{name}` is {} in one signature and {} in another; {help}", shown(before), shown(ty)))
            })?,
        });
    }
    common.ok_or_else(|| wrong(format!("no signature says what type `{name}` has")))
}

/// The type that takes the values of both.
fn wider(a: ParamType, b: ParamType) -> Option<ParamType> {
    match (a, b) {
        (ParamType::Number(x), ParamType::Number(y)) if x == y => Some(a),
        (ParamType::Number(x), ParamType::Number(y)) => {
            let integers = x.is_int() && y.is_int() && x != DType::I1 && y != DType::I1;
            let wide = if x.bits() > y.bits() { a } else { b };
            (integers && x.is_signed_int() == y.is_signed_int()).then_some(wide)
        }
        (ParamType::Pointer(x, read, null), ParamType::Pointer(y, also_read, _)) if x == y => {
            let access = if read == also_read { read } else { Access::ReadWrite };
            Some(ParamType::Pointer(x, access, null))
        }
        (ParamType::Number(_), ParamType::Pointer(..)) | (ParamType::Pointer(..), _) => None,
    }
}

fn slot(name: &str, known: &Known, ty: ParamType) -> Result<Slot, Error> {
    match known {
        Known::Type(own, divisible) => {
            let bytes = match own {
                ParamType::Number(dtype) => dtype.bytes() as u8,
                ParamType::Pointer(..) => 8,
            };
            Ok(Slot { bytes, divisible: *divisible, equals: None })
        }
        Known::Value(value, _) => {
            let is_null = matches!(value, ConstValue::Const(Const::None));
            let fits = match ty {
                ParamType::Number(dtype) => dtype.is_int() && !is_null,
                ParamType::Pointer(..) => is_null,
            };
            let equals = passable(value).filter(|_| fits).ok_or_else(|| {
                wrong(format!(
                    "`{name}` is {value} in one signature and {} in another, which {value} is not",
                    shown(ty)
                ))
            })?;
            Ok(Slot { bytes: 0, divisible: 1, equals: Some(equals) })
        }
    }
}

fn shown(ty: ParamType) -> String {
    match ty {
        ParamType::Number(dtype) => signature_name(dtype).to_owned(),
        ParamType::Pointer(ptr, ..) => format!("{}{}", "*".repeat(ptr.depth.into()), signature_name(ptr.pointee)),
    }
}

fn wrong(text: String) -> Error {
    Error::AheadOfTime(text)
}
