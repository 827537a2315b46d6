//! Instructions on bits: shifts, fields, permutations, conversions.

use shoal_ir::op::{BinaryOp, CmpOp, MathFn, Rounding, UnaryOp};
use shoal_ir::types::Scalar;
use shoal_ir::{OpKind, Value as IrValue};

use super::machine::{Kind, Machine, Outcome, unsigned};
use super::program::{Instruction, Operand};

impl Machine<'_, '_> {
    pub(super) fn bitwise(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let ty = self.kind(i)?.scalar();
        let value = match i.name.as_str() {
            "shl" | "shr" => {
                let (a, by) = (self.read(self.operand(i, 1)?, ty)?, self.read(self.operand(i, 2)?, Scalar::U32)?);
                self.shifted(if i.name == "shl" { BinaryOp::Shl } else { BinaryOp::Shr }, ty, a, by)
            }
            "shf" => self.funnel(i)?,
            "bfe" => self.field(i, ty)?,
            "bfi" => self.inserted(i, ty)?,
            "brev" => {
                let a = self.read(self.operand(i, 1)?, ty)?;
                self.e.b().unary(UnaryOp::Brev, a)
            }
            "clz" | "popc" => {
                let a = self.read(self.operand(i, 1)?, ty)?;
                let count = self.e.b().unary(if i.name == "clz" { UnaryOp::Clz } else { UnaryOp::Popc }, a);
                self.e.b().cast(count, Scalar::U32)
            }
            "lop3" => self.logic_of_three(i)?,
            _ => self.permuted(i)?,
        };
        let to = self.operand(i, 0)?;
        self.write(to, value, mask)
    }

    /// A shift; by the width or more, nothing but the sign is left.
    fn shifted(&mut self, op: BinaryOp, ty: Scalar, a: IrValue, by: IrValue) -> IrValue {
        let width = self.int(i64::from(ty.bits()), Scalar::U32);
        let last = self.int(i64::from(ty.bits()) - 1, Scalar::U32);
        let within = self.cmp(CmpOp::Lt, by, width);
        let amount = self.binary(BinaryOp::Min, by, last);
        let amount = self.e.b().cast(amount, ty);
        let moved = self.binary(op, a, amount);
        if op == BinaryOp::Shr && ty.is_signed_int() {
            return moved;
        }
        let zero = self.int(0, ty);
        self.select(within, moved, zero)
    }

    /// A shift of two registers taken as one.
    fn funnel(&mut self, i: &Instruction) -> Outcome<IrValue> {
        let low = self.read(self.operand(i, 1)?, Scalar::U32)?;
        let high = self.read(self.operand(i, 2)?, Scalar::U32)?;
        let by = self.read(self.operand(i, 3)?, Scalar::U32)?;
        let most = self.int(if i.has("clamp") { 32 } else { 31 }, Scalar::U32);
        let by = self.binary(if i.has("clamp") { BinaryOp::Min } else { BinaryOp::And }, by, most);
        let (low, high) = (self.e.b().cast(low, Scalar::U64), self.e.b().cast(high, Scalar::U64));
        let half = self.int(32, Scalar::U64);
        let upper = self.binary(BinaryOp::Shl, high, half);
        let whole = self.binary(BinaryOp::Or, upper, low);
        let by = self.e.b().cast(by, Scalar::U64);
        let moved = if i.has("l") {
            let moved = self.binary(BinaryOp::Shl, whole, by);
            self.binary(BinaryOp::Shr, moved, half)
        } else {
            self.binary(BinaryOp::Shr, whole, by)
        };
        Ok(self.e.b().cast(moved, Scalar::U32))
    }

    /// The start and the length of a field, from the low bytes of two operands.
    fn field_place(&mut self, i: &Instruction, at: usize) -> Outcome<(IrValue, IrValue)> {
        let byte = self.int(255, Scalar::U32);
        let start = self.read(self.operand(i, at)?, Scalar::U32)?;
        let length = self.read(self.operand(i, at + 1)?, Scalar::U32)?;
        Ok((self.binary(BinaryOp::And, start, byte), self.binary(BinaryOp::And, length, byte)))
    }

    /// Ones in the lowest bits.
    fn low_ones(&mut self, bits: Scalar, length: IrValue) -> IrValue {
        let one = self.int(1, bits);
        let beyond = self.shifted(BinaryOp::Shl, bits, one, length);
        self.binary(BinaryOp::Sub, beyond, one)
    }

