//! Mathematics on tiles: functions of floats, minimum and maximum, precise and fused arithmetic.

use shoal_ir::op::{BinaryOp, MathFn};
use shoal_ir::types::Scalar;
use shoal_ir::{Extreme, Nan, OpKind};

use super::operand::{Operand, materialize, number_type, to_tensor};
use super::promote::Rules;
use super::words::any_of;
use super::{binary, unary};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::dtype::scalar_name;
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Tensor, Value};

/// The types most functions take: hardware computes them in no other, so users say where they round.
const FLOATS: &[Scalar] = &[Scalar::F32, Scalar::F64];
const SINGLE: &[Scalar] = &[Scalar::F32];
const WIDE_INTS: &[Scalar] = &[Scalar::I32, Scalar::I64, Scalar::U32, Scalar::U64];

fn check_type(e: &Emit<'_>, function: &str, t: &Tensor, allowed: &[Scalar]) -> LowerResult<()> {
    match number_type(t) {
        Some(ty) if allowed.contains(&ty) => Ok(()),
        _ => Err(wrong_type(e, function, t, allowed)),
    }
}

fn wrong_type(e: &Emit<'_>, function: &str, t: &Tensor, allowed: &[Scalar]) -> LowerError {
    let names: Vec<String> = allowed.iter().map(|&s| format!("`{}`", scalar_name(s))).collect();
    let error = e.error(format!("`{function}` takes {}, not `{}`", any_of(&names), t.type_name()));
    if t.ty.elem().is_some_and(|e| e.ptr().is_some()) {
        return error.help("load the values first with `tl.load`").into();
    }
    let cast = if allowed.contains(&Scalar::F32) { "`.to(tl.float32)`" } else { "`.to(tl.uint32)`" };
    error.help(format!("cast the argument with {cast}")).into()
}

/// A function of one float.
pub(crate) fn function(e: &mut Emit<'_>, name: &str, f: MathFn, x: &Tensor, allowed: &[Scalar]) -> LowerResult<Tensor> {
    check_type(e, name, x, allowed)?;
    let value = e.b().value(OpKind::Math(f), &[x.value]);
    Ok(e.tensor(value))
}

/// The lesser or the greater, element by element.
pub(crate) fn extreme(e: &mut Emit<'_>, which: Extreme, x: &Operand, y: &Operand, nan: Nan) -> LowerResult<Tensor> {
    let (x, y) = binary::unify(e, x, y, Rules::Plain)?;
    Ok(extreme_of(e, which, &x, &y, nan))
}

fn extreme_of(e: &mut Emit<'_>, which: Extreme, x: &Tensor, y: &Tensor, nan: Nan) -> Tensor {
    // Integers have no NaN.
    let nan = if number_type(x).is_some_and(Scalar::is_float) { nan } else { Nan::Ignore };
    let op = BinaryOp::of_extreme(which, nan);
    let value = e.b().binary(op, x.value, y.value);
    e.tensor(value)
}

/// `x`, but at least `low` and at most `high`.
pub(crate) fn clamp(e: &mut Emit<'_>, x: &Operand, low: &Operand, high: &Operand, nan: Nan) -> LowerResult<Tensor> {
    let [x, low, high] = binary::unify_three(e, [x, low, high])?;
    let raised = extreme_of(e, Extreme::Max, &x, &low, nan);
    Ok(extreme_of(e, Extreme::Min, &raised, &high, nan))
}

/// `x * y + z`, rounded once.
pub(crate) fn fused(e: &mut Emit<'_>, x: &Operand, y: &Operand, z: &Operand) -> LowerResult<Tensor> {
    let [x, y, z] = binary::unify_three(e, [x, y, z])?;
    if number_type(&x).is_some_and(Scalar::is_int) {
        return Err(e
            .error(format!("`fma` takes floats, not `{}`", x.type_name()))
            .help("on integers write `x * y + z`")
            .into());
    }
    let value = e.b().value(OpKind::Fma, &[x.value, y.value, z.value]);
    Ok(e.tensor(value))
}

/// How exact a quotient of floats is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotient {
    /// As the target divides fastest.
    Fast,
    /// Correctly rounded.
    Rounded,
}

