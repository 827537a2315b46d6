//! Instructions on numbers.

use shoal_ir::op::{BinaryOp, CmpOp, MathFn, UnaryOp};
use shoal_ir::types::Scalar;
use shoal_ir::{OpKind, Value as IrValue};

use super::machine::{Kind, Machine, Outcome, unsigned};
use super::program::Instruction;

impl Machine<'_, '_> {
    pub(super) fn arithmetic(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let result = match self.kind(i)? {
            Kind::Pair(half) => self.both_halves(i, half)?,
            kind => {
                let wide = i.has("wide");
                let ty = kind.scalar();
                let mut values = Vec::new();
                for (at, operand) in i.operands.iter().enumerate().skip(1) {
                    // What is added to a wide product is wide.
                    let ty = if wide && at == 3 { doubled(ty)? } else { ty };
                    values.push(self.read(operand, ty)?);
                }
                self.number(i, ty, &values)?
            }
        };
        let to = self.operand(i, 0)?;
        self.write(to, result, mask)
    }

    /// An instruction on the two numbers of 16 bits in each register.
    fn both_halves(&mut self, i: &Instruction, half: Scalar) -> Outcome<IrValue> {
        let mut whole = self.int(0, Scalar::U32);
        for place in [0, 16] {
            let by = self.int(place, Scalar::U32);
            let mut values = Vec::new();
            for operand in i.operands.iter().skip(1) {
                let bits = self.read(operand, Scalar::U32)?;
                let moved = self.binary(BinaryOp::Shr, bits, by);
                values.push(self.at(moved, half));
            }
            let result = self.number(i, half, &values)?;
            let bits = self.as_bits(result);
            let bits = self.resized(bits, 32);
            let placed = self.binary(BinaryOp::Shl, bits, by);
            whole = self.binary(BinaryOp::Or, whole, placed);
        }
        Ok(whole)
    }

    /// An instruction on numbers of one type.
    fn number(&mut self, i: &Instruction, ty: Scalar, v: &[IrValue]) -> Outcome<IrValue> {
        let name = i.name.as_str();
        let value = match (name, v) {
            ("add", [a, b]) => self.binary(BinaryOp::Add, *a, *b),
            ("sub", [a, b]) => self.binary(BinaryOp::Sub, *a, *b),
            ("mul" | "mul24", [a, b]) => self.product(i, ty, *a, *b)?,
            ("mad" | "mad24", [a, b, c]) if !ty.is_float() => {
                let product = self.product(i, ty, *a, *b)?;
                self.binary(BinaryOp::Add, product, *c)
            }
            ("fma" | "mad", [a, b, c]) if ty.is_float() => self.e.b().value(OpKind::Fma, &[*a, *b, *c]),
            ("div", [a, b]) if ty.is_float() => self.binary(BinaryOp::DivRn, *a, *b),
            ("div", [a, b]) => self.quotient(BinaryOp::Div, ty, *a, *b),
            ("rem", [a, b]) => self.quotient(BinaryOp::Rem, ty, *a, *b),
            ("min", [a, b]) => self.binary(if i.has("NaN") { BinaryOp::MinNan } else { BinaryOp::Min }, *a, *b),
            ("max", [a, b]) => self.binary(if i.has("NaN") { BinaryOp::MaxNan } else { BinaryOp::Max }, *a, *b),
            ("neg", [a]) => self.e.b().unary(UnaryOp::Neg, *a),
            ("abs", [a]) => self.e.b().unary(UnaryOp::Abs, *a),
            ("and", [a, b]) => self.binary(BinaryOp::And, *a, *b),
            ("or", [a, b]) => self.binary(BinaryOp::Or, *a, *b),
            ("xor", [a, b]) => self.binary(BinaryOp::Xor, *a, *b),
            ("not", [a]) => self.e.b().unary(UnaryOp::Not, *a),
            ("cnot", [a]) => {
                let zero = self.int(0, ty);
                let none = self.cmp(CmpOp::Eq, *a, zero);
                self.e.b().cast(none, ty)
            }
            // The sign comes from the first operand.
            ("copysign", [sign, size]) => self.e.b().value(OpKind::Math(MathFn::Copysign), &[*size, *sign]),
            _ => return Err(format!("{} operands", v.len() + 1)),
        };
        if i.has("sat") && ty.is_float() {
            let (low, high) = (self.constant_float(0.0, ty), self.constant_float(1.0, ty));
            let above = self.binary(BinaryOp::Max, value, low);
            return Ok(self.binary(BinaryOp::Min, above, high));
        }
        if i.has("relu") && ty.is_float() {
            let low = self.constant_float(0.0, ty);
            return Ok(self.binary(BinaryOp::MaxNan, value, low));
        }
        if i.has("sat") || i.words.iter().any(|w| matches!(w.as_str(), "cc" | "xorsign")) {
            return Err("this form is not supported".into());
        }
        Ok(value)
    }

