//! Atomic operations on memory.

use shoal_ir::OpKind;
use shoal_ir::op::{BinaryOp, RmwOp, Scope, Sem};
use shoal_ir::types::{Elem, Ptr, Scalar, Type};

use super::operand::{Operand, elem, number_type};
use super::words::any_of;
use super::{attribute, broadcast, cast, memory, unary};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::dtype::scalar_name;
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Tensor, Value};

/// The order and the scope of an atomic operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ordering {
    /// Memory order.
    pub(crate) sem: Sem,
    /// Who takes part.
    pub(crate) scope: Scope,
}

const ANY_ORDER: &[Sem] = &[Sem::AcqRel, Sem::Acquire, Sem::Release, Sem::Relaxed];
const READ_ORDERS: &[Sem] = &[Sem::Acquire, Sem::Relaxed];
const WRITE_ORDERS: &[Sem] = &[Sem::Release, Sem::Relaxed];

fn refuse(e: &Emit<'_>, function: &str, ty: &str, help: &str) -> LowerError {
    e.error(format!("`{function}` does not work on `{ty}`")).help(help).into()
}

/// The number type an atomic operation works on, if it does.
fn rmw_type(e: &Emit<'_>, function: &str, op: RmwOp, p: &Tensor) -> LowerResult<Scalar> {
    let Elem::Scalar(ty) = memory::pointer(e, function, p)?.element() else {
        return Err(refuse(e, function, &cast::name(elem(p)), "atomics work on numbers: cast the pointer to `*int64`"));
    };
    let name = scalar_name(ty);
    let half = matches!(ty, Scalar::F16 | Scalar::BF16);
    if ty.bits() < 16 || (ty.is_int() && ty.bits() == 16) {
        return Err(refuse(e, function, name, "integers need 32 or 64 bits"));
    }
    if half && op != RmwOp::Add {
        return Err(refuse(e, function, name, "for 16-bit floats there is only `atomic_add`"));
    }
    if ty.is_float() && matches!(op, RmwOp::And | RmwOp::Or | RmwOp::Xor) {
        return Err(refuse(e, function, name, "cast the pointer to an integer pointer of the same width"));
    }
    Ok(ty)
}

/// Pointer, value and mask at one shape, with the value at the type of memory.
fn prepare(
    e: &mut Emit<'_>,
    function: &str,
    p: &Tensor,
    value: &Operand,
    mask: Option<&Operand>,
) -> LowerResult<(Tensor, Tensor, Option<Tensor>)> {
    memory::writable(e, function, p)?;
    let mask = mask.map(|m| memory::mask_of(e, m)).transpose()?;
    let (p, mask) = &lanes::at_access(e, p, value.tensor(), mask.as_ref())?;
    if let Operand::Tensor(t) = value {
        memory::scalar_beside_scalar(e, "value", p, t)?;
    }
    if let Some(mask) = mask {
        memory::scalar_beside_scalar(e, "mask", p, mask)?;
    }
    let element = memory::pointer(e, function, p)?.element();
    let value = memory::at_element(e, value, element)?;
    let values = memory::at_pointer_shape(e, p, &value, mask.as_ref())?;
    let value = e.tensor(values[1]);
    let mask = values.get(2).map(|&m| e.tensor(m));
    Ok((p.clone(), value, mask))
}

/// Reads, combines and writes as one; gives the old value.
pub(crate) fn rmw(
    e: &mut Emit<'_>,
    op: RmwOp,
    p: &Tensor,
    value: &Operand,
    mask: Option<&Operand>,
    ordering: Ordering,
) -> LowerResult<Tensor> {
    let function = format!("atomic_{op}");
    let ty = rmw_type(e, &function, op, p)?;
    let (p, value, mask) = prepare(e, &function, p, value, mask)?;
    if ty.is_float() && matches!(op, RmwOp::Min | RmwOp::Max) {
        return float_extreme(e, op, &p, &value, mask.as_ref(), ordering);
    }
    Ok(emit_rmw(e, op, &p, &value, mask.as_ref(), ordering))
}

/// The operation itself, on what `prepare` gives.
pub(crate) fn emit_rmw(
    e: &mut Emit<'_>,
    op: RmwOp,
    p: &Tensor,
    value: &Tensor,
    mask: Option<&Tensor>,
    Ordering { sem, scope }: Ordering,
) -> Tensor {
    let operands: Vec<_> = [Some(p), Some(value), mask].into_iter().flatten().map(|t| t.value).collect();
    let old = e.b().value(OpKind::AtomicRmw { op, sem, scope }, &operands);
    e.tensor(old)
}

