//! Branches and loops with carried values.

use shoal_ir::op::{BinaryOp, CmpOp, ForAttrs, OpKind};
use shoal_ir::{Builder, Region, Scalar, Type, Value};

use super::generate::{Generator, Place};

impl Generator {
    /// Fills a region that ends by handing over values of these types.
    pub(crate) fn region(&mut self, b: &mut Builder<'_>, region: Region, depth: usize, types: &[Type]) {
        let outer = b.region();
        let scope = self.pool.len();
        b.move_to_end(region);
        let params = b.func.region(region).params().to_vec();
        self.pool.extend(&params);
        let count = 1 + self.choices.below(4);
        match self.place {
            Place::Program => self.block(b, count, depth),
            Place::Elements => self.element_block(b, count, depth),
        }
        let ends = self.handed_over(b, &params, types);
        b.yield_(&ends);
        self.pool.truncate(scope);
        b.move_to_end(outer);
    }

    fn element_block(&mut self, b: &mut Builder<'_>, count: usize, depth: usize) {
        for _ in 0..count {
            if depth > 0 && self.choices.percent(40) {
                self.branch(b, depth - 1);
            } else {
                self.elementwise(b);
            }
        }
    }

    /// What a region ends with: values in scope, sometimes its own parameters in another order.
    fn handed_over(&mut self, b: &mut Builder<'_>, params: &[Value], types: &[Type]) -> Vec<Value> {
        let mut ends = Vec::new();
        for ty in types {
            let swapped: Vec<Value> = params.iter().copied().filter(|&p| b.func.ty(p) == ty).collect();
            let value = if !swapped.is_empty() && self.choices.percent(25) {
                self.choices.of(&swapped)
            } else {
                self.some(b, ty)
            };
            ends.push(value);
        }
        ends
    }

    fn carried_types(&mut self) -> Vec<Type> {
        let count = self.choices.below(4);
        let mut types: Vec<Type> = (0..count).map(|_| self.ty()).collect();
        if self.choices.percent(40)
            && let Some(first) = types.first().cloned()
        {
            // Two of a kind can change places.
            types.push(first);
        }
        types
    }

    pub(crate) fn branch(&mut self, b: &mut Builder<'_>, depth: usize) {
        let types = self.carried_types();
        let condition = self.some(b, &Type::scalar(Scalar::I1));
        let regions = [b.func.new_region(), b.func.new_region()];
        for region in regions {
            self.region(b, region, depth, &types);
        }
        let op = b.op(OpKind::If, [condition], types, regions);
        let results = b.func.op(op).results().to_vec();
        self.pool.extend(results);
    }

    pub(crate) fn counted(&mut self, b: &mut Builder<'_>, depth: usize) {
        let mut types = self.carried_types();
        let counter = self.scalar_type_with(|s| s.is_int() && s.bits() >= 32);
        let (from, to) = (self.choices.of(&[0, 0, 1, 3]), self.choices.of(&[0, 1, 2, 4, 5]));
        let step = self.choices.of(&[1, 1, 2, 3]);
        let mut operands: Vec<Value> = [from, to, step].map(|n| b.int(n, counter)).to_vec();
        for ty in &types {
            let first = self.some(b, ty);
            operands.push(first);
        }
        // Sometimes addresses that move.
        let walk = self.choices.percent(30).then(|| {
            let ty = self.ty();
            let pointers = self.pointers(b, ty.number().expect("a number"), ty.shape());
            operands.push(pointers);
            types.push(b.func.ty(pointers).clone());
            ty
        });
        let body = b.func.new_region();
        b.func.add_param(body, Type::scalar(counter));
        for ty in &types {
            b.func.add_param(body, ty.clone());
        }
        let moved = walk.map(|ty| self.walk(b, body, &ty));
        let numbers = types.len() - usize::from(moved.is_some());
        self.region(b, body, depth, &types[..numbers]);
        if let Some(moved) = moved {
            let end = b.func.terminator(body).expect("a region that ends");
            let ends: Vec<Value> = b.func.op(end).operands().iter().copied().chain([moved]).collect();
            b.func.set_operands(end, ends);
        }
        let unroll = self.choices.of(&[None, None, None, Some(2), Some(4)]);
        let op = b.op(OpKind::For(ForAttrs { unroll, ..ForAttrs::default() }), operands, types, [body]);
        let results = b.func.op(op).results().to_vec();
        self.pool.extend(results.into_iter().take(numbers));
    }

    /// Loads through the loop's last parameter and moves it on.
    fn walk(&mut self, b: &mut Builder<'_>, body: Region, ty: &Type) -> Value {
        let outer = b.region();
        b.move_to_end(body);
        let pointers = *b.func.region(body).params().last().expect("a loop has parameters");
        let value = b.load(pointers, None, None);
        self.write_out(b, value);
        let step = b.int(4, ty.with_elem(Scalar::I32));
        let next = b.value(OpKind::PtrAdd, &[pointers, step]);
        b.move_to_end(outer);
        next
    }

    /// `while i < limit`, the other values passed on in some order.
    pub(crate) fn open(&mut self, b: &mut Builder<'_>, depth: usize) {
        let mut types = vec![Type::scalar(Scalar::I32)];
        types.extend(self.carried_types());
        let mut operands = vec![b.int(0, Scalar::I32)];
        for ty in &types[1..] {
            let first = self.some(b, ty);
            operands.push(first);
        }
        let (before, body) = (b.func.new_region(), b.func.new_region());
        for ty in &types {
            b.func.add_param(before, ty.clone());
            b.func.add_param(body, ty.clone());
        }
        let outer = b.region();
        b.move_to_end(before);
        let scope = self.pool.len();
        let params = b.func.region(before).params().to_vec();
        self.pool.extend(&params);
        let count = self.choices.below(3);
        self.block(b, count, 0);
        let limit = self.choices.of(&[0, 1, 3]);
        let limit = b.int(limit, Scalar::I32);
        let goes_on = b.cmp(CmpOp::Lt, params[0], limit);
        let passed = self.handed_over(b, &params, &types[1..]);
        b.op(OpKind::Condition, [goes_on, params[0]].into_iter().chain(passed), [], []);
        self.pool.truncate(scope);
        b.move_to_end(outer);
        self.region(b, body, depth, &types);
        let end = b.func.terminator(body).expect("a region that ends");
        let i = b.func.region(body).params()[0];
        let mut inner = Builder::before(b.func, end);
        let one = inner.int(1, Scalar::I32);
        let next = inner.binary(BinaryOp::Add, i, one);
        b.func.set_operand(end, 0, next);
        let op = b.op(OpKind::While { disable_licm: self.choices.percent(30) }, operands, types, [before, body]);
        let results = b.func.op(op).results().to_vec();
        self.pool.extend(results);
    }
}
