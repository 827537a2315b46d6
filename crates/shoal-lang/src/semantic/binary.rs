//! Operations on two operands: arithmetic, bits, comparisons, pointers, logic, `where`.

use shoal_ir::op::{self as ir, OpKind};
use shoal_ir::types::{Elem, Scalar};

use super::operand::{Operand, constant, elem, joint_access, materialize, number_type, tensor_like};
use super::promote::{self, Mismatch, Rules, Side};
use super::{broadcast, cast, debug, unary};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::dtype::{int_range, scalar_name};
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::syntax::ast::{BinOp, CmpOp};
use crate::value::{Tensor, Value};

/// Whether integer overflow is checked at run time, where the options ask for such checks at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// The user wants to hear of it.
    Checked,
    /// The user means it.
    Wraps,
}

/// `x op y` on the device. At least one side is a tensor, or both are numbers that should become one.
pub(crate) fn apply(e: &mut Emit<'_>, op: BinOp, x: &Value, y: &Value) -> LowerResult<Value> {
    let (x, y) = (Operand::new(e, x)?, Operand::new(e, y)?);
    operator(e, op, &x, &y).map(Value::from)
}

/// `x op y` on the device.
pub(crate) fn operator(e: &mut Emit<'_>, op: BinOp, x: &Operand, y: &Operand) -> LowerResult<Tensor> {
    match op {
        BinOp::Add => add(e, x, y, Overflow::Checked),
        BinOp::Sub => sub(e, x, y, Overflow::Checked),
        BinOp::Mul => mul(e, x, y, Overflow::Checked),
        BinOp::Div => divide(e, x, y),
        BinOp::FloorDiv => whole_quotient(e, x, y),
        BinOp::Mod => remainder(e, x, y),
        BinOp::And => bits(e, op, ir::BinaryOp::And, x, y),
        BinOp::Or => bits(e, op, ir::BinaryOp::Or, x, y),
        BinOp::Xor => bits(e, op, ir::BinaryOp::Xor, x, y),
        BinOp::Shl => shift(e, op, ir::BinaryOp::Shl, x, y),
        BinOp::Shr => shift(e, op, ir::BinaryOp::Shr, x, y),
        BinOp::MatMul => {
            Err(e.error("`@` is not an operator on tiles").help("multiply matrices with `tl.dot(a, b)`").into())
        }
        BinOp::Pow => Err(e
            .error("`**` works on compile-time numbers only")
            .help("on the device use `x * x`, `tl.exp2(y * tl.log2(x))` or `libdevice.pow(x, y)`")
            .into()),
    }
}

/// Two operands at one type and one shape.
pub(crate) fn unify(e: &mut Emit<'_>, x: &Operand, y: &Operand, rules: Rules) -> LowerResult<(Tensor, Tensor)> {
    let (Some(a), Some(b)) = (side(x), side(y)) else { return Err(not_numbers(e, x, y)) };
    let ty = promote::common_type(a, b, rules).map_err(|m| mismatch(e, m))?;
    let x = at_type(e, x, ty)?;
    let y = at_type(e, y, ty)?;
    broadcast::pair(e, &x, &y)
}

/// Three operands at one type and one shape.
pub(crate) fn unify_three(e: &mut Emit<'_>, operands: [&Operand; 3]) -> LowerResult<[Tensor; 3]> {
    let [Some(a), Some(b), Some(c)] = operands.map(side) else {
        let [x, y, z] = operands;
        return Err(if x.is_pointer() || y.is_pointer() { not_numbers(e, x, y) } else { not_numbers(e, y, z) });
    };
    let ty = promote::common_type_of_three([a, b, c]).map_err(|m| mismatch(e, m))?;
    let mut tensors = Vec::with_capacity(3);
    for operand in operands {
        tensors.push(at_type(e, operand, ty)?);
    }
    let tensors = broadcast::all(e, &tensors)?;
    Ok(tensors.try_into().expect("three operands stay three"))
}

/// How promotion sees an operand; `None` for pointers.
fn side(x: &Operand) -> Option<Side> {
    match x {
        Operand::Tensor(t) => number_type(t).map(Side::Tensor),
        Operand::Number(n) => Some(Side::Number(*n)),
    }
}

fn at_type(e: &mut Emit<'_>, x: &Operand, ty: Scalar) -> LowerResult<Tensor> {
    match x {
        Operand::Tensor(t) => cast::to_number(e, t, ty),
        Operand::Number(n) => Ok(constant(e, *n, ty)),
    }
}

pub(crate) fn mismatch(e: &Emit<'_>, m: Mismatch) -> LowerError {
    let (what, help) = m.words();
    e.error(what).help(help).into()
}