/// The extreme of floats by their bits: those of positive floats are ordered as signed integers, those of negative ones
/// against the order of unsigned integers. So `-0.0` is less than `0.0`, and the result is the same on every target.
fn float_extreme(
    e: &mut Emit<'_>,
    op: RmwOp,
    p: &Tensor,
    value: &Tensor,
    mask: Option<&Tensor>,
    ordering: Ordering,
) -> LowerResult<Tensor> {
    let ty = number_type(value).expect("a number");
    let signed = Scalar::int(ty.bits(), true).expect("32 or 64 bits");
    let unsigned = Scalar::int(ty.bits(), false).expect("32 or 64 bits");
    let opposite = if op == RmwOp::Max { RmwOp::Min } else { RmwOp::Max };
    let as_signed = cast::by_bits(e, value, signed.into())?;
    let as_unsigned = cast::by_bits(e, value, unsigned.into())?;
    let zero = e.b().int(0, as_signed.ty.clone());
    let negative = e.b().cmp(shoal_ir::op::CmpOp::Lt, as_signed.value, zero);
    let negative = e.tensor(negative);
    let positive = unary::invert(e, &negative)?;
    let masked = |e: &mut Emit<'_>, part: &Tensor| match mask {
        Some(mask) => {
            let both = e.b().binary(BinaryOp::And, mask.value, part.value);
            e.tensor(both)
        }
        None => part.clone(),
    };
    let pointer = elem(p).ptr().expect("a pointer");
    let through = |pointee| Elem::Ptr(Ptr { pointee, ..pointer });
    let upper = masked(e, &positive);
    let q = cast::by_value(e, p, through(signed), None)?;
    let old_upper = emit_rmw(e, op, &q, &as_signed, Some(&upper), ordering);
    let lower = masked(e, &negative);
    let q = cast::by_value(e, p, through(unsigned), None)?;
    let old_lower = emit_rmw(e, opposite, &q, &as_unsigned, Some(&lower), ordering);
    let old_lower = cast::by_bits(e, &old_lower, signed.into())?;
    let old = e.b().select(positive.value, old_upper.value, old_lower.value);
    let old = e.tensor(old);
    cast::by_bits(e, &old, ty.into())
}

/// Writes `value` where memory equals `expected`; gives the old value.
pub(crate) fn cas(
    e: &mut Emit<'_>,
    p: &Tensor,
    expected: &Operand,
    value: &Operand,
    Ordering { sem, scope }: Ordering,
) -> LowerResult<Tensor> {
    let element = memory::pointer(e, "atomic_cas", p)?.element();
    if element.bits() < 16 {
        return Err(refuse(e, "atomic_cas", &cast::name(element), "elements need 16, 32 or 64 bits"));
    }
    let (p, mask) = &lanes::at_access(e, p, expected.tensor(), None)?;
    let (p, mask) = &lanes::at_access(e, p, value.tensor(), mask.as_ref())?;
    let (_, expected, _) = prepare(e, "atomic_cas", p, expected, None)?;
    let (p, value, _) = prepare(e, "atomic_cas", p, value, None)?;
    let operands = [Some(&p), Some(&expected), Some(&value), mask.as_ref()];
    let operands: Vec<_> = operands.into_iter().flatten().map(|t| t.value).collect();
    let old = e.b().value(OpKind::AtomicCas { sem, scope }, &operands);
    Ok(e.tensor(old))
}

/// An atomic load.
pub(crate) fn load(
    e: &mut Emit<'_>,
    p: &Tensor,
    mask: Option<&Operand>,
    Ordering { sem, scope }: Ordering,
) -> LowerResult<Tensor> {
    let element = number_element(e, "atomic_load", p)?;
    let (p, _) = memory::as_stored(e, p)?;
    let mask = mask.map(|m| memory::mask_of(e, m)).transpose()?;
    let (p, mask) = lanes::at_access(e, &p, None, mask.as_ref())?;
    let mut parts = vec![p];
    if let Some(mask) = mask {
        memory::scalar_beside_scalar(e, "mask", &parts[0], &mask)?;
        parts.push(mask);
    }
    let operands: Vec<_> = broadcast::all(e, &parts)?.iter().map(|t| t.value).collect();
    let value = e.b().value(OpKind::AtomicLoad { sem, scope }, &operands);
    let loaded = e.tensor(value);
    cast::to_number(e, &loaded, element)
}

