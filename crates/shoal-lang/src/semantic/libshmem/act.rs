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

/// One value, not a tile of them.
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

/// Writes an operation that lanes or the program do.
pub(super) fn act(e: &mut Emit<'_>, op: ShmemOp, operands: &[Tensor]) -> LowerResult<Value> {
    let per_lane = operands.iter().any(lanes::is_per_lane);
    let by_some = e.active.is_some() && op.participants() != Participants::Program;
    if op.mask_at().is_none() || !(per_lane || by_some) {
        return once(e, op, operands);
    }
    let mut values = Vec::with_capacity(operands.len() + 1);
    for t in operands {
        values.push(lanes::of_each(e, t)?.value);
    }
    values.extend(e.active);
    e.b().inferred(OpKind::Comm(CommOp::Shmem(op)), &values, &[]);
    Ok(Value::NONE)
}

/// Writes an operation that the program does once.
pub(super) fn once(e: &mut Emit<'_>, op: ShmemOp, operands: &[Tensor]) -> LowerResult<Value> {
    if let Some(t) = operands.iter().find(|t| lanes::is_per_lane(t)) {
        return Err(e
            .error("this is done by the whole program, but an argument differs between its threads")
            .label(format!("one is `{}`", t.type_name()))
            .into());
    }
    let values: Vec<IrValue> = operands.iter().map(|t| t.value).collect();
    e.b().inferred(OpKind::Comm(CommOp::Shmem(op)), &values, &[]);
    Ok(Value::NONE)
}

/// Writes a question.
pub(super) fn ask(e: &mut Emit<'_>, op: ShmemOp, operands: &[Tensor]) -> LowerResult<Tensor> {
    let values: Vec<IrValue> = operands.iter().map(|t| t.value).collect();
    let answer = e.b().value(OpKind::Comm(CommOp::Shmem(op)), &values);
    Ok(e.tensor(answer))
}

/// Writes a meeting.
pub(super) fn meet(e: &mut Emit<'_>, a: &Args, meeting: Meeting, team: &Tensor) -> LowerResult<Value> {
    once(e, ShmemOp::Meet { meeting, by: participants(a) }, std::slice::from_ref(team))
}
