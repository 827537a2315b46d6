//! Accesses to all ranks at once.
//!
//! A multicast address is the address of the same place in this rank's own heap: it names that place in everybody's. Where
//! no switch multiplies accesses, they are loops over the ranks, from rank 0 on, so that sums have the same bits on all
//! ranks. Every rank must be reached by load and store.

use shoal_ir::comm::CommOp;
use shoal_ir::op::{BinaryOp, ForAttrs, Scope, Sem};
use shoal_ir::types::{Elem, Ptr, Scalar};
use shoal_ir::{OpKind, Value as IrValue};

use super::access::{read, write};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::LowerResult;
use crate::semantic::atomic::Ordering;
use crate::semantic::distributed::symm_at;
use crate::semantic::operand::{Number, Operand, elem, to_tensor};
use crate::semantic::{binary, cast, memory};
use crate::syntax::ast::BinOp;
use crate::value::{Tensor, Value};

/// Bytes of a vector of four words.
const VECTOR: u32 = 16;

/// Words appear whole at the other ranks.
const EVERYWHERE: Ordering = Ordering { sem: Sem::Relaxed, scope: Scope::Sys };

/// Does something for every rank, one after another, with values that go from one to the next.
fn for_each_rank(
    e: &mut Emit<'_>,
    carried: &[IrValue],
    body: impl FnOnce(&mut Emit<'_>, &Tensor, &[IrValue]) -> LowerResult<Vec<IrValue>>,
) -> LowerResult<Vec<IrValue>> {
    let ranks = e.b().value(OpKind::Comm(CommOp::NumRanks { axis: None }), &[]);
    let (zero, one) = (e.b().int(0, Scalar::I32), e.b().int(1, Scalar::I32));
    let types: Vec<_> = carried.iter().map(|&v| e.func.ty(v).clone()).collect();
    let params: Vec<_> = [e.func.ty(zero).clone()].into_iter().chain(types.iter().cloned()).collect();
    let (region, done) = e.in_region(&params, |e, params| -> LowerResult<()> {
        let rank = e.tensor(params[0]);
        let next = body(e, &rank, &params[1..])?;
        e.b().yield_(&next);
        Ok(())
    });
    done?;
    let operands = [zero, ranks, one].into_iter().chain(carried.iter().copied());
    let op = e.b().op(OpKind::For(ForAttrs::default()), operands, types, [region]);
    Ok(e.func.op(op).results().to_vec())
}

/// A place at a rank: of one pointer, of each lane's, or of a tile of them.
fn at_rank(e: &mut Emit<'_>, p: &Tensor, rank: &Tensor) -> LowerResult<Tensor> {
    let rank = match p.is_scalar() || lanes::is_per_lane(p) {
        true => rank.clone(),
        false => {
            let shape = p.ty.shape().to_vec();
            let everywhere = e.b().splat(rank.value, &shape);
            e.tensor(everywhere)
        }
    };
    let Value::Tensor(place) = symm_at(e, p, &rank)? else { unreachable!("a place is a pointer") };
    Ok(place)
}

/// The same place as words of another type.
fn as_words(e: &mut Emit<'_>, function: &str, p: &Tensor, word: Scalar) -> LowerResult<Tensor> {
    let pointer = memory::pointer(e, function, p)?;
    let ty = Elem::Ptr(Ptr { pointee: word, depth: 1, ..pointer });
    Ok(Tensor { access: p.access, ..cast::by_value(e, p, ty, None)? })
}

fn further(e: &mut Emit<'_>, p: &Tensor, elements: usize) -> LowerResult<Tensor> {
    let by = Operand::Number(Number::Int(elements as i128));
    binary::add(e, &p.clone().into(), &by, binary::Overflow::Wraps)
}

/// Stores words one after another, at every rank.
fn store_everywhere(e: &mut Emit<'_>, function: &str, p: &Tensor, words: &[Tensor], word: Scalar) -> LowerResult<()> {
    memory::writable(e, function, p)?;
    let p = as_words(e, function, p, word)?;
    for_each_rank(e, &[], |e, rank, _| {
        let place = at_rank(e, &p, rank)?;
        for (i, value) in words.iter().enumerate() {
            let at = further(e, &place, i)?;
            write(e, &at, &value.clone().into(), Some(EVERYWHERE))?;
        }
        Ok(Vec::new())
    })?;
    Ok(())
}

/// A value as the bits of a word.
fn bits(e: &mut Emit<'_>, a: &Args, name: &str, word: Scalar) -> LowerResult<Tensor> {
    let value = to_tensor(e, a.value(name))?;
    match elem(&value) {
        Elem::Scalar(s) if s.bits() == word.bits() => cast::by_bits(e, &value, word.into()),
        // A number that the kernel writes down has no width of its own.
        Elem::Scalar(s) if s.is_int() && a.value(name).as_tensor().is_none() => cast::to_number(e, &value, word),
        _ => Err(a.wrong(name, &format!("a value of {} bits", word.bits()))),
    }
}

fn run_st(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let function = a.function_name();
    let (names, word): (&[&str], Scalar) = match function {
        "multimem_st_b64" => (&["val0"], Scalar::U64),
        "multimem_st_v2" => (&["val0", "val1"], Scalar::U32),
        "multimem_st_v4" => (&["val0", "val1", "val2", "val3"], Scalar::U32),
        _ => (&["val0"], Scalar::U32),
    };
    let words = names.iter().map(|name| bits(e, a, name, word)).collect::<LowerResult<Vec<_>>>()?;
    if words.len() > 1 {
        let pairs = words.chunks(2).map(|pair| together(e, pair)).collect::<LowerResult<Vec<_>>>()?;
        store_everywhere(e, function, a.tensor("ptr")?, &pairs, Scalar::U64)?;
    } else {
        store_everywhere(e, function, a.tensor("ptr")?, &words, word)?;
    }
    Ok(Value::NONE)
}

/// Two words as one, so that data and a flag beside it are seen together, as they are on GPUs.
fn together(e: &mut Emit<'_>, pair: &[Tensor]) -> LowerResult<Tensor> {
    let low = cast::to_number(e, &pair[0], Scalar::U64)?;
    let high = cast::to_number(e, &pair[1], Scalar::U64)?;
    let by = Operand::Number(Number::Int(32));
    let high = binary::operator(e, BinOp::Shl, &high.into(), &by)?;
    binary::operator(e, BinOp::Or, &low.into(), &high.into())
}

/// Runs something on the lanes for which the argument `mask` holds.
fn under_mask<T>(e: &mut Emit<'_>, a: &Args, work: impl FnOnce(&mut Emit<'_>) -> LowerResult<T>) -> LowerResult<T> {
    let mask = to_tensor(e, a.value("mask"))?;
    let mask = cast::truth(e, &mask)?;
    let mask = lanes::of_each(e, &mask)?.value;
    let outer = e.active;
    e.active = Some(lanes::both(e, outer, mask));
    let done = work(e);
    e.active = outer;
    done
}

