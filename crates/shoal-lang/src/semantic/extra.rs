//! What GPUs offer beside the language: `shoal.language.extra.cuda` and `….hip`.
//!
//! Hints about launches do nothing where there is nothing to hint; questions about warps and timers have no answer.

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::lower_error::LowerResult;
use crate::value::Value;

/// A hint: a launch that depends on another one is ordered after it anyway.
fn run_hint(_: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::NONE)
}

fn run_absent(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let way_out = match a.function_name() {
        "globaltimer" | "memrealtime" => "measure in the host program",
        "smid" => "use `tl.program_id(0)` to tell programs apart",
        "num_warps" | "num_threads" => "pass the number as a `tl.constexpr` argument",
        _ => "cast with `.to(dtype)`",
    };
    Err(l.emit().error(format!("`{}` has no meaning on this target", a.function_name())).help(way_out).into())
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("extra.gdc_wait", "", run_hint),
    Builtin::kernel("extra.gdc_launch_dependents", "", run_hint),
    Builtin::kernel("extra.globaltimer", "", run_absent),
    Builtin::kernel("extra.memrealtime", "", run_absent),
    Builtin::kernel("extra.smid", "", run_absent),
    Builtin::kernel("extra.num_threads", "", run_absent),
    Builtin::kernel("extra.num_warps", "", run_absent),
    Builtin::kernel("extra.convert_custom_float8_sm70", "*args", run_absent),
    Builtin::kernel("extra.convert_custom_float8_sm80", "*args", run_absent),
];