    fn field(&mut self, i: &Instruction, ty: Scalar) -> Outcome<IrValue> {
        let bits = unsigned(ty.bits());
        let a = self.read(self.operand(i, 1)?, ty)?;
        let (start, length) = self.field_place(i, 2)?;
        // The value's own sign stands above its bits.
        let moved = self.shifted(BinaryOp::Shr, ty, a, start);
        let moved = self.at(moved, bits);
        let ones = self.low_ones(bits, length);
        let part = self.binary(BinaryOp::And, moved, ones);
        if !ty.is_signed_int() {
            return Ok(part);
        }
        // The sign of the field: its highest bit, or the value's where the field goes beyond it.
        let one = self.int(1, Scalar::U32);
        let top = self.binary(BinaryOp::Add, start, length);
        let top = self.binary(BinaryOp::Sub, top, one);
        let last = self.int(i64::from(ty.bits()) - 1, Scalar::U32);
        let top = self.binary(BinaryOp::Min, top, last);
        let sign = self.shifted(BinaryOp::Shr, ty, a, top);
        let sign = self.at(sign, bits);
        let lowest = self.int(1, bits);
        let sign = self.binary(BinaryOp::And, sign, lowest);
        let zero = self.int(0, bits);
        let negative = self.cmp(CmpOp::Ne, sign, zero);
        let above = self.e.b().unary(UnaryOp::Not, ones);
        let filled = self.binary(BinaryOp::Or, part, above);
        let filled = self.select(negative, filled, part);
        let none = self.int(0, Scalar::U32);
        let empty = self.cmp(CmpOp::Eq, length, none);
        Ok(self.select(empty, zero, filled))
    }

    fn inserted(&mut self, i: &Instruction, ty: Scalar) -> Outcome<IrValue> {
        let part = self.read(self.operand(i, 1)?, ty)?;
        let whole = self.read(self.operand(i, 2)?, ty)?;
        let (start, length) = self.field_place(i, 3)?;
        let ones = self.low_ones(ty, length);
        let place = self.shifted(BinaryOp::Shl, ty, ones, start);
        let part = self.shifted(BinaryOp::Shl, ty, part, start);
        let part = self.binary(BinaryOp::And, part, place);
        let around = self.e.b().unary(UnaryOp::Not, place);
        let rest = self.binary(BinaryOp::And, whole, around);
        Ok(self.binary(BinaryOp::Or, rest, part))
    }

    /// Any function of three bits, by its table: a number, or an argument that is one.
    fn logic_of_three(&mut self, i: &Instruction) -> Outcome<IrValue> {
        let mut inputs = Vec::new();
        for at in 1..=3 {
            inputs.push(self.read(self.operand(i, at)?, Scalar::U32)?);
        }
        let table = self.operand(i, 4)?;
        let mut result = self.int(0, Scalar::U32);
        for row in 0..8u64 {
            // All ones where the table has a one.
            let mut term = match table {
                Operand::Integer(table) if table >> row & 1 == 0 => continue,
                Operand::Integer(_) => self.int(-1, Scalar::U32),
                table => {
                    let table = self.read(table, Scalar::U32)?;
                    let (row, one) = (self.int(row as i64, Scalar::U32), self.int(1, Scalar::U32));
                    let shifted = self.binary(BinaryOp::Shr, table, row);
                    let bit = self.binary(BinaryOp::And, shifted, one);
                    let zero = self.int(0, Scalar::U32);
                    self.binary(BinaryOp::Sub, zero, bit)
                }
            };
            for (place, &input) in [4u64, 2, 1].iter().zip(&inputs) {
                let input = if row & place != 0 { input } else { self.e.b().unary(UnaryOp::Not, input) };
                term = self.binary(BinaryOp::And, term, input);
            }
            result = self.binary(BinaryOp::Or, result, term);
        }
        Ok(result)
    }