fn not_numbers(e: &Emit<'_>, x: &Operand, y: &Operand) -> LowerError {
    e.error(format!("this operation does not work on pointers: {} and {}", x.describe(), y.describe()))
        .help("pointers take `ptr + offset` and `ptr - offset`; compare addresses as `ptr.to(tl.int64)`")
        .into()
}

fn emit(e: &mut Emit<'_>, op: ir::BinaryOp, x: &Tensor, y: &Tensor) -> Tensor {
    let value = e.b().binary(op, x.value, y.value);
    e.tensor(value)
}

/// `x + y`, also for a pointer and an offset.
pub(crate) fn add(e: &mut Emit<'_>, x: &Operand, y: &Operand, overflow: Overflow) -> LowerResult<Tensor> {
    match (x, y) {
        (Operand::Tensor(p), offset) if x.is_pointer() => pointer_offset(e, p, offset),
        (offset, Operand::Tensor(p)) if y.is_pointer() => pointer_offset(e, p, offset),
        _ => {
            let (x, y) = unify(e, x, y, Rules::Plain)?;
            check_overflow(e, ir::BinaryOp::Add, &x, &y, overflow)?;
            Ok(emit(e, ir::BinaryOp::Add, &x, &y))
        }
    }
}

/// `x - y`, also for a pointer and an offset.
pub(crate) fn sub(e: &mut Emit<'_>, x: &Operand, y: &Operand, overflow: Overflow) -> LowerResult<Tensor> {
    match x {
        Operand::Tensor(p) if x.is_pointer() => {
            if y.is_pointer() {
                return Err(e
                    .error("cannot subtract pointers")
                    .help("subtract addresses: `p.to(tl.int64) - q.to(tl.int64)`, then divide by the element's size")
                    .into());
            }
            let offset = materialize(e, y)?;
            let offset = unary::negate(e, &offset)?;
            pointer_offset(e, p, &offset.into())
        }
        _ => {
            let (x, y) = unify(e, x, y, Rules::Plain)?;
            check_overflow(e, ir::BinaryOp::Sub, &x, &y, overflow)?;
            Ok(emit(e, ir::BinaryOp::Sub, &x, &y))
        }
    }
}

/// `x * y`.
pub(crate) fn mul(e: &mut Emit<'_>, x: &Operand, y: &Operand, overflow: Overflow) -> LowerResult<Tensor> {
    let (x, y) = unify(e, x, y, Rules::Plain)?;
    check_overflow(e, ir::BinaryOp::Mul, &x, &y, overflow)?;
    Ok(emit(e, ir::BinaryOp::Mul, &x, &y))
}

fn pointer_offset(e: &mut Emit<'_>, p: &Tensor, offset: &Operand) -> LowerResult<Tensor> {
    if offset.is_pointer() {
        return Err(e.error("cannot add pointers").help("add an integer offset to one pointer").into());
    }
    let offset = materialize(e, offset)?;
    if number_type(&offset).is_some_and(Scalar::is_float) {
        return Err(e
            .error(format!("a pointer takes an integer offset, not `{}`", offset.type_name()))
            .help("cast the offset with `.to(tl.int32)` or `.to(tl.int64)`")
            .into());
    }
    // A truth value as an offset is 0 or 1.
    let offset = match number_type(&offset) {
        Some(Scalar::I1) => cast::to_number(e, &offset, Scalar::I32)?,
        _ => offset,
    };
    let (p, offset) = broadcast::pair(e, p, &offset)?;
    let value = e.b().value(OpKind::PtrAdd, &[p.value, offset.value]);
    Ok(tensor_like(e, value, &p))
}

/// `x / y`: always a float.
pub(crate) fn divide(e: &mut Emit<'_>, x: &Operand, y: &Operand) -> LowerResult<Tensor> {
    let (mut x, mut y) = unify(e, x, y, Rules::Division)?;
    if number_type(&x).is_some_and(Scalar::is_int) {
        x = cast::to_number(e, &x, Scalar::F32)?;
        y = cast::to_number(e, &y, Scalar::F32)?;
    }
    Ok(emit(e, ir::BinaryOp::Div, &x, &y))
}

/// `x // y` on integers: the quotient towards zero.
pub(crate) fn whole_quotient(e: &mut Emit<'_>, x: &Operand, y: &Operand) -> LowerResult<Tensor> {
    let (a, b) = unify(e, x, y, Rules::Division)?;
    if number_type(&a).is_some_and(Scalar::is_float) {
        return Err(e
            .error(format!("`//` works on integers, not on {} and {}", x.describe(), y.describe()))
            .help("use `tl.floor(x / y)`")
            .into());
    }
    Ok(emit(e, ir::BinaryOp::Div, &a, &b))
}

/// `x % y`: the remainder with the sign of `x`.
pub(crate) fn remainder(e: &mut Emit<'_>, x: &Operand, y: &Operand) -> LowerResult<Tensor> {
    let (x, y) = unify(e, x, y, Rules::Division)?;
    Ok(emit(e, ir::BinaryOp::Rem, &x, &y))
}

