//! What GPUs offer beside the language: `shoal.language.extra.cuda` and `….hip`.
//!
//! Hints about launches do nothing where there is nothing to hint. Questions about warps and timers are answered in
//! [`language_extra`](super::language_extra).

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::lower_error::LowerResult;
use crate::value::Value;

/// A hint: a launch that depends on another one is ordered after it anyway.
fn run_hint(_: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::NONE)
}

fn run_absent(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    Err(l
        .emit()
        .error(format!("`{}` has no meaning on this target", a.function_name()))
        .help("cast with `.to(dtype)`")
        .into())
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("extra.gdc_wait", "", run_hint),
    Builtin::kernel("extra.gdc_launch_dependents", "", run_hint),
    Builtin::kernel("extra.convert_custom_float8_sm70", "*args", run_absent),
    Builtin::kernel("extra.convert_custom_float8_sm80", "*args", run_absent),
];
