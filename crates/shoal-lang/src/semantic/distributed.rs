//! Operations between ranks.

use std::sync::Arc;

use shoal_ir::comm::{CommOp, CommScope, SignalOp};
use shoal_ir::op::{BinaryOp, CmpOp, RmwOp, Sem};
use shoal_ir::types::{Elem, Ptr, Scalar};
use shoal_ir::{OpKind, Value as IrValue};

use super::atomic::Ordering;
use super::language_extra::order::barrier;
use super::operand::{Operand, number_type, to_tensor};
use super::words::any_of;
use super::{atomic, attribute, binary, block_ptr, cast, memory};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{BlockPtr, Descriptor, Tensor, Value};

/// The orders that a wait, which only reads, can have; the first is the default.
const WAIT_ORDERS: &[Sem] = &[Sem::Acquire, Sem::Relaxed];

/// One pointer, not a tile of them.
fn one_pointer<'a>(e: &Emit<'_>, a: &'a Args, name: &str) -> LowerResult<&'a Tensor> {
    let function = a.function_name();
    let Value::Tensor(pointer) = a.value(name) else { return Err(a.wrong(name, "a pointer")) };
    memory::pointer(e, function, pointer)?;
    if !pointer.is_scalar() {
        return Err(e
            .error(format!("`{function}` takes one pointer, not `{}`", pointer.type_name()))
            .help(format!("pass the base to `{function}`, and add the offsets to what it gives"))
            .into());
    }
    Ok(pointer)
}

/// The integer type of the words that a pointer points to, if they have one of these widths.
fn word(e: &Emit<'_>, function: &str, pointer: &Tensor, widths: &[u32]) -> LowerResult<Scalar> {
    let element = memory::pointer(e, function, pointer)?.element();
    match element {
        Elem::Scalar(ty) if ty.is_int() && widths.contains(&ty.bits()) => Ok(ty),
        Elem::Scalar(_) | Elem::Ptr(_) => {
            let names: Vec<String> = widths.iter().map(|bits| format!("`int{bits}`")).collect();
            let error =
                e.error(format!("`{function}` works on words of {}, not `{}`", any_of(&names), cast::name(element)));
            Err(error.help("allocate the flags with that type, or cast the pointer").into())
        }
    }
}

/// One integer.
fn integer(e: &mut Emit<'_>, a: &Args, name: &str, ty: Scalar) -> LowerResult<Tensor> {
    let value = Operand::new(e, a.value(name))?;
    let integral = match &value {
        Operand::Number(n) => n.as_int().is_some(),
        Operand::Tensor(t) => t.is_scalar() && number_type(t).is_some_and(Scalar::is_int),
    };
    if !integral {
        return Err(a.wrong(name, "an integer"));
    }
    block_ptr::integer(e, name, &value, ty)
}

fn run_count(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let axis = match a.int("axis")? {
        -1 => None,
        axis @ 0..8 => Some(axis as u8),
        _ => return Err(a.wrong("axis", "an axis of the world's mesh, or -1 for the whole world")),
    };
    let op = if a.function_name() == "rank" { CommOp::Rank { axis } } else { CommOp::NumRanks { axis } };
    let e = l.emit();
    let number = e.b().value(OpKind::Comm(op), &[]);
    Ok(e.tensor(number).into())
}

fn run_symm_at(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let each = |name: &str| a.value(name).as_tensor().is_some_and(lanes::is_per_lane);
    if each("ptr") || each("rank") {
        let pointer = a.tensor("ptr")?;
        memory::pointer(e, "symm_at", pointer)?;
        let rank = to_tensor(e, a.value("rank"))?;
        if !number_type(&rank).is_some_and(Scalar::is_int) {
            return Err(a.wrong("rank", "an integer"));
        }
        let rank = cast::to_number(e, &rank, Scalar::I32)?;
        return symm_at(e, pointer, &rank);
    }
    let pointer = one_pointer(e, a, "ptr")?;
    let rank = integer(e, a, "rank", Scalar::I32)?;
    symm_at(e, pointer, &rank)
}

/// The same place at another rank, or the places of lanes: of those that run this. A lane that names a rank there is not
/// gets a null pointer: kernels ask for all lanes, and then leave those out.
pub(crate) fn symm_at(e: &mut Emit<'_>, pointer: &Tensor, rank: &Tensor) -> LowerResult<Value> {
    let mut operands = vec![pointer.value, rank.value];
    if lanes::is_per_lane(pointer) || lanes::is_per_lane(rank) {
        operands = vec![lanes::of_each(e, pointer)?.value, lanes::of_each(e, rank)?.value];
        let outer = e.active;
        if lanes::is_per_lane(rank) {
            let known = are_ranks(e, operands[1]);
            operands.push(lanes::both(e, outer, known));
        } else {
            operands.extend(outer);
        }
    }
    let place = e.b().value(OpKind::Comm(CommOp::SymmAt), &operands);
    Ok(Tensor { access: pointer.access, ..e.tensor(place) }.into())
}

