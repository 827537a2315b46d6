//! Writes layouts into the types, and makes what is needed in another layout than it has.

use std::collections::HashMap;

use cranelift_entity::EntityRef;
use shoal_ir::class::{DescOp, ElementwiseOp, OpClass, ShapeOp};
use shoal_ir::op::OpKind;
use shoal_ir::{Func, OpId, Region, Structure, Type, Value, ValueDef, layouts};
use shoal_layout::{InDim, LinearLayout};

use super::coalesce::default_layout;
use super::natural::{Naturals, accessed, applied, packed};
use super::{Hardware, product};
use crate::contiguity::AxisInfos;

/// Rewrites a function so that every tile that is still needed has a layout.
pub(super) fn rewrite(func: &mut Func, infos: &AxisInfos, naturals: Naturals, hardware: Hardware) {
    let mut rewrite =
        Rewrite { func, infos, naturals, hardware, made: HashMap::new(), after: HashMap::new(), first: HashMap::new() };
    let body = rewrite.func.body();
    rewrite.region(body);
    rewrite.place(body);
}

struct Rewrite<'f> {
    func: &'f mut Func,
    infos: &'f AxisInfos,
    naturals: Naturals,
    hardware: Hardware,
    /// What was made in a layout that the original does not have.
    made: HashMap<(Value, LinearLayout), Value>,
    /// New operations, by the operation they follow.
    after: HashMap<OpId, Vec<OpId>>,
    /// New operations at the start of a region.
    first: HashMap<Region, Vec<OpId>>,
}

