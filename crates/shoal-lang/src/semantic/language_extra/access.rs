//! Loads, stores and atomics of single threads, with scope and order.
//!
//! A load or a store through a pointer that is the same on every lane is done once: its lanes cannot be told apart. An
//! atomic that changes memory is done by every lane.

use shoal_ir::OpKind;
use shoal_ir::op::{CmpOp, Evict, InlineAsm, LoadAttrs, LoadMode, RmwOp, Scope, Sem, StoreCache};
use shoal_ir::types::Scalar;

use super::order::barrier;
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::LowerResult;
use crate::semantic::atomic::{self, Ordering};
use crate::semantic::operand::Operand;
use crate::semantic::{attribute, binary, memory, ptx};
use crate::value::{Tensor, Value};

const READ: &[Sem] = &[Sem::Relaxed, Sem::Acquire];
const WRITE: &[Sem] = &[Sem::Relaxed, Sem::Release];
const ANY: &[Sem] = &[Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcqRel];

/// The order of an access; `None` for a plain one, which names neither scope nor order.
fn ordering(e: &Emit<'_>, a: &Args, allowed: &[Sem]) -> LowerResult<Option<Ordering>> {
    let (scope, sem) = (a.optional_str("scope")?, a.optional_str("semantic")?);
    if scope.is_none() && matches!(sem, None | Some("weak")) {
        return Ok(None);
    }
    let sem = attribute::memory_order(e, sem, allowed)?;
    Ok(Some(Ordering { sem, scope: attribute::scope(e, scope)? }))
}

/// The order of a read.
pub(crate) fn read_order(e: &Emit<'_>, a: &Args) -> LowerResult<Option<Ordering>> {
    ordering(e, a, READ)
}

/// The order of a write.
pub(super) fn write_order(e: &Emit<'_>, a: &Args) -> LowerResult<Option<Ordering>> {
    ordering(e, a, WRITE)
}

/// The order of an operation that reads and writes.
pub(crate) fn atomic_order(e: &Emit<'_>, a: &Args) -> LowerResult<Ordering> {
    let relaxed = Ordering { sem: Sem::Relaxed, scope: Scope::Gpu };
    Ok(ordering(e, a, ANY)?.unwrap_or(relaxed))
}

/// Reads an element.
pub(super) fn read(e: &mut Emit<'_>, p: &Tensor, ordering: Option<Ordering>) -> LowerResult<Tensor> {
    match ordering {
        Some(ordering) => atomic::load(e, p, None, ordering),
        None => memory::load(e, p, None, None, LoadAttrs { mode: LoadMode::Pinned, ..LoadAttrs::default() }),
    }
}

/// Writes an element.
pub(super) fn write(e: &mut Emit<'_>, p: &Tensor, value: &Operand, ordering: Option<Ordering>) -> LowerResult<()> {
    // Lanes that write different values to one place: one of them stays.
    let (p, _) = lanes::at_access(e, p, value.tensor(), None)?;
    match ordering {
        Some(ordering) => atomic::store(e, &p, value, None, ordering),
        None => memory::store(e, &p, value, None, (StoreCache::Default, Evict::Normal)),
    }
}

fn run_ld(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let ordering = read_order(e, a)?;
    read(e, a.tensor("ptr")?, ordering).map(Value::from)
}

fn run_ld_acquire(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let scope = attribute::scope(e, a.optional_str("scope")?)?;
    read(e, a.tensor("ptr")?, Some(Ordering { sem: Sem::Acquire, scope })).map(Value::from)
}

fn run_st(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let ordering = write_order(e, a)?;
    if let Value::Vector(vector) = a.value("val") {
        super::vector_access::store(e, a.tensor("ptr")?, vector, ordering)?;
        return Ok(Value::NONE);
    }
    let value = Operand::new(e, a.value("val"))?;
    write(e, a.tensor("ptr")?, &value, ordering)?;
    Ok(Value::NONE)
}

fn run_st_release(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let scope = attribute::scope(e, a.optional_str("scope")?)?;
    let value = Operand::new(e, a.value("val"))?;
    write(e, a.tensor("ptr")?, &value, Some(Ordering { sem: Sem::Release, scope }))?;
    Ok(Value::NONE)
}

/// One read-modify-write of every lane; gives what each saw.
fn rmw(e: &mut Emit<'_>, op: RmwOp, a: &Args, ordering: Ordering) -> LowerResult<Tensor> {
    let p = lanes::of_each(e, a.tensor("ptr")?)?;
    let value = Operand::new(e, a.value("val"))?;
    atomic::rmw(e, op, &p, &value, None, ordering)
}

fn run_rmw(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let name = a.function_name().trim_start_matches("atomic_");
    let op = RmwOp::from_name(name).expect("the table names read-modify-write operations");
    let ordering = atomic_order(e, a)?;
    rmw(e, op, a, ordering).map(Value::from)
}

