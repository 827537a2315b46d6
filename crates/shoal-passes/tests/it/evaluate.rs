//! A small evaluator for one program, straight after the IR's definition: what the passes must keep.
//!
//! Memory holds a fixed pseudo-random byte pattern wherever nothing was stored, so that any address can be loaded.

use std::collections::{BTreeMap, HashMap};

use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::types::Padding;
use shoal_ir::{Const, Elem, Func, OpId, OpKind, Region, Scalar, Type, Value, numeric};

use crate::laid_out::{gathered, scattered};

/// Elements, row-major, as bits; pointers are addresses.
pub(crate) type Elements = Vec<u64>;

/// What a program leaves behind: every store by address, the last one winning.
pub(crate) type Memory = BTreeMap<u64, u64>;

/// Runs a function.
pub(crate) struct Evaluator<'f> {
    func: &'f Func,
    values: HashMap<Value, Elements>,
    /// What was stored.
    pub(crate) memory: Memory,
    fuel: u64,
    tiles: Tiles,
}

/// What the numbers of a tile are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Tiles {
    /// Its elements.
    Elements,
    /// What each place of its layout holds.
    Places,
}

/// The elements of each row along an axis.
pub(crate) fn rows(ty: &Type, axis: usize) -> Vec<Vec<usize>> {
    let sizes: Vec<usize> = ty.shape().iter().map(|&size| size as usize).collect();
    let (outer, inner) = (sizes[..axis].iter().product::<usize>(), sizes[axis + 1..].iter().product::<usize>());
    let length = sizes[axis];
    let row = |at: usize| (0..length).map(|i| at / inner * inner * length + i * inner + at % inner).collect();
    (0..outer * inner).map(row).collect()
}

impl<'f> Evaluator<'f> {
    /// A run of `func` with these arguments; gives the evaluator and what the function returns.
    pub(crate) fn run(func: &'f Func, arguments: &[u64]) -> (Evaluator<'f>, Vec<Elements>) {
        Evaluator::run_with(func, arguments, Tiles::Elements)
    }

    /// The same where every tile is spread over registers, lanes and warps, as its layout says.
    pub(crate) fn run_laid_out(func: &'f Func, arguments: &[u64]) -> (Evaluator<'f>, Vec<Elements>) {
        Evaluator::run_with(func, arguments, Tiles::Places)
    }

    fn run_with(func: &'f Func, arguments: &[u64], tiles: Tiles) -> (Evaluator<'f>, Vec<Elements>) {
        let mut this = Evaluator { func, values: HashMap::new(), memory: Memory::new(), fuel: 200_000, tiles };
        for (&param, &argument) in func.params().iter().zip(arguments) {
            this.values.insert(param, vec![argument]);
        }
        let ends = this.region(func.body());
        (this, ends)
    }

