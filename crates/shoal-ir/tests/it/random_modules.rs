//! Modules of the right form, with every kind of operation, every attribute and every type; few of them mean anything.

use std::collections::BTreeSet;

use shoal_ir::comm::{CommOp, CommScope, SignalOp};
use shoal_ir::op::{
    BinaryOp, CmpOp, DotPrecision, Evict, ExternFn, ForAttrs, InlineAsm, LoadAttrs, LoadCache, LoadMode, MathFn, RmwOp,
    Rounding, Scope, Sem, StoreCache, UnaryOp,
};
use shoal_ir::shmem::{Completion, Meeting, Participants, ShmemOp, Way};
use shoal_ir::types::Padding;
use shoal_ir::{
    Const, DescType, Elem, Facts, Func, FuncKind, Module, OpKind, Ptr, Region, Scalar, Shape, Space, TileType, Type,
    Value,
};
use shoal_layout::{InDim, LinearLayout};
use shoal_source::Span;

/// A stream of choices; zeros once it is used up, so that shorter streams give smaller modules.
struct Choices {
    left: std::vec::IntoIter<u64>,
}

impl Choices {
    fn bits(&mut self) -> u64 {
        self.left.next().unwrap_or(0)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    fn flag(&mut self) -> bool {
        self.bits() % 2 == 1
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    fn some<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }

    /// A string, odd characters included.
    fn string(&mut self) -> String {
        const ODD: &[char] = &[
            'a', ' ', '"', '\\', '\'', '\n', '\t', '\r', '\0', '\x1b', ';', '{', '%', 'é', '\u{301}', '\u{200b}', '🦀',
        ];
        self.some(6, |c| c.of(ODD)).into_iter().collect()
    }

    /// A function's name.
    fn name(&mut self) -> String {
        const SIGNS: &[char] = &['k', 'Z', '_', '.', '-', '+', '7'];
        (0..=self.below(5)).map(|_| self.of(SIGNS)).collect()
    }

    fn scalar(&mut self) -> Scalar {
        self.of(&Scalar::ALL)
    }

    fn elem(&mut self) -> Elem {
        if self.below(4) > 0 {
            return Elem::Scalar(self.scalar());
        }
        let space = self.of(&[Space::Global, Space::Shared]);
        Elem::Ptr(Ptr { pointee: self.scalar(), space, depth: self.of(&[1, 1, 2, 3, 7]) })
    }

    fn shape(&mut self) -> Shape {
        self.some(4, |c| c.of(&[4, 1, 2, 8, 3, 0, 128, u32::MAX])).into_iter().collect()
    }

    /// A layout, mostly of a tile of that shape.
    fn layout(&mut self, shape: &Shape) -> LinearLayout {
        let fits = shape.iter().all(|d| d.is_power_of_two() && *d <= 128);
        let shape: Vec<u32> = if fits { shape.to_vec() } else { vec![4, 8] };
        let dims = [InDim::Register, InDim::Lane, InDim::Warp, InDim::Block];
        let bases: Vec<(InDim, Vec<Vec<u32>>)> = dims
            .into_iter()
            .map(|dim| (dim, self.some(3, |c| shape.iter().map(|&d| c.below(d as usize) as u32).collect())))
            .collect();
        LinearLayout::from_bases(bases, &shape).expect("bases inside the tile")
    }

    fn ty(&mut self) -> Type {
        match self.below(8) {
            0..=2 => Type::Elem(self.elem()),
            3..=5 => {
                let (elem, shape) = (self.elem(), self.shape());
                let layout = self.maybe(|c| c.layout(&shape));
                Type::Tile(TileType { elem, shape, layout })
            }
            6 => {
                let padding = self.of(&[Padding::Zero, Padding::Nan]);
                Type::Desc(DescType { elem: self.scalar(), block: self.shape(), padding })
            }
            _ => Type::Token,
        }
    }

    fn facts(&mut self) -> Facts {
        if self.below(3) > 0 {
            return Facts::default();
        }
        let mut list = || self.some(3, |c| c.of(&[16, 1, 0, 1024, u64::MAX])).into();
        Facts { divisible: list(), contiguous: list(), constant: list() }
    }

    fn ordering(&mut self) -> (Sem, Scope) {
        (self.of(Sem::ALL), self.of(Scope::ALL))
    }
}

/// How many makers [`computing`] and [`acting`] have.
const COMPUTING: usize = 26;
const ACTING: usize = 30;

fn kind(c: &mut Choices, callees: &[String]) -> OpKind {
    match c.below(COMPUTING + ACTING) {
        n if n < COMPUTING => computing(c, n),
        n => acting(c, n - COMPUTING, callees),
    }
}

fn computing(c: &mut Choices, which: usize) -> OpKind {
    let byte = |c: &mut Choices| c.bits() as u8;
    match which {
        0 => OpKind::Const(Const::from_bits(c.scalar(), c.bits())),
        1 => OpKind::Iota { start: c.bits() as i32 },
        2 => OpKind::ProgramId { axis: byte(c) },
        3 => OpKind::NumPrograms { axis: byte(c) },
        4 => OpKind::Unary(c.of(UnaryOp::ALL)),
        5 => OpKind::Binary(c.of(BinaryOp::ALL)),
        6 => OpKind::Math(c.of(MathFn::ALL)),
        7 => OpKind::Cmp(c.of(CmpOp::ALL)),
        8 => OpKind::Select,
        9 => OpKind::Fma,
        10 => OpKind::Cast(c.of(Rounding::ALL)),
        11 => OpKind::Bitcast,
        12 => OpKind::PtrAdd,
        13 => OpKind::Extern(Box::new(ExternFn { symbol: c.string(), library: c.string(), pure: c.flag() })),
        14 => {
            let (asm, constraints) = (c.string(), c.string());
            OpKind::InlineAsm(Box::new(InlineAsm { asm, constraints, pack: c.bits() as u32, pure: c.flag() }))
        }
        15 => OpKind::MapElementwise { pack: c.of(&[0, 1, 2, 3, u32::MAX]) },
        16 => OpKind::Splat,
        17 => OpKind::Broadcast,
        18 => OpKind::Reshape,
        19 => OpKind::Transpose { perm: c.some(4, |c| c.of(&[0, 1, 2, 255])) },
        20 => OpKind::Join,
        21 => OpKind::Split,
        22 => OpKind::Gather { axis: byte(c) },
        23 => OpKind::Histogram,
        24 => OpKind::ConvertLayout,
        _ => OpKind::Dot { precision: c.of(DotPrecision::ALL), max_imprecise_acc: c.of(&[0, 1, u32::MAX]) },
    }
}

fn acting(c: &mut Choices, which: usize, callees: &[String]) -> OpKind {
    let (sem, scope) = c.ordering();
    match which {
        0 => {
            OpKind::Load(LoadAttrs { cache: c.of(LoadCache::ALL), evict: c.of(Evict::ALL), mode: c.of(LoadMode::ALL) })
        }
        1 => OpKind::Store { cache: c.of(StoreCache::ALL), evict: c.of(Evict::ALL) },
        2 => OpKind::AtomicRmw { op: c.of(RmwOp::ALL), sem, scope },
        3 => OpKind::AtomicCas { sem, scope },
        4 => OpKind::AtomicLoad { sem, scope },
        5 => OpKind::AtomicStore { sem, scope },
        6 => OpKind::AtomicPoll { sem, scope },
        7 => OpKind::MakeDesc,
        8 => OpKind::DescLoad,
        9 => OpKind::DescStore,
        10 => OpKind::Barrier,
        11 => OpKind::Print { prefix: c.string(), hex: c.flag() },
        12 => OpKind::Assert { message: c.string() },
        13 => OpKind::Assume,
        14 => OpKind::If,
        15 => OpKind::For(ForAttrs {
            num_stages: c.maybe(|c| c.bits() as u32),
            unroll: c.maybe(|c| c.bits() as u32),
            flatten: c.flag(),
            warp_specialize: c.flag(),
            disallow_acc_multi_buffer: c.flag(),
            disable_licm: c.flag(),
        }),
        16 => OpKind::While { disable_licm: c.flag() },
        17 => OpKind::Reduce { axis: c.bits() as u8, in_order: c.bits() & 1 == 1 },
        18 => OpKind::Scan { axis: c.bits() as u8, reverse: c.flag() },
        19 => OpKind::Condition,
        20 => OpKind::Yield,
        21 => OpKind::Return,
        22 => OpKind::DescSize { dim: c.bits() as u8 },
        23 => OpKind::DescStride { dim: c.bits() as u8 },
        24 => OpKind::Comm(comm(c)),
        25 => OpKind::Fence { sem, scope },
        26 => OpKind::Clock,
        27 => OpKind::DescBase,
        28 => OpKind::GridWords,
        _ => OpKind::Call { callee: if c.flag() { c.of(callees) } else { c.string() } },
    }
}

fn comm(c: &mut Choices) -> CommOp {
    let (sem, scope) = c.ordering();
    let axis = |c: &mut Choices| c.maybe(|c| c.bits() as u8);
    match c.below(7) {
        0 => CommOp::Rank { axis: axis(c) },
        1 => CommOp::NumRanks { axis: axis(c) },
        2 => CommOp::SymmAt,
        3 => CommOp::Wait { sem, scope },
        4 => CommOp::ConsumeToken,
        5 => CommOp::Shmem(shmem(c)),
        _ => CommOp::Notify { op: c.of(SignalOp::ALL), scope: c.of(CommScope::ALL) },
    }
}

fn shmem(c: &mut Choices) -> ShmemOp {
    let (completion, by) = (c.of(Completion::ALL), c.of(Participants::ALL));
    match c.below(12) {
        0 => ShmemOp::TeamRank,
        1 => ShmemOp::TeamSize,
        2 => ShmemOp::TeamTranslate,
        3 => ShmemOp::Copy { way: c.of(Way::ALL), completion, by },
        4 => ShmemOp::PutSignal { op: c.of(SignalOp::ALL), completion, by },
        5 => ShmemOp::PutValue,
        6 => ShmemOp::Signal { op: c.of(SignalOp::ALL) },
        7 => ShmemOp::SignalWait { cmp: c.of(CmpOp::ALL) },
        8 => ShmemOp::Fence,
        9 => ShmemOp::Quiet,
        10 => ShmemOp::Meet { meeting: c.of(Meeting::ALL), by },
        _ => ShmemOp::Collect { by },
    }
}

struct Generator {
    choices: Choices,
    callees: Vec<String>,
}

impl Generator {
    fn params(&mut self, func: &mut Func, region: Region, scope: &mut Vec<Value>) {
        for _ in 0..self.choices.below(4) {
            let value = func.add_param(region, self.choices.ty());
            func.value_mut(value).facts = self.choices.facts();
            scope.push(value);
        }
    }

