//! What kernels ask about their target: `shoal.language.target_info`.

use shoal_abi::{AmdgpuArch, NvptxArch, Target};

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::lower_error::LowerResult;
use crate::value::Value;

fn is_cuda(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::bool(l.emit().options.target.nvptx().is_some()))
}

fn cuda_capability_geq(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let asked = (args.int("major")?, args.int("minor")?);
    let capability = l.emit().options.target.nvptx().map(NvptxArch::capability);
    Ok(Value::bool(capability.is_some_and(|(major, minor)| (major.into(), minor.into()) >= asked)))
}

fn is_hip(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::bool(matches!(l.emit().options.target, Target::Amdgpu(_))))
}

fn is_hip_cdna3(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::bool(l.emit().options.target == Target::Amdgpu(AmdgpuArch::Gfx942)))
}

fn is_hip_cdna4(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::bool(l.emit().options.target == Target::Amdgpu(AmdgpuArch::Gfx950)))
}

/// No target is one.
fn is_hip_gfx1250(_: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::bool(false))
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::anywhere("target_info.is_cuda", "", is_cuda),
    Builtin::anywhere("target_info.cuda_capability_geq", "major: const, minor: const=0", cuda_capability_geq),
    Builtin::anywhere("target_info.is_hip", "", is_hip),
    Builtin::anywhere("target_info.is_hip_cdna3", "", is_hip_cdna3),
    Builtin::anywhere("target_info.is_hip_cdna4", "", is_hip_cdna4),
    Builtin::anywhere("target_info.is_hip_gfx1250", "", is_hip_gfx1250),
];
