//! Operations that move elements, and those that need a whole tile.

use shoal_ir::op::{BinaryOp, DotPrecision, OpKind, Rounding};
use shoal_ir::{Builder, Region, Scalar, Type, Value, combine};

use super::generate::{Generator, MOST, Place, Sums};

fn count(shape: &[u32]) -> u32 {
    shape.iter().product()
}

impl Generator {
    /// `0, 1, 2, …` in row-major order.
    pub(crate) fn places(&mut self, b: &mut Builder<'_>, shape: &[u32]) -> Value {
        let flat = b.iota(0, count(shape));
        let places = b.reshape(flat, shape);
        if let [length] = shape
            && self.choices.percent(20)
        {
            // A hint that is true.
            b.func.value_mut(places).facts.contiguous = [u64::from(*length)].into_iter().collect();
        }
        places
    }

    fn some_tile(&mut self, b: &mut Builder<'_>) -> Value {
        if let Some(value) = self.pick(b, |ty| ty.is_tile() && ty.number().is_some()) {
            return value;
        }
        let number = self.scalar_type();
        let shape = self.shape();
        let shape = if shape.is_empty() { vec![8] } else { shape };
        self.some(b, &Type::tile(number, &shape))
    }

    pub(crate) fn rearrange(&mut self, b: &mut Builder<'_>) {
        let tile = self.some_tile(b);
        let ty = b.func.ty(tile).clone();
        let shape = ty.shape().to_vec();
        let value = match self.choices.below(8) {
            0 => {
                let shape = self.reshaped(&shape);
                b.reshape(tile, &shape)
            }
            1 | 2 => {
                let mut perm: Vec<u8> = (0..shape.len() as u8).collect();
                for i in (1..perm.len()).rev() {
                    perm.swap(i, self.choices.below(i + 1));
                }
                b.value(OpKind::Transpose { perm }, &[tile])
            }
            3 => self.broadcast(b, tile, &shape),
            4 if count(&shape) * 2 <= MOST && shape.len() < 4 => {
                let other = self.some(b, &ty);
                b.value(OpKind::Join, &[tile, other])
            }
            5 if count(&shape) >= 2 => {
                let pairs = if shape.last() == Some(&2) { tile } else { b.reshape(tile, &[count(&shape) / 2, 2]) };
                let op = b.inferred(OpKind::Split, &[pairs], &[]);
                let halves = b.func.op(op).results().to_vec();
                self.push(halves[0]);
                halves[1]
            }
            6 => {
                let start = self.choices.of(&[0, 1, -5, 100]);
                let length = 1 << self.choices.below(9);
                b.iota(start, length)
            }
            _ => self.gather(b, tile, &shape),
        };
        self.push(value);
    }

    /// Another shape for as many elements.
    fn reshaped(&mut self, shape: &[u32]) -> Vec<u32> {
        let mut bits = count(shape).trailing_zeros();
        let rank = self.choices.below(4);
        let mut dims = Vec::new();
        for _ in 0..rank {
            let here = self.choices.below(bits as usize + 1) as u32;
            dims.push(1 << here);
            bits -= here;
        }
        dims.push(1 << bits);
        if dims == [1] && self.choices.percent(50) { Vec::new() } else { dims }
    }

    fn broadcast(&mut self, b: &mut Builder<'_>, tile: Value, shape: &[u32]) -> Value {
        let mut from = shape.to_vec();
        if from.len() < 4 && self.choices.percent(70) {
            let at = self.choices.below(from.len() + 1);
            from.insert(at, 1);
        }
        let mut to = from.clone();
        for i in 0..to.len() {
            while to[i] < 16 && from[i] == 1 && count(&to) * 2 <= MOST && self.choices.percent(70) {
                to[i] *= 2;
            }
        }
        let tile = b.reshape(tile, &from);
        b.broadcast(tile, &to)
    }

