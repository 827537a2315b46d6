//! Looking inside: prints, run-time and compile-time assertions, barriers.

use shoal_ir::OpKind;
use shoal_ir::types::{Elem, Scalar};
use shoal_source::Kind;

use super::operand::{Operand, elem, materialize, number_type};
use super::{broadcast, cast, memory};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Const, Tensor, Value};

/// With debug on: the program fails with `message` unless every (unmasked) element is true.
pub(crate) fn check(e: &mut Emit<'_>, condition: &Tensor, message: &str, mask: Option<&Operand>) -> LowerResult<()> {
    if !e.options.debug {
        return Ok(());
    }
    let condition = match elem(condition) {
        Elem::Scalar(s) if s.is_int() => cast::truth(e, condition)?,
        _ => {
            return Err(e
                .error(format!("an assertion needs a condition, not `{}`", condition.type_name()))
                .help("compare: `x == y`")
                .into());
        }
    };
    let mask = mask.map(|mask| memory::mask_of(e, mask)).transpose()?;
    let (condition, mask) = lanes::at_access(e, &condition, None, mask.as_ref())?;
    let parts: Vec<Tensor> = std::iter::once(condition).chain(mask).collect();
    let operands: Vec<_> = broadcast::all(e, &parts)?.iter().map(|t| t.value).collect();
    e.b().inferred(OpKind::Assert { message: message.to_owned() }, &operands, &[]);
    Ok(())
}

/// Prints each element of each value.
pub(crate) fn print(e: &mut Emit<'_>, prefix: &str, values: &[Operand], hex: bool) -> LowerResult<()> {
    if !prefix.chars().all(|c| c.is_ascii() && (!c.is_ascii_control() || c.is_ascii_whitespace())) {
        return Err(e
            .error("the prefix of a print must be plain ASCII")
            .help("what is printed passes through the device, which knows no other characters")
            .into());
    }
    let mut operands = Vec::with_capacity(values.len());
    for value in values {
        operands.push(materialize(e, value)?.value);
    }
    let prefix = spaced(prefix, operands.is_empty());
    e.b().inferred(OpKind::Print { prefix, hex }, &operands, &[]);
    Ok(())
}

/// The prefix as it is printed: ` name: ` before values.
fn spaced(prefix: &str, alone: bool) -> String {
    let mut text = prefix.to_owned();
    if !alone {
        let end = text.trim_end_matches(' ').trim_end_matches(':').len();
        text.truncate(end);
        text.push_str(": ");
    }
    if text.len() > 2 && !text.starts_with(' ') {
        text.insert(0, ' ');
    }
    text
}

/// A failed or ill-formed compile-time assertion.
pub(crate) fn static_check(e: &Emit<'_>, condition: &Value, message: &str) -> LowerResult<()> {
    match condition {
        Value::Invalid => Err(LowerError::reported()),
        Value::Const(c @ (Const::Bool(_) | Const::Int(_) | Const::None)) => {
            if c.truthy() {
                return Ok(());
            }
            let error = e.error("compile-time assertion failed").kind(Kind::Assertion);
            Err(LowerError::from(if message.is_empty() { error } else { error.label(message) }).ending_function())
        }
        Value::Tensor(t) => Err(e
            .error("`static_assert` needs a condition that is known at compile time")
            .label(format!("this is `{}`, computed on the device", t.type_name()))
            .help("use `tl.device_assert`, or make what it depends on `tl.constexpr`")
            .into()),
        other => {
            Err(e.lower_error(format!("`static_assert` needs a condition, not {}", crate::builtin::describe(other))))
        }
    }
}

fn run_device_print(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let prefix = match a.value("prefix") {
        Value::Const(Const::Str(s)) => s.clone(),
        _ => {
            let error = a.wrong("prefix", "a string literal");
            return Err(error.map(|d| d.help("write a text first: `tl.device_print(\"x\", x)`")));
        }
    };
    let values = a.rest().iter().map(|(v, _)| Operand::new(e, v)).collect::<LowerResult<Vec<_>>>()?;
    print(e, &prefix, &values, a.bool("hex")?)?;
    Ok(Value::NONE)
}

fn run_device_assert(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let condition = match a.value("cond") {
        // A condition known to hold needs no check.
        Value::Const(c) if c.truthy() => return Ok(Value::NONE),
        value => super::operand::to_tensor(e, value)?,
    };
    if number_type(&condition).is_some_and(Scalar::is_float) {
        return Err(a.wrong("cond", "a condition"));
    }
    let mask = a.optional("mask").map(|v| Operand::new(e, v)).transpose()?;
    check(e, &condition, a.str("msg")?, mask.as_ref())?;
    Ok(Value::NONE)
}

fn run_static_assert(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let message = match a.value("msg") {
        Value::Const(Const::Str(s)) => s.to_string(),
        other => other.as_const().map(ToString::to_string).unwrap_or_default(),
    };
    static_check(l.emit(), a.value("cond"), &message)?;
    Ok(Value::NONE)
}

fn run_debug_barrier(l: &mut dyn BuiltinContext<'_>, _: &Args) -> LowerResult<Value> {
    l.emit().b().inferred(OpKind::Barrier, &[], &[]);
    Ok(Value::NONE)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("device_print", "prefix, *args, hex: const=False", run_device_print),
    Builtin::kernel("device_assert", "cond, msg: const='', mask=None", run_device_assert),
    Builtin::anywhere("static_assert", "cond, msg=''", run_static_assert),
    Builtin::kernel("debug_barrier", "", run_debug_barrier),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::semantic::operand::Number;
    use crate::semantic::testing::{Sandbox, message};

    #[test]
    fn assertions_cost_nothing_without_debug() {
        let mut s = Sandbox::new();
        let c = s.param(Scalar::I1, &[8]);
        check(&mut s.emit, &c, "no", None).unwrap();
        assert!(s.mnemonics().is_empty());
        let mut s = Sandbox::with(Options { debug: true, ..Options::default() });
        let c = s.param(Scalar::I1, &[8]);
        check(&mut s.emit, &c, "no", Some(&Number::Bool(true).into())).unwrap();
        assert_eq!(s.mnemonics().last(), Some(&"assert"));
        s.verify();
    }

    #[test]
    fn prefixes_are_spaced() {
        assert_eq!(spaced("x", false), " x: ");
        assert_eq!(spaced("x: ", false), " x: ");
        assert_eq!(spaced(" x:", false), " x: ");
        assert_eq!(spaced("hello", true), " hello");
        assert_eq!(spaced("", false), ": ");
        let mut s = Sandbox::new();
        assert_eq!(message(print(&mut s.emit, "é", &[], false)), "the prefix of a print must be plain ASCII");
    }

    #[test]
    fn static_assertions_are_decided_here() {
        let mut s = Sandbox::new();
        let c = s.param(Scalar::I1, &[]);
        assert!(static_check(&s.emit, &Value::bool(true), "").is_ok());
        assert_eq!(message(static_check(&s.emit, &Value::bool(false), "BLOCK")), "compile-time assertion failed");
        assert_eq!(
            message(static_check(&s.emit, &c.into(), "")),
            "`static_assert` needs a condition that is known at compile time"
        );
    }
}
