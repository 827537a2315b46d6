//! Flags between the blocks of ranks, as Kraken has them.
//!
//! A rank's pad is an array of 32-bit slots, zero at rest: slot `block * world_size + source`. To send is to change the
//! slot at the receiver from 0 to 1, to receive is to change one's own from 1 to 0, both at `sys` scope. So the pad
//! resets itself.

use shoal_ir::op::{BinaryOp, CmpOp, LoadAttrs, RmwOp, Scope, Sem, UnaryOp};
use shoal_ir::types::{Elem, Ptr, Scalar, Type};
use shoal_ir::{OpKind, Value as IrValue};

use super::order::barrier;
use super::thread::flat_program;
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::LowerResult;
use crate::semantic::atomic::{self, Ordering};
use crate::semantic::operand::{Number, Operand, to_tensor};
use crate::semantic::{attribute, binary, cast, memory};
use crate::syntax::ast::BinOp;
use crate::value::{Tensor, Value};

/// Changes each word from one value to another, waiting until it has the first one. Where the mask is false nothing is
/// done.
fn change(e: &mut Emit<'_>, p: &Tensor, (from, to): (i64, i64), mask: Option<IrValue>, sem: Sem) -> LowerResult<()> {
    let element = memory::pointer(e, "signal", p)?.element();
    memory::writable(e, "signal", p)?;
    if !element.scalar().is_some_and(|s| s.is_int() && s.bits() == 32) {
        return Err(e
            .error(format!("signals are words of 32 bits, not `{}`", cast::name(element)))
            .help("a signal pad is an array of `uint32`")
            .into());
    }
    let word = p.ty.with_elem(element);
    let (from, to) = (e.b().int(from, word.clone()), e.b().int(to, word));
    let truth = p.ty.with_elem(Scalar::I1);
    let all = mask.unwrap_or_else(|| e.b().int(1, truth.clone()));
    let pointers = p.value;
    let (head, ()) = e.in_region(std::slice::from_ref(&truth), |e, params| {
        let waiting = params[0];
        let kind = OpKind::AtomicCas { sem, scope: Scope::Sys };
        let old = if truth.is_tile() {
            e.b().value(kind, &[pointers, from, to, waiting])
        } else {
            e.b().value(kind, &[pointers, from, to])
        };
        let done = e.b().cmp(CmpOp::Eq, old, from);
        let open = e.b().unary(UnaryOp::Not, done);
        let waiting = e.b().binary(BinaryOp::And, waiting, open);
        let again = if truth.is_tile() { any(e, waiting) } else { waiting };
        e.b().op(OpKind::Condition, [again, waiting], [], []);
    });
    let (round, ()) = e.in_region(std::slice::from_ref(&truth), |e, params| {
        e.b().yield_(params);
    });
    e.b().op(OpKind::While { disable_licm: false }, [all], [truth], [head, round]);
    Ok(())
}

/// Whether any element is set.
fn any(e: &mut Emit<'_>, mask: IrValue) -> IrValue {
    let ty = e.func.ty(mask).clone();
    let count: u32 = ty.shape().iter().product();
    let flat = if ty.shape().len() == 1 {
        mask
    } else {
        e.b().value_as(OpKind::Reshape, &[mask], Type::tile(Scalar::I1, &[count]))
    };
    lanes::any(e, flat)
}

/// `send_signal` and `wait_signal`: through each pointer once, or by the lanes that run this.
fn run_signal(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let allowed = [Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcqRel];
    let sem = attribute::memory_order(e, Some(a.str("sem")?), &allowed)?;
    let p = a.tensor("addrs")?;
    let by_lane = lanes::is_per_lane(p) || (p.is_scalar() && e.active.is_some());
    let p = if by_lane { lanes::of_each(e, p)? } else { p.clone() };
    let mask = if by_lane { e.active } else { None };
    let values = if a.function_name() == "send_signal" { (0, 1) } else { (1, 0) };
    change(e, &p, values, mask, sem)?;
    Ok(Value::NONE)
}

fn run_flat_tid(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let thread = lanes::index(e);
    let thread = e.b().cast(thread, Scalar::U32);
    Ok(e.tensor(thread).into())
}

fn run_flat_bid(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let block = flat_program(e);
    Ok(e.tensor(block).into())
}