    fn gather(&mut self, b: &mut Builder<'_>, tile: Value, shape: &[u32]) -> Value {
        let axis = self.choices.below(shape.len());
        let mut picked = shape.to_vec();
        if self.choices.percent(50) {
            picked[axis] = 1 << self.choices.below(5);
        }
        let size = shape[axis];
        let number = self.scalar_type_with(|s| s.is_int() && s.bits() >= 32);
        let wild = self.some(b, &Type::tile(number, &picked));
        let most = b.int(i64::from(size) - 1, Type::tile(number, &picked));
        let index = b.binary(BinaryOp::And, wild, most);
        b.value(OpKind::Gather { axis: axis as u8 }, &[tile, index])
    }

    pub(crate) fn whole_tile(&mut self, b: &mut Builder<'_>) {
        let number = self.scalar_type_with(Scalar::is_int);
        let length = 1 << self.choices.below(9);
        let ty = Type::tile(number, &[length]);
        let values = self.some(b, &ty);
        let bins = 1 << self.choices.below(7);
        let mut operands = vec![values];
        if self.choices.percent(50) {
            operands.push(self.some(b, &ty.with_elem(Scalar::I1)));
        }
        let value = b.value_as(OpKind::Histogram, &operands, Type::tile(Scalar::I32, &[bins]));
        self.push(value);
    }

    /// `reduce` or `scan` of one to three tiles.
    pub(crate) fn combine(&mut self, b: &mut Builder<'_>) {
        let first = self.some_tile(b);
        let ty = b.func.ty(first).clone();
        let mut operands = vec![first];
        for _ in 0..self.choices.below(3) {
            let like = b.func.ty(first).number().filter(|_| self.choices.percent(50));
            let number = like.unwrap_or_else(|| self.scalar_type());
            operands.push(self.some(b, &ty.with_elem(number)));
        }
        let types: Vec<Type> = operands.iter().map(|&v| Type::Elem(b.func.ty(v).elem().expect("a tile"))).collect();
        let region = b.func.new_region();
        for ty in types.iter().chain(&types) {
            b.func.add_param(region, ty.clone());
        }
        match types.len() {
            _ if self.choices.percent(50) => self.element_region(b, region, &types),
            2 if b.func.ty(operands[0]).number() == b.func.ty(operands[1]).number()
                && b.func.ty(operands[0]).number().is_some_and(Scalar::is_int) =>
            {
                functions_in_turn(b, region);
            }
            count => {
                // The first or the last of all.
                let which = self.choices.below(2) * count;
                let taken = b.func.region(region).params()[which..which + count].to_vec();
                let span = b.func.span;
                Builder::at_end(b.func, region, span).yield_(&taken);
            }
        }
        let axis = self.choices.below(ty.shape().len()) as u8;
        let kind = if self.choices.percent(60) {
            OpKind::Reduce { axis, in_order: !combine::commutes(b.func, region) || self.choices.percent(20) }
        } else {
            OpKind::Scan { axis, reverse: self.choices.percent(50) }
        };
        let op = b.inferred(kind, &operands, &[region]);
        let results = b.func.op(op).results().to_vec();
        self.pool.extend(results);
    }

    pub(crate) fn map(&mut self, b: &mut Builder<'_>) {
        let first = self.some_tile(b);
        let ty = b.func.ty(first).clone();
        let mut operands = vec![first];
        if self.choices.percent(40) {
            let number = self.scalar_type();
            operands.push(self.some(b, &ty.with_elem(number)));
        }
        let pack = self.choices.of(&[1, 1, 2, 4]).min(count(ty.shape()));
        let region = b.func.new_region();
        for &operand in &operands {
            for _ in 0..pack {
                let elem = Type::Elem(b.func.ty(operand).elem().expect("a tile"));
                b.func.add_param(region, elem);
            }
        }
        let results: Vec<Scalar> = (0..=self.choices.below(2)).map(|_| self.scalar_type()).collect();
        let yielded: Vec<Type> = results.iter().flat_map(|&s| vec![Type::scalar(s); pack as usize]).collect();
        self.element_region(b, region, &yielded);
        let types: Vec<Type> = results.iter().map(|&s| ty.with_elem(s)).collect();
        let op = b.op(OpKind::MapElementwise { pack }, operands, types, [region]);
        let results = b.func.op(op).results().to_vec();
        self.pool.extend(results);
    }

