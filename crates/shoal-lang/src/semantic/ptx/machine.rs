//! The state of a snippet while its meaning is written as IR.
//!
//! All values have one shape: that of the tile the snippet is applied to, one element for each lane, or a scalar. A
//! register holds bits: an unsigned integer of its width. Instructions read them at their own type.

use std::collections::{BTreeMap, HashMap};

use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::types::{Elem, Scalar, Type};
use shoal_ir::{Const, OpKind, Value as IrValue};

use super::program::{Instruction, Label, Operand, Program, Source};
use crate::emit::Emit;
use crate::lanes;

/// Why a snippet has no meaning here: the message.
pub(super) type Outcome<T> = Result<T, String>;

/// The type of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bits, by width.
    Bits(u32),
    /// A number.
    Number(Scalar),
    /// Two numbers of 16 bits in one register.
    Pair(Scalar),
    /// A truth value.
    Predicate,
}

impl Kind {
    /// The type with this spelling.
    pub(super) fn read(word: &str) -> Option<Kind> {
        Some(match word {
            "pred" => Kind::Predicate,
            "b8" => Kind::Bits(8),
            "b16" => Kind::Bits(16),
            "b32" => Kind::Bits(32),
            "b64" => Kind::Bits(64),
            "f16x2" => Kind::Pair(Scalar::F16),
            "bf16x2" => Kind::Pair(Scalar::BF16),
            "u8" => Kind::Number(Scalar::U8),
            "u16" => Kind::Number(Scalar::U16),
            "u32" => Kind::Number(Scalar::U32),
            "u64" => Kind::Number(Scalar::U64),
            "s8" => Kind::Number(Scalar::I8),
            "s16" => Kind::Number(Scalar::I16),
            "s32" => Kind::Number(Scalar::I32),
            "s64" => Kind::Number(Scalar::I64),
            "f16" => Kind::Number(Scalar::F16),
            "bf16" => Kind::Number(Scalar::BF16),
            "f32" => Kind::Number(Scalar::F32),
            "f64" => Kind::Number(Scalar::F64),
            _ => return None,
        })
    }

    /// What a value of this type is in the IR.
    pub(super) fn scalar(self) -> Scalar {
        match self {
            Kind::Bits(bits) => unsigned(bits),
            Kind::Number(scalar) => scalar,
            Kind::Pair(_) => Scalar::U32,
            Kind::Predicate => Scalar::I1,
        }
    }
}

/// The unsigned integer with so many bits; a truth value for one.
pub(super) fn unsigned(bits: u32) -> Scalar {
    match bits {
        1 => Scalar::I1,
        bits => Scalar::int(bits, false).unwrap_or(Scalar::U64),
    }
}

/// The state of a snippet.
pub(super) struct Machine<'e, 'p> {
    pub(super) e: &'e mut Emit<'p>,
    pub(super) program: &'e Program,
    /// The type that all values have, but for their elements.
    pub(super) shape: Type,
    /// What registers and operands of the assembly hold.
    pub(super) held: BTreeMap<Source, IrValue>,
    /// The widths of the operands of the assembly.
    pub(super) widths: Vec<u32>,
    /// The elements that run the instruction at hand; `None`: all of them.
    pub(super) active: Option<IrValue>,
    /// The elements that wait at a label further on.
    pub(super) waiting: HashMap<Label, IrValue>,
    /// Where the loops around the instruction at hand begin.
    pub(super) open_loops: Vec<usize>,
}

impl Machine<'_, '_> {
    /// The type of values with these elements.
    pub(super) fn ty(&self, elem: impl Into<Elem>) -> Type {
        self.shape.with_elem(elem)
    }

    /// A constant everywhere.
    pub(super) fn constant(&mut self, value: Const) -> IrValue {
        let ty = self.ty(value.ty());
        self.e.b().constant(value, ty)
    }

    /// An integer everywhere.
    pub(super) fn int(&mut self, value: i64, ty: Scalar) -> IrValue {
        self.constant(Const::from_i64(ty, value))
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: IrValue, b: IrValue) -> IrValue {
        self.e.b().binary(op, a, b)
    }

    pub(super) fn cmp(&mut self, op: CmpOp, a: IrValue, b: IrValue) -> IrValue {
        self.e.b().cmp(op, a, b)
    }

    pub(super) fn select(&mut self, c: IrValue, a: IrValue, b: IrValue) -> IrValue {
        self.e.b().select(c, a, b)
    }

