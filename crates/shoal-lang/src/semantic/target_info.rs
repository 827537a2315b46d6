//! What kernels ask about their target: `shoal.language.target_info`. The target is a CPU.

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::lower_error::LowerResult;
use crate::value::Value;

fn run_no(_: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::bool(false))
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::anywhere("target_info.is_cuda", "", run_no),
    Builtin::anywhere("target_info.cuda_capability_geq", "major: const, minor: const=0", run_no),
    Builtin::anywhere("target_info.is_hip", "", run_no),
    Builtin::anywhere("target_info.is_hip_cdna3", "", run_no),
    Builtin::anywhere("target_info.is_hip_cdna4", "", run_no),
    Builtin::anywhere("target_info.is_hip_gfx1250", "", run_no),
];
