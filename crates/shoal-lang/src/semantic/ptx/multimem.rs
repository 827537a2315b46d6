//! `multimem`: accesses to all ranks at once, by a multicast address. They are loops over the ranks, from rank 0 on; see
//! [`language_extra::multimem`](crate::semantic::language_extra::multimem). On NVIDIA GPUs the instructions stay what they
//! are: there a multicast address is one of the hardware's own.

use shoal_ir::comm::CommOp;
use shoal_ir::op::{BinaryOp, CmpOp, ForAttrs, Scope, Sem};
use shoal_ir::types::Scalar;
use shoal_ir::{OpKind, Value as IrValue};

use super::machine::{Kind, Machine, Outcome, unsigned};
use super::memory::{access, order, scope, vector_length};
use super::program::Instruction;

/// How the numbers in one register are combined over the ranks.
#[derive(Debug, Clone, Copy)]
struct Reduction {
    op: BinaryOp,
    /// The type of the numbers.
    ty: Scalar,
    /// Whether a register holds two of them.
    pair: bool,
}

impl Reduction {
    fn read(i: &Instruction, kind: Kind) -> Outcome<Reduction> {
        let op = i.words.iter().find_map(|word| match word.as_str() {
            "add" => Some(BinaryOp::Add),
            "min" => Some(BinaryOp::Min),
            "max" => Some(BinaryOp::Max),
            "and" => Some(BinaryOp::And),
            "or" => Some(BinaryOp::Or),
            "xor" => Some(BinaryOp::Xor),
            _ => None,
        });
        let op = op.ok_or("the kind of reduction cannot be read")?;
        let of_bits = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        match kind {
            Kind::Pair(ty) if !of_bits => Ok(Reduction { op, ty, pair: true }),
            Kind::Number(ty) if !of_bits => Ok(Reduction { op, ty, pair: false }),
            Kind::Bits(bits) if of_bits => Ok(Reduction { op, ty: unsigned(bits), pair: false }),
            Kind::Pair(_) | Kind::Number(_) | Kind::Bits(_) | Kind::Predicate => {
                Err("there is no such reduction on this type".into())
            }
        }
    }

    /// The type that numbers are combined in: narrow floats in `float32`, whatever the instruction says.
    fn wide(self) -> Scalar {
        if self.ty.is_float() && self.ty.bits() < 32 { Scalar::F32 } else { self.ty }
    }

    fn numbers(self) -> usize {
        if self.pair { 2 } else { 1 }
    }
}

impl Machine<'_, '_> {
    pub(super) fn multimem(&mut self, i: &Instruction) -> Outcome<()> {
        if self.e.options.target.nvptx().is_some() {
            return Err("multicast addresses are those of the hardware".into());
        }
        match i.words.first().map(String::as_str) {
            Some("ld_reduce") => self.multimem_load(i),
            Some("st") => self.multimem_store(i),
            Some("red") => self.multimem_reduce(i),
            _ => Err("this access to all ranks has no meaning outside of NVIDIA GPUs".into()),
        }
    }

    /// Does something for every rank, one after another, with values that go from one to the next; the rank is given
    /// everywhere.
    fn each_rank(
        &mut self,
        carried: &[IrValue],
        body: impl FnOnce(&mut Self, IrValue, &[IrValue]) -> Vec<IrValue>,
    ) -> Vec<IrValue> {
        let ranks = self.e.b().value(OpKind::Comm(CommOp::NumRanks { axis: None }), &[]);
        let (zero, one) = (self.e.b().int(0, Scalar::I32), self.e.b().int(1, Scalar::I32));
        let types: Vec<_> = carried.iter().map(|&value| self.e.func.ty(value).clone()).collect();
        let region = self.e.func.new_region();
        let index = self.e.func.ty(zero).clone();
        let rank = self.e.func.add_param(region, index);
        let params: Vec<_> = types.iter().map(|ty| self.e.func.add_param(region, ty.clone())).collect();
        let outer = std::mem::replace(&mut self.e.region, region);
        let rank = self.everywhere(rank);
        let next = body(self, rank, &params);
        self.e.b().yield_(&next);
        self.e.region = outer;
        let operands = [zero, ranks, one].into_iter().chain(carried.iter().copied());
        let op = self.e.b().op(OpKind::For(ForAttrs::default()), operands, types, [region]);
        self.e.func.op(op).results().to_vec()
    }