    pub(super) fn scalar_of(&self, value: IrValue) -> Scalar {
        self.e.func.ty(value).number().unwrap_or(Scalar::U64)
    }

    /// The width of what holds a value.
    pub(super) fn width(&self, source: Source) -> Outcome<u32> {
        match source {
            Source::Register(register) => Ok(self.program.registers[register]),
            Source::Argument(number) => {
                self.widths.get(number).copied().ok_or_else(|| format!("there is no operand `${number}`"))
            }
        }
    }

    /// The bits that a register or an operand holds; what was never written is zero.
    pub(super) fn bits(&mut self, source: Source) -> Outcome<IrValue> {
        let width = self.width(source)?;
        if width > 64 {
            return Err("registers of 128 bits are not supported".into());
        }
        Ok(match self.held.get(&source) {
            Some(&value) => value,
            None => self.int(0, unsigned(width)),
        })
    }

    /// The low bits, or zeros above them.
    pub(super) fn resized(&mut self, value: IrValue, width: u32) -> IrValue {
        let from = self.scalar_of(value);
        let to = unsigned(width);
        if from.bits() == to.bits() && !from.is_float() && from != Scalar::I1 {
            return if from == to { value } else { self.e.b().bitcast(value, to) };
        }
        match (from, to) {
            (Scalar::I1, Scalar::I1) => value,
            // The lowest bit of an integer as a truth value.
            (_, Scalar::I1) => {
                let one = self.int(1, from);
                let low = self.binary(BinaryOp::And, value, one);
                let zero = self.int(0, from);
                self.cmp(CmpOp::Ne, low, zero)
            }
            (_, to) => self.e.b().cast(value, to),
        }
    }

    /// A value as bits.
    pub(super) fn as_bits(&mut self, value: IrValue) -> IrValue {
        let from = self.scalar_of(value);
        if from == Scalar::I1 || from.is_unsigned_int() {
            return value;
        }
        self.e.b().bitcast(value, unsigned(from.bits()))
    }

    /// Bits at a type: the low ones of a wider register.
    pub(super) fn at(&mut self, bits: IrValue, ty: Scalar) -> IrValue {
        let bits = self.resized(bits, ty.bits());
        if self.scalar_of(bits) == ty { bits } else { self.e.b().bitcast(bits, ty) }
    }

    /// An operand at a type.
    pub(super) fn read(&mut self, operand: &Operand, ty: Scalar) -> Outcome<IrValue> {
        match operand {
            Operand::Source(source) => {
                let bits = self.bits(*source)?;
                Ok(self.at(bits, ty))
            }
            Operand::Negated(source) => {
                let bits = self.bits(*source)?;
                let truth = self.at(bits, Scalar::I1);
                Ok(self.e.b().unary(shoal_ir::op::UnaryOp::Not, truth))
            }
            Operand::Integer(bits) if ty.is_float() => Ok(self.constant(Const::from_bits(ty, *bits))),
            Operand::Integer(bits) if ty == Scalar::I1 => Ok(self.constant(Const::bool(*bits != 0))),
            Operand::Integer(bits) => Ok(self.constant(Const::from_bits(ty, *bits))),
            Operand::FloatBits(bits) if ty.bits() == 32 => Ok(self.constant(Const::from_bits(ty, u64::from(*bits)))),
            Operand::FloatBits(bits) if ty.is_float() => {
                Ok(self.constant(Const::from_f64(ty, f64::from(f32::from_bits(*bits)))))
            }
            Operand::Float(f) if ty.is_float() => Ok(self.constant(Const::from_f64(ty, *f))),
            Operand::Float(f) if ty.bits() == 64 => Ok(self.constant(Const::from_bits(ty, f.to_bits()))),
            Operand::Special(name) => {
                let value = self.special(name)?;
                Ok(self.at(value, ty))
            }
            Operand::Vector(parts) => {
                let bits = self.packed(parts, ty.bits())?;
                Ok(self.at(bits, ty))
            }
            Operand::FloatBits(_) | Operand::Float(_) => Err("a float where an integer is needed".into()),
            Operand::Address(..) | Operand::Pair(..) | Operand::Label(_) | Operand::Sink => {
                Err("an operand that is no value".into())
            }
        }
    }

