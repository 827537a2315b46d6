//! Operations on each element.

use shoal_ir::op::{BinaryOp, CmpOp, MathFn, OpKind, Rounding, UnaryOp};
use shoal_ir::{Builder, Scalar, Type, Value};

use super::generate::Generator;

impl Generator {
    pub(crate) fn elementwise(&mut self, b: &mut Builder<'_>) {
        let ty = self.ty();
        let value = self.elementwise_of(b, &ty);
        self.push(value);
    }

    fn elementwise_of(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        let float = ty.number().is_some_and(Scalar::is_float);
        match self.choices.below(12) {
            0 => self.unary(b, ty),
            1..=4 => self.binary(b, ty),
            5 => {
                let (x, y) = (self.some(b, ty), self.some(b, ty));
                b.cmp(self.choices.of(CmpOp::ALL), x, y)
            }
            6 => {
                let condition = self.some(b, &ty.with_elem(Scalar::I1));
                let (x, y) = (self.some(b, ty), self.some(b, ty));
                b.select(condition, x, y)
            }
            7 | 8 => {
                let x = self.some(b, ty);
                let to = self.scalar_type();
                let rounding = self.choices.of(Rounding::ALL);
                self.cast(b, x, to, rounding)
            }
            9 => self.bitcast(b, ty),
            10 if float => {
                let operands = [self.some(b, ty), self.some(b, ty), self.some(b, ty)];
                b.value(OpKind::Fma, &operands)
            }
            11 if float => self.math(b, ty),
            _ => self.binary(b, ty),
        }
    }

    fn unary(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        let x = self.some(b, ty);
        let op = if ty.number().is_some_and(Scalar::is_float) {
            self.choices.of(&[UnaryOp::Neg, UnaryOp::Abs])
        } else {
            self.choices.of(UnaryOp::ALL)
        };
        b.unary(op, x)
    }

    fn binary(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        use BinaryOp::{Add, And, Div, DivRn, Max, MaxNan, Min, MinNan, Mul, MulHi, Or, Rem, Shl, Shr, Sub, Xor};
        let number = ty.number().expect("a number");
        let (x, y) = (self.some(b, ty), self.some(b, ty));
        let op = if number == Scalar::F8E4B15 {
            // Nothing that makes a NaN, which it does not have.
            self.choices.of(&[Add, Sub, Mul, Min, Max])
        } else if number.is_float() {
            self.choices.of(&[Add, Sub, Mul, Div, DivRn, Rem, Min, Max, MinNan, MaxNan])
        } else {
            self.choices.of(&[Add, Sub, Mul, Div, Rem, And, Or, Xor, Shl, Shr, Min, Max, MulHi])
        };
        let y = match op {
            Div | Rem if number.is_int() => {
                let one = b.int(1, ty.clone());
                b.binary(Or, y, one)
            }
            Shl | Shr => {
                let most = b.int(i64::from(number.bits()) - 1, ty.clone());
                b.binary(And, y, most)
            }
            _ => y,
        };
        b.binary(op, x, y)
    }

    fn bitcast(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        let number = ty.number().expect("a number");
        let x = self.some(b, ty);
        let to = self.scalar_type_with(|s| s.bits() == number.bits());
        let x = if number.is_float() { self.without_nan(b, x) } else { x };
        b.bitcast(x, to)
    }

    /// The functions that are exact.
    fn math(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        use MathFn::{Ceil, Copysign, Fdim, Floor, Rint, Sqrt, SqrtRn, Trunc};
        let x = self.some(b, ty);
        let op = if ty.number() == Some(Scalar::F8E4B15) {
            self.choices.of(&[Ceil, Floor, Rint, Trunc, Copysign])
        } else {
            self.choices.of(&[Ceil, Floor, Rint, Trunc, Copysign, Sqrt, SqrtRn, Fdim])
        };
        let mut operands = vec![x];
        if op.arity() == 2 {
            let y = self.some(b, ty);
            operands.push(self.without_nan(b, y));
        }
        b.value(OpKind::Math(op), &operands)
    }
}