/// The quotient of floats.
pub(crate) fn quotient(e: &mut Emit<'_>, x: &Operand, y: &Operand, how: Quotient) -> LowerResult<Tensor> {
    let (x, y) = binary::unify(e, x, y, Rules::Division)?;
    if number_type(&x).is_some_and(Scalar::is_int) {
        return Err(e
            .error(format!("`fdiv` takes floats, not `{}`", x.type_name()))
            .help("use `x / y`, which converts integers, or cast with `.to(tl.float32)`")
            .into());
    }
    let op = match how {
        Quotient::Fast => BinaryOp::Div,
        Quotient::Rounded => BinaryOp::DivRn,
    };
    let value = e.b().binary(op, x.value, y.value);
    Ok(e.tensor(value))
}

/// The upper half of a product of integers.
pub(crate) fn product_high(e: &mut Emit<'_>, x: &Operand, y: &Operand) -> LowerResult<Tensor> {
    for operand in [x, y] {
        if let Operand::Tensor(t) = operand {
            check_type(e, "umulhi", t, WIDE_INTS)?;
        }
    }
    let (x, y) = binary::unify(e, x, y, Rules::Plain)?;
    let ty = number_type(&x).expect("numbers");
    check_type(e, "umulhi", &x, WIDE_INTS)?;
    let unsigned = Scalar::int(ty.bits(), false).expect("a wide integer");
    // The product is unsigned, whatever the type says.
    let x = super::cast::by_bits(e, &x, unsigned.into())?;
    let y = super::cast::by_bits(e, &y, unsigned.into())?;
    let value = e.b().binary(BinaryOp::MulHi, x.value, y.value);
    let high = e.tensor(value);
    super::cast::by_bits(e, &high, ty.into())
}

fn unary_function(l: &mut dyn BuiltinContext<'_>, a: &Args, f: MathFn, allowed: &[Scalar]) -> LowerResult<Value> {
    let x = to_tensor(l.emit(), a.value("x"))?;
    function(l.emit(), a.function_name(), f, &x, allowed).map(Value::from)
}

/// The function of mathematics a builtin is named after.
fn run_function(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let f = MathFn::from_name(a.function_name()).expect("the table names functions of mathematics");
    let allowed = if f == MathFn::SqrtRn { SINGLE } else { FLOATS };
    unary_function(l, a, f, allowed)
}

fn run_abs(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let x = to_tensor(l.emit(), a.value("x"))?;
    unary::absolute(l.emit(), &x).map(Value::from)
}

fn operand(l: &mut dyn BuiltinContext<'_>, a: &Args, name: &str) -> LowerResult<Operand> {
    Operand::new(l.emit(), a.value(name))
}

fn nan_of(a: &Args) -> LowerResult<Nan> {
    match a.value("propagate_nan").as_const().and_then(crate::value::Const::as_int) {
        Some(0) => Ok(Nan::Ignore),
        Some(0xFFFF) => Ok(Nan::Propagate),
        _ => Err(a.wrong("propagate_nan", "`tl.PropagateNan.NONE` or `tl.PropagateNan.ALL`")),
    }
}

fn run_minimum(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, y) = (operand(l, a, "x")?, operand(l, a, "y")?);
    extreme(l.emit(), Extreme::Min, &x, &y, nan_of(a)?).map(Value::from)
}

fn run_maximum(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, y) = (operand(l, a, "x")?, operand(l, a, "y")?);
    extreme(l.emit(), Extreme::Max, &x, &y, nan_of(a)?).map(Value::from)
}

fn run_clamp(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, low, high) = (operand(l, a, "x")?, operand(l, a, "min")?, operand(l, a, "max")?);
    clamp(l.emit(), &x, &low, &high, nan_of(a)?).map(Value::from)
}

fn run_fma(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, y, z) = (operand(l, a, "x")?, operand(l, a, "y")?, operand(l, a, "z")?);
    fused(l.emit(), &x, &y, &z).map(Value::from)
}

fn run_fdiv(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, y) = (operand(l, a, "x")?, operand(l, a, "y")?);
    let (rounded, approximate) = (a.bool("ieee_rounding")?, a.bool("approx")?);
    if rounded && approximate {
        return Err(l.emit().error("`approx` and `ieee_rounding` exclude each other").help("choose one").into());
    }
    quotient(l.emit(), &x, &y, if rounded { Quotient::Rounded } else { Quotient::Fast }).map(Value::from)
}

fn run_div_rn(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, y) = (operand(l, a, "x")?, operand(l, a, "y")?);
    for operand in [&x, &y] {
        if let Operand::Tensor(t) = operand {
            check_type(l.emit(), "div_rn", t, SINGLE)?;
        }
    }
    let x = materialize(l.emit(), &x)?;
    quotient(l.emit(), &x.into(), &y, Quotient::Rounded).map(Value::from)
}

