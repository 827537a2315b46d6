//! Random programs: whatever the passes do, what a program stores stays the same, and the verifier is content.

use proptest::prelude::*;
use shoal_abi::{CpuTarget, Target};
use shoal_ir::op::{BinaryOp, CmpOp, ForAttrs, OpKind, UnaryOp};
use shoal_ir::{Builder, Const, Elem, Func, FuncKind, Module, Ptr, Region, Scalar, Type, Value};
use shoal_passes::contiguity;
use shoal_passes::pipeline;
use shoal_source::Span;

use crate::evaluate::{Evaluator, Memory};
use crate::text::verified;

/// A stream of choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Which numbers a program computes with.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Range {
    /// Any, wrapping.
    Wild,
    /// Small enough for the contiguity analysis' promise that nothing wraps, and no shifts out of range.
    Tame,
}

const SHAPES: [&[u32]; 4] = [&[], &[8], &[4, 8], &[4, 1]];

struct Generator {
    choices: Choices,
    range: Range,
    /// Values in scope.
    pool: Vec<Value>,
    base: Value,
}

impl Generator {
    fn pick(&mut self, func: &Func, ty: &Type) -> Option<Value> {
        let fitting: Vec<Value> = self.pool.iter().copied().filter(|&v| func.ty(v) == ty).collect();
        (!fitting.is_empty()).then(|| self.choices.of(&fitting))
    }

    /// A value of some type: one in scope, or a constant.
    fn some(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        if self.choices.below(4) > 0
            && let Some(value) = self.pick(b.func, ty)
        {
            return value;
        }
        let c = self.choices.of(&[0, 1, 2, 3, 4, 8, 16, 7, -1]);
        let c = if self.range == Range::Tame { i64::abs(c) } else { c };
        b.int(c, ty.clone())
    }

    fn ty(&mut self, number: Scalar) -> Type {
        let shape = self.choices.of(&SHAPES);
        Type::tile(number, shape)
    }

    fn int_type(&mut self) -> Type {
        let number = self.choices.of(&[Scalar::I32, Scalar::I32, Scalar::I64, Scalar::U32, Scalar::I8]);
        let number = if self.range == Range::Tame && number == Scalar::I8 { Scalar::I32 } else { number };
        self.ty(number)
    }

