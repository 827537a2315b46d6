//! Random kernels.
//!
//! A kernel computes on values of a few types and shapes, all of which it writes to its buffers: one for each type, the
//! first part of which it also reads, so that loads and stores meet. Each program has its own part of each buffer.
//! What the IR leaves unspecified (division by zero, shifts beyond the width, the signs of NaNs) never reaches memory.

use shoal_ir::op::{CmpOp, Evict, LoadAttrs, LoadMode, OpKind, Rounding, StoreCache};
use shoal_ir::{Builder, Const, Elem, Facts, Func, FuncKind, Module, Ptr, Scalar, Span, Type, Value};

use super::choices::Choices;
use super::data;

/// Elements of each program's part of a buffer that are read and written all over.
pub(crate) const DATA: u32 = 4096;
/// Elements after those, each written from one place only.
const OUT: u32 = 8192;
/// Elements of a program's part.
pub(crate) const PART: u32 = DATA + OUT;
/// No tile has more elements.
pub(crate) const MOST: u32 = 2048;

/// A kernel and what it is run with.
pub(crate) struct Case {
    pub(crate) module: Module,
    /// The element type and contents of each buffer; they are the first arguments.
    pub(crate) buffers: Vec<(Scalar, Vec<u8>)>,
    /// The other arguments.
    pub(crate) numbers: Vec<Const>,
    pub(crate) programs: u32,
}

/// A buffer as the kernel sees it.
pub(crate) struct Area {
    pub(crate) ty: Scalar,
    /// The start of the program's part.
    pub(crate) base: Value,
    /// How much of the out part is taken.
    used: u32,
}

/// Whether code may touch memory where it is generated.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Program,
    /// In a region that is applied to elements.
    Elements,
}

/// How a target sums the products of a `dot` of `f32` or `f64`.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Sums {
    /// As the IR says: in order, each product fused with its sum.
    Fused,
    /// Rounding products, for want of an instruction.
    Rounded,
}

pub(crate) struct Generator {
    pub(crate) sums: Sums,
    pub(crate) choices: Choices,
    pub(crate) types: Vec<Scalar>,
    pub(crate) shapes: Vec<Vec<u32>>,
    pub(crate) areas: Vec<Area>,
    /// Values in scope.
    pub(crate) pool: Vec<Value>,
    pub(crate) place: Place,
}

const SHAPES: &[&[u32]] = &[
    &[1],
    &[2],
    &[8],
    &[16],
    &[32],
    &[64],
    &[128],
    &[256],
    &[1024],
    &[4, 8],
    &[8, 4],
    &[16, 16],
    &[1, 32],
    &[32, 1],
    &[2, 128],
    &[64, 2],
    &[32, 64],
    &[1, 1],
    &[2, 4, 8],
    &[4, 1, 16],
    &[8, 16, 1],
    &[2, 2, 2, 4],
    &[1, 4, 2, 16],
    &[4, 2, 8, 2],
];