fn run_umulhi(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, y) = (operand(l, a, "x")?, operand(l, a, "y")?);
    product_high(l.emit(), &x, &y).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("exp", "x", run_function),
    Builtin::kernel("exp2", "x", run_function),
    Builtin::kernel("log", "x", run_function),
    Builtin::kernel("log2", "x", run_function),
    Builtin::kernel("sin", "x", run_function),
    Builtin::kernel("cos", "x", run_function),
    Builtin::kernel("sqrt", "x", run_function),
    Builtin::kernel("sqrt_rn", "x", run_function),
    Builtin::kernel("rsqrt", "x", run_function),
    Builtin::kernel("erf", "x", run_function),
    Builtin::kernel("floor", "x", run_function),
    Builtin::kernel("ceil", "x", run_function),
    Builtin::kernel("abs", "x", run_abs),
    Builtin::kernel("minimum", "x, y, propagate_nan: const=0", run_minimum),
    Builtin::kernel("maximum", "x, y, propagate_nan: const=0", run_maximum),
    Builtin::kernel("clamp", "x, min, max, propagate_nan: const=0", run_clamp),
    Builtin::kernel("fma", "x, y, z", run_fma),
    Builtin::kernel("fdiv", "x, y, ieee_rounding: const=False, approx: const=False", run_fdiv),
    Builtin::kernel("div_rn", "x, y", run_div_rn),
    Builtin::kernel("umulhi", "x, y", run_umulhi),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::operand::Number;
    use crate::semantic::testing::{Sandbox, message, type_of};

    #[test]
    fn functions_take_wide_floats() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[8]);
        let h = s.param(Scalar::F16, &[8]);
        let i = s.param(Scalar::I32, &[8]);
        let e = &mut s.emit;
        assert_eq!(type_of(&function(e, "exp", MathFn::Exp, &x, FLOATS).unwrap()), "fp32[8]");
        assert_eq!(message(function(e, "exp", MathFn::Exp, &h, FLOATS)), "`exp` takes `fp32` or `fp64`, not `fp16[8]`");
        assert_eq!(
            message(product_high(e, &x.clone().into(), &i.clone().into())),
            "`umulhi` takes `i32`, `i64`, `u32` or `u64`, not `fp32[8]`"
        );
        assert_eq!(type_of(&product_high(e, &i.clone().into(), &Number::Int(3).into()).unwrap()), "i32[8]");
        assert_eq!(
            message(product_high(e, &i.clone().into(), &Number::Float(1e300).into())),
            "`umulhi` takes `i32`, `i64`, `u32` or `u64`, not `fp64[8]`"
        );
        assert_eq!(
            message(fused(e, &i.clone().into(), &i.clone().into(), &i.into())),
            "`fma` takes floats, not `i32[8]`"
        );
        s.verify();
    }

    #[test]
    fn extremes_choose_what_nan_does() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::BF16, &[8]);
        let i = s.param(Scalar::I32, &[8]);
        let e = &mut s.emit;
        let zero: Operand = Number::Int(0).into();
        let m = extreme(e, Extreme::Max, &x.clone().into(), &x.clone().into(), Nan::Propagate).unwrap();
        assert_eq!(type_of(&m), "bf16[8]");
        extreme(e, Extreme::Min, &i.into(), &zero, Nan::Propagate).unwrap();
        let clamped = clamp(e, &x.into(), &zero, &Number::Float(1.5).into(), Nan::Ignore).unwrap();
        assert_eq!(type_of(&clamped), "bf16[8]");
        let ops: Vec<_> = s.mnemonics().into_iter().filter(|m| m.starts_with('m')).collect();
        assert_eq!(ops, ["max_nan", "min", "max", "min"]);
        s.verify();
    }

    #[test]
    fn quotients_are_floats() {
        let mut s = Sandbox::new();
        let h = s.param(Scalar::F16, &[8]);
        let i = s.param(Scalar::I32, &[8]);
        let e = &mut s.emit;
        let two: Operand = Number::Int(2).into();
        assert_eq!(type_of(&quotient(e, &h.into(), &two, Quotient::Rounded).unwrap()), "fp32[8]");
        assert_eq!(message(quotient(e, &i.into(), &two, Quotient::Fast)), "`fdiv` takes floats, not `i32[8]`");
        s.verify();
    }
}
