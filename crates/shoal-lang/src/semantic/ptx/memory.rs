//! Loads, stores, atomics, fences and barriers of PTX. Qualifiers may come in any order, as assemblers accept them.

use shoal_ir::op::{BinaryOp, Evict, LoadAttrs, LoadMode, RmwOp, Scope, Sem, StoreCache};
use shoal_ir::types::{Ptr, Scalar, Space, Type};
use shoal_ir::{OpKind, Value as IrValue};

use super::machine::{Kind, Machine, Outcome, unsigned};
use super::program::{Instruction, Operand};

/// How an access is ordered; `None` for a plain one.
pub(super) type Order = Option<(Sem, Scope)>;

/// One read-modify-write for each element of an operand.
pub(super) struct Change {
    pub(super) op: RmwOp,
    /// The type of the elements.
    pub(super) ty: Scalar,
    /// Where each is, and what it is changed by.
    pub(super) elements: Vec<(IrValue, IrValue)>,
}

/// The scope that an instruction names.
pub(super) fn scope(i: &Instruction) -> Option<Scope> {
    i.words.iter().find_map(|word| match word.as_str() {
        "cta" => Some(Scope::Cta),
        // A cluster is part of a device.
        "cluster" | "gpu" | "gl" => Some(Scope::Gpu),
        "sys" => Some(Scope::Sys),
        _ => None,
    })
}

pub(super) fn order(i: &Instruction) -> Option<Sem> {
    i.words.iter().find_map(|word| match word.as_str() {
        "relaxed" => Some(Sem::Relaxed),
        "acquire" => Some(Sem::Acquire),
        "release" => Some(Sem::Release),
        "acq_rel" | "sc" => Some(Sem::AcqRel),
        _ => None,
    })
}

/// Refuses memory that only GPUs have.
fn global_only(i: &Instruction) -> Outcome<()> {
    let other = |word: &&String| {
        let space = word.split("::").next().unwrap_or(word);
        matches!(space, "shared" | "local" | "param" | "const")
    };
    match i.words.iter().find(other) {
        Some(space) => Err(format!("`.{space}` memory has no meaning outside of NVIDIA GPUs")),
        None => Ok(()),
    }
}

pub(super) fn access(i: &Instruction) -> Outcome<Order> {
    global_only(i)?;
    let volatile = i.has("volatile") || i.has("mmio");
    Ok(match (order(i), scope(i)) {
        (Some(sem), scope) => Some((sem, scope.unwrap_or(Scope::Gpu))),
        (None, Some(scope)) => Some((Sem::Relaxed, scope)),
        // A volatile access is a relaxed one at the widest scope.
        (None, None) if volatile => Some((Sem::Relaxed, Scope::Sys)),
        (None, None) => None,
    })
}

/// How many elements an instruction moves.
pub(super) fn vector_length(i: &Instruction) -> usize {
    i.words
        .iter()
        .find_map(|word| match word.as_str() {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        })
        .unwrap_or(1)
}

impl Machine<'_, '_> {
    /// The pointers that an address operand stands for, some bytes further.
    pub(super) fn pointers(&mut self, operand: &Operand, ty: Scalar, bytes: i64) -> Outcome<IrValue> {
        let Operand::Address(base, offset) = operand else { return Err("an address in brackets is needed".into()) };
        let address = self.read(base, Scalar::I64)?;
        let further = self.int(offset.wrapping_add(bytes), Scalar::I64);
        let address = self.binary(BinaryOp::Add, address, further);
        let pointer = Ptr { pointee: ty, space: Space::Global, depth: 1 };
        Ok(self.e.b().cast(address, pointer))
    }

    /// What memory holds for a type: numbers of a register's width, as bits.
    pub(super) fn memory_type(kind: Kind) -> Outcome<Scalar> {
        match kind {
            Kind::Predicate => Err("predicates are not in memory".into()),
            Kind::Pair(_) => Ok(Scalar::U32),
            Kind::Bits(_) | Kind::Number(_) => Ok(kind.scalar()),
        }
    }

