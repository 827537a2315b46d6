//! Python arithmetic on constants.
//!
//! What Python does, for the types of [`Const`]: floor division, exact integers (an error beyond 127 bits), mixed
//! comparisons. Failures come back as the words of the message; the caller knows the place.

use std::cmp::Ordering;
use std::fmt;

use crate::syntax::ast::{BinOp, CmpOp, Name, UnaryOp};
use crate::value::Const;

/// What went wrong, in the user's words.
pub(crate) type Complaint = String;

const TOO_LARGE: &str = "the integer is too large: compile-time integers have at most 127 bits";
/// The longest string that compile-time code may make.
pub(crate) const MAX_STRING: usize = 1 << 16;

impl Const {
    /// Python's name for its type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Const::None => "NoneType",
            Const::Bool(_) => "bool",
            Const::Int(_) => "int",
            Const::Float(_) => "float",
            Const::Str(_) => "str",
            Const::Ellipsis => "ellipsis",
        }
    }

    /// Python's truth value.
    #[must_use]
    pub fn truthy(&self) -> bool {
        match self {
            Const::None => false,
            Const::Bool(b) => *b,
            Const::Int(i) => *i != 0,
            Const::Float(f) => *f != 0.0,
            Const::Str(s) => !s.is_empty(),
            Const::Ellipsis => true,
        }
    }

    /// As an integer; booleans count as 0 and 1.
    #[must_use]
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Const::Bool(b) => Some(i128::from(*b)),
            Const::Int(i) => Some(*i),
            Const::None | Const::Float(_) | Const::Str(_) | Const::Ellipsis => None,
        }
    }

    /// As a float, from any number.
    #[must_use]
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Const::Bool(b) => Some(f64::from(u8::from(*b))),
            Const::Int(i) => Some(*i as f64),
            Const::Float(f) => Some(*f),
            Const::None | Const::Str(_) | Const::Ellipsis => None,
        }
    }
}

/// As `repr` shows it.
impl fmt::Display for Const {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Const::None => f.write_str("None"),
            Const::Bool(true) => f.write_str("True"),
            Const::Bool(false) => f.write_str("False"),
            Const::Int(i) => write!(f, "{i}"),
            Const::Float(x) => f.write_str(&float_repr(*x)),
            Const::Str(s) => {
                let quote = if s.contains('\'') && !s.contains('"') { '"' } else { '\'' };
                write!(f, "{quote}")?;
                for c in s.chars() {
                    match c {
                        '\n' => f.write_str("\\n")?,
                        '\t' => f.write_str("\\t")?,
                        '\r' => f.write_str("\\r")?,
                        '\\' => f.write_str("\\\\")?,
                        c if c == quote => write!(f, "\\{c}")?,
                        c => write!(f, "{c}")?,
                    }
                }
                write!(f, "{quote}")
            }
            Const::Ellipsis => f.write_str("Ellipsis"),
        }
    }
}

/// The shortest text that reads back as the same number, in Python's form.
#[must_use]
pub(crate) fn float_repr(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf".to_owned() } else { "-inf".to_owned() };
    }
    let scientific = format!("{x:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{x}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// The larger kind of two numbers decides how Python computes.
enum Pair<'a> {
    Ints(i128, i128),
    Floats(f64, f64),
    Strs(&'a Name, &'a Name),
    Mixed,
}

fn pair<'a>(a: &'a Const, b: &'a Const) -> Pair<'a> {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        return Pair::Ints(x, y);
    }
    if let (Some(x), Some(y)) = (a.as_float(), b.as_float()) {
        return Pair::Floats(x, y);
    }
    match (a, b) {
        (Const::Str(x), Const::Str(y)) => Pair::Strs(x, y),
        _ => Pair::Mixed,
    }
}

/// `a op b`.
///
/// # Errors
/// The operands do not go together, divide by zero, or give an integer that is too large.
pub(crate) fn binary(op: BinOp, a: &Const, b: &Const) -> Result<Const, Complaint> {
    match pair(a, b) {
        Pair::Ints(x, y) => match (op, a, b) {
            (BinOp::And, Const::Bool(p), Const::Bool(q)) => Ok(Const::Bool(p & q)),
            (BinOp::Or, Const::Bool(p), Const::Bool(q)) => Ok(Const::Bool(p | q)),
            (BinOp::Xor, Const::Bool(p), Const::Bool(q)) => Ok(Const::Bool(p ^ q)),
            _ => int_binary(op, x, y),
        },
        Pair::Floats(x, y) => float_binary(op, x, y),
        Pair::Strs(x, y) if op == BinOp::Add => join_strings(&[x, y]),
        Pair::Strs(..) | Pair::Mixed => match (op, a, b) {
            (BinOp::Mul, Const::Str(s), n) | (BinOp::Mul, n, Const::Str(s)) if n.as_int().is_some() => {
                let times = usize::try_from(n.as_int().unwrap_or(0).max(0)).unwrap_or(usize::MAX);
                if s.len().saturating_mul(times) > MAX_STRING {
                    return Err("the string is too long".to_owned());
                }
                Ok(Const::Str(Name::from(s.repeat(times))))
            }
            _ => Err(mismatch(op.symbol(), a, b)),
        },
    }
}