    pub(super) fn constant_float(&mut self, value: f64, ty: Scalar) -> IrValue {
        self.constant(shoal_ir::Const::from_f64(ty, value))
    }

    fn product(&mut self, i: &Instruction, ty: Scalar, a: IrValue, b: IrValue) -> Outcome<IrValue> {
        if ty.is_float() || i.has("lo") {
            return Ok(self.binary(BinaryOp::Mul, a, b));
        }
        if i.has("wide") {
            let wide = doubled(ty)?;
            let (a, b) = (self.e.b().cast(a, wide), self.e.b().cast(b, wide));
            return Ok(self.binary(BinaryOp::Mul, a, b));
        }
        match i.has("hi") && ty.bits() >= 32 {
            true => Ok(self.binary(BinaryOp::MulHi, a, b)),
            false => Err("which half of the product is meant (`.lo`, `.hi`, `.wide`)?".into()),
        }
    }

    /// A quotient or remainder of integers. Division by zero gives all ones, as GPUs do, and the most negative number
    /// divided by -1 wraps.
    fn quotient(&mut self, op: BinaryOp, ty: Scalar, a: IrValue, b: IrValue) -> IrValue {
        let (zero, one) = (self.int(0, ty), self.int(1, ty));
        let by_zero = self.cmp(CmpOp::Eq, b, zero);
        let mut safe = self.select(by_zero, one, b);
        let mut negated = None;
        if ty.is_signed_int() {
            let minus_one = self.int(-1, ty);
            let flips = self.cmp(CmpOp::Eq, b, minus_one);
            safe = self.select(flips, one, safe);
            negated = Some(flips);
        }
        let mut result = self.binary(op, a, safe);
        if let (Some(flips), BinaryOp::Div) = (negated, op) {
            let minus = self.e.b().unary(UnaryOp::Neg, a);
            result = self.select(flips, minus, result);
        }
        let ones = self.int(-1, ty);
        self.select(by_zero, ones, result)
    }

    pub(super) fn mathematics(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let kind = self.kind(i)?;
        let ty = match kind {
            Kind::Number(ty) if ty.is_float() => ty,
            Kind::Pair(_) | Kind::Number(_) | Kind::Bits(_) | Kind::Predicate => {
                return Err("it works on floats".into());
            }
        };
        let x = self.read(self.operand(i, 1)?, ty)?;
        // Narrow floats are computed in `f32`.
        let wide = if ty.bits() < 32 { Scalar::F32 } else { ty };
        let x = self.e.b().cast(x, wide);
        let one = self.constant_float(1.0, wide);
        let function = |f| OpKind::Math(f);
        let result = match i.name.as_str() {
            "rcp" => self.binary(BinaryOp::DivRn, one, x),
            "ex2" => self.e.b().value(function(MathFn::Exp2), &[x]),
            "lg2" => self.e.b().value(function(MathFn::Log2), &[x]),
            "sqrt" => self.e.b().value(function(MathFn::SqrtRn), &[x]),
            "rsqrt" => self.e.b().value(function(MathFn::Rsqrt), &[x]),
            "sin" => self.e.b().value(function(MathFn::Sin), &[x]),
            "cos" => self.e.b().value(function(MathFn::Cos), &[x]),
            _ => self.e.b().value(function(MathFn::Tanh), &[x]),
        };
        let result = self.e.b().cast(result, ty);
        let to = self.operand(i, 0)?;
        self.write(to, result, mask)
    }

    /// `setp`, `set`, `selp`, `slct`, `testp`.
    pub(super) fn comparison(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let to = self.operand(i, 0)?;
        match i.name.as_str() {
            "selp" => {
                let ty = self.kind(i)?.scalar();
                let (a, b) = (self.read(self.operand(i, 1)?, ty)?, self.read(self.operand(i, 2)?, ty)?);
                let c = self.read(self.operand(i, 3)?, Scalar::I1)?;
                let value = self.select(c, a, b);
                self.write(to, value, mask)
            }
            "slct" => {
                let kinds: Vec<Kind> = i.words.iter().filter_map(|w| Kind::read(w)).collect();
                let &[value, chooser] = kinds.as_slice() else { return Err("two types are needed".into()) };
                let (ty, by) = (value.scalar(), chooser.scalar());
                let (a, b) = (self.read(self.operand(i, 1)?, ty)?, self.read(self.operand(i, 2)?, ty)?);
                let c = self.read(self.operand(i, 3)?, by)?;
                let zero = if by.is_float() { self.constant_float(0.0, by) } else { self.int(0, by) };
                let c = self.cmp(CmpOp::Ge, c, zero);
                let value = self.select(c, a, b);
                self.write(to, value, mask)
            }
            "setp" | "set" => {
                let truth = self.compared(i)?;
                if i.name == "set" {
                    let kind = i.words.iter().find_map(|w| Kind::read(w)).ok_or("the type cannot be read")?;
                    let value = match kind.scalar() {
                        ty if ty.is_float() => self.e.b().cast(truth, ty),
                        ty => {
                            let (ones, zero) = (self.int(-1, ty), self.int(0, ty));
                            self.select(truth, ones, zero)
                        }
                    };
                    return self.write(to, value, mask);
                }
                if let super::program::Operand::Pair(first, second) = to {
                    let not = self.e.b().unary(UnaryOp::Not, truth);
                    self.write(first, truth, mask)?;
                    return self.write(second, not, mask);
                }
                self.write(to, truth, mask)
            }
            _ => Err("this instruction has no meaning outside of NVIDIA GPUs".into()),
        }
    }