    /// Several values in one, the first in the low bits.
    fn packed(&mut self, parts: &[Operand], width: u32) -> Outcome<IrValue> {
        let each = width / parts.len().max(1) as u32;
        if !parts.len().is_power_of_two() || each < 8 {
            return Err(format!("{} values cannot be packed into {width} bits", parts.len()));
        }
        let whole = unsigned(width);
        let mut all = self.int(0, whole);
        for (i, part) in parts.iter().enumerate() {
            let value = self.read(part, unsigned(each))?;
            let value = self.e.b().cast(value, whole);
            let by = self.int(i64::from(each) * i as i64, whole);
            let placed = self.binary(BinaryOp::Shl, value, by);
            all = self.binary(BinaryOp::Or, all, placed);
        }
        Ok(all)
    }

    /// The elements for which an instruction is done; `None`: all.
    pub(super) fn mask(&mut self, instruction: &Instruction) -> Outcome<Option<IrValue>> {
        let Some(guard) = instruction.guard else { return Ok(self.active) };
        let bits = self.bits(guard.register)?;
        let mut holds = self.at(bits, Scalar::I1);
        if guard.negated {
            holds = self.e.b().unary(shoal_ir::op::UnaryOp::Not, holds);
        }
        let active = self.active;
        Ok(Some(lanes::both(self.e, active, holds)))
    }

    /// Puts a value into a destination, where the mask says so. Above a narrower value stand copies of its sign, or
    /// zeros.
    pub(super) fn write(&mut self, to: &Operand, value: IrValue, mask: Option<IrValue>) -> Outcome<()> {
        match to {
            Operand::Sink => Ok(()),
            Operand::Source(source) => {
                let width = self.width(*source)?;
                let from = self.scalar_of(value);
                let wide = width > from.bits() && from.is_signed_int() && from != Scalar::I1;
                let value = if wide {
                    let signed = Scalar::int(width, true).unwrap_or(Scalar::I64);
                    self.e.b().cast(value, signed)
                } else {
                    value
                };
                let value = self.as_bits(value);
                let value = self.resized(value, width);
                let new = match mask {
                    None => value,
                    Some(mask) => {
                        let old = self.bits(*source)?;
                        self.select(mask, value, old)
                    }
                };
                self.held.insert(*source, new);
                Ok(())
            }
            Operand::Vector(parts) => {
                let value = self.as_bits(value);
                let width = self.scalar_of(value).bits();
                let each = width / parts.len().max(1) as u32;
                if !parts.len().is_power_of_two() || each < 8 {
                    return Err(format!("{width} bits cannot be taken apart into {} values", parts.len()));
                }
                for (i, part) in parts.iter().enumerate() {
                    let by = self.int(i64::from(each) * i as i64, unsigned(width));
                    let moved = self.binary(BinaryOp::Shr, value, by);
                    let piece = self.resized(moved, each);
                    self.write(part, piece, mask)?;
                }
                Ok(())
            }
            Operand::Negated(_)
            | Operand::Integer(_)
            | Operand::Float(_)
            | Operand::FloatBits(_)
            | Operand::Special(_)
            | Operand::Address(..)
            | Operand::Pair(..)
            | Operand::Label(_) => Err("a destination that is no register".into()),
        }
    }

    /// Whether any element is set: a scalar.
    pub(super) fn any(&mut self, mask: IrValue) -> IrValue {
        let ty = self.e.func.ty(mask).clone();
        if !ty.is_tile() {
            return mask;
        }
        let flat = ty.shape().iter().product::<u32>();
        let mask = if ty.shape().len() == 1 {
            mask
        } else {
            self.e.b().value_as(OpKind::Reshape, &[mask], Type::tile(Scalar::I1, &[flat]))
        };
        lanes::any(self.e, mask)
    }

    /// Does something with effects where the mask of a scalar snippet holds; gives what it gives, or zeros.
    pub(super) fn when(
        &mut self,
        mask: Option<IrValue>,
        results: &[Type],
        act: impl FnOnce(&mut Self) -> Vec<IrValue>,
    ) -> Vec<IrValue> {
        let Some(condition) = mask.filter(|_| !self.shape.is_tile()) else { return act(self) };
        let outer = self.e.region;
        let done = self.e.func.new_region();
        self.e.region = done;
        let values = act(self);
        self.e.b().yield_(&values);
        let not = self.e.func.new_region();
        self.e.region = not;
        let zeros: Vec<IrValue> = results.iter().filter_map(|ty| lanes::zero(self.e, ty)).collect();
        self.e.b().yield_(&zeros);
        self.e.region = outer;
        let op = self.e.b().op(OpKind::If, [condition], results.iter().cloned(), [done, not]);
        self.e.func.op(op).results().to_vec()
    }
}