/// Which of the lanes' numbers are ranks.
fn are_ranks(e: &mut Emit<'_>, numbers: IrValue) -> IrValue {
    let count = e.b().value(OpKind::Comm(CommOp::NumRanks { axis: None }), &[]);
    let count = lanes::splat(e, count);
    let [numbers, count] = [numbers, count].map(|v| e.b().bitcast(v, Scalar::U32));
    e.b().cmp(CmpOp::Lt, numbers, count)
}

fn run_wait(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    if a.value("barrierPtrs").as_tensor().is_some_and(lanes::is_per_lane) {
        return wait_by_lanes(e, a);
    }
    let pointer = one_pointer(e, a, "barrierPtrs")?;
    let ty = word(e, "wait", pointer, &[32, 64])?;
    let count = integer(e, a, "numBarriers", Scalar::I32)?;
    let scope = attribute::scope(e, Some(a.str("scope")?))?;
    let sem = attribute::memory_order(e, Some(a.str("semantic")?), WAIT_ORDERS)?;
    let value = integer(e, a, "waitValue", ty)?;
    let token = e.b().value(OpKind::Comm(CommOp::Wait { sem, scope }), &[pointer.value, count.value, value.value]);
    Ok(Value::Token(token))
}

/// Each lane that runs this waits for words of its own; the program goes on when all have them.
fn wait_by_lanes(e: &mut Emit<'_>, a: &Args) -> LowerResult<Value> {
    let pointers = a.tensor("barrierPtrs")?;
    let ty = word(e, "wait", pointers, &[32, 64])?;
    let ordering = Ordering {
        sem: attribute::memory_order(e, Some(a.str("semantic")?), WAIT_ORDERS)?,
        scope: attribute::scope(e, Some(a.str("scope")?))?,
    };
    let count = of_lanes(e, a, "numBarriers", Scalar::I32)?;
    let expected = of_lanes(e, a, "waitValue", ty)?;
    let truth = lanes::lane_type(e, Scalar::I1);
    let index = lanes::lane_type(e, Scalar::I32);
    // A lane looks at one word until it has the value, then at the next.
    let first = e.b().int(0, index.clone());
    let active = lanes::active(e);
    let some = e.b().cmp(CmpOp::Lt, first, count.value);
    let waiting = e.b().binary(BinaryOp::And, active, some);
    let params = [truth.clone(), index.clone()];
    let (head, looked) = e.in_region(&params, |e, params| -> LowerResult<()> {
        let (waiting, at) = (params[0], e.tensor(params[1]));
        let word = binary::add(e, &pointers.clone().into(), &at.clone().into(), binary::Overflow::Wraps)?;
        let mask = Operand::Tensor(e.tensor(waiting));
        let found = atomic::load(e, &word, Some(&mask), ordering)?;
        let equal = e.b().cmp(CmpOp::Eq, found.value, expected.value);
        let step = e.b().cast(equal, Scalar::I32);
        let next = e.b().binary(BinaryOp::Add, at.value, step);
        let more = e.b().cmp(CmpOp::Lt, next, count.value);
        let waiting = e.b().binary(BinaryOp::And, waiting, more);
        let again = lanes::any(e, waiting);
        e.b().op(OpKind::Condition, [again, waiting, next], [], []);
        Ok(())
    });
    looked?;
    let (round, ()) = e.in_region(&params, |e, params| {
        e.b().yield_(params);
    });
    e.b().op(OpKind::While { disable_licm: false }, [waiting, first], params, [head, round]);
    // What one lane has seen, all have.
    barrier(e);
    Ok(Value::Token(token_after(e, ty, ordering)))
}

/// A number of each lane.
fn of_lanes(e: &mut Emit<'_>, a: &Args, name: &str, ty: Scalar) -> LowerResult<Tensor> {
    let value = to_tensor(e, a.value(name))?;
    if !number_type(&value).is_some_and(Scalar::is_int) {
        return Err(a.wrong(name, "an integer"));
    }
    let value = cast::to_number(e, &value, ty)?;
    lanes::of_each(e, &value)
}

/// A token of what the program has waited for before: of a wait for no words.
fn token_after(e: &mut Emit<'_>, ty: Scalar, Ordering { sem, scope }: Ordering) -> shoal_ir::Value {
    let (zero, value) = (e.b().int(0, Scalar::I64), e.b().int(0, ty));
    let nowhere = e.b().cast(zero, Elem::Ptr(Ptr::global(ty)));
    let none = e.b().int(0, Scalar::I32);
    e.b().value(OpKind::Comm(CommOp::Wait { sem, scope }), &[nowhere, none, value])
}