/// The kernel of a seed: about `size` operations on values of the program.
pub(crate) fn case(seed: u64, size: usize, sums: Sums) -> Case {
    let mut choices = Choices::new(seed);
    let mut types = vec![Scalar::I1, Scalar::I32, Scalar::F32];
    for _ in 0..4 {
        let ty = choices.of(&Scalar::ALL);
        if !types.contains(&ty) {
            types.push(ty);
        }
    }
    let mut shapes: Vec<Vec<u32>> = (0..3).map(|_| choices.of(SHAPES).to_vec()).collect();
    shapes.push(Vec::new());
    let mut func = Func::new("k", FuncKind::Kernel, Span::NONE);
    let body = func.body();
    let bases: Vec<Value> =
        types.iter().map(|&ty| func.add_param(body, Type::Elem(Elem::Ptr(Ptr::global(ty))))).collect();
    for &base in &bases {
        func.value_mut(base).facts = Facts::divisible(16);
    }
    let numbers: Vec<Const> = types.iter().map(|&ty| Const::from_bits(ty, data::number(&mut choices, ty))).collect();
    let length = Const::from_i64(Scalar::I32, choices.of(&[0, 1, 7, 16, 33, 64, 100]));
    let mut pool: Vec<Value> = types.iter().map(|&ty| func.add_param(body, Type::scalar(ty))).collect();
    let n = func.add_param(body, Type::scalar(Scalar::I32));
    pool.push(n);
    let mut b = Builder::at_end(&mut func, body, Span::NONE);
    let program = b.value(OpKind::ProgramId { axis: 0 }, &[]);
    pool.push(program);
    let part = b.int(PART.into(), Scalar::I32);
    let start = b.binary(shoal_ir::op::BinaryOp::Mul, program, part);
    let area = |(&base, &ty)| Area { ty, base: b.value(OpKind::PtrAdd, &[base, start]), used: 0 };
    let areas: Vec<Area> = bases.iter().zip(&types).map(area).collect();
    let mut generator = Generator { sums, choices, types: types.clone(), shapes, areas, pool, place: Place::Program };
    generator.assume(&mut b, n);
    generator.block(&mut b, size, 2);
    for value in generator.pool.clone() {
        generator.write_out(&mut b, value);
    }
    b.op(OpKind::Return, [], [], []);
    let programs = 1 + generator.choices.below(2) as u32;
    let count = (PART * programs) as usize;
    let buffers = types.iter().map(|&ty| (ty, data::fill(&mut generator.choices, ty, count))).collect();
    let numbers = numbers.into_iter().chain([length]).collect();
    Case { module: Module { funcs: vec![func] }, buffers, numbers, programs }
}

impl Generator {
    fn assume(&mut self, b: &mut Builder<'_>, n: Value) {
        if self.choices.percent(50) {
            let zero = b.int(0, Scalar::I32);
            let holds = b.cmp(CmpOp::Ge, n, zero);
            b.op(OpKind::Assume, [holds], [], []);
        }
    }

    pub(crate) fn scalar_type(&mut self) -> Scalar {
        self.choices.of(&self.types)
    }

    /// A type for which `wanted` holds.
    pub(crate) fn scalar_type_with(&mut self, wanted: impl Fn(Scalar) -> bool) -> Scalar {
        let fitting: Vec<Scalar> = self.types.iter().copied().filter(|&ty| wanted(ty)).collect();
        self.choices.of(&fitting)
    }

    pub(crate) fn shape(&mut self) -> Vec<u32> {
        match self.place {
            Place::Elements => Vec::new(),
            Place::Program => self.choices.of(&self.shapes),
        }
    }

    pub(crate) fn ty(&mut self) -> Type {
        let (number, shape) = (self.scalar_type(), self.shape());
        Type::tile(number, &shape)
    }

    /// A value in scope for whose type `wanted` holds, a recent one more often.
    pub(crate) fn pick(&mut self, b: &Builder<'_>, wanted: impl Fn(&Type) -> bool) -> Option<Value> {
        let fitting: Vec<Value> = self.pool.iter().copied().filter(|&v| wanted(b.func.ty(v))).collect();
        let recent = fitting.len().saturating_sub(4);
        match fitting.len() {
            0 => None,
            _ if self.choices.percent(50) => Some(self.choices.of(&fitting[recent..])),
            _ => Some(self.choices.of(&fitting)),
        }
    }

    pub(crate) fn constant(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        let number = ty.number().expect("a number");
        let bits = data::number(&mut self.choices, number);
        b.constant(Const::from_bits(number, bits), ty.clone())
    }