    fn region(&mut self, func: &mut Func, region: Region, scope: &[Value], depth: usize) {
        let mut scope = scope.to_vec();
        self.params(func, region, &mut scope);
        for _ in 0..self.choices.below(if depth == 0 { 10 } else { 4 }) {
            self.op(func, region, &mut scope, depth);
        }
        let end = self.choices.of(&[OpKind::Yield, OpKind::Return, OpKind::Condition]);
        let end = if depth == 0 { OpKind::Return } else { end };
        let operands = self.operands(&scope);
        let end = func.make_op(end, operands, [], [], Span::NONE);
        func.append(region, end);
    }

    fn operands(&mut self, scope: &[Value]) -> Vec<Value> {
        if scope.is_empty() { Vec::new() } else { self.choices.some(4, |c| c.of(scope)) }
    }

    fn op(&mut self, func: &mut Func, region: Region, scope: &mut Vec<Value>, depth: usize) {
        let kind = kind(&mut self.choices, &self.callees);
        let operands = self.operands(scope);
        let mut results = self.choices.some(3, Choices::ty);
        // The text gives a constant its type by the first result.
        if let OpKind::Const(constant) = &kind {
            results.insert(0, Type::tile(constant.ty(), &self.choices.shape()));
        }
        let wanted = shoal_ir::Structure::of(&kind).regions();
        let wanted = if self.choices.below(8) == 7 { self.choices.below(3) } else { wanted };
        let count = if depth < 3 { wanted } else { 0 };
        let mut regions = Vec::new();
        for _ in 0..count {
            let inner = func.new_region();
            self.region(func, inner, scope, depth + 1);
            regions.push(inner);
        }
        let op = func.make_op(kind, operands, results, regions, Span::NONE);
        func.append(region, op);
        for result in func.op(op).results().to_vec() {
            func.value_mut(result).facts = self.choices.facts();
            scope.push(result);
        }
    }