    /// What `setp` and `set` find.
    fn compared(&mut self, i: &Instruction) -> Outcome<IrValue> {
        let ty = self.kind(i)?.scalar();
        let (a, b) = (self.read(self.operand(i, 1)?, ty)?, self.read(self.operand(i, 2)?, ty)?);
        let mut found = None;
        let mut combine = None;
        for word in &i.words {
            match word.as_str() {
                "and" => combine = Some(BinaryOp::And),
                "or" => combine = Some(BinaryOp::Or),
                "xor" => combine = Some(BinaryOp::Xor),
                word => found = found.or(comparison(word, ty)),
            }
        }
        let (a, b, op, unordered) = match found {
            // `lo`, `ls`, `hi`, `hs` compare without sign.
            Some((op, Order::Unsigned)) => {
                let ty = unsigned(ty.bits());
                (self.at(a, ty), self.at(b, ty), op, false)
            }
            Some((op, order)) => (a, b, op, order == Order::Unordered),
            None => return Err("the comparison cannot be read".into()),
        };
        let mut truth = match i.words.iter().find(|w| matches!(w.as_str(), "num" | "nan")) {
            Some(word) if ty.is_float() => {
                let (x, y) = (self.cmp(CmpOp::Eq, a, a), self.cmp(CmpOp::Eq, b, b));
                let ordered = self.binary(BinaryOp::And, x, y);
                if word == "num" { ordered } else { self.e.b().unary(UnaryOp::Not, ordered) }
            }
            _ => self.cmp(op, a, b),
        };
        if ty.is_float() {
            let (x, y) = (self.cmp(CmpOp::Ne, a, a), self.cmp(CmpOp::Ne, b, b));
            let nan = self.binary(BinaryOp::Or, x, y);
            if unordered {
                truth = self.binary(BinaryOp::Or, truth, nan);
            } else if op == CmpOp::Ne && !i.has("nan") && !i.has("num") {
                // `ne` is false where one is not a number.
                let ordered = self.e.b().unary(UnaryOp::Not, nan);
                truth = self.binary(BinaryOp::And, truth, ordered);
            }
        }
        if let (Some(op), Some(with)) = (combine, i.operands.get(3)) {
            let with = self.read(with, Scalar::I1)?;
            truth = self.binary(op, truth, with);
        }
        Ok(truth)
    }
}

/// How numbers are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Own,
    /// Without sign.
    Unsigned,
    /// True if one is not a number.
    Unordered,
}

fn comparison(word: &str, ty: Scalar) -> Option<(CmpOp, Order)> {
    Some(match word {
        "eq" => (CmpOp::Eq, Order::Own),
        "ne" => (CmpOp::Ne, Order::Own),
        "lt" => (CmpOp::Lt, Order::Own),
        "le" => (CmpOp::Le, Order::Own),
        "gt" => (CmpOp::Gt, Order::Own),
        "ge" => (CmpOp::Ge, Order::Own),
        "lo" => (CmpOp::Lt, Order::Unsigned),
        "ls" => (CmpOp::Le, Order::Unsigned),
        "hi" => (CmpOp::Gt, Order::Unsigned),
        "hs" => (CmpOp::Ge, Order::Unsigned),
        "equ" => (CmpOp::Eq, Order::Unordered),
        "neu" => (CmpOp::Ne, Order::Unordered),
        "ltu" => (CmpOp::Lt, Order::Unordered),
        "leu" => (CmpOp::Le, Order::Unordered),
        "gtu" => (CmpOp::Gt, Order::Unordered),
        "geu" => (CmpOp::Ge, Order::Unordered),
        "num" | "nan" if ty.is_float() => (CmpOp::Eq, Order::Own),
        _ => return None,
    })
}

/// The integer of twice the width.
fn doubled(ty: Scalar) -> Outcome<Scalar> {
    Scalar::int(ty.bits() * 2, ty.is_signed_int()).ok_or_else(|| "there is no wider type".into())
}
