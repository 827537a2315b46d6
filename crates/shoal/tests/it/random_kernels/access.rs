//! Loads, stores and atomics, alone and where they meet.

use shoal_ir::op::{BinaryOp, CmpOp, Evict, OpKind, RmwOp, Scope, Sem, StoreCache};
use shoal_ir::{Builder, Scalar, Type, Value};

use super::generate::{DATA, Generator};

const STORE: OpKind = OpKind::Store { cache: StoreCache::Default, evict: Evict::Normal };

impl Generator {
    /// Offsets into the shared part of a buffer.
    fn offsets(&mut self, b: &mut Builder<'_>, shape: &[u32]) -> Value {
        let ty = Type::tile(Scalar::I32, shape);
        if shape.is_empty() || self.choices.percent(12) {
            let wild = self.some(b, &ty);
            let most = b.int(i64::from(DATA) - 1, ty);
            return b.binary(BinaryOp::And, wild, most);
        }
        let start = self.choices.of(&[0, 0, 1, 3, 16, 40]);
        let strides = self.strides(shape);
        let places = match strides {
            Some(strides) => self.strided(b, shape, &strides),
            None if self.choices.percent(20) => {
                let places = self.places(b, shape);
                let last = b.int(i64::from(shape.iter().product::<u32>()) - 1, ty.clone());
                b.binary(BinaryOp::Sub, last, places)
            }
            None => self.places(b, shape),
        };
        let places = if self.choices.percent(30) {
            // An offset that is known when the kernel runs only.
            let n = self.some(b, &Type::scalar(Scalar::I32));
            let most = b.int(31, Scalar::I32);
            let n = b.binary(BinaryOp::And, n, most);
            let n = b.splat(n, shape);
            b.binary(BinaryOp::Add, places, n)
        } else {
            places
        };
        let start = b.int(start, ty);
        b.binary(BinaryOp::Add, places, start)
    }

    /// Steps along each dimension that stay inside the buffer; nothing for row-major order.
    fn strides(&mut self, shape: &[u32]) -> Option<Vec<u32>> {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if self.choices.percent(50) {
            order.reverse();
        }
        let mut strides = vec![0; shape.len()];
        match self.choices.below(4) {
            0 => return None,
            1 => {
                // Padded rows, in some order of the dimensions.
                let mut step = self.choices.of(&[1, 1, 2]);
                for &d in order.iter().rev() {
                    strides[d] = step;
                    step = step * shape[d] + self.choices.of(&[0, 0, 1, 3]);
                }
            }
            2 => strides.iter_mut().for_each(|s| *s = self.choices.below(4) as u32),
            _ => {
                let mut step = 1;
                for &d in order.iter().rev() {
                    strides[d] = step;
                    step *= shape[d];
                }
            }
        }
        let last: u32 = shape.iter().zip(&strides).map(|(&d, &s)| (d - 1) * s).sum();
        (last < DATA - 128).then_some(strides)
    }

    fn strided(&mut self, b: &mut Builder<'_>, shape: &[u32], strides: &[u32]) -> Value {
        let mut sum = None;
        for (d, (&size, &stride)) in shape.iter().zip(strides).enumerate() {
            let mut along = vec![1; shape.len()];
            along[d] = size;
            let steps = b.iota(0, size);
            let steps = b.reshape(steps, &along);
            let stride = b.int(stride.into(), Type::tile(Scalar::I32, &along));
            let steps = b.binary(BinaryOp::Mul, steps, stride);
            let steps = b.broadcast(steps, shape);
            sum = Some(sum.map_or(steps, |sum| b.binary(BinaryOp::Add, sum, steps)));
        }
        sum.expect("a tile has a dimension")
    }

    /// Addresses in the shared part of the buffer of a type.
    pub(crate) fn pointers(&mut self, b: &mut Builder<'_>, number: Scalar, shape: &[u32]) -> Value {
        let base = self.areas[self.area(number).expect("a type with a buffer")].base;
        let offsets = self.offsets(b, shape);
        let offsets = match self.choices.below(4) {
            0 => b.cast(offsets, Scalar::I64),
            1 => b.cast(offsets, Scalar::U32),
            _ => offsets,
        };
        let base = b.splat(base, shape);
        b.value(OpKind::PtrAdd, &[base, offsets])
    }

