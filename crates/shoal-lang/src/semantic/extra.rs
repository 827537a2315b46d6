//! What GPUs offer beside the language: `shoal.language.extra.cuda` and `….hip`.
//!
//! Questions about warps and timers are answered in [`language_extra`](super::language_extra).

use shoal_abi::Target;
use shoal_ir::op::InlineAsm;
use shoal_ir::{OpKind, Scalar};

use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::lower_error::LowerResult;
use crate::value::Value;

/// `gdc_wait` and `gdc_launch_dependents`: a launch with `launch_pdl` may begin before the one ahead of it has ended, and
/// waits for it here; the one behind it may begin when all programs have said so. Where launches only ever follow each
/// other, there is nothing to do.
fn run_dependence(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    if matches!(e.options.target, Target::Nvptx(arch) if arch.capability() >= (9, 0)) {
        let what = if a.function_name() == "gdc_wait" { "wait" } else { "launch_dependents" };
        let asm = format!("griddepcontrol.{what}; mov.u32 $0, $1;");
        let code = InlineAsm { asm, constraints: "=r,r,~{memory}".to_owned(), pack: 1, pure: false };
        let nothing = e.b().int(0, Scalar::I32);
        e.b().value_as(OpKind::InlineAsm(Box::new(code)), &[nothing], Scalar::I32.into());
    }
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
    Builtin::kernel("extra.gdc_wait", "", run_dependence),
    Builtin::kernel("extra.gdc_launch_dependents", "", run_dependence),
    Builtin::kernel("extra.convert_custom_float8_sm70", "*args", run_absent),
    Builtin::kernel("extra.convert_custom_float8_sm80", "*args", run_absent),
];