fn bits(e: &mut Emit<'_>, op: BinOp, ir_op: ir::BinaryOp, x: &Operand, y: &Operand) -> LowerResult<Tensor> {
    let (x, y) = integers(e, op, x, y)?;
    Ok(emit(e, ir_op, &x, &y))
}

/// Shifts right are arithmetic if the tensor on the left (of `number >> tensor`: on the right) is signed.
fn shift(e: &mut Emit<'_>, op: BinOp, ir_op: ir::BinaryOp, x: &Operand, y: &Operand) -> LowerResult<Tensor> {
    if let (Operand::Tensor(t), Operand::Number(n)) = (x, y) {
        let width = elem(t).bits();
        if n.as_int().is_some_and(|by| by >= i128::from(width)) {
            e.warn(
                format!("a shift of `{}` by {} or more has no defined result", cast::name(elem(t)), width),
                "cast to a wider type first",
            );
        }
    }
    let decides = x.tensor().or(y.tensor()).and_then(number_type);
    let (x, y) = integers(e, op, x, y)?;
    let ty = number_type(&x).expect("integers");
    let signed = decides.unwrap_or(ty).is_signed_int();
    if ir_op == ir::BinaryOp::Shl || signed == ty.is_signed_int() || ty == Scalar::I1 {
        return Ok(emit(e, ir_op, &x, &y));
    }
    // The operands met in a type of the other signedness; its sign decides in the IR, so shift there and come back.
    let other = Scalar::int(ty.bits(), signed).expect("the width of an integer");
    let x = cast::by_bits(e, &x, other.into())?;
    let y = cast::by_bits(e, &y, other.into())?;
    let shifted = emit(e, ir_op, &x, &y);
    cast::by_bits(e, &shifted, ty.into())
}

fn integers(e: &mut Emit<'_>, op: BinOp, x: &Operand, y: &Operand) -> LowerResult<(Tensor, Tensor)> {
    let (a, b) = unify(e, x, y, Rules::Plain)?;
    if number_type(&a).is_some_and(Scalar::is_float) {
        let message = format!("`{}` works on integers, not on {} and {}", op.symbol(), x.describe(), y.describe());
        let help = if matches!(op, BinOp::And | BinOp::Or) {
            "to combine conditions, put each comparison in parentheses: `(a < b) & (c < d)`"
        } else {
            "to work on the bits of a float, cast it with `.to(tl.int32, bitcast=True)`"
        };
        return Err(e.error(message).help(help).into());
    }
    Ok((a, b))
}

/// With overflow checks on, asserts that a result of less than 64 bits fits its type. Functions that are applied to
/// elements cannot assert, so nothing is checked in them.
fn check_overflow(e: &mut Emit<'_>, op: ir::BinaryOp, x: &Tensor, y: &Tensor, overflow: Overflow) -> LowerResult<()> {
    let ty = number_type(x).expect("numbers");
    let wanted = e.options.debug && e.options.sanitize_overflow && overflow == Overflow::Checked && !e.elementwise;
    let Some((low, high)) = int_range(ty).filter(|_| wanted && ty.bits() < 64 && ty != Scalar::I1) else {
        return Ok(());
    };
    let wide_x = cast::to_number(e, x, Scalar::I64)?;
    let wide_y = cast::to_number(e, y, Scalar::I64)?;
    let exact = emit(e, op, &wide_x, &wide_y);
    let mut b = e.b();
    let low = b.int(low as i64, exact.ty.clone());
    let high = b.int(high as i64, exact.ty.clone());
    let above = b.cmp(ir::CmpOp::Ge, exact.value, low);
    let below = b.cmp(ir::CmpOp::Le, exact.value, high);
    let fits = b.binary(ir::BinaryOp::And, above, below);
    let fits = e.tensor(fits);
    let message = format!("`{}` overflow in `{}`", scalar_name(ty), op.name());
    debug::check(e, &fits, &message, None)
}

/// `x op y` for the comparisons on the device.
pub(crate) fn compare(e: &mut Emit<'_>, op: CmpOp, x: &Value, y: &Value) -> LowerResult<Value> {
    let ir_op = match op {
        CmpOp::Eq => ir::CmpOp::Eq,
        CmpOp::Ne => ir::CmpOp::Ne,
        CmpOp::Lt => ir::CmpOp::Lt,
        CmpOp::Le => ir::CmpOp::Le,
        CmpOp::Gt => ir::CmpOp::Gt,
        CmpOp::Ge => ir::CmpOp::Ge,
        CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => {
            return Err(e
                .error(format!("`{}` does not work on device values", op.symbol()))
                .help("compare values with `==` and `!=`")
                .into());
        }
    };
    let (x, y) = (Operand::new(e, x)?, Operand::new(e, y)?);
    comparison(e, ir_op, &x, &y).map(Value::from)
}

