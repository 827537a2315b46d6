//! Promises to the compiler: divisibility, contiguity, constancy, assumptions.

use shoal_ir::OpKind;
use shoal_ir::func::Facts;

use super::operand::{Number, Operand, to_tensor};
use super::unary;
use super::words::counted;
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Tensor, Value};

/// What is promised of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// The first element of every contiguous run is divisible.
    Divisible,
    /// Runs of elements are consecutive.
    Contiguous,
    /// Runs of elements are equal.
    Constant,
}

/// Writes a promise on a value: one number for each dimension (one for a scalar).
pub(crate) fn promise(e: &mut Emit<'_>, function: &str, what: Promise, t: &Tensor, values: &[i128]) -> LowerResult<()> {
    let rank = t.shape().len().max(1);
    if values.len() != rank {
        return Err(e
            .error(format!(
                "`{function}` needs {} for `{}`, not {}",
                counted(rank, "value"),
                t.type_name(),
                values.len()
            ))
            .help("give one value for each dimension")
            .into());
    }
    let Some(values) = values.iter().map(|&v| u64::try_from(v).ok().filter(|v| *v > 0)).collect::<Option<Vec<_>>>()
    else {
        return Err(e.lower_error(format!("the values of `{function}` must be positive")));
    };
    let list = values.into_iter().collect();
    let facts = match what {
        Promise::Divisible => Facts { divisible: list, ..Facts::default() },
        Promise::Contiguous => Facts { contiguous: list, ..Facts::default() },
        Promise::Constant => Facts { constant: list, ..Facts::default() },
    };
    e.func.value_mut(t.value).facts.merge(&facts);
    Ok(())
}

/// The compiler may rely on a condition.
pub(crate) fn assume(e: &mut Emit<'_>, condition: &Operand) -> LowerResult<()> {
    match condition {
        // Nothing is learned from what is known anyway.
        Operand::Number(n) if n.as_float() != 0.0 => Ok(()),
        Operand::Number(_) => {
            e.warn("this assumption is false at compile time", "it never holds, so it is left out");
            Ok(())
        }
        Operand::Tensor(t) => {
            let c = unary::scalar_condition(e, t)?;
            e.b().inferred(OpKind::Assume, &[c.value], &[]);
            Ok(())
        }
    }
}

fn hint(l: &mut dyn BuiltinContext<'_>, a: &Args, what: Promise) -> LowerResult<Value> {
    let input = a.value("input").clone();
    // Numbers are known; there is nothing to promise.
    if let Value::Tensor(t) = &input {
        promise(l.emit(), a.function_name(), what, t, &a.ints("values")?)?;
    }
    Ok(input)
}

fn run_multiple_of(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    hint(l, a, Promise::Divisible)
}

fn run_max_contiguous(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    hint(l, a, Promise::Contiguous)
}

fn run_max_constancy(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    hint(l, a, Promise::Constant)
}

fn run_assume(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let condition = Operand::new(l.emit(), a.value("cond"))?;
    assume(l.emit(), &condition)?;
    Ok(Value::NONE)
}

/// With debug on, checks that values expected to have underflowed are zero.
fn run_expect_zero(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("x"))?;
    let mask = to_tensor(e, a.value("mask"))?;
    let zero = super::binary::comparison(e, shoal_ir::op::CmpOp::Eq, &x.clone().into(), &Number::Int(0).into())?;
    super::debug::check(e, &zero, "`expect_zero` found a value that is not zero", Some(&mask.into()))?;
    Ok(x.into())
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("multiple_of", "input, values: const", run_multiple_of),
    Builtin::kernel("max_contiguous", "input, values: const", run_max_contiguous),
    Builtin::kernel("max_constancy", "input, values: const", run_max_constancy),
    Builtin::kernel("assume", "cond", run_assume),
    Builtin::kernel("expect_zero", "x, mask", run_expect_zero),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message};
    use shoal_ir::Scalar;

    #[test]
    fn promises_stay_on_the_value() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::I32, &[128]);
        let e = &mut s.emit;
        promise(e, "multiple_of", Promise::Divisible, &x, &[16]).unwrap();
        promise(e, "max_contiguous", Promise::Contiguous, &x, &[128]).unwrap();
        let facts = &e.func.value(x.value).facts;
        assert_eq!((facts.divisible.as_slice(), facts.contiguous.as_slice()), (&[16][..], &[128][..]));
        assert_eq!(
            message(promise(e, "multiple_of", Promise::Divisible, &x, &[1, 2])),
            "`multiple_of` needs 1 value for `i32[128]`, not 2"
        );
        assert_eq!(
            message(promise(e, "multiple_of", Promise::Divisible, &x, &[0])),
            "the values of `multiple_of` must be positive"
        );
        s.verify();
    }

    #[test]
    fn assumptions_are_single_conditions() {
        let mut s = Sandbox::new();
        let c = s.param(Scalar::I1, &[]);
        let e = &mut s.emit;
        assume(e, &Number::Bool(true).into()).unwrap();
        assume(e, &c.into()).unwrap();
        assume(e, &Number::Bool(false).into()).unwrap();
        assert_eq!(e.notes[0].message, "this assumption is false at compile time");
        assert_eq!(s.mnemonics(), ["assume"]);
        s.verify();
    }
}
