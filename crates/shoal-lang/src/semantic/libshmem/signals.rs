//! Signals, waits and the order of copies.

use shoal_ir::op::CmpOp;
use shoal_ir::shmem::ShmemOp;
use shoal_ir::types::Scalar;

use super::super::memory;
use super::act::{act, integer, once, signal, signal_word};
use super::constants::{comparison, signal_op};
use crate::builtin::{Args, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::Value;

pub(super) fn run_signal(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let word = signal_word(e, a, "sig_addr")?;
    memory::writable(e, a.function_name(), &word)?;
    let (signal, rank) = (signal(e, a, "signal")?, integer(e, a, "pe", Scalar::I32)?);
    act(e, ShmemOp::Signal { op: signal_op(a)? }, &[word, signal, rank])
}

pub(super) fn run_wait(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let cmp = comparison(a)?;
    wait(l.emit(), a, cmp)
}

/// `uint64_wait_until_equals`.
pub(super) fn run_wait_equal(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    wait(l.emit(), a, CmpOp::Eq)
}

fn wait(e: &mut Emit<'_>, a: &Args, cmp: CmpOp) -> LowerResult<Value> {
    let word = signal_word(e, a, "sig_addr")?;
    let value = signal(e, a, "cmp_val")?;
    act(e, ShmemOp::SignalWait { cmp }, &[word, value])
}

pub(super) fn run_fence(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    once(l.emit(), a, ShmemOp::Fence, &[])
}

/// Also `quiet_pe`: to be quiet towards all ranks is to be quiet towards one.
pub(super) fn run_quiet(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    once(l.emit(), a, ShmemOp::Quiet, &[])
}