    /// Four bytes chosen from eight.
    fn permuted(&mut self, i: &Instruction) -> Outcome<IrValue> {
        if i.words.len() > 1 {
            return Err("only the plain form is supported".into());
        }
        let low = self.read(self.operand(i, 1)?, Scalar::U32)?;
        let high = self.read(self.operand(i, 2)?, Scalar::U32)?;
        let by = self.read(self.operand(i, 3)?, Scalar::U32)?;
        let (low, high) = (self.e.b().cast(low, Scalar::U64), self.e.b().cast(high, Scalar::U64));
        let half = self.int(32, Scalar::U64);
        let upper = self.binary(BinaryOp::Shl, high, half);
        let bytes = self.binary(BinaryOp::Or, upper, low);
        let mut result = self.int(0, Scalar::U32);
        for byte in 0..4 {
            let at = self.int(byte * 4, Scalar::U32);
            let selector = self.binary(BinaryOp::Shr, by, at);
            let seven = self.int(7, Scalar::U32);
            let number = self.binary(BinaryOp::And, selector, seven);
            let number = self.e.b().cast(number, Scalar::U64);
            let eight = self.int(8, Scalar::U64);
            let place = self.binary(BinaryOp::Mul, number, eight);
            let moved = self.binary(BinaryOp::Shr, bytes, place);
            let moved = self.e.b().cast(moved, Scalar::U32);
            let low_byte = self.int(255, Scalar::U32);
            let plain = self.binary(BinaryOp::And, moved, low_byte);
            // The fourth bit asks for copies of the byte's sign.
            let (sign_bit, four, none) =
                (self.int(128, Scalar::U32), self.int(8, Scalar::U32), self.int(0, Scalar::U32));
            let sign = self.binary(BinaryOp::And, plain, sign_bit);
            let negative = self.cmp(CmpOp::Ne, sign, none);
            let copies = self.select(negative, low_byte, none);
            let asked = self.binary(BinaryOp::And, selector, four);
            let asked = self.cmp(CmpOp::Ne, asked, none);
            let chosen = self.select(asked, copies, plain);
            let to = self.int(byte * 8, Scalar::U32);
            let placed = self.binary(BinaryOp::Shl, chosen, to);
            result = self.binary(BinaryOp::Or, result, placed);
        }
        Ok(result)
    }

    pub(super) fn conversion(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let target = self.operand(i, 0)?;
        if let Some(value) = self.small_pair(i)? {
            return self.write(target, value, mask);
        }
        let kinds: Vec<Narrow> = i.words.iter().filter_map(|word| Narrow::read(word)).collect();
        let &[to, from] = kinds.as_slice() else { return Err("two types are needed".into()) };
        let relu = i.has("relu");
        let value = match (to, from) {
            (Narrow::One(to), Narrow::One(from)) => {
                let x = self.read(self.operand(i, 1)?, from)?;
                self.converted(i, x, from, to)?
            }
            // The first operand goes to the upper half.
            (Narrow::Two(to), Narrow::One(from)) => {
                let (upper, lower) = (self.read(self.operand(i, 1)?, from)?, self.read(self.operand(i, 2)?, from)?);
                let (upper, lower) = (self.converted(i, upper, from, to)?, self.converted(i, lower, from, to)?);
                self.joined(lower, upper, to, relu)
            }
            (Narrow::Two(to), Narrow::Two(from)) => {
                let whole = self.read(self.operand(i, 1)?, unsigned(from.bits() * 2))?;
                let by = self.int(i64::from(from.bits()), unsigned(from.bits() * 2));
                let upper = self.binary(BinaryOp::Shr, whole, by);
                let (lower, upper) = (self.at(whole, from), self.at(upper, from));
                let (upper, lower) = (self.converted(i, upper, from, to)?, self.converted(i, lower, from, to)?);
                self.joined(lower, upper, to, relu)
            }
            (Narrow::One(_), Narrow::Two(_)) => return Err("this conversion is not supported".into()),
        };
        self.write(target, value, mask)
    }

    fn joined(&mut self, lower: IrValue, upper: IrValue, ty: Scalar, relu: bool) -> IrValue {
        let whole = unsigned(ty.bits() * 2);
        let mut halves = [lower, upper];
        for half in &mut halves {
            if relu {
                let zero = self.constant_float(0.0, ty);
                let wide = self.e.b().cast(*half, Scalar::F32);
                let low = self.e.b().cast(zero, Scalar::F32);
                let least = self.binary(BinaryOp::MaxNan, wide, low);
                *half = self.e.b().cast(least, ty);
            }
            let bits = self.as_bits(*half);
            *half = self.e.b().cast(bits, whole);
        }
        let by = self.int(i64::from(ty.bits()), whole);
        let upper = self.binary(BinaryOp::Shl, halves[1], by);
        self.binary(BinaryOp::Or, upper, halves[0])
    }