    fn simple(&mut self, b: &mut Builder<'_>) -> Value {
        match self.choices.below(15) {
            0..=4 => self.arithmetic(b),
            5 => {
                let ty = self.ty(Scalar::F32);
                let (x, y) = (self.some(b, &ty), self.some(b, &ty));
                let op =
                    self.choices.of(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max, BinaryOp::DivRn]);
                b.binary(op, x, y)
            }
            6 => {
                let ty = self.int_type();
                let (x, y) = (self.some(b, &ty), self.some(b, &ty));
                let op = self.choices.of(CmpOp::ALL);
                b.cmp(op, x, y)
            }
            7 => {
                let ty = self.int_type();
                let c = self.some(b, &ty.with_elem(Scalar::I1));
                let (x, y) = (self.some(b, &ty), self.some(b, &ty));
                b.select(c, x, y)
            }
            8 => {
                let ty = self.int_type();
                let x = self.some(b, &ty);
                let to = self.choices.of(&[Scalar::I64, Scalar::I32, Scalar::F32]);
                b.cast(x, to)
            }
            9 => {
                let start =
                    if self.range == Range::Tame { self.choices.of(&[0, 8, 4]) } else { self.choices.of(&[0, -3]) };
                b.iota(start, 8)
            }
            10 => {
                let ty = self.int_type();
                let scalar = self.some(b, &Type::Elem(ty.elem().expect("numbers")));
                b.splat(scalar, ty.shape())
            }
            11 => self.moved(b),
            12 => {
                let ty = self.ty(Scalar::I32);
                let pointers = self.pointers(b, &ty);
                let mask = self.some(b, &ty.with_elem(Scalar::I1));
                let other = self.some(b, &ty);
                b.load(pointers, Some(mask), Some(other))
            }
            13 => self.reduced(b),
            _ => {
                let ty = self.ty(Scalar::I1);
                let (x, y) = (self.some(b, &ty), self.some(b, &ty));
                let op = self.choices.of(&[BinaryOp::And, BinaryOp::Or, BinaryOp::Xor]);
                b.binary(op, x, y)
            }
        }
    }

    fn arithmetic(&mut self, b: &mut Builder<'_>) -> Value {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        let ty = self.int_type();
        let (x, y) = (self.some(b, &ty), self.some(b, &ty));
        if self.choices.below(8) == 0 && self.range == Range::Wild {
            return b.unary(self.choices.of(UnaryOp::ALL), x);
        }
        let op = self.choices.of(&[Add, Add, Sub, Mul, And, Or, Xor, Min, Max, Div, Rem, Shl, Shr]);
        match op {
            // Division by what may be zero is unspecified; so is a shift by what may be the width.
            Div | Rem | Shl | Shr => {
                let by = self.choices.of(&[1, 2, 4, 8, 3]);
                let by = b.int(by, ty);
                b.binary(op, x, by)
            }
            Mul if self.range == Range::Tame => {
                let by = self.choices.of(&[0, 1, 2, 4, 16]);
                let by = b.int(by, ty);
                b.binary(op, x, by)
            }
            _ => b.binary(op, x, y),
        }
    }

    fn moved(&mut self, b: &mut Builder<'_>) -> Value {
        let ty = Type::tile(Scalar::I32, &[8]);
        let row = self.some(b, &ty);
        match self.choices.below(5) {
            0 => {
                let row = b.reshape(row, &[1, 8]);
                b.broadcast(row, &[4, 8])
            }
            1 => {
                let column = self.some(b, &Type::tile(Scalar::I32, &[4, 1]));
                b.broadcast(column, &[4, 8])
            }
            2 => {
                let x = self.some(b, &Type::tile(Scalar::I32, &[4, 8]));
                let x = b.value(OpKind::Transpose { perm: vec![1, 0] }, &[x]);
                let x = b.value(OpKind::Transpose { perm: vec![1, 0] }, &[x]);
                b.reshape(x, &[32])
            }
            3 => {
                let x = b.reshape(row, &[8, 1]);
                b.reshape(x, &[2, 4])
            }
            _ => {
                let two = b.value(OpKind::Join, &[row, row]);
                let op = b.inferred(OpKind::Split, &[two], &[]);
                b.func.op(op).results()[1]
            }
        }
    }

    /// The sum of a tile's elements, their bitwise or, or the last that is not zero, plus zero; also of all elements up to
    /// each.
    fn reduced(&mut self, b: &mut Builder<'_>) -> Value {
        let shape = self.choices.of(&[&[4, 8][..], &[32], &[8]]);
        let x = self.some(b, &Type::tile(Scalar::I32, shape));
        let (outer, region) = (b.region(), b.func.new_region());
        let [first, second] = [(); 2].map(|()| b.func.add_param(region, Type::scalar(Scalar::I32)));
        b.move_to_end(region);
        let zero = b.int(0, Scalar::I32);
        let op = self.choices.of(&[Some(BinaryOp::Add), Some(BinaryOp::Or), None]);
        let both = match op {
            Some(op) => b.binary(op, first, second),
            None => {
                let is_none = b.cmp(CmpOp::Eq, second, zero);
                b.select(is_none, first, second)
            }
        };
        let both = b.binary(BinaryOp::Add, both, zero);
        b.yield_(&[both]);
        b.move_to_end(outer);
        let axis = self.choices.below(shape.len()) as u8;
        let kind = match self.choices.below(3) {
            0 => OpKind::Scan { axis, reverse: self.choices.below(2) == 0 },
            _ => OpKind::Reduce { axis, in_order: op.is_none() },
        };
        let op = b.inferred(kind, &[x], &[region]);
        b.func.op(op).result()
    }

    fn pointers(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        let mut pointers = b.splat(self.base, ty.shape());
        for _ in 0..=self.choices.below(2) {
            let number = self.choices.of(&[Scalar::I32, Scalar::I64]);
            let offset = self.some(b, &ty.with_elem(number));
            pointers = b.value(OpKind::PtrAdd, &[pointers, offset]);
        }
        pointers
    }

    fn store(&mut self, b: &mut Builder<'_>) {
        let ty = self.ty(Scalar::I32);
        let pointers = self.pointers(b, &ty);
        let (value, mask) = (self.some(b, &ty), self.some(b, &ty.with_elem(Scalar::I1)));
        let kind = OpKind::Store { cache: shoal_ir::op::StoreCache::Default, evict: shoal_ir::op::Evict::Normal };
        let masked: &[Value] = &[pointers, value, mask];
        let operands = if self.choices.below(2) == 0 { masked } else { &masked[..2] };
        b.op(kind, operands.iter().copied(), [], []);
    }

    fn block(&mut self, b: &mut Builder<'_>, ops: usize, depth: usize) {
        for _ in 0..ops {
            match self.choices.below(if depth > 0 { 12 } else { 9 }) {
                0 => self.store(b),
                9 => self.branch(b, depth - 1),
                10 => self.counted(b, depth - 1),
                11 => self.open(b, depth - 1),
                _ => {
                    let value = self.simple(b);
                    self.pool.push(value);
                }
            }
        }
    }

    /// Fills a region that ends by handing over values of these types.
    fn region(&mut self, b: &mut Builder<'_>, region: Region, depth: usize, types: &[Type]) {
        let outer = b.region();
        let scope = self.pool.len();
        b.move_to_end(region);
        self.pool.extend(b.func.region(region).params().to_vec());
        let ops = 1 + self.choices.below(6);
        self.block(b, ops, depth);
        let ends: Vec<Value> = types.iter().map(|ty| self.some(b, ty)).collect();
        b.yield_(&ends);
        self.pool.truncate(scope);
        b.move_to_end(outer);
    }

    fn carried_types(&mut self) -> Vec<Type> {
        (0..self.choices.below(4)).map(|_| self.int_type()).collect()
    }

    fn branch(&mut self, b: &mut Builder<'_>, depth: usize) {
        let types = self.carried_types();
        let condition = self.some(b, &Type::scalar(Scalar::I1));
        let regions = [b.func.new_region(), b.func.new_region()];
        for region in regions {
            self.region(b, region, depth, &types);
        }
        let op = b.op(OpKind::If, [condition], types, regions);
        self.pool.extend(b.func.op(op).results().to_vec());
    }

    fn counted(&mut self, b: &mut Builder<'_>, depth: usize) {
        let types = self.carried_types();
        let (from, to, step) =
            (self.choices.of(&[0, 1, 8]), self.choices.of(&[0, 2, 5, 9]), self.choices.of(&[1, 2, 4]));
        let mut operands: Vec<Value> = [from, to, step].map(|n| b.int(n, Scalar::I32)).to_vec();
        operands.extend(types.iter().map(|ty| self.some(b, ty)).collect::<Vec<_>>());
        let body = b.func.new_region();
        b.func.add_param(body, Type::scalar(Scalar::I32));
        for ty in &types {
            b.func.add_param(body, ty.clone());
        }
        // Half of the time some tile moves by a uniform amount.
        let moving = types.iter().position(|ty| ty.is_tile()).filter(|_| self.choices.below(2) == 0);
        self.region(b, body, depth, &types);
        if let Some(index) = moving {
            let end = b.func.terminator(body).expect("a region that ends");
            let param = b.func.region(body).params()[index + 1];
            let mut inner = Builder::before(b.func, end);
            let amount = inner.int(4, types[index].clone());
            let next = inner.binary(BinaryOp::Add, param, amount);
            b.func.set_operand(end, index, next);
        }
        let unroll = self.choices.of(&[None, Some(2), Some(3), Some(16)]);
        let attrs = ForAttrs { unroll, ..ForAttrs::default() };
        let op = b.op(OpKind::For(attrs), operands, types, [body]);
        self.pool.extend(b.func.op(op).results().to_vec());
    }

    /// `while n < limit`, with a counter and other carried values.
    fn open(&mut self, b: &mut Builder<'_>, depth: usize) {
        let counter = Type::scalar(Scalar::I32);
        let mut types = vec![counter.clone()];
        types.extend(self.carried_types());
        let mut operands = vec![b.int(0, Scalar::I32)];
        operands.extend(types[1..].iter().map(|ty| self.some(b, ty)).collect::<Vec<_>>());
        let (before, body) = (b.func.new_region(), b.func.new_region());
        for ty in &types {
            b.func.add_param(before, ty.clone());
            b.func.add_param(body, ty.clone());
        }
        let outer = b.region();
        b.move_to_end(before);
        let limit = self.choices.of(&[0, 1, 3]);
        let limit = b.int(limit, Scalar::I32);
        let params = b.func.region(before).params().to_vec();
        let goes_on = b.cmp(CmpOp::Lt, params[0], limit);
        b.op(OpKind::Condition, std::iter::once(goes_on).chain(params), [], []);
        b.move_to_end(outer);
        self.region(b, body, depth, &types);
        let end = b.func.terminator(body).expect("a region that ends");
        let n = b.func.region(body).params()[0];
        let mut inner = Builder::before(b.func, end);
        let one = inner.int(1, Scalar::I32);
        let next = inner.binary(BinaryOp::Add, n, one);
        b.func.set_operand(end, 0, next);
        // Half of the time some tile moves by a uniform amount.
        let moving = types.iter().position(|ty| ty.is_tile()).filter(|_| self.choices.below(2) == 0);
        if let Some(index) = moving {
            let param = b.func.region(body).params()[index];
            let mut inner = Builder::before(b.func, end);
            let amount = inner.int(2, types[index].clone());
            let next = inner.binary(BinaryOp::Add, param, amount);
            b.func.set_operand(end, index, next);
        }
        let op = b.op(OpKind::While { disable_licm: false }, operands, types, [before, body]);
        self.pool.extend(b.func.op(op).results().to_vec());
    }
}