    pub(super) fn load_one(&mut self, pointers: IrValue, ty: Scalar, access: Order, mask: Option<IrValue>) -> IrValue {
        let result = self.ty(ty);
        let tile_mask = mask.filter(|_| self.shape.is_tile());
        let loaded = self.when(mask, &[result], |m| {
            let operands: Vec<IrValue> = std::iter::once(pointers).chain(tile_mask).collect();
            let kind = match access {
                Some((sem, scope)) => {
                    let sem = if sem == Sem::Acquire { Sem::Acquire } else { Sem::Relaxed };
                    OpKind::AtomicLoad { sem, scope }
                }
                None => OpKind::Load(LoadAttrs { mode: LoadMode::Pinned, ..LoadAttrs::default() }),
            };
            vec![m.e.b().value(kind, &operands)]
        });
        loaded[0]
    }

    pub(super) fn store_one(&mut self, pointers: IrValue, value: IrValue, access: Order, mask: Option<IrValue>) {
        let tile_mask = mask.filter(|_| self.shape.is_tile());
        self.when(mask, &[], |m| {
            let operands: Vec<IrValue> = [pointers, value].into_iter().chain(tile_mask).collect();
            let kind = match access {
                Some((sem, scope)) => {
                    let sem = if sem == Sem::Release { Sem::Release } else { Sem::Relaxed };
                    OpKind::AtomicStore { sem, scope }
                }
                None => OpKind::Store { cache: StoreCache::Default, evict: Evict::Normal },
            };
            m.e.b().inferred(kind, &operands, &[]);
            Vec::new()
        });
    }

    /// The parts of a vector operand, or the operand itself.
    pub(super) fn parts(operand: &Operand, length: usize) -> Outcome<Vec<&Operand>> {
        match operand {
            Operand::Vector(parts) if parts.len() == length => Ok(parts.iter().collect()),
            _ if length == 1 => Ok(vec![operand]),
            _ => Err(format!("a vector of {length} is needed")),
        }
    }

    /// How a vector is moved: so many elements at a time. Two of 32 bits go together, so that data and a flag beside it
    /// are seen together, as they are on GPUs.
    fn grouped(ty: Scalar, length: usize, access: Order) -> usize {
        let together = length.is_multiple_of(2) && ty.bits() == 32 && access.is_some();
        if together { 2 } else { 1 }
    }