/// An atomic store.
pub(crate) fn store(
    e: &mut Emit<'_>,
    p: &Tensor,
    value: &Operand,
    mask: Option<&Operand>,
    Ordering { sem, scope }: Ordering,
) -> LowerResult<()> {
    let element = number_element(e, "atomic_store", p)?;
    // As for a plain store: to the type of the language first, then to what memory holds.
    let value = memory::at_element(e, value, element.into())?;
    let (stored, _) = memory::as_stored(e, p)?;
    let stored = Tensor { access: p.access, ..stored };
    let (p, value, mask) = prepare(e, "atomic_store", &stored, &value.into(), mask)?;
    let operands: Vec<_> = [Some(&p), Some(&value), mask.as_ref()].into_iter().flatten().map(|t| t.value).collect();
    e.b().inferred(OpKind::AtomicStore { sem, scope }, &operands, &[]);
    Ok(())
}

fn number_element(e: &Emit<'_>, function: &str, p: &Tensor) -> LowerResult<Scalar> {
    match memory::pointer(e, function, p)?.element() {
        Elem::Scalar(s) => Ok(s),
        Elem::Ptr(_) => {
            Err(refuse(e, function, &cast::name(elem(p)), "atomics work on numbers: cast the pointer to `*int64`"))
        }
    }
}

/// Waits until memory equals `expected`; false if the time ran out first.
pub(crate) fn poll(
    e: &mut Emit<'_>,
    p: &Tensor,
    expected: &Operand,
    timeout: Option<&Operand>,
    Ordering { sem, scope }: Ordering,
) -> LowerResult<Poll> {
    let element = memory::pointer(e, "atomic_poll", p)?.element();
    if !element.scalar().is_some_and(|s| s.is_int() && s.bits() >= 16) {
        return Err(refuse(e, "atomic_poll", &cast::name(element), "it waits for integers of 16, 32 or 64 bits"));
    }
    if let Operand::Tensor(t) = expected {
        memory::scalar_beside_scalar(e, "expected value", p, t)?;
    }
    let expected = memory::at_element(e, expected, element)?;
    let timeout = timeout.map(|timeout| timeout_of(e, timeout)).transpose()?;
    if !p.is_scalar() {
        let expected = memory::at_pointer_shape(e, p, &expected, None)?[1];
        return Ok(Poll::Tile { expected: e.tensor(expected), timeout });
    }
    let operands: Vec<_> =
        [Some(p), Some(&expected), timeout.as_ref()].into_iter().flatten().map(|t| t.value).collect();
    let value = e.b().value_as(OpKind::AtomicPoll { sem, scope }, &operands, Type::scalar(Scalar::I1));
    Ok(Poll::Done(e.tensor(value)))
}

/// What became of a poll.
#[derive(Debug)]
pub(crate) enum Poll {
    /// Whether memory holds the value.
    Done(Tensor),
    /// There is an address for each element, and a value: the library waits for one after the other.
    Tile { expected: Tensor, timeout: Option<Tensor> },
}

fn timeout_of(e: &mut Emit<'_>, timeout: &Operand) -> LowerResult<Tensor> {
    if let Operand::Number(n) = timeout
        && n.as_int().is_some_and(|i| i < 0)
    {
        return Err(e.lower_error("`timeout_ns` of `atomic_poll` must not be negative"));
    }
    super::block_ptr::integer(e, "time in nanoseconds", timeout, Scalar::I64)
}

fn ordering(e: &Emit<'_>, a: &Args, allowed: &[Sem]) -> LowerResult<Ordering> {
    let word = a.optional_str("sem")?;
    if let Some(sem) = word.and_then(Sem::from_name)
        && !allowed.contains(&sem)
    {
        let names: Vec<String> = allowed.iter().map(|s| format!("\"{s}\"")).collect();
        return Err(e
            .error(format!("`{}` does not have the memory order \"{sem}\"", a.function_name()))
            .help(format!("use {}", any_of(&names)))
            .into());
    }
    Ok(Ordering {
        sem: attribute::memory_order(e, word, allowed)?,
        scope: attribute::scope(e, a.optional_str("scope")?)?,
    })
}