    pub(crate) fn func(&self) -> &'f Func {
        self.func
    }

    fn of(&self, value: Value) -> &Elements {
        &self.values[&value]
    }

    fn region(&mut self, region: Region) -> Vec<Elements> {
        for &op in self.func.region(region).ops() {
            self.fuel = self.fuel.checked_sub(1).expect("the program ends");
            let data = self.func.op(op);
            if matches!(data.kind, OpKind::Yield | OpKind::Return | OpKind::Condition) {
                return data.operands().iter().map(|&v| self.of(v).clone()).collect();
            }
            let results = self.op(op);
            for (&result, elements) in data.results().iter().zip(results) {
                self.values.insert(result, elements);
            }
        }
        unreachable!("a region ends in a terminator")
    }

    fn enter(&mut self, region: Region, arguments: impl IntoIterator<Item = Elements>) -> Vec<Elements> {
        for (&param, argument) in self.func.region(region).params().iter().zip(arguments) {
            self.values.insert(param, argument);
        }
        self.region(region)
    }

    fn op(&mut self, op: OpId) -> Vec<Elements> {
        let data = self.func.op(op);
        let operands: Vec<Elements> = data.operands().iter().map(|&v| self.of(v).clone()).collect();
        let types: Vec<Type> = data.operands().iter().map(|&v| self.func.ty(v).clone()).collect();
        let result = data.results().first().map(|&r| self.func.ty(r).clone());
        if self.tiles == Tiles::Places
            && let Some(results) = self.placed(op, &operands, &types)
        {
            return results;
        }
        let number = |i: usize| types[i].number().unwrap_or(Scalar::U64);
        let len = |ty: &Type| ty.shape().iter().map(|&d| d as usize).product::<usize>();
        match &data.kind {
            OpKind::If => return self.enter(data.regions()[usize::from(operands[0][0] == 0)], []),
            OpKind::For(_) => return self.counted(op, &operands, number(0)),
            OpKind::While { .. } => return self.open(op, operands),
            OpKind::Store { .. } => {
                self.store(&operands);
                return Vec::new();
            }
            OpKind::Load(_) => return vec![self.load(&types[0], &operands)],
            OpKind::MakeDesc => return vec![operands.concat()],
            OpKind::DescBase => return vec![vec![operands[0][0]]],
            OpKind::DescSize { dim } => return vec![vec![operands[0][1 + usize::from(*dim)]]],
            OpKind::DescStride { dim } => {
                let rank = (operands[0].len() - 1) / 2;
                return vec![vec![operands[0][1 + rank + usize::from(*dim)]]];
            }
            OpKind::DescLoad => {
                let block = self.block(&types[0], &operands[0], &operands[1..]);
                let Type::Desc(desc) = &types[0] else { unreachable!("a descriptor") };
                let padding = match desc.padding {
                    Padding::Zero => 0,
                    Padding::Nan => Const::from_f64(desc.elem, f64::NAN).bits(),
                };
                let at = |address: u64| self.word(address, Elem::Scalar(desc.elem));
                let elements = block.into_iter().map(|address| address.map_or(padding, at)).collect();
                return vec![match self.tiles {
                    Tiles::Elements => elements,
                    Tiles::Places => scattered(&result.expect("a tile"), &elements),
                }];
            }
            OpKind::DescStore => {
                let stored = match self.tiles {
                    Tiles::Elements => operands[1].clone(),
                    Tiles::Places => gathered(&types[1], &operands[1]),
                };
                for (i, address) in self.block(&types[0], &operands[0], &operands[2..]).into_iter().enumerate() {
                    address.map(|address| self.memory.insert(address, stored[i]));
                }
                return Vec::new();
            }
            OpKind::Dot { .. } => return vec![product(&types, &operands)],
            OpKind::Reduce { axis, .. } => return vec![self.reduce(op, &types[0], &operands[0], usize::from(*axis))],
            OpKind::Scan { axis, reverse } => {
                return vec![self.scan(op, &types[0], &operands[0], usize::from(*axis), *reverse)];
            }
            OpKind::Split => {
                let half = |first: usize| operands[0].iter().skip(first).step_by(2).copied().collect();
                return vec![half(0), half(1)];
            }
            _ => {}
        }
        let ty = result.expect("an operation with a result");
        let fill = |f: &dyn Fn(&mut [u64])| -> Elements {
            let mut out = vec![0; operands[0].len()];
            f(&mut out);
            out
        };
        vec![match &data.kind {
            OpKind::Const(c) => vec![c.bits(); len(&ty)],
            OpKind::Iota { start } => {
                (0..len(&ty)).map(|i| Const::from_i64(Scalar::I32, i64::from(*start) + i as i64).bits()).collect()
            }
            OpKind::ProgramId { axis } => vec![3 + u64::from(*axis)],
            OpKind::NumPrograms { axis } => vec![17 + u64::from(*axis)],
            OpKind::Unary(op) => fill(&|out| numeric::unary_slice(*op, number(0), &operands[0], out)),
            OpKind::Binary(op) => fill(&|out| numeric::binary_slice(*op, number(0), &operands[0], &operands[1], out)),
            OpKind::Math(f) => {
                let args: Vec<&[u64]> = operands.iter().map(Vec::as_slice).collect();
                fill(&|out| numeric::math_slice(*f, number(0), &args, out))
            }
            OpKind::Cmp(op) => fill(&|out| numeric::compare_slice(*op, number(0), &operands[0], &operands[1], out)),
            OpKind::Select => fill(&|out| numeric::select_slice(&operands[0], &operands[1], &operands[2], out)),
            OpKind::Fma => fill(&|out| numeric::fma_slice(number(0), &operands[0], &operands[1], &operands[2], out)),
            OpKind::Cast(r) => {
                let to = ty.number().unwrap_or(Scalar::U64);
                fill(&|out| numeric::cast_slice(number(0), to, *r, &operands[0], out))
            }
            OpKind::Bitcast => operands[0].clone(),
            OpKind::PtrAdd => {
                let size = u64::from(ty.elem().and_then(Elem::ptr).expect("a pointer").element().bytes());
                let places = operands[0].iter().zip(&operands[1]);
                places.map(|(&base, &by)| base.wrapping_add(extended(number(1), by).wrapping_mul(size))).collect()
            }
            OpKind::Splat => vec![operands[0][0]; len(&ty)],
            OpKind::Reshape => operands[0].clone(),
            OpKind::Broadcast => moved(&ty, &types[0], &operands[0], |index, from| {
                index.iter().zip(from).map(|(&i, &size)| if size == 1 { 0 } else { i }).collect()
            }),
            OpKind::Transpose { perm } => moved(&ty, &types[0], &operands[0], |index, _| {
                let mut source = vec![0; index.len()];
                for (i, &p) in perm.iter().enumerate() {
                    source[usize::from(p)] = index[i];
                }
                source
            }),
            OpKind::Join => operands[0].iter().zip(&operands[1]).flat_map(|(&a, &b)| [a, b]).collect(),
            other => panic!("the test evaluator does not know {other:?}"),
        }]
    }

    fn counted(&mut self, op: OpId, operands: &[Elements], number: Scalar) -> Vec<Elements> {
        let body = self.func.op(op).regions()[0];
        let constant = |i: usize| Const::from_bits(number, operands[i][0]);
        let (mut i, to, step) = (constant(0), constant(1), constant(2));
        let mut carried = operands[3..].to_vec();
        while !numeric::compare(CmpOp::Lt, i, to).is_zero() {
            carried = self.enter(body, std::iter::once(vec![i.bits()]).chain(carried));
            i = numeric::binary(BinaryOp::Add, i, step);
        }
        carried
    }

    fn open(&mut self, op: OpId, mut carried: Vec<Elements>) -> Vec<Elements> {
        let [before, body] = [self.func.op(op).regions()[0], self.func.op(op).regions()[1]];
        loop {
            let mut ends = self.enter(before, carried);
            let goes_on = ends.remove(0)[0] != 0;
            if !goes_on {
                return ends;
            }
            carried = self.enter(body, ends);
        }
    }

    /// Combines one tile along an axis in index order.
    pub(crate) fn reduce(&mut self, op: OpId, ty: &Type, operand: &Elements, axis: usize) -> Elements {
        let scanned = self.scan(op, ty, operand, axis, false);
        rows(ty, axis).into_iter().map(|row| scanned[*row.last().expect("a row has elements")]).collect()
    }

    /// What one tile's elements are combined to along an axis, up to each of them.
    pub(crate) fn scan(&mut self, op: OpId, ty: &Type, operand: &Elements, axis: usize, reverse: bool) -> Elements {
        let region = self.func.op(op).regions()[0];
        let mut scanned = operand.clone();
        for mut row in rows(ty, axis) {
            if reverse {
                row.reverse();
            }
            for pair in row.windows(2) {
                scanned[pair[1]] = self.enter(region, [vec![scanned[pair[0]]], vec![operand[pair[1]]]])[0][0];
            }
        }
        scanned
    }

    /// The addresses of a descriptor's block; `None` beyond the tensor's edges.
    fn block(&self, ty: &Type, desc: &Elements, offsets: &[Elements]) -> Vec<Option<u64>> {
        let Type::Desc(ty) = ty else { unreachable!("a descriptor") };
        let rank = ty.block.len();
        let signed = |bits: u64| i64::from(bits as u32 as i32);
        let total: u32 = ty.block.iter().product();
        (0..total)
            .map(|flat| {
                let (mut rest, mut distance) = (flat, 0i64);
                for dim in (0..rank).rev() {
                    let index = signed(offsets[dim][0]) + i64::from(rest % ty.block[dim]);
                    rest /= ty.block[dim];
                    if index < 0 || index >= signed(desc[1 + dim]) {
                        return None;
                    }
                    distance += index * desc[1 + rank + dim] as i64;
                }
                Some(desc[0].wrapping_add((distance * i64::from(ty.elem.bytes())) as u64))
            })
            .collect()
    }

    fn word(&self, address: u64, element: Elem) -> u64 {
        let noise = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let pattern = self.memory.get(&address).copied().unwrap_or(noise);
        element.scalar().map_or(pattern, |s| Const::from_bits(s, pattern).bits())
    }

    fn store(&mut self, operands: &[Elements]) {
        for (i, &address) in operands[0].iter().enumerate() {
            if operands.get(2).is_none_or(|mask| mask[i] != 0) {
                self.memory.insert(address, operands[1][i]);
            }
        }
    }

    fn load(&self, ty: &Type, operands: &[Elements]) -> Elements {
        let element = ty.elem().and_then(Elem::ptr).expect("a pointer").element();
        let at = |address: u64| self.word(address, element);
        let masked = |i: usize| operands.get(2).map_or(0, |other| other[i]);
        let kept = |i: usize| operands.get(1).is_none_or(|mask| mask[i] != 0);
        operands[0].iter().enumerate().map(|(i, &a)| if kept(i) { at(a) } else { masked(i) }).collect()
    }
}

