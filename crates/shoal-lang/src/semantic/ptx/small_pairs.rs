//! `cvt` of pairs of numbers that no tile has: `e2m1x2`, floats of four bits, and `ue8m0x2`, powers of two.

use shoal_ir::Value as IrValue;
use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::types::Scalar;

use super::super::e2m1;
use super::machine::{Machine, Outcome};
use super::program::Instruction;

/// Where a number between two powers of two goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Toward {
    Up,
    Zero,
}

impl Machine<'_, '_> {
    /// What such a conversion gives; `None` if it is another.
    pub(super) fn small_pair(&mut self, i: &Instruction) -> Outcome<Option<IrValue>> {
        let words: Vec<&str> = i.words.iter().map(String::as_str).collect();
        let value = match words.as_slice() {
            ["rn", "satfinite", "e2m1x2", "f32"] => {
                let (upper, lower) = self.two_floats(i)?;
                let (upper, lower) = (e2m1::from_float(self.e, upper), e2m1::from_float(self.e, lower));
                self.side_by_side(upper, lower, 4)
            }
            [rounding @ ("rp" | "rz"), "satfinite", "ue8m0x2", "f32"] => {
                let toward = if *rounding == "rp" { Toward::Up } else { Toward::Zero };
                let (upper, lower) = self.two_floats(i)?;
                let (upper, lower) = (self.exponent(upper, toward), self.exponent(lower, toward));
                self.side_by_side(upper, lower, 8)
            }
            ["rn", "f16x2", "e2m1x2"] => {
                let pair = self.read(self.operand(i, 1)?, Scalar::U8)?;
                let four = self.int(4, Scalar::U8);
                let upper = self.binary(BinaryOp::Shr, pair, four);
                let [upper, lower] = [upper, pair].map(|nibble| {
                    let value = e2m1::to_float(self.e, nibble);
                    let half = self.e.b().cast(value, Scalar::F16);
                    let bits = self.as_bits(half);
                    self.e.b().cast(bits, Scalar::U32)
                });
                self.side_by_side(upper, lower, 16)
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// The two numbers that become a pair: the first is the upper one.
    fn two_floats(&mut self, i: &Instruction) -> Outcome<(IrValue, IrValue)> {
        Ok((self.read(self.operand(i, 1)?, Scalar::F32)?, self.read(self.operand(i, 2)?, Scalar::F32)?))
    }

    /// Two numbers of some bits in one register of their type.
    fn side_by_side(&mut self, upper: IrValue, lower: IrValue, bits: i64) -> IrValue {
        let by = self.int(bits, self.scalar_of(upper));
        let upper = self.binary(BinaryOp::Shl, upper, by);
        self.binary(BinaryOp::Or, upper, lower)
    }

    /// The exponent of the power of two for a magnitude, biased by 127: 254 is the largest, 255 is not a number.
    fn exponent(&mut self, x: IrValue, toward: Toward) -> IrValue {
        let bits = self.as_bits(x);
        let word = |machine: &mut Self, value: i64| machine.int(value, Scalar::U32);
        let (unsigned, mantissa, infinity) =
            (word(self, 0x7FFF_FFFF), word(self, 0x007F_FFFF), word(self, 0x7F80_0000));
        let (at, largest, none) = (word(self, 23), word(self, 254), word(self, 255));
        let magnitude = self.binary(BinaryOp::And, bits, unsigned);
        let mut exponent = self.binary(BinaryOp::Shr, magnitude, at);
        if toward == Toward::Up {
            let next = self.binary(BinaryOp::Add, magnitude, mantissa);
            let next = self.binary(BinaryOp::Shr, next, at);
            // The least power of two is a subnormal number.
            let (least, zero) = (word(self, 0x0040_0000), word(self, 0));
            let is_least = self.cmp(CmpOp::Le, magnitude, least);
            exponent = self.select(is_least, zero, next);
        }
        let finite = self.binary(BinaryOp::Min, exponent, largest);
        let nan = self.cmp(CmpOp::Gt, magnitude, infinity);
        let value = self.select(nan, none, finite);
        self.e.b().cast(value, Scalar::U16)
    }
}