    /// The place of pointers at a rank.
    fn at_rank(&mut self, pointers: IrValue, rank: IrValue, mask: Option<IrValue>) -> IrValue {
        let operands: Vec<IrValue> = [pointers, rank].into_iter().chain(mask).collect();
        self.e.b().value(OpKind::Comm(CommOp::SymmAt), &operands)
    }

    fn multimem_load(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let access = access(i)?;
        let kind = self.kind(i)?;
        let reduction = Reduction::read(i, kind)?;
        let ty = Self::memory_type(kind)?;
        let length = vector_length(i);
        let targets = Self::parts(self.operand(i, 0)?, length)?;
        let address = self.operand(i, 1)?;
        let mut pointers = Vec::new();
        for part in 0..length {
            pointers.push(self.pointers(address, ty, part as i64 * i64::from(ty.bytes()))?);
        }
        let tile_mask = mask.filter(|_| self.shape.is_tile());
        let each = reduction.numbers();
        let results = vec![self.ty(ty); length];
        let registers = self.when(mask, &results, |m| {
            let nothing = m.int(0, reduction.wide());
            let totals = m.each_rank(&vec![nothing; length * each], |m, rank, so_far| {
                let mut next = Vec::new();
                for (&pointers, so_far) in pointers.iter().zip(so_far.chunks(each)) {
                    let place = m.at_rank(pointers, rank, tile_mask);
                    let register = m.load_one(place, ty, access, tile_mask);
                    next.extend(m.combined_with(reduction, so_far, register, rank));
                }
                next
            });
            totals.chunks(each).map(|numbers| m.register_of(reduction, numbers)).collect()
        });
        for (target, register) in targets.into_iter().zip(registers) {
            self.write(target, register, mask)?;
        }
        Ok(())
    }

    /// One more rank's register. The first is taken as it is: zero is no neutral element of all operations.
    fn combined_with(&mut self, r: Reduction, so_far: &[IrValue], register: IrValue, rank: IrValue) -> Vec<IrValue> {
        let numbers = if r.pair { self.halves(register, r.ty).to_vec() } else { vec![register] };
        let zero = self.int(0, Scalar::I32);
        let is_first = self.cmp(CmpOp::Eq, rank, zero);
        let combine = |(number, &so_far): (IrValue, &IrValue)| {
            let number = self.e.b().cast(number, r.wide());
            let both = self.e.b().binary(r.op, so_far, number);
            self.e.b().select(is_first, number, both)
        };
        numbers.into_iter().zip(so_far).map(combine).collect()
    }

    /// The register that holds what was combined.
    fn register_of(&mut self, r: Reduction, numbers: &[IrValue]) -> IrValue {
        let numbers: Vec<IrValue> = numbers.iter().map(|&number| self.e.b().cast(number, r.ty)).collect();
        match *numbers.as_slice() {
            [low, high] => self.word_of([low, high]),
            _ => numbers[0],
        }
    }

    fn multimem_store(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let access = access(i)?;
        let stored = self.stored(i, access)?;
        let tile_mask = mask.filter(|_| self.shape.is_tile());
        self.when(mask, &[], |m| {
            m.each_rank(&[], |m, rank, _| {
                for &(pointers, value) in &stored {
                    let place = m.at_rank(pointers, rank, tile_mask);
                    m.store_one(place, value, access, tile_mask);
                }
                Vec::new()
            })
        });
        Ok(())
    }

    /// One atomic at every rank, for each element.
    fn multimem_reduce(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let (sem, scope) = (order(i).unwrap_or(Sem::Relaxed), scope(i).unwrap_or(Scope::Sys));
        let change = self.change(i, self.operand(i, 0)?, self.operand(i, 1)?)?;
        let tile_mask = mask.filter(|_| self.shape.is_tile());
        let kind = OpKind::AtomicRmw { op: change.op, sem, scope };
        self.when(mask, &[], |m| {
            m.each_rank(&[], |m, rank, _| {
                for &(pointers, value) in &change.elements {
                    let place = m.at_rank(pointers, rank, tile_mask);
                    m.atomic_one(kind.clone(), &[place, value], change.ty, tile_mask);
                }
                Vec::new()
            })
        });
        Ok(())
    }
}