/// A product of matrices of floats, added up in order in `f32`.
pub(crate) fn product(types: &[Type], operands: &[Elements]) -> Elements {
    let wide = |index: usize| -> Vec<f32> {
        let number = types[index].number().expect("numbers");
        operands[index].iter().map(|&bits| Const::from_bits(number, bits).as_f64() as f32).collect()
    };
    let (a, b, start) = (wide(0), wide(1), wide(2));
    let (&[m, k], &[_, n]) = (types[0].shape(), types[1].shape()) else { panic!("matrices") };
    let (m, k, n) = (m as usize, k as usize, n as usize);
    let number = types[2].number().expect("numbers");
    let sum = |at: usize| (0..k).fold(start[at], |sum, i| a[at / n * k + i].mul_add(b[i * n + at % n], sum));
    (0..m * n).map(|at| Const::from_f64(number, sum(at).into()).bits()).collect()
}

/// An offset as a 64-bit number.
fn extended(number: Scalar, bits: u64) -> u64 {
    Const::from_bits(number, bits).as_int().map_or(0, |n| n as u64)
}

/// A tile whose element at an index is the operand's at `source(index, operand shape)`.
fn moved(ty: &Type, from: &Type, operand: &Elements, source: impl Fn(&[u32], &[u32]) -> Vec<u32>) -> Elements {
    let total: u32 = ty.shape().iter().product();
    (0..total)
        .map(|flat| {
            let mut rest = flat;
            let mut index = vec![0; ty.shape().len()];
            for (dim, &size) in ty.shape().iter().enumerate().rev() {
                index[dim] = rest % size;
                rest /= size;
            }
            let place = source(&index, from.shape());
            let flat = place.iter().zip(from.shape()).fold(0, |flat, (&i, &size)| flat * size + i);
            operand[flat as usize]
        })
        .collect()
}

impl<'f> Evaluator<'f> {
    /// What a function of one tile returns.
    pub(crate) fn call(func: &'f Func, argument: Elements) -> Vec<Elements> {
        let mut this =
            Evaluator { func, values: HashMap::new(), memory: Memory::new(), fuel: 200_000, tiles: Tiles::Elements };
        this.values.insert(func.params()[0], argument);
        this.region(func.body())
    }
}

impl Evaluator<'_> {
    /// Every value computed, as it was last.
    pub(crate) fn values(&self) -> &HashMap<Value, Elements> {
        &self.values
    }
}