fn program(seed: u64, range: Range, size: usize) -> Module {
    let mut func = Func::new("k", FuncKind::Kernel, Span::NONE);
    let body = func.body();
    let base = func.add_param(body, Type::Elem(Elem::Ptr(Ptr::global(Scalar::I32))));
    func.value_mut(base).facts = shoal_ir::Facts::divisible(16);
    let n = func.add_param(body, Type::scalar(Scalar::I32));
    let flag = func.add_param(body, Type::scalar(Scalar::I1));
    let mut generator = Generator { choices: Choices(seed), range, pool: vec![n, flag], base };
    let mut b = Builder::at_end(&mut func, body, Span::NONE);
    let pid = b.value(OpKind::ProgramId { axis: 0 }, &[]);
    generator.pool.push(pid);
    generator.block(&mut b, size, 2);
    generator.store(&mut b);
    generator.store(&mut b);
    b.op(OpKind::Return, [], [], []);
    Module { funcs: vec![func] }
}

/// A kernel of a pointer, a count and a flag, whose numbers may be anything.
pub(crate) fn wild_program(seed: u64, size: usize) -> Module {
    program(seed, Range::Wild, size)
}

/// Whether integers come near the ends of their type.
fn is_near_the_end(ty: &Type, elements: &[u64]) -> bool {
    let Some(scalar) = ty.number().filter(|s| s.is_int() && s.bits() > 1) else { return false };
    let limit = 1i128 << (scalar.bits() - 2);
    let ints = elements.iter().filter_map(|&bits| Const::from_bits(scalar, bits).as_int());
    ints.into_iter().any(|int| int.abs() >= limit)
}