    /// A region of scalar operations, sometimes with branches, that yields these types.
    fn element_region(&mut self, b: &mut Builder<'_>, region: Region, types: &[Type]) {
        let outer = (self.pool.clone(), self.place);
        self.place = Place::Elements;
        self.pool.retain(|&v| !b.func.ty(v).is_tile());
        let spare = self.pool.len().saturating_sub(2);
        self.pool.drain(..spare);
        let depth = usize::from(self.choices.percent(30));
        self.region(b, region, depth, types);
        (self.pool, self.place) = outer;
    }

    /// Small whole numbers, of which products and sums are exact in any order and any format.
    fn small_numbers(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        let wide = ty.with_elem(Scalar::I32);
        let wild = self.some(b, &wide);
        let seven = b.int(3, wide.clone());
        let one = b.int(1, wide);
        let bounded = b.binary(BinaryOp::And, wild, seven);
        let centred = b.binary(BinaryOp::Sub, bounded, one);
        let number = ty.number().expect("a number");
        self.cast(b, centred, number, Rounding::Nearest)
    }

    pub(crate) fn dot(&mut self, b: &mut Builder<'_>) {
        use Scalar::{BF16, F8E4M3, F8E5M2, F16, F32, F64, I8, I32, U8};
        let kinds = [(F32, F32), (F32, F32), (F64, F64), (F16, F32), (BF16, F32), (F16, F16), (I8, I32), (U8, I32)];
        let kinds = [&kinds[..], &[(F8E4M3, F32), (F8E5M2, F32)]].concat();
        let (input, acc) = self.choices.of(&kinds);
        if self.area(acc).is_none() {
            return;
        }
        let size = |g: &mut Self, most| 1u32 << g.choices.below(most);
        let (m, n, k) = (size(self, 6), size(self, 6), size(self, 6));
        let batch: Vec<u32> = if self.choices.percent(25) { vec![size(self, 3)] } else { vec![] };
        let exact = acc == I32 || (matches!(input, F32 | F64) && self.sums == Sums::Fused);
        let mut operands = Vec::new();
        for [rows, columns] in [[m, k], [k, n]] {
            let transposed = self.choices.percent(30);
            let dims = if transposed { [columns, rows] } else { [rows, columns] };
            let ty = Type::tile(input, &[&batch[..], &dims].concat());
            // Where the order of combination is not fixed, numbers for which it does not matter.
            let x = if exact && self.choices.percent(50) { self.some(b, &ty) } else { self.small_numbers(b, &ty) };
            let last = batch.len() as u8;
            let perm = (0..last).chain([last + 1, last]).collect();
            operands.push(if transposed { b.value(OpKind::Transpose { perm }, &[x]) } else { x });
        }
        let ty = Type::tile(acc, &[&batch[..], &[m, n]].concat());
        operands.push(if exact { self.some(b, &ty) } else { self.small_numbers(b, &ty) });
        let precision = self.choices.of(DotPrecision::ALL);
        let value = b.value(OpKind::Dot { precision, max_imprecise_acc: 0 }, &operands);
        self.push(value);
        if self.choices.percent(40) {
            // A chain of products into one accumulator.
            operands[2] = value;
            let value = b.value(OpKind::Dot { precision, max_imprecise_acc: 0 }, &operands);
            self.push(value);
        }
    }
}

/// Two functions `x -> a * x + b` become the one that does the first, then the second.
fn functions_in_turn(b: &mut Builder<'_>, region: Region) {
    let span = b.func.span;
    let params = b.func.region(region).params().to_vec();
    let mut inside = Builder::at_end(b.func, region, span);
    let factor = inside.binary(BinaryOp::Mul, params[0], params[2]);
    let product = inside.binary(BinaryOp::Mul, params[1], params[2]);
    let term = inside.binary(BinaryOp::Add, product, params[3]);
    inside.yield_(&[factor, term]);
}
