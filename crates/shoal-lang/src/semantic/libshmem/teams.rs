//! Teams: who is in them, meetings, collectives.

use shoal_ir::OpKind;
use shoal_ir::abi::team::handle;
use shoal_ir::comm::CommOp;
use shoal_ir::shmem::{Completion, Meeting, ShmemOp, Way};
use shoal_ir::types::{Elem, Scalar};

use super::super::{cast, memory};
use super::act::{ask, integer, meet, once, participants, pointer, target};
use super::copies::bytes_of;
use crate::builtin::{Args, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Const, Tensor, Value};

pub(super) fn run_count(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let of_rank = a.function_name() == "my_pe";
    let op = if of_rank { CommOp::Rank { axis: None } } else { CommOp::NumRanks { axis: None } };
    let e = l.emit();
    let number = e.b().value(OpKind::Comm(op), &[]);
    Ok(e.tensor(number).into())
}

pub(super) fn run_team_count(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let team = integer(e, a, "team", Scalar::I32)?;
    let op = if a.function_name() == "team_my_pe" { ShmemOp::TeamRank } else { ShmemOp::TeamSize };
    Ok(ask(e, a, op, &[team])?.into())
}

pub(super) fn run_translate(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let (team, other) = (integer(e, a, "src_team", Scalar::I32)?, integer(e, a, "dest_team", Scalar::I32)?);
    let member = integer(e, a, "pe", Scalar::I32)?;
    Ok(ask(e, a, ShmemOp::TeamTranslate, &[team, member, other])?.into())
}

pub(super) fn run_all_meet(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let world = e.b().int(handle::WORLD.into(), Scalar::I32);
    let world = e.tensor(world);
    meet(e, a, meeting(a), &world)
}

pub(super) fn run_team_meet(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let team = integer(e, a, "team", Scalar::I32)?;
    meet(e, a, meeting(a), &team)
}

fn meeting(a: &Args) -> Meeting {
    if a.function_name().starts_with("barrier") { Meeting::Barrier } else { Meeting::Sync }
}

pub(super) fn run_broadcast(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let bytes = bytes_of_elements(e, a)?;
    broadcast(e, a, &bytes)
}

pub(super) fn run_broadcast_bytes(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let bytes = integer(e, a, "nelems", Scalar::I64)?;
    broadcast(e, a, &bytes)
}

pub(super) fn run_collect(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let bytes = bytes_of_elements(e, a)?;
    collect(e, a, &bytes)
}

pub(super) fn run_collect_bytes(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let bytes = integer(e, a, "nelems", Scalar::I64)?;
    collect(e, a, &bytes)
}

/// The bytes of so many elements of the type that both pointers point to.
fn bytes_of_elements(e: &mut Emit<'_>, a: &Args) -> LowerResult<Tensor> {
    let (target, source) = (pointer(e, a, "dest")?, pointer(e, a, "source")?);
    let element = |t: &Tensor| memory::pointer(e, a.function_name(), t).map(shoal_ir::types::Ptr::element);
    let (to, from) = (element(&target)?, element(&source)?);
    if to != from || matches!(to, Elem::Ptr(_)) {
        let (function, to, from) = (a.function_name(), cast::name(to), cast::name(from));
        return Err(e
            .error(format!("`{function}` copies numbers of one type, not from `{from}` to `{to}`"))
            .help("cast one of the pointers, or give a number of bytes to the form with `mem` in its name")
            .into());
    }
    let count = integer(e, a, "nelems", Scalar::I64)?;
    Ok(bytes_of(e, &count, to.bytes()))
}

/// Everybody gets what the root has, between two meetings: the first so that it is there, the second so that it may
/// change.
fn broadcast(e: &mut Emit<'_>, a: &Args, bytes: &Tensor) -> LowerResult<Value> {
    let (target, source) = (target(e, a, "dest")?, pointer(e, a, "source")?);
    let (team, root) = (integer(e, a, "team", Scalar::I32)?, integer(e, a, "pe_root", Scalar::I32)?);
    let world = e.b().int(handle::WORLD.into(), Scalar::I32);
    let world = e.tensor(world);
    let rank = ask(e, a, ShmemOp::TeamTranslate, &[team.clone(), root, world])?;
    meet(e, a, Meeting::Sync, &team)?;
    let op = ShmemOp::Copy { way: Way::Get, completion: Completion::Local, by: participants(a) };
    once(e, a, op, &[target, source, bytes.clone(), rank])?;
    meet(e, a, Meeting::Sync, &team)
}

fn collect(e: &mut Emit<'_>, a: &Args, bytes: &Tensor) -> LowerResult<Value> {
    let (target, source) = (target(e, a, "dest")?, pointer(e, a, "source")?);
    let team = integer(e, a, "team", Scalar::I32)?;
    meet(e, a, Meeting::Sync, &team)?;
    once(e, a, ShmemOp::Collect { by: participants(a) }, &[team.clone(), target, source, bytes.clone()])?;
    meet(e, a, Meeting::Sync, &team)
}

/// `set_rocshmem_ctx`.
pub(super) fn run_context(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let text = format!("`{}` does nothing here: there is no context of a device library", a.function_name());
    l.emit().warn(text, "leave it out, or keep it for the library that needs it");
    Ok(Value::NONE)
}

/// `remote_mc_ptr`: the address that `multimem_*` takes for that place at all ranks, which is that of this rank's own.
pub(super) fn run_multicast(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    const ALL_RANKS: [i128; 3] = [handle::WORLD as i128, handle::SHARED as i128, handle::NODE as i128];
    if !a.value("team").as_const().and_then(Const::as_int).is_some_and(|team| ALL_RANKS.contains(&team)) {
        let teams =
            "`NVSHMEM_TEAM_WORLD`, `NVSHMEM_TEAM_SHARED` or `NVSHMEMX_TEAM_NODE`: all ranks are reached at once";
        return Err(a.wrong("team", teams));
    }
    let e = l.emit();
    let pointer = a.tensor("ptr")?;
    memory::pointer(e, a.function_name(), pointer)?;
    Ok(pointer.clone().into())
}