    pub(super) fn load(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let access = access(i)?;
        let ty = Self::memory_type(self.kind(i)?)?;
        let length = vector_length(i);
        let targets = Self::parts(self.operand(i, 0)?, length)?;
        let address = self.operand(i, 1)?;
        let group = Self::grouped(ty, length, access);
        let mut values = Vec::new();
        for first in (0..length).step_by(group) {
            let word = if group == 2 { Scalar::U64 } else { ty };
            let pointers = self.pointers(address, word, first as i64 * i64::from(ty.bytes()))?;
            let value = self.load_one(pointers, word, access, mask);
            values.push(value);
        }
        for (targets, value) in targets.chunks(group).zip(values) {
            match targets {
                [one] => self.write(one, value, mask)?,
                many => {
                    let vector = Operand::Vector(many.iter().map(|&t| t.clone()).collect());
                    self.write(&vector, value, mask)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn store(&mut self, i: &Instruction) -> Outcome<()> {
        let mask = self.mask(i)?;
        let access = access(i)?;
        for (pointers, value) in self.stored(i, access)? {
            self.store_one(pointers, value, access, mask);
        }
        Ok(())
    }

    /// What a store writes, and where.
    pub(super) fn stored(&mut self, i: &Instruction, access: Order) -> Outcome<Vec<(IrValue, IrValue)>> {
        let ty = Self::memory_type(self.kind(i)?)?;
        let length = vector_length(i);
        let address = self.operand(i, 0)?;
        let sources = Self::parts(self.operand(i, 1)?, length)?;
        let group = Self::grouped(ty, length, access);
        let mut found = Vec::new();
        for (number, parts) in sources.chunks(group).enumerate() {
            let word = if group == 2 { Scalar::U64 } else { ty };
            let value = match parts {
                [one] => self.read(one, ty)?,
                many => {
                    let vector = Operand::Vector(many.iter().map(|&t| t.clone()).collect());
                    self.read(&vector, Scalar::U64)?
                }
            };
            let offset = (number * group) as i64 * i64::from(ty.bytes());
            found.push((self.pointers(address, word, offset)?, value));
        }
        Ok(found)
    }

    /// `atom` and `red`.
    pub(super) fn atomic(&mut self, i: &Instruction) -> Outcome<()> {
        global_only(i)?;
        let mask = self.mask(i)?;
        let (sem, scope) = (order(i).unwrap_or(Sem::Relaxed), scope(i).unwrap_or(Scope::Gpu));
        let kind = self.kind(i)?;
        let first = usize::from(i.name != "red");
        let address = self.operand(i, first)?;
        let registers = if i.has("cas") {
            let ty = unsigned(Self::memory_type(kind)?.bits());
            let pointers = self.pointers(address, ty, 0)?;
            let expected = self.read(self.operand(i, first + 1)?, ty)?;
            let value = self.read(self.operand(i, first + 2)?, ty)?;
            vec![self.atomic_one(OpKind::AtomicCas { sem, scope }, &[pointers, expected, value], ty, mask)]
        } else {
            let change = self.change(i, address, self.operand(i, first + 1)?)?;
            let rmw = OpKind::AtomicRmw { op: change.op, sem, scope };
            let before: Vec<IrValue> = change
                .elements
                .iter()
                .map(|&(pointers, value)| self.atomic_one(rmw.clone(), &[pointers, value], change.ty, mask))
                .collect();
            match kind {
                Kind::Pair(_) => before.chunks(2).map(|both| self.word_of([both[0], both[1]])).collect(),
                Kind::Bits(_) | Kind::Number(_) | Kind::Predicate => before,
            }
        };
        if i.name == "red" {
            return Ok(());
        }
        for (target, before) in Self::parts(self.operand(i, 0)?, registers.len())?.into_iter().zip(registers) {
            self.write(target, before, mask)?;
        }
        Ok(())
    }

    /// What a read-modify-write does to each element of its operand: vectors and pairs change one element after another,
    /// as they do on GPUs.
    pub(super) fn change(&mut self, i: &Instruction, address: &Operand, source: &Operand) -> Outcome<Change> {
        let kind = self.kind(i)?;
        let register = Self::memory_type(kind)?;
        let (op, ty) = self.combination(i, kind, register)?;
        let mut elements = Vec::new();
        for (at, part) in Self::parts(source, vector_length(i))?.into_iter().enumerate() {
            let start = at as i64 * i64::from(register.bytes());
            let numbers = match kind {
                Kind::Pair(_) => {
                    let word = self.read(part, Scalar::U32)?;
                    self.halves(word, ty).to_vec()
                }
                Kind::Bits(_) | Kind::Number(_) | Kind::Predicate => vec![self.read(part, ty)?],
            };
            for (number, value) in numbers.into_iter().enumerate() {
                let further = start + number as i64 * i64::from(ty.bytes());
                elements.push((self.pointers(address, ty, further)?, value));
            }
        }
        Ok(Change { op, ty, elements })
    }

    /// The two numbers of 16 bits in a word, the low one first.
    pub(super) fn halves(&mut self, word: IrValue, ty: Scalar) -> [IrValue; 2] {
        let sixteen = self.int(16, Scalar::U32);
        let upper = self.binary(BinaryOp::Shr, word, sixteen);
        [word, upper].map(|half| {
            let half = self.e.b().cast(half, Scalar::U16);
            self.e.b().bitcast(half, ty)
        })
    }

    /// The word that holds two numbers of 16 bits.
    pub(super) fn word_of(&mut self, halves: [IrValue; 2]) -> IrValue {
        let [low, high] = halves.map(|half| {
            let half = self.e.b().bitcast(half, Scalar::U16);
            self.e.b().cast(half, Scalar::U32)
        });
        let sixteen = self.int(16, Scalar::U32);
        let upper = self.binary(BinaryOp::Shl, high, sixteen);
        self.binary(BinaryOp::Or, upper, low)
    }

    pub(super) fn atomic_one(
        &mut self,
        kind: OpKind,
        operands: &[IrValue],
        ty: Scalar,
        mask: Option<IrValue>,
    ) -> IrValue {
        let result = self.ty(ty);
        let tile_mask = mask.filter(|_| self.shape.is_tile());
        let old = self.when(mask, &[result], |m| {
            let operands: Vec<IrValue> = operands.iter().copied().chain(tile_mask).collect();
            vec![m.e.b().value(kind, &operands)]
        });
        old[0]
    }

    /// How an atomic combines, and at which type.
    pub(super) fn combination(&self, i: &Instruction, kind: Kind, ty: Scalar) -> Outcome<(RmwOp, Scalar)> {
        let bits = unsigned(ty.bits());
        let word = i.words.iter().find_map(|word| {
            Some(match word.as_str() {
                "add" => (RmwOp::Add, if matches!(kind, Kind::Bits(_)) { bits } else { ty }),
                "min" => (RmwOp::Min, ty),
                "max" => (RmwOp::Max, ty),
                "and" => (RmwOp::And, bits),
                "or" => (RmwOp::Or, bits),
                "xor" => (RmwOp::Xor, bits),
                "exch" => (RmwOp::Xchg, bits),
                _ => return None,
            })
        });
        let (op, ty) = match (word.ok_or("this atomic operation is not supported")?, kind) {
            ((op @ (RmwOp::Add | RmwOp::Min | RmwOp::Max), _), Kind::Pair(half)) => (op, half),
            (found, _) => found,
        };
        let narrow = ty.bits() < 32 && !(op == RmwOp::Add && ty.is_float());
        if narrow || (ty.is_float() && matches!(op, RmwOp::Min | RmwOp::Max)) {
            return Err(format!("there is no atomic `{op}` on this type"));
        }
        Ok((op, ty))
    }

    pub(super) fn fence(&mut self, i: &Instruction) -> Outcome<()> {
        // Fences between the ways to memory that a GPU has (`fence.proxy`, `fence.mbarrier_init`) order a program's own
        // accesses, whatever scope they name; between programs they order nothing.
        let own = i.has("proxy") || i.has("mbarrier_init");
        let scope = if own { Scope::Cta } else { scope(i).unwrap_or(Scope::Gpu) };
        let sem = if own || i.name == "membar" { Sem::AcqRel } else { order(i).unwrap_or(Sem::AcqRel) };
        self.e.b().inferred(OpKind::Fence { sem, scope }, &[], &[]);
        Ok(())
    }

    /// `bar.sync`, `barrier.sync`, `bar.warp.sync`; arriving without waiting orders as much.
    pub(super) fn barrier(&mut self, i: &Instruction) -> Outcome<()> {
        if i.has("red") {
            return Err("reductions at a barrier are not supported".into());
        }
        if i.has("cluster") {
            return Err("clusters have no meaning outside of NVIDIA GPUs".into());
        }
        let barrier = self.e.b().inferred(OpKind::Barrier, &[], &[]);
        if i.has("warp") {
            self.e.func.by_lanes.insert(barrier);
        }
        Ok(())
    }

    /// Whether the type of all values is that of lanes.
    pub(super) fn over_lanes(&self) -> bool {
        crate::lanes::is_lane_type(&self.shape)
    }

    /// A scalar everywhere.
    pub(super) fn everywhere(&mut self, value: IrValue) -> IrValue {
        let elem = self.e.func.ty(value).elem().expect("a scalar");
        match &self.shape {
            Type::Tile(_) => {
                let ty = self.ty(elem);
                self.e.b().value_as(OpKind::Splat, &[value], ty)
            }
            Type::Elem(_) | Type::Desc(_) | Type::Token => value,
        }
    }
}