fn optional(e: &Emit<'_>, a: &Args, name: &str) -> LowerResult<Option<Operand>> {
    a.optional(name).map(|v| Operand::new(e, v)).transpose()
}

fn run_rmw(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let name = a.function_name().trim_start_matches("atomic_");
    let op = RmwOp::from_name(name).expect("the table names read-modify-write operations");
    let value = Operand::new(e, a.value("val"))?;
    let mask = optional(e, a, "mask")?;
    let ordering = ordering(e, a, ANY_ORDER)?;
    rmw(e, op, a.tensor("pointer")?, &value, mask.as_ref(), ordering).map(Value::from)
}

fn run_cas(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let expected = Operand::new(e, a.value("cmp"))?;
    let value = Operand::new(e, a.value("val"))?;
    let ordering = ordering(e, a, ANY_ORDER)?;
    let old = cas(e, a.tensor("pointer")?, &expected, &value, ordering)?;
    signed_as(e, &old, &value).map(Value::from)
}

/// The old integer with the sign of the value that was to be written, as Triton gives it: a literal written to memory of
/// `uint32` gives an `int32`.
fn signed_as(e: &mut Emit<'_>, old: &Tensor, value: &Operand) -> LowerResult<Tensor> {
    let written = match value {
        Operand::Tensor(t) => number_type(t),
        Operand::Number(number) => number.literal_type(),
    };
    match (number_type(old), written) {
        (Some(from), Some(to)) if from != to && from.is_int() && to.is_int() && from.bits() == to.bits() => {
            cast::by_bits(e, old, to.into())
        }
        _ => Ok(old.clone()),
    }
}

fn run_load(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let mask = optional(e, a, "mask")?;
    let ordering = ordering(e, a, READ_ORDERS)?;
    load(e, a.tensor("pointer")?, mask.as_ref(), ordering).map(Value::from)
}

fn run_store(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let value = Operand::new(e, a.value("val"))?;
    let mask = optional(e, a, "mask")?;
    let ordering = ordering(e, a, WRITE_ORDERS)?;
    store(e, a.tensor("pointer")?, &value, mask.as_ref(), ordering)?;
    Ok(Value::NONE)
}

fn run_poll(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let expected = Operand::new(e, a.value("expected_value"))?;
    let timeout = optional(e, a, "timeout_ns")?;
    let ordering = ordering(e, a, READ_ORDERS)?;
    let p = a.tensor("pointer")?;
    match poll(e, p, &expected, timeout.as_ref(), ordering)? {
        Poll::Done(found) => Ok(found.into()),
        Poll::Tile { expected, timeout } => {
            let word = |name: &str| a.optional(name).cloned().unwrap_or(Value::NONE);
            let timeout = timeout.map_or(Value::NONE, Value::from);
            let given = vec![p.clone().into(), expected.into(), word("sem"), word("scope"), timeout];
            l.builtin_call("_poll_each", given)
        }
    }
}