    fn mask(&mut self, b: &mut Builder<'_>, shape: &[u32]) -> Value {
        if shape.is_empty() || self.choices.percent(50) {
            return self.some(b, &Type::tile(Scalar::I1, shape));
        }
        let places = self.places(b, shape);
        let n = self.some(b, &Type::scalar(Scalar::I32));
        let n = b.splat(n, shape);
        b.cmp(CmpOp::Lt, places, n)
    }

    pub(crate) fn load(&mut self, b: &mut Builder<'_>) {
        let ty = self.ty();
        let pointers = self.pointers(b, ty.number().expect("a number"), ty.shape());
        let value = self.load_at(b, pointers, &ty);
        self.push(value);
    }

    fn load_at(&mut self, b: &mut Builder<'_>, pointers: Value, ty: &Type) -> Value {
        let mut operands = vec![pointers];
        if self.choices.percent(50) {
            operands.push(self.mask(b, ty.shape()));
            if self.choices.percent(50) {
                operands.push(self.some(b, ty));
            }
        }
        let kind = self.load_kind();
        b.value(kind, &operands)
    }

    pub(crate) fn store(&mut self, b: &mut Builder<'_>) {
        let ty = self.ty();
        let pointers = self.pointers(b, ty.number().expect("a number"), ty.shape());
        let value = self.some(b, &ty);
        self.store_at(b, pointers, value);
    }

    fn store_at(&mut self, b: &mut Builder<'_>, pointers: Value, value: Value) {
        let mut operands = vec![pointers, value];
        if self.choices.percent(40) {
            let shape = b.func.ty(pointers).shape().to_vec();
            operands.push(self.mask(b, &shape));
        }
        b.op(STORE, operands, [], []);
    }

    /// Loads and stores whose addresses are near each other.
    pub(crate) fn hazard(&mut self, b: &mut Builder<'_>) {
        let ty = self.ty();
        let number = ty.number().expect("a number");
        let pointers = self.pointers(b, number, ty.shape());
        let mut addresses = vec![pointers];
        for _ in 0..1 + self.choices.below(3) {
            if self.choices.percent(25) {
                addresses.push(self.pointers(b, number, ty.shape()));
            } else {
                let shift = self.choices.of(&[1, 2, 5, 16, 31]);
                let shift = b.int(shift, ty.with_elem(Scalar::I32));
                addresses.push(b.value(OpKind::PtrAdd, &[pointers, shift]));
            }
        }
        let scope = self.pool.len();
        for _ in 0..2 + self.choices.below(4) {
            let at = self.choices.of(&addresses);
            let value = self.load_at(b, at, &ty);
            self.push(value);
            if self.choices.percent(60) {
                self.elementwise(b);
            }
            if self.choices.percent(60) {
                let (at, value) = (self.choices.of(&addresses), self.some(b, &ty));
                self.store_at(b, at, value);
            }
        }
        if self.choices.percent(50) {
            self.pool.truncate(scope + 1);
        }
    }

    pub(crate) fn atomic(&mut self, b: &mut Builder<'_>) {
        let ty = self.ty();
        let number = ty.number().expect("a number");
        let (sem, scope) = (self.choices.of(Sem::ALL), self.choices.of(Scope::ALL));
        let integer = number.is_int() && number.bits() >= 32;
        let mut operands = vec![self.pointers(b, number, ty.shape())];
        let masked = self.choices.percent(40);
        let kind = match self.choices.below(4) {
            0 => OpKind::AtomicLoad { sem, scope },
            1 => {
                operands.push(self.some(b, &ty));
                OpKind::AtomicStore { sem, scope }
            }
            2 if integer => {
                operands.extend([self.some(b, &ty), self.some(b, &ty)]);
                OpKind::AtomicCas { sem, scope }
            }
            _ if number.bits() >= 32 => {
                operands.push(self.some(b, &ty));
                let op = if integer {
                    self.choices.of(RmwOp::ALL)
                } else {
                    self.choices.of(&[RmwOp::Add, RmwOp::Min, RmwOp::Max, RmwOp::Xchg])
                };
                OpKind::AtomicRmw { op, sem, scope }
            }
            _ => return,
        };
        if masked && !matches!(kind, OpKind::AtomicCas { .. }) {
            operands.push(self.mask(b, ty.shape()));
        }
        let op = b.inferred(kind, &operands, &[]);
        let results = b.func.op(op).results().to_vec();
        self.pool.extend(results);
    }
}