/// Blocks with one number on all ranks meet.
fn run_symm_mem_sync(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (world, rank) = (a.int("world_size")?, a.int("rank")?);
    let (Ok(size), true) = (u32::try_from(world), (1..=1024).contains(&world)) else {
        return Err(a.wrong("world_size", "the number of ranks, up to 1024"));
    };
    if !(0..world).contains(&rank) {
        return Err(a.wrong("rank", "a rank of the world"));
    }
    let (before, after) = (a.bool("hasPreviousMemAccess")?, a.bool("hasSubsequentMemAccess")?);
    let e = l.emit();
    let block = match a.optional("block_id") {
        Some(block) => to_tensor(e, block)?,
        None => {
            let block = flat_program(e);
            e.tensor(block)
        }
    };
    let number = |n: i128| Operand::Number(Number::Int(n));
    let first = binary::operator(e, BinOp::Mul, &block.into(), &number(world))?;
    let table = a.tensor("signal_pad_ptrs")?;
    let pointer = memory::pointer(e, "symm_mem_sync", table)?;
    let table = cast::by_value(e, table, Elem::Ptr(Ptr { pointee: Scalar::U64, depth: 1, ..pointer }), None)?;
    let peers = e.b().iota(0, size.next_power_of_two());
    let peers = e.tensor(peers);
    let known = binary::comparison(e, CmpOp::Lt, &peers.clone().into(), &number(world))?;
    let pads = pads(e, &table, &peers.clone().into(), Some(&known))?;
    let mine = pads_at(e, &table, rank)?;
    let slot = binary::operator(e, BinOp::Add, &first.clone().into(), &number(rank))?;
    let send = binary::operator(e, BinOp::Add, &pads.into(), &slot.into())?;
    let slots = binary::operator(e, BinOp::Add, &first.into(), &peers.into())?;
    let receive = binary::operator(e, BinOp::Add, &mine.into(), &slots.into())?;
    if before {
        barrier(e);
    }
    change(e, &send, (0, 1), Some(known.value), if before { Sem::Release } else { Sem::Relaxed })?;
    change(e, &receive, (1, 0), Some(known.value), if after { Sem::Acquire } else { Sem::Relaxed })?;
    if after {
        barrier(e);
    }
    Ok(Value::NONE)
}

/// The pads of ranks, from the table of their addresses.
fn pads(e: &mut Emit<'_>, table: &Tensor, at: &Operand, mask: Option<&Tensor>) -> LowerResult<Tensor> {
    let entries = binary::operator(e, BinOp::Add, &table.clone().into(), at)?;
    let mask: Option<Operand> = mask.map(|m| m.clone().into());
    let addresses = memory::load(e, &entries, mask.as_ref(), None, LoadAttrs::default())?;
    let word = Elem::Ptr(Ptr::global(Scalar::U32));
    cast::by_value(e, &addresses, word, None)
}

fn pads_at(e: &mut Emit<'_>, table: &Tensor, rank: i128) -> LowerResult<Tensor> {
    pads(e, table, &Operand::Number(Number::Int(rank)), None)
}

fn ordering(e: &Emit<'_>, a: &Args, allowed: &[Sem]) -> LowerResult<Ordering> {
    Ok(Ordering {
        sem: attribute::memory_order(e, Some(a.str("sem")?), allowed)?,
        scope: attribute::scope(e, Some(a.str("scope")?))?,
    })
}

fn run_arrive(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    if a.str("op")? != "atomic_xchg" {
        return Err(a.wrong("op", "\"atomic_xchg\""));
    }
    if !a.bool("skip_sync")? {
        barrier(e);
    }
    let ordering = ordering(e, a, &[Sem::Release, Sem::Relaxed, Sem::AcqRel, Sem::Acquire])?;
    let update = Operand::new(e, a.value("update"))?;
    atomic::rmw(e, RmwOp::Xchg, a.tensor("addr")?, &update, None, ordering).map(Value::from)
}

fn run_wait(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    if a.str("op")? != "ld" {
        return Err(a.wrong("op", "\"ld\""));
    }
    if a.int("update")? != 0 {
        return Err(a.wrong("update", "0: a wait that only reads changes nothing"));
    }
    let ordering = ordering(e, a, &[Sem::Acquire, Sem::Relaxed])?;
    let expect = Operand::new(e, a.value("expect"))?;
    atomic::poll(e, a.tensor("addr")?, &expect, None, ordering)?;
    if !a.bool("skip_sync")? {
        barrier(e);
    }
    Ok(Value::NONE)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("language_extra.send_signal", "addrs, sem: const", run_signal),
    Builtin::kernel("language_extra.wait_signal", "addrs, sem: const", run_signal),
    Builtin::kernel("language_extra.get_flat_tid", "", run_flat_tid),
    Builtin::kernel("language_extra.get_flat_bid", "", run_flat_bid),
    Builtin::kernel(
        "language_extra.symm_mem_sync",
        "signal_pad_ptrs, block_id, rank: const, world_size: const, hasPreviousMemAccess: const=False, \
         hasSubsequentMemAccess: const=False",
        run_symm_mem_sync,
    ),
    Builtin::kernel(
        "language_extra.arrive_gmem_barrier",
        "addr, update=1, sem: const='release', scope: const='gpu', op: const='atomic_xchg', skip_sync: const=False",
        run_arrive,
    ),
    Builtin::kernel(
        "language_extra.wait_gmem_barrier",
        "addr, expect=1, update: const=0, sem: const='acquire', scope: const='gpu', op: const='ld', \
         skip_sync: const=False",
        run_wait,
    ),
];