fn join_strings(parts: &[&Name]) -> Result<Const, Complaint> {
    let text: String = parts.iter().map(|p| &***p).collect();
    if text.len() > MAX_STRING {
        return Err("the string is too long".to_owned());
    }
    Ok(Const::Str(Name::from(text)))
}

fn mismatch(symbol: &str, a: &Const, b: &Const) -> Complaint {
    format!("`{symbol}` does not work between `{}` and `{}`", a.type_name(), b.type_name())
}

fn int_binary(op: BinOp, x: i128, y: i128) -> Result<Const, Complaint> {
    let checked = |v: Option<i128>| v.map(Const::Int).ok_or_else(|| TOO_LARGE.to_owned());
    let nonzero = || if y == 0 { Err("division by zero".to_owned()) } else { Ok(()) };
    match op {
        BinOp::Add => checked(x.checked_add(y)),
        BinOp::Sub => checked(x.checked_sub(y)),
        BinOp::Mul => checked(x.checked_mul(y)),
        BinOp::Div => {
            nonzero()?;
            Ok(Const::Float(x as f64 / y as f64))
        }
        BinOp::FloorDiv => {
            nonzero()?;
            checked(floor_div(x, y))
        }
        BinOp::Mod => {
            nonzero()?;
            checked(x.checked_rem(y).map(|r| if r != 0 && (r < 0) != (y < 0) { r + y } else { r }))
        }
        BinOp::Pow if y < 0 => {
            if x == 0 {
                return Err("0 cannot be raised to a negative power".to_owned());
            }
            Ok(Const::Float((x as f64).powf(y as f64)))
        }
        BinOp::Pow => match x {
            0 | 1 => Ok(Const::Int(if y == 0 { 1 } else { x })),
            -1 => Ok(Const::Int(if y % 2 == 0 { 1 } else { -1 })),
            _ => checked(u32::try_from(y).ok().and_then(|y| x.checked_pow(y))),
        },
        BinOp::Shl => {
            if y < 0 {
                return Err("negative shift count".to_owned());
            }
            let shifted = u32::try_from(y).ok().filter(|y| *y < 127).and_then(|y| x.checked_mul(1i128 << y));
            checked(if x == 0 { Some(0) } else { shifted })
        }
        BinOp::Shr => {
            if y < 0 {
                return Err("negative shift count".to_owned());
            }
            Ok(Const::Int(x >> y.min(127)))
        }
        BinOp::And => Ok(Const::Int(x & y)),
        BinOp::Or => Ok(Const::Int(x | y)),
        BinOp::Xor => Ok(Const::Int(x ^ y)),
        BinOp::MatMul => Err("`@` does not work between numbers".to_owned()),
    }
}

fn floor_div(x: i128, y: i128) -> Option<i128> {
    let q = x.checked_div(y)?;
    Some(if x % y != 0 && (x < 0) != (y < 0) { q - 1 } else { q })
}

fn float_binary(op: BinOp, x: f64, y: f64) -> Result<Const, Complaint> {
    let nonzero = || if y == 0.0 { Err("division by zero".to_owned()) } else { Ok(()) };
    Ok(Const::Float(match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div => {
            nonzero()?;
            x / y
        }
        BinOp::FloorDiv => {
            nonzero()?;
            (x / y).floor()
        }
        BinOp::Mod => {
            nonzero()?;
            let r = x % y;
            if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
        }
        BinOp::Pow => {
            if x == 0.0 && y < 0.0 {
                return Err("0.0 cannot be raised to a negative power".to_owned());
            }
            if x < 0.0 && y.fract() != 0.0 && y.is_finite() {
                return Err("a negative number to a fractional power is complex".to_owned());
            }
            x.powf(y)
        }
        BinOp::Shl | BinOp::Shr | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::MatMul => {
            return Err(format!("`{}` does not work on `float`", op.symbol()));
        }
    }))
}

/// `op a`.
///
/// # Errors
/// The operator does not work on the operand.
pub(crate) fn unary(op: UnaryOp, a: &Const) -> Result<Const, Complaint> {
    if op == UnaryOp::Not {
        return Ok(Const::Bool(!a.truthy()));
    }
    let wrong = || format!("unary `{}` does not work on `{}`", op.symbol(), a.type_name());
    match (op, a) {
        (UnaryOp::Neg, Const::Float(f)) => Ok(Const::Float(-f)),
        (UnaryOp::Pos, Const::Float(f)) => Ok(Const::Float(*f)),
        (UnaryOp::Neg, _) => {
            a.as_int().ok_or_else(wrong)?.checked_neg().map(Const::Int).ok_or_else(|| TOO_LARGE.to_owned())
        }
        (UnaryOp::Pos, _) => a.as_int().map(Const::Int).ok_or_else(wrong),
        (UnaryOp::Invert | UnaryOp::Not, _) => a.as_int().map(|i| Const::Int(!i)).ok_or_else(wrong),
    }
}

