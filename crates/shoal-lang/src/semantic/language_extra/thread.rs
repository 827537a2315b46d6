//! Which thread this is, and how many there are.

use shoal_ir::OpKind;
use shoal_ir::layouts::WARP_SIZE;
use shoal_ir::op::{BinaryOp, InlineAsm};
use shoal_ir::types::Scalar;

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::LowerResult;
use crate::value::Value;

/// An axis of a block of threads.
fn axis(a: &Args) -> LowerResult<usize> {
    match a.int("axis")? {
        axis @ 0..3 => Ok(axis as usize),
        _ => Err(a.wrong("axis", "0, 1 or 2")),
    }
}

/// Programs have one row of threads.
fn run_tid(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let axis = axis(a)?;
    let e = l.emit();
    let number = if axis == 0 { lanes::index(e) } else { e.b().int(0, Scalar::I32) };
    Ok(e.tensor(number).into())
}

fn run_ntid(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let axis = axis(a)?;
    let e = l.emit();
    let count = if axis == 0 { i64::from(lanes::count(e)) } else { 1 };
    let count = e.b().int(count, Scalar::I32);
    Ok(e.tensor(count).into())
}

fn within_warp(e: &mut Emit<'_>, op: BinaryOp, number: u32) -> Value {
    let threads = lanes::index(e);
    let ty = e.func.ty(threads).clone();
    let number = e.b().int(number.into(), ty);
    let result = e.b().binary(op, threads, number);
    e.tensor(result).into()
}

fn run_laneid(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(within_warp(l.emit(), BinaryOp::And, WARP_SIZE - 1))
}

fn run_warp_idx(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(within_warp(l.emit(), BinaryOp::Shr, WARP_SIZE.trailing_zeros()))
}

fn run_threads_per_warp(_: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::int(WARP_SIZE))
}

fn run_num_warps(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::int(l.emit().options.num_warps))
}

fn run_num_threads(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::int(lanes::count(l.emit())))
}

/// The program's number in its grid, row by row: where a program has no multiprocessor of its own, it is its own.
pub(crate) fn flat_program(e: &mut Emit<'_>) -> shoal_ir::Value {
    let mut number = e.b().value(OpKind::ProgramId { axis: 2 }, &[]);
    for axis in [1, 0] {
        let mut b = e.b();
        let size = b.value(OpKind::NumPrograms { axis }, &[]);
        let place = b.value(OpKind::ProgramId { axis }, &[]);
        let before = b.binary(BinaryOp::Mul, number, size);
        number = b.binary(BinaryOp::Add, before, place);
    }
    number
}

fn run_smid(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let mut number = flat_program(e);
    if e.options.target.nvptx().is_some() {
        let (asm, constraints) = ("mov.u32 $0, %smid;".to_owned(), "=r,r".to_owned());
        let code = InlineAsm { asm, constraints, pack: 1, pure: false };
        number = e.b().value_as(OpKind::InlineAsm(Box::new(code)), &[number], Scalar::I32.into());
    }
    Ok(e.tensor(number).into())
}

/// `globaltimer`, and its halves as 32 bits.
fn run_timer(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let now = e.b().value(OpKind::Clock, &[]);
    let part = match a.function_name() {
        "globaltimer_lo" => e.b().cast(now, Scalar::U32),
        "globaltimer_hi" => {
            let half = e.b().int(32, Scalar::I64);
            let high = e.b().binary(BinaryOp::Shr, now, half);
            e.b().cast(high, Scalar::U32)
        }
        _ => e.b().cast(now, Scalar::U64),
    };
    Ok(e.tensor(part).into())
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("language_extra.tid", "axis: const", run_tid),
    Builtin::kernel("language_extra.ntid", "axis: const", run_ntid),
    Builtin::kernel("language_extra.laneid", "", run_laneid),
    Builtin::kernel("language_extra.warp_idx", "", run_warp_idx),
    Builtin::kernel("language_extra.threads_per_warp", "", run_threads_per_warp),
    Builtin::kernel("language_extra.num_warps", "", run_num_warps),
    Builtin::kernel("language_extra.num_threads", "", run_num_threads),
    Builtin::kernel("language_extra.smid", "", run_smid),
    Builtin::kernel("language_extra.globaltimer", "", run_timer),
    Builtin::kernel("language_extra.globaltimer_lo", "", run_timer),
    Builtin::kernel("language_extra.globaltimer_hi", "", run_timer),
    Builtin::kernel("extra.num_warps", "", run_num_warps),
    Builtin::kernel("extra.num_threads", "", run_num_threads),
    Builtin::kernel("extra.smid", "", run_smid),
    Builtin::kernel("extra.globaltimer", "", run_timer),
    Builtin::kernel("extra.memrealtime", "", run_timer),
];