impl Rewrite<'_> {
    fn region(&mut self, region: Region) {
        for op in self.func.region(region).ops().to_vec() {
            self.op(op);
        }
    }

    /// Puts the new operations where they belong.
    fn place(&mut self, region: Region) {
        let ops = self.func.take_ops(region);
        for new in self.first.remove(&region).unwrap_or_default() {
            self.func.append(region, new);
        }
        for op in ops {
            self.func.append(region, op);
            for new in self.after.remove(&op).unwrap_or_default() {
                self.func.append(region, new);
            }
            for inner in self.func.op(op).regions().to_vec() {
                self.place(inner);
            }
        }
    }

    fn shape(&self, value: Value) -> Vec<u32> {
        self.func.ty(value).shape().to_vec()
    }

    fn is_tile(&self, value: Value) -> bool {
        self.func.ty(value).is_tile()
    }

    fn natural(&self, value: Value) -> Option<LinearLayout> {
        self.naturals.get(value.index()).cloned().flatten()
    }

    fn natural_or_default(&self, value: Value) -> LinearLayout {
        self.natural(value).unwrap_or_else(|| default_layout(self.func.ty(value).shape(), self.hardware))
    }

    fn set_layout(&mut self, value: Value, layout: &LinearLayout) {
        let ty = self.func.ty(value).with_layout(Some(layout.clone()));
        self.func.value_mut(value).ty = ty;
    }

    fn operands(&self, op: OpId) -> Vec<Value> {
        self.func.op(op).operands().to_vec()
    }

    /// Takes the operand `index` in a layout; scalars stay.
    fn demand(&mut self, op: OpId, index: usize, layout: &LinearLayout) {
        let operand = self.func.op(op).operands()[index];
        if self.is_tile(operand) {
            let value = self.in_layout(operand, layout);
            self.func.set_operand(op, index, value);
        }
    }

    /// Takes all operands in one layout and gives the results the same.
    fn all_in(&mut self, op: OpId, layout: &LinearLayout) {
        for index in 0..self.func.op(op).operands().len() {
            self.demand(op, index, layout);
        }
        for result in self.func.op(op).results().to_vec() {
            if self.is_tile(result) {
                self.set_layout(result, layout);
            }
        }
    }

    fn op(&mut self, op: OpId) {
        match Structure::of_op(self.func, op) {
            Structure::If => self.branch(op),
            Structure::For => self.counted_loop(op),
            Structure::While => self.open_loop(op),
            Structure::Plain | Structure::Elements => self.plain(op),
        }
    }

    fn branch(&mut self, op: OpId) {
        let results = self.func.op(op).results().to_vec();
        let wanted: Vec<_> = results.iter().map(|&r| self.is_tile(r).then(|| self.natural_or_default(r))).collect();
        for region in self.func.op(op).regions().to_vec() {
            self.region(region);
            self.yields(region, 0, &wanted);
        }
        self.set_all(&results, &wanted);
    }

    fn counted_loop(&mut self, op: OpId) {
        let body = self.func.op(op).regions()[0];
        let params = self.func.region(body).params()[1..].to_vec();
        let wanted = self.carried(op, 3, &params);
        self.region(body);
        self.yields(body, 0, &wanted);
        let results = self.func.op(op).results().to_vec();
        self.set_all(&results, &wanted);
    }

    fn open_loop(&mut self, op: OpId) {
        let [before, body] = [self.func.op(op).regions()[0], self.func.op(op).regions()[1]];
        let params = self.func.region(before).params().to_vec();
        let carried = self.carried(op, 0, &params);
        self.region(before);
        let inside = self.func.region(body).params().to_vec();
        let wanted: Vec<_> = inside.iter().map(|&p| self.is_tile(p).then(|| self.natural_or_default(p))).collect();
        self.yields(before, 1, &wanted);
        self.set_all(&inside, &wanted);
        self.region(body);
        self.yields(body, 0, &carried);
        let results = self.func.op(op).results().to_vec();
        self.set_all(&results, &wanted);
    }

    /// Gives carried values their layouts, and takes what they start as in them.
    fn carried(&mut self, op: OpId, first: usize, params: &[Value]) -> Vec<Option<LinearLayout>> {
        let wanted: Vec<_> = params.iter().map(|&p| self.is_tile(p).then(|| self.natural_or_default(p))).collect();
        for (index, layout) in wanted.iter().enumerate() {
            if let Some(layout) = layout {
                self.demand(op, first + index, layout);
            }
        }
        self.set_all(params, &wanted);
        wanted
    }

    fn yields(&mut self, region: Region, first: usize, wanted: &[Option<LinearLayout>]) {
        let end = self.func.terminator(region).expect("a region ends in a terminator");
        for (index, layout) in wanted.iter().enumerate() {
            if let Some(layout) = layout {
                self.demand(end, first + index, layout);
            }
        }
    }

    fn set_all(&mut self, values: &[Value], wanted: &[Option<LinearLayout>]) {
        for (&value, layout) in values.iter().zip(wanted) {
            if let Some(layout) = layout {
                self.set_layout(value, layout);
            }
        }
    }

    fn plain(&mut self, op: OpId) {
        let kind = self.func.op(op).kind.clone();
        let tiles = |this: &Self| {
            let data = this.func.op(op);
            data.operands().iter().chain(data.results()).any(|&value| this.is_tile(value))
        };
        if !tiles(self) {
            return;
        }
        match kind.class() {
            // Made where they are needed.
            OpClass::Source(_) => {}
            OpClass::Elementwise(class) => self.elementwise(op, class),
            OpClass::Shape(class) => self.shaped(op, class),
            OpClass::Tile(_) => self.whole_tile(op),
            OpClass::Apply(class) => {
                let layout = applied(self.func, &self.naturals, op, class, self.hardware);
                self.all_in(op, &layout);
                self.infer_results(op);
            }
            OpClass::Access(_) | OpClass::Atomic(..) => {
                if let Some(layout) = accessed(self.func, &self.naturals, self.infos, op, self.hardware) {
                    self.all_in(op, &layout);
                }
            }
            OpClass::Comm(_) => {
                // All its tiles are over the same lanes; many have no result.
                let data = self.func.op(op);
                let values = data.results().iter().chain(data.operands()).copied();
                let tile = values.into_iter().find(|&value| self.is_tile(value)).expect("it has tiles");
                let layout = match self.func.ty(tile).layout() {
                    // Lanes that act: each thread for itself, in their order.
                    _ if data.results().is_empty() => default_layout(&self.shape(tile), self.hardware),
                    Some(layout) => layout.clone(),
                    None => self.natural_or_default(tile),
                };
                self.all_in(op, &layout);
            }
            OpClass::Effect(_) => {
                for (index, operand) in self.operands(op).into_iter().enumerate() {
                    if !self.is_tile(operand) {
                        continue;
                    }
                    let first = self.operands(op)[0];
                    let like = if self.shape(operand) == self.shape(first) { first } else { operand };
                    let layout = self.func.ty(like).layout().cloned();
                    let layout = layout.unwrap_or_else(|| self.natural_or_default(like));
                    self.demand(op, index, &layout);
                }
            }
            OpClass::Desc(DescOp::Load) => {
                let result = self.func.op(op).result();
                let layout = self.natural_or_default(result);
                self.set_layout(result, &layout);
            }
            OpClass::Desc(DescOp::Store) => {
                // It goes through shared memory, whatever its layout.
                let stored = self.operands(op)[1];
                let layout = self.func.ty(stored).layout().cloned();
                let layout = layout.unwrap_or_else(|| self.natural_or_default(stored));
                self.demand(op, 1, &layout);
            }
            OpClass::Desc(DescOp::Make | DescOp::Base | DescOp::Size { .. } | DescOp::Stride { .. })
            | OpClass::Control(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => {}
        }
    }

    fn elementwise(&mut self, op: OpId, class: ElementwiseOp<'_>) {
        let result = self.func.op(op).results().first().copied();
        let natural = result.and_then(|result| self.natural(result));
        if let (ElementwiseOp::InlineAsm(asm), Some(result)) = (class, result) {
            let layout = packed(&self.shape(result), natural, asm.pack, self.hardware);
            self.all_in(op, &layout);
            return;
        }
        if let Some(layout) = natural {
            self.all_in(op, &layout);
        }
    }

    fn shaped(&mut self, op: OpId, class: ShapeOp<'_>) {
        let (source, result) = (self.operands(op)[0], self.func.op(op).results()[0]);
        match class {
            ShapeOp::Splat | ShapeOp::Broadcast | ShapeOp::ConvertLayout => {}
            ShapeOp::Reshape | ShapeOp::Transpose { .. } => {
                // To a scalar, or of a value that has a layout: the result's follows.
                if self.natural(result).is_some() || !self.is_tile(result) {
                    let layout = self.func.ty(source).layout().cloned();
                    let layout = layout.unwrap_or_else(|| self.natural_or_default(source));
                    self.demand(op, 0, &layout);
                    self.infer_shaped(op);
                }
            }
            ShapeOp::Join => {
                if self.is_tile(source) {
                    let joined = self.natural_or_default(result);
                    let halves = layouts::split(&joined).unwrap_or_else(|| self.natural_or_default(source));
                    self.demand(op, 0, &halves);
                    self.demand(op, 1, &halves);
                    self.infer_results(op);
                } else {
                    let layout = default_layout(&self.shape(result), self.hardware);
                    self.set_layout(result, &layout);
                }
            }
            ShapeOp::Split => {
                let layout = if self.is_tile(result) {
                    layouts::joined(&self.natural_or_default(result))
                } else {
                    let register = LinearLayout::identity1d(2, InDim::Register, 0);
                    let lanes = LinearLayout::zeros1d(super::LANES, InDim::Lane, 0);
                    let warps = LinearLayout::zeros1d(self.hardware.warps, InDim::Warp, 0);
                    Some(register * lanes * warps)
                };
                if let Some(layout) = layout {
                    self.demand(op, 0, &layout);
                }
                self.infer_results(op);
            }
            ShapeOp::Gather { .. } => {
                let from = self.natural_or_default(source);
                let index = self.natural_or_default(result);
                self.demand(op, 0, &from);
                self.demand(op, 1, &index);
                self.set_layout(result, &index);
            }
        }
    }

    fn whole_tile(&mut self, op: OpId) {
        let operands = self.operands(op);
        if !matches!(self.func.op(op).kind, OpKind::Dot { .. }) {
            let layout = self.natural_or_default(operands[0]);
            let result = self.func.op(op).result();
            let own = self.natural_or_default(result);
            self.all_in(op, &layout);
            self.set_layout(result, &own);
            return;
        }
        let chosen = product::choose(self.func, op, self.hardware);
        for (index, wanted) in [chosen.a, chosen.b, Some(chosen.acc.clone())].into_iter().enumerate() {
            let layout = wanted.unwrap_or_else(|| self.natural_or_default(operands[index]));
            self.demand(op, index, &layout);
        }
        let result = self.func.op(op).result();
        self.set_layout(result, &chosen.acc);
    }

    /// Results get the layouts that follow from the operands'.
    fn infer_results(&mut self, op: OpId) {
        let data = self.func.op(op);
        let types: Vec<&Type> = data.operands().iter().map(|&v| self.func.ty(v)).collect();
        let Some(inferred) = shoal_ir::infer::result_types(&data.kind, &types) else { return };
        for (result, ty) in data.results().to_vec().into_iter().zip(inferred) {
            self.func.value_mut(result).ty = ty;
        }
    }

    /// As [`Rewrite::infer_results`], for results whose shape the operation's attributes do not say.
    fn infer_shaped(&mut self, op: OpId) {
        let data = self.func.op(op);
        let (source, result) = (data.operands()[0], data.result());
        let Some(layout) = self.func.ty(source).layout().cloned() else { return };
        let shape = self.shape(result);
        if shape.is_empty() {
            return;
        }
        let layout = if let OpKind::Transpose { perm } = &data.kind {
            layouts::transposed(&layout, perm)
        } else {
            layouts::reshaped(&layout, &shape)
        };
        if let Some(layout) = layout {
            self.set_layout(result, &layout);
        }
    }

    /// A value in a layout: itself, made once more, or converted.
    fn in_layout(&mut self, value: Value, layout: &LinearLayout) -> Value {
        if self.func.ty(value).layout() == Some(layout) {
            return value;
        }
        if let Some(&made) = self.made.get(&(value, layout.clone())) {
            return made;
        }
        let made = match self.func.ty(value).layout() {
            Some(_) if !self.is_widened(value) => self.converted(value, layout),
            Some(_) | None => self.remade(value, layout),
        };
        self.made.insert((value, layout.clone()), made);
        made
    }

    /// Whether a value is wider than what it was made of by an instruction or two: then that moves, which is half as much.
    fn is_widened(&self, value: Value) -> bool {
        let Some(op) = self.func.def_op(value) else { return false };
        let bits = |value: Value| self.func.ty(value).number().map_or(0, |number| number.bits());
        let from = || bits(self.func.op(op).operands()[0]);
        matches!(self.func.op(op).kind, OpKind::Cast(_)) && from() >= 16 && from() < bits(value)
    }

    fn converted(&mut self, value: Value, layout: &LinearLayout) -> Value {
        let ty = self.func.ty(value).with_layout(Some(layout.clone()));
        let span = match self.func.value(value).def() {
            ValueDef::Result(op, _) => self.func.op(op).span,
            ValueDef::Param(..) => self.func.span,
        };
        let new = self.func.make_op(OpKind::ConvertLayout, [value], [ty], [], span);
        match self.func.value(value).def() {
            ValueDef::Result(op, _) => self.after.entry(op).or_default().push(new),
            ValueDef::Param(region, _) => self.first.entry(region).or_default().push(new),
        }
        self.func.op(new).result()
    }

    /// Makes a value once more, in this layout.
    fn remade(&mut self, value: Value, layout: &LinearLayout) -> Value {
        let ValueDef::Result(op, index) = self.func.value(value).def() else {
            unreachable!("parameters of regions have layouts, and are converted")
        };
        let kind = self.func.op(op).kind.clone();
        let operands = self.operands(op);
        let mut taken = Vec::with_capacity(operands.len());
        for operand in operands {
            let shape = self.shape(operand);
            let wanted = match kind.class() {
                _ if shape.is_empty() => None,
                OpClass::Shape(ShapeOp::Broadcast) => layouts::before_broadcast(layout, &shape),
                OpClass::Shape(ShapeOp::Reshape) => layouts::reshaped(layout, &shape),
                OpClass::Shape(ShapeOp::Transpose { perm }) => layouts::transposed(layout, &inverse(perm)),
                OpClass::Shape(ShapeOp::Splat | ShapeOp::ConvertLayout | ShapeOp::Join | ShapeOp::Split)
                | OpClass::Shape(ShapeOp::Gather { .. })
                | OpClass::Source(_)
                | OpClass::Elementwise(_)
                | OpClass::Tile(_)
                | OpClass::Apply(_)
                | OpClass::Access(_)
                | OpClass::Atomic(..)
                | OpClass::Desc(_)
                | OpClass::Comm(_)
                | OpClass::Effect(_)
                | OpClass::Control(_)
                | OpClass::Terminator(_)
                | OpClass::Call(_) => Some(layout.clone()),
            };
            taken.push(match wanted {
                Some(wanted) => self.in_layout(operand, &wanted),
                None => operand,
            });
        }
        let types: Vec<Type> = self
            .func
            .op(op)
            .results()
            .iter()
            .map(|&result| self.func.ty(result).with_layout(Some(layout.clone())))
            .collect();
        let span = self.func.op(op).span;
        let new = self.func.make_op(kind, taken, types, [], span);
        self.after.entry(op).or_default().push(new);
        let made = self.func.op(new).results()[index as usize];
        let facts = self.func.value(value).facts.clone();
        self.func.value_mut(made).facts = facts;
        made
    }
}

fn inverse(perm: &[u8]) -> Vec<u8> {
    let mut inverse = vec![0; perm.len()];
    for (at, &to) in perm.iter().enumerate() {
        inverse[usize::from(to)] = at as u8;
    }
    inverse
}
