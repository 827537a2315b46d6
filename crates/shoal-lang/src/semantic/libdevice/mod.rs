//! The names of `libdevice`, in terms of the IR's own operations.
//!
//! Each name takes the types its namesake takes, and nothing else: users cast where they mean to round. What
//! rounds in a direction is composed of operations that round to nearest.

mod compose;
mod directed;
mod table;

use shoal_ir::OpKind;
use shoal_ir::op::{BinaryOp, MathFn, Rounding, UnaryOp};
use shoal_ir::types::Scalar;

use self::directed::{Arithmetic, Direction};
use super::broadcast;
use super::operand::{number_type, to_tensor};
use crate::builtin::{Args, BuiltinContext};
use crate::dtype::scalar_name;
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Tensor, Value};

pub(crate) use table::BUILTINS;

/// The types a function takes.
#[derive(Debug, Clone, Copy)]
enum Domain {
    /// All `fp32` or all `fp64`.
    Floats,
    /// One of these lists.
    Any(&'static [&'static [Scalar]]),
}

/// What a function does.
#[derive(Clone, Copy)]
enum Meaning {
    /// A function of mathematics.
    Math(MathFn),
    /// An operation on one operand.
    Unary(UnaryOp),
    /// An operation on bits that counts; the count is an `int32`.
    Count(UnaryOp),
    /// An operation on two operands.
    Binary(BinaryOp),
    /// `x * y + z`, rounded once.
    Fma,
    /// A conversion by value.
    Cast(Scalar, Rounding),
    /// The same bits at another type.
    Bits(Scalar),
    /// A float rounded, then converted to an integer type, whose bits are given as another one.
    ToInt { round: Option<MathFn>, via: Scalar, result: Scalar },
    /// Arithmetic that does not round to nearest.
    Directed(Arithmetic, Direction),
    /// A conversion to a float type that does not round to nearest.
    Convert(Scalar, Direction),
    /// The upper half of an approximate reciprocal.
    Rcp64h,
    /// Several operations.
    Compose(fn(&mut Emit<'_>, &[Tensor]) -> LowerResult<Tensor>),
}

/// One name.
struct Entry {
    name: &'static str,
    domain: Domain,
    meaning: Meaning,
}

fn accepts(domain: Domain, types: &[Option<Scalar>]) -> bool {
    match domain {
        Domain::Floats => matches!(types[0], Some(Scalar::F32 | Scalar::F64)) && types.iter().all(|ty| *ty == types[0]),
        Domain::Any(lists) => {
            lists.iter().any(|list| list.len() == types.len() && list.iter().zip(types).all(|(l, t)| Some(*l) == *t))
        }
    }
}

fn wrong_types(e: &Emit<'_>, entry: &Entry, args: &[Tensor]) -> LowerError {
    let given: Vec<String> = args.iter().map(Tensor::type_name).collect();
    let known: Vec<String> = match entry.domain {
        Domain::Floats => [Scalar::F32, Scalar::F64].map(|s| signature(&vec![s; args.len()])).to_vec(),
        Domain::Any(lists) => lists.iter().map(|list| signature(list)).collect(),
    };
    e.error(format!("`libdevice.{}` does not take ({})", entry.name, given.join(", ")))
        .help(format!("cast the arguments to {}", known.join(" or ")))
        .into()
}

fn signature(types: &[Scalar]) -> String {
    let names: Vec<&str> = types.iter().map(|&s| scalar_name(s)).collect();
    format!("({})", names.join(", "))
}

/// Calls a function by name.
fn call(e: &mut Emit<'_>, name: &str, args: &[Tensor]) -> LowerResult<Tensor> {
    let entry = table::ENTRIES.iter().find(|entry| entry.name == name).expect("the table lists every name");
    let types: Vec<Option<Scalar>> = args.iter().map(number_type).collect();
    if !accepts(entry.domain, &types) {
        return Err(wrong_types(e, entry, args));
    }
    let args = broadcast::all(e, args)?;
    apply(e, entry.meaning, &args)
}

fn apply(e: &mut Emit<'_>, meaning: Meaning, args: &[Tensor]) -> LowerResult<Tensor> {
    let operands: Vec<_> = args.iter().map(|t| t.value).collect();
    let mut b = e.b();
    let value = match meaning {
        Meaning::Math(f) => b.value(OpKind::Math(f), &operands),
        Meaning::Unary(op) => b.unary(op, operands[0]),
        Meaning::Count(op) => {
            let count = b.unary(op, operands[0]);
            b.cast(count, Scalar::I32)
        }
        Meaning::Binary(op) => b.binary(op, operands[0], operands[1]),
        Meaning::Fma => b.value(OpKind::Fma, &operands),
        Meaning::Cast(to, rounding) => b.value_as(OpKind::Cast(rounding), &operands, args[0].ty.with_elem(to)),
        Meaning::Bits(to) => b.bitcast(operands[0], to),
        Meaning::ToInt { round, via, result } => {
            let rounded = round.map_or(operands[0], |f| b.value(OpKind::Math(f), &operands));
            let int = b.cast(rounded, via);
            if via == result { int } else { b.bitcast(int, result) }
        }
        Meaning::Directed(what, direction) => directed::arithmetic(b, what, direction, &operands),
        Meaning::Convert(to, direction) => directed::convert(b, to, direction, operands[0]),
        Meaning::Rcp64h => directed::rcp64h(b, operands[0]),
        Meaning::Compose(f) => return f(e, args),
    };
    Ok(e.tensor(value))
}

fn run(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let mut args = Vec::new();
    for name in ["arg0", "arg1", "arg2", "arg3"].into_iter().take(table::arity(a.function_name())) {
        args.push(to_tensor(e, a.value(name))?);
    }
    call(e, a.function_name(), &args).map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, type_of};

    /// Every name, at every list of types it takes, gives valid IR.
    #[test]
    fn every_name_has_a_meaning() {
        for entry in table::ENTRIES {
            let arity = table::arity(entry.name);
            let lists: Vec<Vec<Scalar>> = match entry.domain {
                Domain::Floats => vec![vec![Scalar::F32; arity], vec![Scalar::F64; arity]],
                Domain::Any(lists) => lists.iter().map(|l| l.to_vec()).collect(),
            };
            for types in lists {
                assert_eq!(types.len(), arity, "`{}` has one arity", entry.name);
                let mut s = Sandbox::new();
                let args: Vec<_> = types.iter().map(|&ty| s.param(ty, &[8])).collect();
                if let Meaning::Math(f) = entry.meaning {
                    assert_eq!(f.arity(), arity, "{}", entry.name);
                }
                call(&mut s.emit, entry.name, &args).unwrap();
                s.verify();
            }
        }
    }

    #[test]
    fn results_have_their_own_types() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F64, &[4]);
        let i = s.param(Scalar::I64, &[4]);
        let h = s.param(Scalar::F16, &[4]);
        let e = &mut s.emit;
        assert_eq!(type_of(&call(e, "isnan", std::slice::from_ref(&x)).unwrap()), "i1[4]");
        assert_eq!(type_of(&call(e, "clz", std::slice::from_ref(&i)).unwrap()), "i32[4]");
        assert_eq!(type_of(&call(e, "double2int_rd", std::slice::from_ref(&x)).unwrap()), "i32[4]");
        assert_eq!(type_of(&call(e, "double2hiint", std::slice::from_ref(&x)).unwrap()), "i32[4]");
        assert_eq!(type_of(&call(e, "llround", std::slice::from_ref(&x)).unwrap()), "i64[4]");
        assert_eq!(message(call(e, "exp", std::slice::from_ref(&h))), "`libdevice.exp` does not take (fp16[4])");
        s.verify();
    }
}
