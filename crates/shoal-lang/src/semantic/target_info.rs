//! What kernels ask about their target: `shoal.language.target_info`.

use shoal_abi::{AmdgpuArch, Target};

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::lower_error::LowerResult;
use crate::value::Value;

fn is_cuda(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    Ok(Value::bool(matches!(l.emit().options.target, Target::Nvptx(_))))
}

fn cuda_capability_geq(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let asked = (args.int("major")?, args.int("minor")?);
    Ok(Value::bool(match l.emit().options.target {
        Target::Nvptx(arch) => {
            let (major, minor) = arch.capability();
            (major.into(), minor.into()) >= asked
        }
        Target::Cpu(_) | Target::Amdgpu(_) => false,
    }))
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