fn run_consume_token(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let &Value::Token(token) = a.value("token") else {
        return Err(a.wrong("token", "the result of `wait`"));
    };
    let e = l.emit();
    consume(e, a.value("value"), token)
        .unwrap_or_else(|| Err(a.wrong("value", "a pointer, a tile, a block pointer or a tensor descriptor")))
}

/// The same value, after the wait; `None` if it is nothing that lives on the device.
fn consume(e: &mut Emit<'_>, value: &Value, token: shoal_ir::Value) -> Option<LowerResult<Value>> {
    let mut after = |value| e.b().value(OpKind::Comm(CommOp::ConsumeToken), &[value, token]);
    Some(Ok(match value {
        Value::Tensor(t) => Value::Tensor(Tensor { value: after(t.value), ..t.clone() }),
        Value::Descriptor(d) => {
            Value::Descriptor(Arc::new(Descriptor { value: after(d.value), ..Descriptor::clone(d) }))
        }
        // Every access goes through the base.
        Value::BlockPtr(b) => {
            let base = Tensor { value: after(b.base.value), ..b.base.clone() };
            Value::BlockPtr(Arc::new(BlockPtr { base, ..BlockPtr::clone(b) }))
        }
        Value::Invalid => return Some(Err(LowerError::reported())),
        _ => return None,
    }))
}

fn run_notify(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let each = |name: &str| a.value(name).as_tensor().is_some_and(lanes::is_per_lane);
    if each("ptr") || each("rank") || each("signal") {
        return notify_by_lanes(e, a);
    }
    let pointer = one_pointer(e, a, "ptr")?;
    memory::writable(e, "notify", pointer)?;
    let ty = word(e, "notify", pointer, &[64])?;
    let rank = integer(e, a, "rank", Scalar::I32)?;
    let signal = integer(e, a, "signal", ty)?;
    let op = SignalOp::from_name(a.str("sig_op")?).ok_or_else(|| a.wrong("sig_op", "\"set\" or \"add\""))?;
    let scope = CommScope::from_name(a.str("comm_scope")?)
        .ok_or_else(|| a.wrong("comm_scope", "\"gpu\", \"intra_node\" or \"inter_node\""))?;
    let operands = [pointer.value, rank.value, signal.value];
    e.b().inferred(OpKind::Comm(CommOp::Notify { op, scope }), &operands, &[]);
    Ok(Value::NONE)
}

/// Each lane that runs this changes a word of its own, after all that the program did before.
fn notify_by_lanes(e: &mut Emit<'_>, a: &Args) -> LowerResult<Value> {
    let pointers = lanes::of_each(e, a.tensor("ptr")?)?;
    memory::writable(e, "notify", &pointers)?;
    let ty = word(e, "notify", &pointers, &[64])?;
    let rank = of_lanes(e, a, "rank", Scalar::I32)?;
    let signal = of_lanes(e, a, "signal", ty)?;
    let op = SignalOp::from_name(a.str("sig_op")?).ok_or_else(|| a.wrong("sig_op", "\"set\" or \"add\""))?;
    let scope = CommScope::from_name(a.str("comm_scope")?)
        .ok_or_else(|| a.wrong("comm_scope", "\"gpu\", \"intra_node\" or \"inter_node\""))?;
    barrier(e);
    let places = match scope {
        CommScope::Gpu => pointers,
        CommScope::IntraNode | CommScope::InterNode => match symm_at(e, &pointers, &rank)? {
            Value::Tensor(places) => places,
            _ => return Err(a.wrong("ptr", "pointers")),
        },
    };
    let ordering = Ordering { sem: Sem::Release, scope: scope.memory_scope() };
    match op {
        SignalOp::Set => atomic::store(e, &places, &signal.into(), None, ordering)?,
        SignalOp::Add => drop(atomic::rmw(e, RmwOp::Add, &places, &signal.into(), None, ordering)?),
    }
    Ok(Value::NONE)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("rank", "axis: const=-1", run_count),
    Builtin::kernel("num_ranks", "axis: const=-1", run_count),
    Builtin::kernel("symm_at", "ptr, rank", run_symm_at),
    Builtin::kernel("wait", "barrierPtrs, numBarriers, scope: const, semantic: const, waitValue=1", run_wait),
    Builtin::kernel("consume_token", "value, token", run_consume_token),
    Builtin::kernel("notify", "ptr, rank, signal=1, sig_op: const='set', comm_scope: const='inter_node'", run_notify),
];
