//! Arithmetic and comparisons of a harness, as Python does them.

use std::cmp::Ordering;

use super::HarnessValue as Value;
use crate::syntax::ast::{BinOp, CmpOp, UnaryOp};

pub(super) fn truth(value: &Value) -> bool {
    match value {
        Value::None => false,
        Value::Bool(b) => *b,
        Value::Int(i) => *i != 0,
        Value::Float(x) => *x != 0.0,
        Value::Str(s) => !s.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Object(_) => true,
    }
}

/// The value as an integer, if it is one.
pub(super) fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(b) => Some(i128::from(*b)),
        Value::Int(i) => Some(*i),
        Value::None | Value::Float(_) | Value::Str(_) | Value::List(_) | Value::Object(_) => None,
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(x) => Some(*x),
        Value::Bool(_) | Value::Int(_) => integer(value).map(|i| i as f64),
        Value::None | Value::Str(_) | Value::List(_) | Value::Object(_) => None,
    }
}

pub(super) fn unary(op: UnaryOp, value: &Value) -> Option<Value> {
    match op {
        UnaryOp::Not => Some(Value::Bool(!truth(value))),
        UnaryOp::Pos => float(value).map(|_| value.clone()),
        UnaryOp::Neg => match integer(value) {
            Some(i) => i.checked_neg().map(Value::Int),
            None => float(value).map(|x| Value::Float(-x)),
        },
        UnaryOp::Invert => integer(value).map(|i| Value::Int(!i)),
    }
}

pub(super) fn binary(op: BinOp, a: &Value, b: &Value) -> Option<Value> {
    match (op, a, b) {
        (BinOp::Add, Value::List(x), Value::List(y)) => {
            return Some(Value::List(x.iter().chain(y).cloned().collect()));
        }
        (BinOp::Add, Value::Str(x), Value::Str(y)) => return Some(Value::Str(format!("{x}{y}"))),
        (BinOp::Mul, Value::List(items), count) => {
            let count = usize::try_from(integer(count)?).ok().filter(|&n| n.saturating_mul(items.len()) <= LONGEST)?;
            return Some(Value::List(std::iter::repeat_n(items, count).flatten().cloned().collect()));
        }
        _ => {}
    }
    match (integer(a), integer(b)) {
        (Some(x), Some(y)) => integers(op, x, y),
        _ => floats(op, float(a)?, float(b)?).map(Value::Float),
    }
}

/// The longest list.
pub(super) const LONGEST: usize = 1 << 20;

fn integers(op: BinOp, x: i128, y: i128) -> Option<Value> {
    let shift = || u32::try_from(y).ok().filter(|&s| s < 100);
    let result = match op {
        BinOp::Add => x.checked_add(y)?,
        BinOp::Sub => x.checked_sub(y)?,
        BinOp::Mul => x.checked_mul(y)?,
        BinOp::Div => return floats(op, x as f64, y as f64).map(Value::Float),
        BinOp::FloorDiv => x.checked_div_euclid(y).map(|q| if y < 0 && x.rem_euclid(y) != 0 { q - 1 } else { q })?,
        BinOp::Mod => {
            let rem = x.checked_rem(y)?;
            if rem != 0 && (rem < 0) != (y < 0) { rem + y } else { rem }
        }
        BinOp::Pow => x.checked_pow(u32::try_from(y).ok()?)?,
        BinOp::Shl => x.checked_mul(1i128.checked_shl(shift()?)?)?,
        BinOp::Shr => x >> shift()?,
        BinOp::And => x & y,
        BinOp::Or => x | y,
        BinOp::Xor => x ^ y,
        BinOp::MatMul => return None,
    };
    Some(Value::Int(result))
}

fn floats(op: BinOp, x: f64, y: f64) -> Option<f64> {
    Some(match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div => (y != 0.0).then_some(x / y)?,
        BinOp::FloorDiv => (y != 0.0).then_some((x / y).floor())?,
        BinOp::Mod => (y != 0.0).then_some(x - y * (x / y).floor())?,
        BinOp::Pow => x.powf(y),
        BinOp::Shl | BinOp::Shr | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::MatMul => return None,
    })
}

pub(super) fn compare(op: CmpOp, a: &Value, b: &Value) -> Option<bool> {
    let equal = || match (float(a), float(b)) {
        (Some(x), Some(y)) => x == y,
        _ => a == b,
    };
    let order = || match (a, b) {
        (Value::Str(x), Value::Str(y)) => Some(x.cmp(y)),
        _ => float(a)?.partial_cmp(&float(b)?),
    };
    let contains = || match b {
        Value::List(items) => Some(items.contains(a)),
        Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::Object(_) => None,
    };
    Some(match op {
        CmpOp::Eq | CmpOp::Is => equal(),
        CmpOp::Ne | CmpOp::IsNot => !equal(),
        CmpOp::Lt => order()? == Ordering::Less,
        CmpOp::Le => order()? != Ordering::Greater,
        CmpOp::Gt => order()? == Ordering::Greater,
        CmpOp::Ge => order()? != Ordering::Less,
        CmpOp::In => contains()?,
        CmpOp::NotIn => !contains()?,
    })
}

/// Calls of Python's own functions.
pub(super) fn builtin(name: &str, args: &[Value]) -> Option<Value> {
    // Of a list as of its elements.
    let args = match (name, args) {
        ("min" | "max", [Value::List(items)]) => &items[..],
        (_, args) => args,
    };
    let ints: Option<Vec<i128>> = args.iter().map(integer).collect();
    let list = |values: Vec<i128>| Value::List(values.into_iter().map(Value::Int).collect());
    match (name, args, ints.as_deref()) {
        ("range", _, Some(&[end])) => Some(list(range(0, end, 1)?)),
        ("range", _, Some(&[start, end])) => Some(list(range(start, end, 1)?)),
        ("range", _, Some(&[start, end, step])) => Some(list(range(start, end, step)?)),
        ("len", [Value::List(items)], _) => Some(Value::Int(items.len() as i128)),
        ("sum", [Value::List(items)], _) => {
            items.iter().try_fold(Value::Int(0), |sum, item| binary(BinOp::Add, &sum, item))
        }
        ("min", _, Some(all)) => all.iter().min().map(|&i| Value::Int(i)),
        ("max", _, Some(all)) => all.iter().max().map(|&i| Value::Int(i)),
        ("abs", _, Some(&[x])) => x.checked_abs().map(Value::Int),
        ("cdiv", _, Some(&[x, y])) if y > 0 => Some(Value::Int((x + y - 1).div_euclid(y))),
        ("next_power_of_2", _, Some(&[x])) => {
            u64::try_from(x).ok().and_then(u64::checked_next_power_of_two).map(|p| Value::Int(p.into()))
        }
        ("int", [value], _) => match value {
            Value::Float(x) => Some(Value::Int(x.trunc() as i128)),
            other => integer(other).map(Value::Int),
        },
        ("float", [value], _) => float(value).map(Value::Float),
        ("list" | "tuple", [Value::List(items)], _) => Some(Value::List(items.clone())),
        _ => None,
    }
}

fn range(start: i128, end: i128, step: i128) -> Option<Vec<i128>> {
    let mut values = Vec::new();
    let mut at = start;
    while step != 0 && ((step > 0 && at < end) || (step < 0 && at > end)) {
        if values.len() == LONGEST {
            return None;
        }
        values.push(at);
        at = at.checked_add(step)?;
    }
    (step != 0).then_some(values)
}