/// The order of two constants; `None` if NaN is one of them.
///
/// # Errors
/// They have no order.
pub(crate) fn order(a: &Const, b: &Const) -> Result<Option<Ordering>, Complaint> {
    match pair(a, b) {
        Pair::Ints(x, y) => Ok(Some(x.cmp(&y))),
        Pair::Floats(x, y) => Ok(x.partial_cmp(&y)),
        Pair::Strs(x, y) => Ok(Some(x.cmp(y))),
        Pair::Mixed => Err(mismatch("<", a, b)),
    }
}

/// Python's `==`.
#[must_use]
pub(crate) fn equal(a: &Const, b: &Const) -> bool {
    match (a, b) {
        (Const::None, Const::None) | (Const::Ellipsis, Const::Ellipsis) => true,
        _ => matches!(order(a, b), Ok(Some(Ordering::Equal))),
    }
}

/// Python's `is`: same type and same value.
#[must_use]
pub(crate) fn identical(a: &Const, b: &Const) -> bool {
    a.type_name() == b.type_name() && equal(a, b)
}

/// `a op b` for the comparisons that order and equality decide.
///
/// # Errors
/// They have no order.
pub(crate) fn compare(op: CmpOp, a: &Const, b: &Const) -> Result<bool, Complaint> {
    let by_order = |accept: fn(Ordering) -> bool| match order(a, b) {
        Ok(o) => Ok(o.is_some_and(accept)),
        Err(_) => Err(mismatch(op.symbol(), a, b)),
    };
    match op {
        CmpOp::Eq => Ok(equal(a, b)),
        CmpOp::Ne => Ok(!equal(a, b)),
        CmpOp::Lt => by_order(Ordering::is_lt),
        CmpOp::Le => by_order(Ordering::is_le),
        CmpOp::Gt => by_order(Ordering::is_gt),
        CmpOp::Ge => by_order(Ordering::is_ge),
        CmpOp::Is => Ok(identical(a, b)),
        CmpOp::IsNot => Ok(!identical(a, b)),
        CmpOp::In | CmpOp::NotIn => match (a, b) {
            (Const::Str(x), Const::Str(y)) => Ok(y.contains(&**x) == (op == CmpOp::In)),
            _ => Err(mismatch(op.symbol(), a, b)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(op: BinOp, a: Const, b: Const) -> String {
        binary(op, &a, &b).map_or_else(|e| e, |c| c.to_string())
    }

    #[test]
    fn division_follows_python() {
        assert_eq!(show(BinOp::FloorDiv, Const::Int(-7), Const::Int(2)), "-4");
        assert_eq!(show(BinOp::Mod, Const::Int(-7), Const::Int(2)), "1");
        assert_eq!(show(BinOp::Mod, Const::Int(7), Const::Int(-2)), "-1");
        assert_eq!(show(BinOp::Div, Const::Int(7), Const::Int(2)), "3.5");
        assert_eq!(show(BinOp::FloorDiv, Const::Float(-7.0), Const::Int(2)), "-4.0");
        assert_eq!(show(BinOp::FloorDiv, Const::Int(1), Const::Int(0)), "division by zero");
    }

    #[test]
    fn integers_are_exact_or_an_error() {
        assert_eq!(show(BinOp::Pow, Const::Int(2), Const::Int(100)), (1i128 << 100).to_string());
        assert_eq!(show(BinOp::Pow, Const::Int(2), Const::Int(200)), TOO_LARGE);
        assert_eq!(show(BinOp::Shl, Const::Int(1), Const::Int(1_000_000)), TOO_LARGE);
        assert_eq!(show(BinOp::FloorDiv, Const::Int(i128::MIN), Const::Int(-1)), TOO_LARGE);
        assert_eq!(show(BinOp::Mod, Const::Int(i128::MIN), Const::Int(-1)), TOO_LARGE);
        assert_eq!(show(BinOp::Shr, Const::Int(-8), Const::Int(1)), "-4");
    }

    #[test]
    fn floats_print_as_python_prints_them() {
        for (x, text) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e16, "1e+16"),
            (123_456_789.0, "123456789.0"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0.0"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(float_repr(x), text);
        }
    }

    #[test]
    fn booleans_are_numbers_but_not_identical_to_them() {
        assert!(equal(&Const::Bool(true), &Const::Int(1)));
        assert!(!identical(&Const::Bool(true), &Const::Int(1)));
        assert_eq!(show(BinOp::Add, Const::Bool(true), Const::Int(1)), "2");
        assert_eq!(show(BinOp::And, Const::Bool(true), Const::Bool(false)), "False");
    }
}
