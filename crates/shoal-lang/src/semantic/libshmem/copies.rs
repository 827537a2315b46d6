//! Puts and gets.

use shoal_ir::shmem::{ShmemOp, Way};
use shoal_ir::types::{Elem, Scalar};

use super::super::{cast, distributed, memory};
use super::act::{act, completion, integer, participants, pointer, signal, signal_word, target};
use super::constants::signal_op;
use crate::builtin::{Args, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Tensor, Value};

pub(super) fn run_remote_ptr(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let pointer = pointer(e, a, "local_ptr")?;
    let rank = integer(e, a, "pe", Scalar::I32)?;
    distributed::symm_at(e, &pointer, &rank)
}

pub(super) fn run_copy(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let way = if a.function_name().starts_with("get") { Way::Get } else { Way::Put };
    let (target, source) = (target(e, a, "dest")?, pointer(e, a, "source")?);
    let (bytes, rank) = (integer(e, a, "bytes", Scalar::I64)?, integer(e, a, "pe", Scalar::I32)?);
    let op = ShmemOp::Copy { way, completion: completion(a), by: participants(a) };
    act(e, op, &[target, source, bytes, rank])
}

pub(super) fn run_put_signal(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let bytes = integer(e, a, "bytes", Scalar::I64)?;
    put_signal(e, a, bytes)
}

/// `ulong_put_signal`: the elements have 8 bytes.
pub(super) fn run_put_signal_elements(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let count = integer(e, a, "nelems", Scalar::I64)?;
    let bytes = bytes_of(e, &count, 8);
    put_signal(e, a, bytes)
}

fn put_signal(e: &mut Emit<'_>, a: &Args, bytes: Tensor) -> LowerResult<Value> {
    let (target, source) = (target(e, a, "dest")?, pointer(e, a, "source")?);
    let word = signal_word(e, a, "sig_addr")?;
    let (signal, rank) = (signal(e, a, "signal")?, integer(e, a, "pe", Scalar::I32)?);
    let op = ShmemOp::PutSignal { op: signal_op(a)?, completion: completion(a), by: participants(a) };
    act(e, op, &[target, source, bytes, word, signal, rank])
}

/// So many elements, in bytes.
pub(super) fn bytes_of(e: &mut Emit<'_>, count: &Tensor, element: u32) -> Tensor {
    let ty = count.ty.clone();
    let mut b = e.b();
    let size = b.int(element.into(), ty);
    let bytes = b.binary(shoal_ir::op::BinaryOp::Mul, count.value, size);
    e.tensor(bytes)
}

/// `int_p`: one 32-bit integer.
pub(super) fn run_put_value(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let target = target(e, a, "dest")?;
    let element = memory::pointer(e, a.function_name(), &target)?.element();
    let Elem::Scalar(ty @ (Scalar::I32 | Scalar::U32)) = element else {
        let found = cast::name(element);
        return Err(e
            .error(format!("`int_p` writes an `i32`, not `{found}`"))
            .help("for other types use `putmem` with their size in bytes")
            .into());
    };
    let (value, rank) = (integer(e, a, "value", ty)?, integer(e, a, "pe", Scalar::I32)?);
    act(e, ShmemOp::PutValue, &[target, value, rank])
}