fn run_masked_st(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let p = lanes::of_each(e, a.tensor("ptr")?)?;
    let value = bits(e, a, "val", Scalar::U32)?;
    under_mask(e, a, |e| store_everywhere(e, a.function_name(), &p, &[value], Scalar::U32))?;
    Ok(Value::NONE)
}

/// The sums over all ranks of the elements in 128 bits, as four words: numbers for `float32`, else pairs of elements.
fn load_reduce(e: &mut Emit<'_>, a: &Args, p: &Tensor) -> LowerResult<Value> {
    let function = a.function_name();
    let element = memory::pointer(e, function, p)?.element();
    let Some(ty @ (Scalar::F32 | Scalar::F16 | Scalar::BF16)) = element.scalar() else {
        return Err(e
            .error(format!(
                "`{function}` adds elements of `float32`, `float16` or `bfloat16`, not `{}`",
                cast::name(element)
            ))
            .into());
    };
    let count = (VECTOR / element.bytes()) as usize;
    let zero = e.b().float(0.0, p.ty.with_elem(Scalar::F32));
    let sums = for_each_rank(e, &vec![zero; count], |e, rank, so_far| {
        let place = at_rank(e, p, rank)?;
        let mut next = Vec::with_capacity(count);
        for (i, &sum) in so_far.iter().enumerate() {
            let at = further(e, &place, i)?;
            let value = read(e, &at, None)?;
            let value = cast::to_number(e, &value, Scalar::F32)?;
            next.push(e.b().binary(BinaryOp::Add, sum, value.value));
        }
        Ok(next)
    })?;
    if ty == Scalar::F32 {
        return Ok(Value::tuple(sums.into_iter().map(|sum| e.tensor(sum).into()).collect::<Vec<Value>>()));
    }
    let mut words = Vec::new();
    for pair in sums.chunks(2) {
        let mut halves = Vec::new();
        for &sum in pair {
            let sum = e.tensor(sum);
            let rounded = cast::to_number(e, &sum, ty)?;
            let half = cast::by_bits(e, &rounded, Scalar::U16.into())?;
            halves.push(cast::to_number(e, &half, Scalar::U32)?);
        }
        let by = e.b().int(16, halves[1].ty.clone());
        let upper = e.b().binary(BinaryOp::Shl, halves[1].value, by);
        let word = e.b().binary(BinaryOp::Or, upper, halves[0].value);
        words.push(e.tensor(word).into());
    }
    Ok(Value::tuple(words))
}

fn run_ld_reduce(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    if let Value::Dtype(ty) = a.value("acc_dtype")
        && ty.number() != Some(Scalar::F32)
    {
        return Err(a.wrong("acc_dtype", "`float32`, which sums are computed in"));
    }
    load_reduce(l.emit(), a, a.tensor("ptr")?)
}

fn run_masked_ld_reduce(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let p = lanes::of_each(e, a.tensor("ptr")?)?;
    under_mask(e, a, |e| load_reduce(e, a, &p))
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("language_extra.multimem_st_b32", "ptr, val0", run_st),
    Builtin::kernel("language_extra.multimem_st_b64", "ptr, val0", run_st),
    Builtin::kernel("language_extra.multimem_st_v2", "ptr, val0, val1", run_st),
    Builtin::kernel("language_extra.multimem_st_v4", "ptr, val0, val1, val2, val3", run_st),
    Builtin::kernel("language_extra.multimem_st_p_b32", "ptr, val, mask", run_masked_st),
    Builtin::kernel("language_extra.multimem_ld_reduce_v4", "ptr, acc_dtype: const=None", run_ld_reduce),
    Builtin::kernel("language_extra.multimem_ld_reduce_p_v4", "ptr, mask", run_masked_ld_reduce),
];
