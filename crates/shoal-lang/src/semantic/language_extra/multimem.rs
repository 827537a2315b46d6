//! Accesses to all ranks at once, which need a switch that multiplies them.
//!
//! No target has one yet: the names are there to say so.

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::lower_error::LowerResult;
use crate::value::Value;

fn run_absent(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let way_out = if a.function_name().starts_with("multimem_ld") {
        "load from each rank with `symm_at(ptr, rank)` and add"
    } else {
        "store to each rank with `symm_at(ptr, rank)`"
    };
    let message = format!("`{}` needs multicast memory, which this target does not have", a.function_name());
    Err(l.emit().error(message).help(way_out).into())
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("language_extra.multimem_st_b32", "ptr, val", run_absent),
    Builtin::kernel("language_extra.multimem_st_b64", "ptr, val", run_absent),
    Builtin::kernel("language_extra.multimem_st_v2", "*args", run_absent),
    Builtin::kernel("language_extra.multimem_st_v4", "*args", run_absent),
    Builtin::kernel("language_extra.multimem_st_p_b32", "*args", run_absent),
    Builtin::kernel("language_extra.multimem_ld_reduce_v4", "ptr, acc_dtype: const=None", run_absent),
    Builtin::kernel("language_extra.multimem_ld_reduce_p_v4", "*args", run_absent),
];