fn stored(module: &Module) -> Memory {
    Evaluator::run(&module.funcs[0], &[4096, 37, 1]).0.memory
}

fn cpu() -> Target {
    Target::Cpu(CpuTarget::generic())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn passes_keep_what_a_program_does(seed: u64, size in 4usize..40) {
        let mut module = program(seed, Range::Wild, size);
        verified(&module);
        let before = module.to_string();
        let expected = stored(&module);
        for pass in pipeline::passes_for(&cpu()) {
            (pass.run)(&mut module, &cpu());
            verified(&module);
            prop_assert!(expected == stored(&module), "`{}` changes what\n{before}does:\n{module}", pass.name);
        }
    }

    #[test]
    fn each_pass_alone_keeps_what_a_program_does(seed: u64, size in 4usize..30) {
        let original = program(seed, Range::Wild, size);
        let expected = stored(&original);
        for pass in pipeline::PASSES {
            let mut module = original.clone();
            (pass.run)(&mut module, &cpu());
            verified(&module);
            prop_assert!(expected == stored(&module), "`{}` changes what\n{original}does:\n{module}", pass.name);
        }
    }

    #[test]
    fn what_contiguity_promises_holds(seed: u64, size in 4usize..40) {
        let module = program(seed, Range::Tame, size);
        let func = &module.funcs[0];
        let infos = contiguity::analyze(func);
        let (run, _) = Evaluator::run(func, &[4096, 37, 1]);
        // The analysis takes numbers not to wrap; a loop may multiply even tame ones until they do.
        if run.values().iter().any(|(value, elements)| is_near_the_end(func.ty(*value), elements)) {
            return Ok(());
        }
        for (value, elements) in run.values() {
            if let Some(info) = infos.find(*value) {
                let ty = func.ty(*value);
                if let Err(what) = crate::contiguity::holds(info, ty, elements) {
                    return Err(TestCaseError::fail(format!("{what}\n{value:?}: {ty} = {elements:?}\n{info:?}\n{func}")));
                }
            }
        }
    }

    #[test]
    fn canonicalize_comes_to_an_end(seed: u64, size in 4usize..40) {
        let mut module = program(seed, Range::Wild, size);
        let pass = |name| pipeline::by_name(name).expect("a pass").run;
        for _ in 0..2 {
            pass("canonicalize")(&mut module, &cpu());
        }
        let once = module.to_string();
        pass("canonicalize")(&mut module, &cpu());
        prop_assert_eq!(once, module.to_string());
    }
}