fn run_cas(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let p = lanes::of_each(e, a.tensor("ptr")?)?;
    let expected = Operand::new(e, a.value("cmp_val"))?;
    let value = Operand::new(e, a.value("target_val"))?;
    let ordering = atomic_order(e, a)?;
    atomic::cas(e, &p, &expected, &value, ordering).map(Value::from)
}

fn run_red_release(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let scope = attribute::scope(e, a.optional_str("scope")?)?;
    rmw(e, RmwOp::Add, a, Ordering { sem: Sem::Release, scope })?;
    Ok(Value::NONE)
}

/// One addition by the first lane of each warp; the warp's lanes see what it saw.
fn run_add_per_warp(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let ordering = atomic_order(e, a)?;
    let p = lanes::of_each(e, a.tensor("ptr")?)?;
    let value = Operand::new(e, a.value("val"))?;
    let leads = super::warp::is_first(e);
    let old = atomic::rmw(e, RmwOp::Add, &p, &value, Some(&leads.into()), ordering)?;
    Ok(super::warp::from_first(e, &old).into())
}

/// All lanes wait until memory has the value, and see what was written before it.
fn run_wait_eq(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let scope = attribute::scope(e, a.optional_str("scope")?)?;
    let value = Operand::new(e, a.value("val"))?;
    atomic::poll(e, a.tensor("ptr")?, &value, None, Ordering { sem: Sem::Acquire, scope })?;
    barrier(e);
    Ok(Value::NONE)
}

/// What all lanes did happens before one of them adds.
fn run_arrive_inc(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    barrier(e);
    let scope = attribute::scope(e, a.optional_str("scope")?)?;
    let thread = Operand::new(e, a.value("thread_idx"))?;
    let zero = Operand::Number(crate::semantic::operand::Number::Int(0));
    let first = binary::comparison(e, CmpOp::Eq, &thread, &zero)?;
    let p = lanes::of_each(e, a.tensor("ptr")?)?;
    let value = Operand::new(e, a.value("val"))?;
    atomic::rmw(e, RmwOp::Add, &p, &value, Some(&first.into()), Ordering { sem: Sem::Release, scope })?;
    Ok(Value::NONE)
}

/// A hint to the cache that all of a GPU's multiprocessors share. CPUs see ahead by themselves.
fn run_prefetch(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let asm = "prefetch.global.L2 [$1]; mov.u32 $0, 0;".to_owned();
    let code = InlineAsm { asm, constraints: "=r,l".to_owned(), pack: 1, pure: false };
    ptx::lower(l.emit(), &code, &[a.tensor("ptr")?.clone()], &[Scalar::I32.into()])?;
    Ok(Value::NONE)
}

/// Waits a little: lets others run.
fn run_nanosleep(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    let e = l.emit();
    e.b().inferred(OpKind::Fence { sem: Sem::Relaxed, scope: Scope::Cta }, &[], &[]);
    Ok(Value::NONE)
}

const RMW: &str = "ptr, val, scope: const='gpu', semantic: const='relaxed'";
const BARRIER: &str = "ptr, thread_idx, val, scope: const='gpu'";

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("language_extra.ld", "ptr, scope: const='gpu', semantic: const='relaxed'", run_ld),
    Builtin::kernel("language_extra.ld_b32", "ptr, scope: const='', semantic: const=''", run_ld),
    Builtin::kernel("language_extra.ld_acquire", "ptr, scope: const='gpu'", run_ld_acquire),
    Builtin::kernel("language_extra.st", RMW, run_st),
    Builtin::kernel("language_extra.st_b32", "ptr, val, scope: const='', semantic: const=''", run_st),
    Builtin::kernel("language_extra.st_release", "ptr, val, scope: const='sys'", run_st_release),
    Builtin::kernel("language_extra.atomic_add", RMW, run_rmw),
    Builtin::kernel("language_extra.atomic_max", RMW, run_rmw),
    Builtin::kernel("language_extra.atomic_min", RMW, run_rmw),
    Builtin::kernel("language_extra.atomic_and", RMW, run_rmw),
    Builtin::kernel("language_extra.atomic_or", RMW, run_rmw),
    Builtin::kernel("language_extra.atomic_xor", RMW, run_rmw),
    Builtin::kernel("language_extra.atomic_xchg", RMW, run_rmw),
    Builtin::kernel(
        "language_extra.atomic_cas",
        "ptr, cmp_val, target_val, scope: const='gpu', semantic: const='relaxed'",
        run_cas,
    ),
    Builtin::kernel("language_extra.red_release", "ptr, val, scope: const='gpu'", run_red_release),
    Builtin::kernel("language_extra.atomic_add_per_warp", RMW, run_add_per_warp),
    Builtin::kernel("language_extra.wait_eq", BARRIER, run_wait_eq),
    Builtin::kernel("language_extra.arrive_inc", BARRIER, run_arrive_inc),
    Builtin::kernel("language_extra.arrive_inc_asm", BARRIER, run_arrive_inc),
    Builtin::kernel("language_extra.prefetch", "ptr", run_prefetch),
    Builtin::kernel("language_extra.nanosleep", "ns", run_nanosleep),
];