/// A comparison, element by element.
pub(crate) fn comparison(e: &mut Emit<'_>, op: ir::CmpOp, x: &Operand, y: &Operand) -> LowerResult<Tensor> {
    let (x, y) = unify(e, x, y, Rules::Plain)?;
    let value = e.b().cmp(op, x.value, y.value);
    Ok(e.tensor(value))
}

/// `and` and `or` between values, where one is on the device: both are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logic {
    /// `and`
    And,
    /// `or`
    Or,
}

/// `x and y`, `x or y` on the device.
pub(crate) fn logical(e: &mut Emit<'_>, op: Logic, x: &Value, y: &Value) -> LowerResult<Value> {
    let word = if op == Logic::And { "and" } else { "or" };
    let x = condition(e, word, x)?;
    let y = condition(e, word, y)?;
    let (x, y) = broadcast::pair(e, &x, &y)?;
    let ir_op = if op == Logic::And { ir::BinaryOp::And } else { ir::BinaryOp::Or };
    Ok(emit(e, ir_op, &x, &y).into())
}

/// An operand of `and`, `or`, `not`: a truth value.
pub(crate) fn condition(e: &mut Emit<'_>, word: &str, x: &Value) -> LowerResult<Tensor> {
    let operand = Operand::new(e, x)?;
    let t = match operand {
        Operand::Number(n) => constant(e, n, Scalar::I1),
        Operand::Tensor(t) => t,
    };
    match elem(&t) {
        Elem::Scalar(Scalar::I1) => Ok(t),
        // A pointer is true unless it is null.
        Elem::Ptr(_) => cast::truth(e, &t),
        Elem::Scalar(_) => Err(e
            .error(format!("`{word}` works on truth values, not on `{}`", t.type_name()))
            .help("compare first: `x != 0`")
            .into()),
    }
}

/// `where(condition, x, y)`; also chooses between pointers.
pub(crate) fn select(e: &mut Emit<'_>, c: &Tensor, x: &Operand, y: &Operand) -> LowerResult<Tensor> {
    let c = match elem(c) {
        Elem::Scalar(Scalar::I1) => c.clone(),
        Elem::Scalar(_) | Elem::Ptr(_) => {
            e.warn(
                format!("the condition of `where` is `{}`, not a truth value", c.type_name()),
                "compare it: `x != 0`",
            );
            cast::truth(e, c)?
        }
    };
    let (x, y) = match (x, y) {
        (Operand::Tensor(p), Operand::Tensor(q)) if x.is_pointer() && y.is_pointer() => {
            if elem(p) != elem(q) {
                return Err(e
                    .error(format!("`where` chooses between `{}` and `{}`", p.type_name(), q.type_name()))
                    .help("cast one pointer to the other's type")
                    .into());
            }
            (p.clone(), q.clone())
        }
        _ => unify(e, x, y, Rules::Plain)?,
    };
    let access = joint_access(&x, &y);
    let [c, x, y]: [Tensor; 3] = broadcast::all(e, &[c, x, y])?.try_into().expect("three stay three");
    let value = e.b().select(c.value, x.value, y.value);
    Ok(Tensor { access, ..e.tensor(value) })
}

fn overflow_of(a: &Args) -> LowerResult<Overflow> {
    Ok(if a.bool("sanitize_overflow")? { Overflow::Checked } else { Overflow::Wraps })
}

fn operands(e: &Emit<'_>, a: &Args) -> LowerResult<(Operand, Operand)> {
    Ok((Operand::new(e, a.value("x"))?, Operand::new(e, a.value("y"))?))
}

fn run_add(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, y) = operands(l.emit(), a)?;
    add(l.emit(), &x, &y, overflow_of(a)?).map(Value::from)
}

fn run_sub(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, y) = operands(l.emit(), a)?;
    sub(l.emit(), &x, &y, overflow_of(a)?).map(Value::from)
}

fn run_mul(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let (x, y) = operands(l.emit(), a)?;
    mul(l.emit(), &x, &y, overflow_of(a)?).map(Value::from)
}

fn run_where(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let (x, y) = operands(e, a)?;
    let c = super::operand::to_tensor(e, a.value("condition"))?;
    select(e, &c, &x, &y).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("add", "x, y, sanitize_overflow: const=True", run_add),
    Builtin::kernel("sub", "x, y, sanitize_overflow: const=True", run_sub),
    Builtin::kernel("mul", "x, y, sanitize_overflow: const=True", run_mul),
    Builtin::kernel("where", "condition, x, y", run_where),
];

#[cfg(test)]
#[path = "binary_tests.rs"]
mod tests;
