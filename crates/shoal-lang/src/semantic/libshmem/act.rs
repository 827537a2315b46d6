//! Reading operands and writing operations.

use shoal_ir::comm::CommOp;
use shoal_ir::shmem::{Completion, Meeting, Participants, ShmemOp};
use shoal_ir::types::{Elem, Ptr, Scalar};
use shoal_ir::{OpKind, Value as IrValue};

use super::super::operand::{Operand, number_type};
use super::super::{cast, memory, operand};
use crate::builtin::Args;
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::LowerResult;
use crate::value::{Tensor, Value};

/// Who acts, as the function's name says.
pub(super) fn participants(a: &Args) -> Participants {
    match a.function_name().rsplit('_').next() {
        Some("block" | "wg" | "vec") => Participants::Program,
        Some("warp" | "wave") => Participants::Warp,
        Some(_) | None => Participants::Lane,
    }
}

/// When the function returns, as its name says.
pub(super) fn completion(a: &Args) -> Completion {
    if a.function_name().split('_').any(|part| part == "nbi") { Completion::Issued } else { Completion::Local }
}

/// One pointer.
pub(super) fn pointer(e: &Emit<'_>, a: &Args, name: &str) -> LowerResult<Tensor> {
    let function = a.function_name();
    let Value::Tensor(pointer) = a.value(name) else { return Err(a.wrong(name, "a pointer")) };
    memory::pointer(e, function, pointer)?;
    one(e, a, pointer.clone())
}

/// One pointer to what is written.
pub(super) fn target(e: &Emit<'_>, a: &Args, name: &str) -> LowerResult<Tensor> {
    let pointer = pointer(e, a, name)?;
    memory::writable(e, a.function_name(), &pointer)?;
    Ok(pointer)
}

/// One pointer to a word of 64 bits, as unsigned.
pub(super) fn signal_word(e: &mut Emit<'_>, a: &Args, name: &str) -> LowerResult<Tensor> {
    let pointer = pointer(e, a, name)?;
    let element = memory::pointer(e, a.function_name(), &pointer)?.element();
    if !matches!(element, Elem::Scalar(ty) if ty.is_int() && ty.bits() == 64) {
        let (function, found) = (a.function_name(), cast::name(element));
        return Err(e
            .error(format!("`{function}` works on signals of `u64`, not `{found}`"))
            .help("allocate the signals as `uint64` or `int64`")
            .into());
    }
    let word = e.b().cast(pointer.value, Ptr::global(Scalar::U64));
    Ok(Tensor { access: pointer.access, ..e.tensor(word) })
}

/// One integer.
pub(super) fn integer(e: &mut Emit<'_>, a: &Args, name: &str, ty: Scalar) -> LowerResult<Tensor> {
    let value = Operand::new(e, a.value(name))?;
    match &value {
        Operand::Number(n) => {
            let fits = n.as_int().filter(|i| crate::dtype::int_range(ty).is_some_and(|(a, b)| (a..=b).contains(i)));
            match fits {
                Some(_) => Ok(operand::constant(e, *n, ty)),
                None => Err(a.wrong(name, &format!("an integer of type `{}`", cast::name(ty.into())))),
            }
        }
        Operand::Tensor(t) if number_type(t).is_some_and(Scalar::is_int) => {
            let t = one(e, a, t.clone())?;
            cast::to_number(e, &t, ty)
        }
        Operand::Tensor(_) => Err(a.wrong(name, "an integer")),
    }
}

/// One signal. Negative numbers are taken as bits: adding -1 takes 1 away.
pub(super) fn signal(e: &mut Emit<'_>, a: &Args, name: &str) -> LowerResult<Tensor> {
    let negative = a.value(name).as_const().and_then(crate::value::Const::as_int).is_some_and(|i| i < 0);
    if !negative {
        return integer(e, a, name, Scalar::U64);
    }
    let signed = integer(e, a, name, Scalar::I64)?;
    let bits = e.b().bitcast(signed.value, Scalar::U64);
    Ok(e.tensor(bits))
}

/// One value, or one of each lane; not a tile of them.
fn one(e: &Emit<'_>, a: &Args, value: Tensor) -> LowerResult<Tensor> {
    if value.is_scalar() || lanes::is_per_lane(&value) {
        return Ok(value);
    }
    let (function, found) = (a.function_name(), value.type_name());
    Err(e
        .error(format!("`{function}` takes one of each argument, not `{found}`"))
        .help("call it for each element in a loop, or once for all of them")
        .into())
}

/// Writes an operation that lanes or the program do: each lane for itself where not all of them run this, or where their
/// operands differ.
pub(super) fn act(e: &mut Emit<'_>, op: ShmemOp, operands: &[Tensor]) -> LowerResult<Value> {
    let mut values: Vec<IrValue> = operands.iter().map(|t| t.value).collect();
    if e.active.is_some() || operands.iter().any(lanes::is_per_lane) {
        for (value, operand) in values.iter_mut().zip(operands) {
            *value = lanes::of_each(e, operand)?.value;
        }
        values.extend(e.active);
    }
    e.b().inferred(OpKind::Comm(CommOp::Shmem(op)), &values, &[]);
    Ok(Value::NONE)
}

/// Writes an operation that the program does once, if any lane runs this.
pub(super) fn once(e: &mut Emit<'_>, a: &Args, op: ShmemOp, operands: &[Tensor]) -> LowerResult<Value> {
    let values = uniform(e, a, operands)?;
    let Some(active) = e.active else {
        e.b().inferred(OpKind::Comm(CommOp::Shmem(op)), &values, &[]);
        return Ok(Value::NONE);
    };
    let any = lanes::any(e, active);
    let (then, ()) = e.in_region(&[], |e, _| {
        e.b().inferred(OpKind::Comm(CommOp::Shmem(op)), &values, &[]);
        e.b().yield_(&[]);
    });
    let (otherwise, ()) = e.in_region(&[], |e, _| {
        e.b().yield_(&[]);
    });
    e.b().op(OpKind::If, [any], [], [then, otherwise]);
    Ok(Value::NONE)
}

/// Writes a question.
pub(super) fn ask(e: &mut Emit<'_>, a: &Args, op: ShmemOp, operands: &[Tensor]) -> LowerResult<Tensor> {
    let values = uniform(e, a, operands)?;
    let answer = e.b().value(OpKind::Comm(CommOp::Shmem(op)), &values);
    Ok(e.tensor(answer))
}

/// Operands that are the same for all lanes.
fn uniform(e: &Emit<'_>, a: &Args, operands: &[Tensor]) -> LowerResult<Vec<IrValue>> {
    if operands.iter().any(lanes::is_per_lane) {
        return Err(e
            .error(format!("the arguments of `{}` must be the same for all threads", a.function_name()))
            .help("compute them without the number of the thread")
            .into());
    }
    Ok(operands.iter().map(|t| t.value).collect())
}

/// Writes a meeting.
pub(super) fn meet(e: &mut Emit<'_>, a: &Args, meeting: Meeting, team: &Tensor) -> LowerResult<Value> {
    once(e, a, ShmemOp::Meet { meeting, by: participants(a) }, std::slice::from_ref(team))
}
