//! Python's `math` module, at compile time.

use super::{Args, Builtin, BuiltinContext};
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Const, Value};

/// Python's `math` module.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::anywhere("pymath.sqrt", "x: const", run_function),
    Builtin::anywhere("pymath.exp", "x: const", run_function),
    Builtin::anywhere("pymath.exp2", "x: const", run_function),
    Builtin::anywhere("pymath.log2", "x: const", run_function),
    Builtin::anywhere("pymath.log10", "x: const", run_function),
    Builtin::anywhere("pymath.log1p", "x: const", run_function),
    Builtin::anywhere("pymath.sin", "x: const", run_function),
    Builtin::anywhere("pymath.cos", "x: const", run_function),
    Builtin::anywhere("pymath.tan", "x: const", run_function),
    Builtin::anywhere("pymath.asin", "x: const", run_function),
    Builtin::anywhere("pymath.acos", "x: const", run_function),
    Builtin::anywhere("pymath.atan", "x: const", run_function),
    Builtin::anywhere("pymath.sinh", "x: const", run_function),
    Builtin::anywhere("pymath.cosh", "x: const", run_function),
    Builtin::anywhere("pymath.tanh", "x: const", run_function),
    Builtin::anywhere("pymath.fabs", "x: const", run_function),
    Builtin::anywhere("pymath.radians", "x: const", run_function),
    Builtin::anywhere("pymath.degrees", "x: const", run_function),
    Builtin::anywhere("pymath.log", "x: const, base: const=None", run_log),
    Builtin::anywhere("pymath.pow", "x: const, y: const", run_pow),
    Builtin::anywhere("pymath.ceil", "x: const", run_whole),
    Builtin::anywhere("pymath.floor", "x: const", run_whole),
    Builtin::anywhere("pymath.trunc", "x: const", run_whole),
    Builtin::anywhere("pymath.isnan", "x: const", run_isnan),
    Builtin::anywhere("pymath.isinf", "x: const", run_isinf),
    Builtin::anywhere("pymath.prod", "items: const", run_prod),
    Builtin::anywhere("pymath.gcd", "x: const, y: const", run_gcd),
];

/// `math.pi` and its relatives.
pub(crate) fn constant(name: &str) -> Option<Value> {
    use std::f64::consts;
    let value = match name {
        "pi" => consts::PI,
        "e" => consts::E,
        "tau" => consts::TAU,
        "inf" => f64::INFINITY,
        "nan" => f64::NAN,
        _ => return None,
    };
    Some(Value::Const(Const::Float(value)))
}

fn float(args: &Args, name: &str) -> LowerResult<f64> {
    args.value(name).as_const().and_then(Const::as_float).ok_or_else(|| args.wrong(name, "a number"))
}

fn result(args: &Args, value: f64, inputs: &[f64]) -> LowerResult<Value> {
    if value.is_nan() && !inputs.iter().any(|x| x.is_nan()) {
        return Err(LowerError::new(
            args.span,
            format!("`math.{}` is not defined for this number", args.function_name()),
        ));
    }
    Ok(Value::Const(Const::Float(value)))
}

fn run_function(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let x = float(args, "x")?;
    let value = match args.function_name() {
        "sqrt" => x.sqrt(),
        "exp" => x.exp(),
        "exp2" => x.exp2(),
        "log2" => logarithm(x, f64::log2),
        "log10" => logarithm(x, f64::log10),
        "log1p" => x.ln_1p(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "radians" => x.to_radians(),
        "degrees" => x.to_degrees(),
        _ => x.abs(),
    };
    result(args, value, &[x])
}

/// Python has no logarithm of zero.
fn logarithm(x: f64, f: fn(f64) -> f64) -> f64 {
    if x <= 0.0 { f64::NAN } else { f(x) }
}

fn run_log(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let x = float(args, "x")?;
    if args.value("base").is_none() {
        return result(args, logarithm(x, f64::ln), &[x]);
    }
    let base = float(args, "base")?;
    result(args, logarithm(x, f64::ln) / logarithm(base, f64::ln), &[x, base])
}

fn run_pow(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let (x, y) = (float(args, "x")?, float(args, "y")?);
    result(args, x.powf(y), &[x, y])
}

fn run_whole(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    if let Some(i) = args.value("x").as_const().and_then(Const::as_int) {
        return Ok(Value::int(i));
    }
    let x = float(args, "x")?;
    if !x.is_finite() || x.abs() >= 1e38 {
        return Err(args.wrong("x", "a finite number"));
    }
    Ok(Value::int(match args.function_name() {
        "ceil" => x.ceil(),
        "floor" => x.floor(),
        _ => x.trunc(),
    } as i128))
}

fn run_isnan(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    Ok(Value::bool(float(args, "x")?.is_nan()))
}

fn run_isinf(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    Ok(Value::bool(float(args, "x")?.is_infinite()))
}

fn run_prod(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let mut product = Const::Int(1);
    for item in l.elements(args.value("items"), args.span_of("items"))? {
        let Some(c) = item.as_const() else { return Err(args.wrong("items", "a tuple of numbers")) };
        product = crate::consts::binary(crate::syntax::ast::BinOp::Mul, &product, c)
            .map_err(|message| LowerError::new(args.span, message))?;
    }
    Ok(Value::Const(product))
}

fn run_gcd(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let (mut a, mut b) = (args.int("x")?.unsigned_abs(), args.int("y")?.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Ok(Value::int(i128::try_from(a).unwrap_or(i128::MAX)))
}
