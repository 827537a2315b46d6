//! What each instruction does: from its name to the file that knows it.

use shoal_ir::{Scalar, Value};

use super::machine::{Kind, Machine, Outcome};
use super::program::{Instruction, Operand};

impl Machine<'_, '_> {
    /// Writes what an instruction does.
    pub(super) fn execute(&mut self, i: &Instruction) -> Outcome<()> {
        match i.name.as_str() {
            "mov" | "cvta" => self.copy(i),
            "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "neg" | "abs" | "and" | "or"
            | "xor" | "not" | "cnot" | "mul24" | "mad24" | "copysign" => self.arithmetic(i),
            "shl" | "shr" | "shf" | "bfe" | "bfi" | "brev" | "clz" | "popc" | "lop3" | "prmt" => self.bitwise(i),
            "ex2" | "lg2" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "tanh" => self.mathematics(i),
            "setp" | "set" | "selp" | "slct" | "testp" => self.comparison(i),
            "cvt" => self.conversion(i),
            "ld" | "ldu" => self.load(i),
            "st" => self.store(i),
            "atom" | "red" => self.atomic(i),
            "multimem" => self.multimem(i),
            "fence" | "membar" => self.fence(i),
            "bar" | "barrier" => self.barrier(i),
            "vote" | "shfl" | "activemask" | "elect" | "redux" => self.warp(i),
            "createpolicy" => self.policy(i),
            "prefetch" | "prefetchu" | "discard" | "applypriority" | "griddepcontrol" | "pmevent" => self.hint(i),
            "nanosleep" | "nop" => Ok(()),
            _ => Err("this instruction has no meaning outside of NVIDIA GPUs".into()),
        }
    }

    /// The last of an instruction's words that is a type.
    pub(super) fn kind(&self, i: &Instruction) -> Outcome<Kind> {
        i.words.iter().rev().find_map(|word| Kind::read(word)).ok_or_else(|| "the type cannot be read".into())
    }

    /// An operand by its number.
    pub(super) fn operand<'i>(&self, i: &'i Instruction, at: usize) -> Outcome<&'i Operand> {
        i.operands.get(at).ok_or_else(|| format!("operand {} is missing", at + 1))
    }

    fn copy(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let kind = self.kind(i)?;
        let (to, from) = (self.operand(i, 0)?, self.operand(i, 1)?);
        if i.has("v2") || i.has("v4") {
            return self.copy_elements(to, from, kind.scalar(), mask);
        }
        let value = self.read(from, kind.scalar())?;
        self.write(to, value, mask)
    }

    /// `mov.v4`: each element of a vector, from another vector. Of single numbers only zero is taken: assemblers do not spread
    /// others over the elements.
    fn copy_elements(&mut self, to: &Operand, from: &Operand, ty: Scalar, mask: Option<Value>) -> Outcome<()> {
        let Operand::Vector(places) = to else { return Err("`mov.v2` and `mov.v4` write vectors".into()) };
        let values = match from {
            Operand::Vector(parts) if parts.len() != places.len() => {
                return Err("the vectors of a `mov` differ in length".into());
            }
            Operand::Vector(parts) => parts.iter().map(|part| self.read(part, ty)).collect::<Outcome<Vec<_>>>()?,
            Operand::Integer(0) => vec![self.int(0, ty); places.len()],
            _ => return Err("`mov.v2` and `mov.v4` copy vectors: write `{a, b}` for one of several numbers".into()),
        };
        places.iter().zip(values).try_for_each(|(place, value)| self.write(place, value, mask))
    }

    /// A hint about caches: any bits will do.
    fn policy(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let none = self.int(0, Scalar::U64);
        let to = self.operand(i, 0)?;
        self.write(to, none, mask)
    }
}