    /// One number at another type. Floats round as asked; to integers they saturate, as GPUs do.
    fn converted(&mut self, i: &Instruction, x: IrValue, from: Scalar, to: Scalar) -> Outcome<IrValue> {
        let rounding = i.words.iter().find(|w| ROUNDINGS.contains(&w.as_str())).map(String::as_str);
        if from.is_float() && to.is_float() {
            let rounding = match rounding {
                None | Some("rn" | "rni") => Rounding::Nearest,
                Some("rz" | "rzi") => Rounding::Zero,
                Some(other) => return Err(format!("the rounding `{other}` is not supported here")),
            };
            if from.bits() == to.bits() && i.words.iter().any(|w| w.ends_with('i') && ROUNDINGS.contains(&w.as_str())) {
                return Ok(self.whole(x, i));
            }
            let ty = self.ty(to);
            return Ok(self.e.b().value_as(OpKind::Cast(rounding), &[x], ty));
        }
        if from.is_float() && to.is_int() {
            let wide = if from.bits() < 32 { Scalar::F32 } else { from };
            let x = self.e.b().cast(x, wide);
            let whole = self.whole(x, i);
            return Ok(self.saturated(whole, wide, to));
        }
        if i.has("sat") && from.is_int() && to.is_int() {
            return Ok(self.clamped(x, from, to));
        }
        Ok(self.e.b().cast(x, to))
    }

    /// A float rounded to a whole number.
    fn whole(&mut self, x: IrValue, i: &Instruction) -> IrValue {
        let function = if i.has("rni") || i.has("rn") {
            MathFn::Rint
        } else if i.has("rmi") || i.has("rm") {
            MathFn::Floor
        } else if i.has("rpi") || i.has("rp") {
            MathFn::Ceil
        } else {
            MathFn::Trunc
        };
        self.e.b().value(OpKind::Math(function), &[x])
    }

    /// A whole float as an integer: the nearest there is; 0 for what is not a number.
    fn saturated(&mut self, x: IrValue, from: Scalar, to: Scalar) -> IrValue {
        let (least, most) = bounds(to);
        // The greatest float that is inside: integers beyond the mantissa are not all floats.
        let below =
            |limit: f64| if from == Scalar::F32 { f64::from((limit as f32).next_down()) } else { limit.next_down() };
        let limit = 2f64.powi(to.bits() as i32 - i32::from(to.is_signed_int()));
        let low = self.constant_float(least as f64, from);
        let high = self.constant_float(below(limit), from);
        let inside = self.binary(BinaryOp::Max, x, low);
        let inside = self.binary(BinaryOp::Min, inside, high);
        let nan = self.cmp(CmpOp::Ne, x, x);
        let zero_float = self.constant_float(0.0, from);
        let inside = self.select(nan, zero_float, inside);
        let value = self.e.b().cast(inside, to);
        let beyond = self.constant_float(limit, from);
        let over = self.cmp(CmpOp::Ge, x, beyond);
        let top = self.constant(shoal_ir::Const::from_bits(to, most as u64));
        self.select(over, top, value)
    }

    fn clamped(&mut self, x: IrValue, from: Scalar, to: Scalar) -> IrValue {
        let ((low, high), (least, most)) = (bounds(to), bounds(from));
        let mut x = x;
        if low > least {
            let low = self.constant(shoal_ir::Const::from_bits(from, low as u64));
            x = self.binary(BinaryOp::Max, x, low);
        }
        if high < most {
            let high = self.constant(shoal_ir::Const::from_bits(from, high as u64));
            x = self.binary(BinaryOp::Min, x, high);
        }
        self.e.b().cast(x, to)
    }
}

const ROUNDINGS: [&str; 8] = ["rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"];

/// The least and the greatest of an integer type.
fn bounds(ty: Scalar) -> (i128, i128) {
    let bits = ty.bits();
    match ty.is_signed_int() {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    }
}

/// A type of `cvt`: one number, or two in one register.
#[derive(Debug, Clone, Copy)]
enum Narrow {
    One(Scalar),
    Two(Scalar),
}

impl Narrow {
    fn read(word: &str) -> Option<Narrow> {
        Some(match word {
            "e4m3x2" => Narrow::Two(Scalar::F8E4M3),
            "e5m2x2" => Narrow::Two(Scalar::F8E5M2),
            "e4m3" => Narrow::One(Scalar::F8E4M3),
            "e5m2" => Narrow::One(Scalar::F8E5M2),
            word => match Kind::read(word)? {
                Kind::Pair(scalar) => Narrow::Two(scalar),
                Kind::Number(scalar) => Narrow::One(scalar),
                Kind::Bits(bits) => Narrow::One(unsigned(bits)),
                Kind::Predicate => return None,
            },
        })
    }
}
