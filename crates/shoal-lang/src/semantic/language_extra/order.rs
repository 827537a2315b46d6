//! What orders lanes, and their accesses.

use shoal_ir::OpKind;
use shoal_ir::op::{Scope, Sem};

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::semantic::attribute;
use crate::value::Value;

/// A barrier of all lanes.
pub(crate) fn barrier(e: &mut Emit<'_>) {
    e.b().inferred(OpKind::Barrier, &[], &[]);
}

fn run_barrier(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    barrier(l.emit());
    Ok(Value::NONE)
}

/// A barrier of the lanes of each warp. It runs as one of all lanes, and orders no more than a warp's.
pub(crate) fn warp_barrier(e: &mut Emit<'_>) {
    let op = e.b().inferred(OpKind::Barrier, &[], &[]);
    e.func.by_lanes.insert(op);
}

fn run_warp_barrier(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    warp_barrier(l.emit());
    Ok(Value::NONE)
}

fn run_fence(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let (sem, scope) = match a.str("semantic")? {
        // Older kernels name the scope alone.
        scope @ ("cta" | "gpu" | "sys") => ("sc", scope),
        sem => (sem, a.str("scope")?),
    };
    let sem = match sem {
        // Nothing is stronger than what synchronises both ways.
        "sc" | "acq_rel" => Sem::AcqRel,
        "acquire" => Sem::Acquire,
        "release" => Sem::Release,
        _ => return Err(a.wrong("semantic", "\"sc\", \"acq_rel\", \"acquire\" or \"release\"")),
    };
    let scope = attribute::scope(e, Some(scope))?;
    e.b().inferred(OpKind::Fence { sem, scope }, &[], &[]);
    Ok(Value::NONE)
}

fn run_membar(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let scope = match a.str("scope")? {
        "gl" | "gpu" => Scope::Gpu,
        "cta" => Scope::Cta,
        "sys" => Scope::Sys,
        _ => return Err(a.wrong("scope", "\"cta\", \"gl\" or \"sys\"")),
    };
    l.emit().b().inferred(OpKind::Fence { sem: Sem::AcqRel, scope }, &[], &[]);
    Ok(Value::NONE)
}

/// Copies by a copy engine are done when they return here.
fn run_nothing(_: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::NONE)
}

const FENCE: &str = "semantic: const='sc', scope: const='gpu'";

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("language_extra.__syncthreads", "", run_barrier),
    Builtin::kernel("language_extra.__syncwarp", "mask=None", run_warp_barrier),
    Builtin::kernel("language_extra.__fence", FENCE, run_fence),
    Builtin::kernel("language_extra.fence", FENCE, run_fence),
    Builtin::kernel("language_extra.membar", "scope: const='cta'", run_membar),
    Builtin::kernel("language_extra.tma_sync", "N: const=0", run_nothing),
];