const RMW: &str = "pointer, val, mask=None, sem: const=None, scope: const=None";

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("atomic_add", RMW, run_rmw),
    Builtin::kernel("atomic_max", RMW, run_rmw),
    Builtin::kernel("atomic_min", RMW, run_rmw),
    Builtin::kernel("atomic_and", RMW, run_rmw),
    Builtin::kernel("atomic_or", RMW, run_rmw),
    Builtin::kernel("atomic_xor", RMW, run_rmw),
    Builtin::kernel("atomic_xchg", RMW, run_rmw),
    Builtin::kernel("atomic_cas", "pointer, cmp, val, sem: const=None, scope: const=None", run_cas),
    Builtin::kernel("atomic_load", "pointer, mask=None, sem: const=None, scope: const=None", run_load),
    Builtin::kernel("atomic_store", "pointer, val, mask=None, sem: const=None, scope: const=None", run_store),
    Builtin::kernel(
        "atomic_poll",
        "pointer, expected_value, sem: const=None, scope: const=None, timeout_ns=None",
        run_poll,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::operand::Number;
    use crate::semantic::testing::{Sandbox, message, type_of};

    const PLAIN: Ordering = Ordering { sem: Sem::AcqRel, scope: Scope::Gpu };

    #[test]
    fn old_values_have_the_type_of_memory() {
        let mut s = Sandbox::new();
        let p = s.pointer(Scalar::F16, &[8]);
        let q = s.pointer(Scalar::U64, &[]);
        let mask = s.param(Scalar::I1, &[8]);
        let one = Operand::from(Number::Int(1));
        let e = &mut s.emit;
        assert_eq!(type_of(&rmw(e, RmwOp::Add, &p, &one, Some(&mask.into()), PLAIN).unwrap()), "fp16[8]");
        assert_eq!(type_of(&rmw(e, RmwOp::Max, &q, &one, None, PLAIN).unwrap()), "u64");
        assert_eq!(type_of(&cas(e, &q, &one, &one, PLAIN).unwrap()), "u64");
        let read = Ordering { sem: Sem::Acquire, scope: Scope::Sys };
        let Poll::Done(found) = poll(e, &q, &one, Some(&Number::Int(1000).into()), read).unwrap() else {
            panic!("a scalar")
        };
        assert_eq!(type_of(&found), "i1");
        assert_eq!(type_of(&load(e, &p, None, read).unwrap()), "fp16[8]");
        let write = Ordering { sem: Sem::Release, scope: Scope::Gpu };
        store(e, &p, &one, None, write).unwrap();
        let bools = s.pointer(Scalar::I1, &[4]);
        assert_eq!(type_of(&load(&mut s.emit, &bools, None, read).unwrap()), "i1[4]");
        store(&mut s.emit, &bools, &one, None, write).unwrap();
        s.verify();
    }

    #[test]
    fn old_integers_have_the_sign_of_what_was_to_be_written() {
        let mut s = Sandbox::new();
        let words = s.param(Scalar::U32, &[8]);
        let word = s.param(Scalar::U32, &[]);
        let wide = s.param(Scalar::U64, &[]);
        let float = s.param(Scalar::F32, &[]);
        let value = s.param(Scalar::I32, &[]);
        let one = Operand::from(Number::Int(1));
        let e = &mut s.emit;
        assert_eq!(type_of(&signed_as(e, &word, &one).unwrap()), "i32");
        assert_eq!(type_of(&signed_as(e, &words, &value.into()).unwrap()), "i32[8]");
        assert_eq!(type_of(&signed_as(e, &word, &word.clone().into()).unwrap()), "u32");
        assert_eq!(type_of(&signed_as(e, &wide, &one).unwrap()), "u64");
        assert_eq!(type_of(&signed_as(e, &float, &one).unwrap()), "fp32");
        s.verify();
    }

    #[test]
    fn float_extremes_are_split_on_the_sign() {
        let mut s = Sandbox::new();
        let p = s.pointer(Scalar::F32, &[8]);
        let x = s.param(Scalar::F32, &[8]);
        assert_eq!(type_of(&rmw(&mut s.emit, RmwOp::Max, &p, &x.into(), None, PLAIN).unwrap()), "fp32[8]");
        let text = s.verify();
        assert!(text.contains("op = max") && text.contains("op = min"), "{text}");
    }

    #[test]
    fn mistakes_are_named() {
        let mut s = Sandbox::new();
        let bytes = s.pointer(Scalar::I8, &[8]);
        let half = s.pointer(Scalar::BF16, &[8]);
        let x = s.param(Scalar::F32, &[8]);
        let floats = s.pointer(Scalar::F32, &[8]);
        let one = Operand::from(Number::Int(1));
        let e = &mut s.emit;
        assert_eq!(message(rmw(e, RmwOp::Add, &bytes, &one, None, PLAIN)), "`atomic_add` does not work on `i8`");
        assert_eq!(message(rmw(e, RmwOp::Max, &half, &one, None, PLAIN)), "`atomic_max` does not work on `bf16`");
        assert_eq!(message(rmw(e, RmwOp::And, &floats, &one, None, PLAIN)), "`atomic_and` does not work on `fp32`");
        assert_eq!(message(rmw(e, RmwOp::Add, &x, &one, None, PLAIN)), "`atomic_add` takes a pointer, not `fp32[8]`");
        assert_eq!(message(cas(e, &bytes, &one, &one, PLAIN)), "`atomic_cas` does not work on `i8`");
        assert_eq!(message(poll(e, &floats, &one, None, PLAIN)), "`atomic_poll` does not work on `fp32`");
    }
}
