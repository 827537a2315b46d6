//! Operations on one operand.

use shoal_ir::op::UnaryOp as IrUnary;
use shoal_ir::types::Scalar;

use super::operand::{number_type, to_tensor};
use super::{binary, cast};
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::syntax::ast::UnaryOp;
use crate::value::{Tensor, Value};

/// `op x` on the device.
pub(crate) fn apply(e: &mut Emit<'_>, op: UnaryOp, x: &Value) -> LowerResult<Value> {
    match op {
        UnaryOp::Not => {
            let x = binary::condition(e, "not", x)?;
            Ok(emit(e, IrUnary::Not, &x).into())
        }
        UnaryOp::Pos => to_tensor(e, x).map(Value::from),
        UnaryOp::Neg => {
            let x = to_tensor(e, x)?;
            negate(e, &x).map(Value::from)
        }
        UnaryOp::Invert => {
            let x = to_tensor(e, x)?;
            invert(e, &x).map(Value::from)
        }
    }
}

/// `-x`; unsigned integers wrap.
pub(crate) fn negate(e: &mut Emit<'_>, x: &Tensor) -> LowerResult<Tensor> {
    match number_type(x) {
        None => Err(wrong(e, "-", x)),
        // Modulo 2 every number is its own negation.
        Some(Scalar::I1) => Ok(x.clone()),
        Some(_) => Ok(emit(e, IrUnary::Neg, x)),
    }
}

/// `~x`.
pub(crate) fn invert(e: &mut Emit<'_>, x: &Tensor) -> LowerResult<Tensor> {
    match number_type(x) {
        Some(ty) if ty.is_int() => Ok(emit(e, IrUnary::Not, x)),
        _ => Err(wrong(e, "~", x)),
    }
}

/// The absolute value.
pub(crate) fn absolute(e: &mut Emit<'_>, x: &Tensor) -> LowerResult<Tensor> {
    match number_type(x) {
        Some(ty) if ty.is_unsigned_int() => Ok(x.clone()),
        Some(_) => Ok(emit(e, IrUnary::Abs, x)),
        None => Err(wrong(e, "abs", x)),
    }
}

pub(crate) fn emit(e: &mut Emit<'_>, op: IrUnary, x: &Tensor) -> Tensor {
    let value = e.b().unary(op, x.value);
    e.tensor(value)
}

fn wrong(e: &Emit<'_>, op: &str, x: &Tensor) -> LowerError {
    let help = match number_type(x) {
        Some(_) => "to work on the bits of a float, cast it with `.to(tl.int32, bitcast=True)`",
        None => "cast the pointer to `tl.int64` to work on the address",
    };
    e.error(format!("`{op}` does not work on `{}`", x.type_name())).help(help).into()
}

/// The condition of an `if` or a `while`: one truth value on the device.
pub(crate) fn scalar_condition(e: &mut Emit<'_>, x: &Tensor) -> LowerResult<Tensor> {
    let x = match x.ty.as_tile() {
        Some(tile) if tile.len() == 1 => super::shape::unsplat(e, x)?,
        Some(_) => {
            return Err(e
                .error(format!("the condition must be one value, but `{}` has many", x.type_name()))
                .help("reduce it to a scalar with `tl.max` or `tl.sum`, or choose element by element with `tl.where`")
                .into());
        }
        None => x.clone(),
    };
    cast::truth(e, &x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, tensor, type_of};

    #[test]
    fn each_operator_has_its_types() {
        let mut s = Sandbox::new();
        let f = s.param(Scalar::BF16, &[4]);
        let u = s.param(Scalar::U8, &[4]);
        let c = s.param(Scalar::I1, &[]);
        let p = s.pointer(Scalar::F32, &[]);
        let e = &mut s.emit;
        assert_eq!(type_of(&negate(e, &f).unwrap()), "bf16[4]");
        assert_eq!(type_of(&negate(e, &u).unwrap()), "u8[4]");
        assert_eq!(absolute(e, &u).unwrap().value, u.value, "unsigned numbers are their own absolute value");
        assert_eq!(type_of(&absolute(e, &f).unwrap()), "bf16[4]");
        assert_eq!(type_of(tensor(&apply(e, UnaryOp::Not, &c.clone().into()).unwrap())), "i1");
        assert_eq!(type_of(&invert(e, &u).unwrap()), "u8[4]");
        assert_eq!(message(invert(e, &f)), "`~` does not work on `bf16[4]`");
        assert_eq!(message(negate(e, &p)), "`-` does not work on `*fp32`");
        assert_eq!(message(apply(e, UnaryOp::Not, &u.into())), "`not` works on truth values, not on `u8[4]`");
        s.verify();
    }

    #[test]
    fn conditions_are_single() {
        let mut s = Sandbox::new();
        let one = s.param(Scalar::I32, &[1, 1]);
        let many = s.param(Scalar::I1, &[4]);
        assert_eq!(type_of(&scalar_condition(&mut s.emit, &one).unwrap()), "i1");
        assert_eq!(
            message(scalar_condition(&mut s.emit, &many)),
            "the condition must be one value, but `i1[4]` has many"
        );
        s.verify();
    }
}
