//! Several elements at once: vectors, and words with a flag beside them.

use shoal_ir::op::{BinaryOp, Scope, Sem};
use shoal_ir::types::{Elem, Ptr, Scalar};

use super::access::{read, read_order, write, write_order};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::semantic::atomic::{self, Ordering};
use crate::semantic::operand::{Number, Operand, elem, to_tensor};
use crate::semantic::vector::{self, Vector};
use crate::semantic::{binary, cast, memory};
use crate::value::{Tensor, Value};

/// The pointer some elements further.
fn further(e: &mut Emit<'_>, p: &Tensor, elements: usize) -> LowerResult<Tensor> {
    let by = Operand::Number(Number::Int(elements as i128));
    binary::add(e, &p.clone().into(), &by, binary::Overflow::Wraps)
}

fn run_ld_vector(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let length = vector::length(a, "vec_size")?;
    let p = a.tensor("ptr")?;
    memory::pointer(e, a.function_name(), p)?;
    let ordering = read_order(e, a)?;
    let mut items = Vec::with_capacity(length);
    for i in 0..length {
        let at = further(e, p, i)?;
        items.push(read(e, &at, ordering)?);
    }
    Ok(Value::Vector(Vector::new(items)))
}

/// Stores the elements of a vector one after another.
pub(super) fn store(e: &mut Emit<'_>, p: &Tensor, v: &Vector, ordering: Option<Ordering>) -> LowerResult<()> {
    for (i, item) in v.items().iter().enumerate() {
        let at = further(e, p, i)?;
        write(e, &at, &item.clone().into(), ordering)?;
    }
    Ok(())
}

fn run_st_vector(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let Value::Vector(vector) = a.value("vec") else { return Err(a.wrong("vec", "a vector")) };
    let ordering = write_order(e, a)?;
    store(e, a.tensor("ptr")?, vector, ordering)?;
    Ok(Value::NONE)
}

/// Data and the flag beside it are read and written together: 64 bits at a time.
const TOGETHER: Ordering = Ordering { sem: Sem::Relaxed, scope: Scope::Sys };

/// The same place as 64-bit words.
fn as_words(e: &mut Emit<'_>, a: &Args) -> LowerResult<Tensor> {
    let p = a.tensor("ptr")?;
    let pointer = memory::pointer(e, a.function_name(), p)?;
    let word = Elem::Ptr(Ptr { pointee: Scalar::U64, depth: 1, ..pointer });
    Ok(Tensor { access: p.access, ..cast::by_value(e, p, word, None)? })
}

fn run_load_words(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let p = as_words(e, a)?;
    let mut values = Vec::new();
    for i in 0..2 {
        let at = further(e, &p, i)?;
        let word = atomic::load(e, &at, None, TOGETHER)?;
        let part = match a.function_name() {
            "load_v2_b64" => {
                values.push(word.into());
                continue;
            }
            "load_v4_s32" => Scalar::I32,
            _ => Scalar::U32,
        };
        let low = e.b().cast(word.value, part);
        let half = e.b().int(32, word.ty.clone());
        let upper = e.b().binary(BinaryOp::Shr, word.value, half);
        let high = e.b().cast(upper, part);
        values.extend([low, high].map(|v| Value::from(e.tensor(v))));
    }
    Ok(Value::tuple(values))
}

fn run_store_words(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let p = as_words(e, a)?;
    let names: &[&str] = if a.function_name() == "st_v2_u32" { &["v0", "v1"] } else { &["v0", "v1", "v2", "v3"] };
    for (i, pair) in names.chunks(2).enumerate() {
        let mut halves = Vec::new();
        for name in pair {
            let value = to_tensor(e, a.value(name))?;
            let bits = match elem(&value) {
                Elem::Scalar(s) if s.bits() == 32 => cast::by_bits(e, &value, Scalar::U32.into())?,
                _ => cast::to_number(e, &value, Scalar::U32)?,
            };
            halves.push(cast::to_number(e, &bits, Scalar::U64)?);
        }
        let (low, high) = crate::semantic::broadcast::pair(e, &halves[0], &halves[1])?;
        let half = e.b().int(32, high.ty.clone());
        let upper = e.b().binary(BinaryOp::Shl, high.value, half);
        let word = e.b().binary(BinaryOp::Or, upper, low.value);
        let word = Operand::Tensor(e.tensor(word));
        let at = further(e, &p, i)?;
        write(e, &at, &word, Some(TOGETHER))?;
    }
    Ok(Value::NONE)
}

fn run_pack(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let Some(to) = a.dtype("dst_type")?.number() else { return Err(a.wrong("dst_type", "a type of numbers")) };
    let items = match a.value("src") {
        Value::Vector(v) => v.clone(),
        Value::Tuple(t) => Vector::of(e, &t.items)?,
        _ => return Err(a.wrong("src", "a vector")),
    };
    let packed = items.recast(e, to)?;
    match packed.items() {
        [one] => Ok(one.clone().into()),
        _ => Err(a.wrong("dst_type", "as wide as the whole vector")),
    }
}

fn run_unpack(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let Some(to) = a.dtype("dst_type")?.number() else { return Err(a.wrong("dst_type", "a type of numbers")) };
    let whole = to_tensor(e, a.value("src"))?;
    Vector::new(vec![whole]).recast(e, to).map(Value::Vector)
}

/// Two numbers of 32 bits in one of 64, the first in its lower half.
fn run_pack_pair(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let mut halves = Vec::new();
    for name in ["v0", "v1"] {
        let half = to_tensor(e, a.value(name))?;
        match half.ty.number() {
            Some(ty) if ty.is_int() => halves.push(cast::to_number(e, &half, Scalar::U32)?.into()),
            Some(Scalar::F32) => {
                let bits = e.b().bitcast(half.value, Scalar::U32);
                halves.push(e.tensor(bits).into());
            }
            _ => return Err(a.wrong(name, "a number of 32 bits")),
        }
    }
    let packed = Vector::of(e, &halves)?.recast(e, Scalar::U64)?;
    packed.items().first().cloned().map(Value::from).ok_or_else(|| a.wrong("v0", "a number of 32 bits"))
}

const LD_VECTOR: &str = "ptr, vec_size: const, scope: const='', semantic: const=''";
const ST_VECTOR: &str = "ptr, vec, scope: const='', semantic: const=''";

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("ld_vector", LD_VECTOR, run_ld_vector),
    Builtin::kernel("st_vector", ST_VECTOR, run_st_vector),
    Builtin::kernel("language_extra.ld_vector", LD_VECTOR, run_ld_vector),
    Builtin::kernel("language_extra.st_vector", ST_VECTOR, run_st_vector),
    Builtin::kernel("language_extra.load_v4_u32", "ptr", run_load_words),
    Builtin::kernel("language_extra.load_v4_b32", "ptr", run_load_words),
    Builtin::kernel("language_extra.load_v4_s32", "ptr", run_load_words),
    Builtin::kernel("language_extra.load_v2_b64", "ptr", run_load_words),
    Builtin::kernel("language_extra.st_v4_u32", "ptr, v0, v1, v2, v3", run_store_words),
    Builtin::kernel("language_extra.st_v4_b32", "ptr, v0, v1, v2, v3", run_store_words),
    Builtin::kernel("language_extra.st_v2_u32", "ptr, v0, v1", run_store_words),
    Builtin::kernel("language_extra.pack", "src, dst_type: const", run_pack),
    Builtin::kernel("language_extra.unpack", "src, dst_type: const", run_unpack),
    Builtin::kernel("language_extra.pack_b32_v2", "v0, v1", run_pack_pair),
];