    /// A value of a type: one in scope, or one made from others, or a constant.
    pub(crate) fn some(&mut self, b: &mut Builder<'_>, ty: &Type) -> Value {
        if self.choices.percent(75)
            && let Some(value) = self.pick(b, |t| t == ty)
        {
            return value;
        }
        let number = ty.number().expect("a number");
        match self.choices.below(6) {
            0 | 1 => {
                let other = self.pick(b, |t| t.shape() == ty.shape() && t.number().is_some());
                match other {
                    Some(other) => self.cast(b, other, number, Rounding::Nearest),
                    None => self.constant(b, ty),
                }
            }
            2 if ty.is_tile() => {
                let scalar = self.some(b, &Type::scalar(number));
                b.splat(scalar, ty.shape())
            }
            3 | 4 if self.place == Place::Program && self.area(number).is_some() => {
                let pointers = self.pointers(b, number, ty.shape());
                b.load(pointers, None, None)
            }
            _ => self.constant(b, ty),
        }
    }

    /// A value by value at another type. A format without NaN would show a NaN's sign, so it gets none.
    pub(crate) fn cast(&mut self, b: &mut Builder<'_>, x: Value, to: Scalar, rounding: Rounding) -> Value {
        let from = b.func.ty(x).number().expect("a number");
        if from == to {
            return x;
        }
        let x = if from.is_float() && to == Scalar::F8E4B15 { self.without_nan(b, x) } else { x };
        let ty = b.func.ty(x).with_elem(to);
        b.value_as(OpKind::Cast(rounding), &[x], ty)
    }

    /// Zero instead of NaN.
    pub(crate) fn without_nan(&mut self, b: &mut Builder<'_>, x: Value) -> Value {
        let ty = b.func.ty(x).clone();
        let zero = b.int(0, ty);
        let same = b.cmp(CmpOp::Eq, x, x);
        b.select(same, x, zero)
    }

    pub(crate) fn area(&self, ty: Scalar) -> Option<usize> {
        self.areas.iter().position(|a| a.ty == ty)
    }

    /// Stores a value where nothing else is stored.
    pub(crate) fn write_out(&mut self, b: &mut Builder<'_>, value: Value) {
        let ty = b.func.ty(value).clone();
        let Some(index) = ty.number().and_then(|number| self.area(number)) else { return };
        let count: u32 = ty.shape().iter().product();
        let area = &mut self.areas[index];
        if area.used + count > OUT {
            return;
        }
        let start = b.int((DATA + area.used).into(), Scalar::I32);
        area.used += count;
        let base = area.base;
        let base = b.value(OpKind::PtrAdd, &[base, start]);
        let pointers = if ty.is_tile() {
            let places = self.places(b, ty.shape());
            let base = b.splat(base, ty.shape());
            b.value(OpKind::PtrAdd, &[base, places])
        } else {
            base
        };
        let kind = OpKind::Store { cache: StoreCache::Default, evict: Evict::Normal };
        b.op(kind, [pointers, value], [], []);
    }

    /// `count` operations, or things made of several.
    pub(crate) fn block(&mut self, b: &mut Builder<'_>, count: usize, depth: usize) {
        for _ in 0..count {
            let before = self.pool.len();
            match self.choices.below(if depth > 0 { 22 } else { 19 }) {
                0..=7 => self.elementwise(b),
                8..=10 => self.rearrange(b),
                11 => self.whole_tile(b),
                12 => self.combine(b),
                13 => self.load(b),
                14 => self.store(b),
                15 => self.hazard(b),
                16 => self.atomic(b),
                17 => self.dot(b),
                18 => self.map(b),
                19 => self.branch(b, depth - 1),
                20 => self.counted(b, depth - 1),
                _ => self.open(b, depth - 1),
            }
            if self.choices.percent(15) && self.pool.len() > before {
                let value = self.pool[self.pool.len() - 1];
                self.write_out(b, value);
            }
        }
    }

    pub(crate) fn push(&mut self, value: Value) {
        self.pool.push(value);
    }

    pub(crate) fn load_kind(&mut self) -> OpKind {
        let mode = if self.choices.percent(10) { self.choices.of(LoadMode::ALL) } else { LoadMode::Free };
        OpKind::Load(LoadAttrs { mode, ..LoadAttrs::default() })
    }
}