    fn func(&mut self, name: String) -> Func {
        let kind = self.choices.of(&[FuncKind::Kernel, FuncKind::Device]);
        let mut func = Func::new(name, kind, Span::NONE);
        func.noinline = self.choices.flag();
        func.results = self.choices.some(2, Choices::ty);
        let body = func.body();
        self.region(&mut func, body, &[], 0);
        func
    }
}

/// The module that these choices make.
pub(crate) fn module(choices: Vec<u64>) -> Module {
    let mut choices = Choices { left: choices.into_iter() };
    let callees: Vec<String> = (0..=choices.below(3)).map(|_| choices.name()).collect();
    let mut generator = Generator { choices, callees: callees.clone() };
    Module { funcs: callees.into_iter().map(|name| generator.func(name)).collect() }
}

#[test]
fn every_kind_is_made() {
    let mut c = Choices { left: Vec::new().into_iter() };
    let computing: Vec<OpKind> = (0..COMPUTING).map(|n| computing(&mut c, n)).collect();
    let acting: Vec<OpKind> = (0..ACTING).map(|n| acting(&mut c, n, &["f".into()])).collect();
    let made: BTreeSet<&str> = computing.iter().chain(&acting).map(OpKind::variant).collect();
    assert_eq!(made, OpKind::VARIANTS.iter().copied().collect());
}
