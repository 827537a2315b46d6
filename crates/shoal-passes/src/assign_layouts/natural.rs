//! Natural layouts: the layout that a value has because of how it comes to be.
//!
//! Loads and products have one; what computes with such a value takes it over. Values made of constants, indices and
//! scalars alone have none, and neither have broadcasts: they are made in any layout.

use cranelift_entity::EntityRef;
use shoal_ir::class::{AccessOp, ApplyOp, AtomicOp, DescOp, OpClass, ShapeOp, TileOp};
use shoal_ir::{Func, OpId, Structure, Type, Value, layouts};
use shoal_layout::{InDim, LinearLayout};

use super::coalesce::{block_layout, coalesced, default_layout, is_good};
use super::ordered::{is_pure_along, ordered_along};
use super::{Hardware, product};
use crate::contiguity::AxisInfos;

/// The natural layout of each value that has one.
pub(super) type Naturals = Vec<Option<LinearLayout>>;

/// Rounds over the function; carried values settle in two.
const ROUNDS: usize = 3;

/// Finds the natural layouts of a function's values. Carried values and results of branches have one in any case.
pub(super) fn analyze(func: &Func, infos: &AxisInfos, hardware: Hardware) -> Naturals {
    let mut analysis = Analysis { func, infos, hardware, found: vec![None; func.num_values()] };
    let order = func.walk();
    for round in 0..ROUNDS {
        for &op in &order {
            analysis.op(op, round + 1 == ROUNDS);
        }
    }
    analysis.found
}

struct Analysis<'f> {
    func: &'f Func,
    infos: &'f AxisInfos,
    hardware: Hardware,
    found: Naturals,
}

impl Analysis<'_> {
    fn of(&self, value: Value) -> Option<LinearLayout> {
        self.found[value.index()].clone()
    }

    fn set(&mut self, value: Value, layout: Option<LinearLayout>) {
        let fits = layout.as_ref().is_none_or(|layout| layout.shape() == self.func.ty(value).shape());
        if self.func.ty(value).is_tile() && fits {
            self.found[value.index()] = layout;
        }
    }

    fn op(&mut self, op: OpId, last: bool) {
        let data = self.func.op(op);
        match Structure::of_op(self.func, op) {
            Structure::If => {
                let [a, b] = [0, 1].map(|region| self.func.yielded(data.regions()[region]).to_vec());
                for (index, &result) in data.results().iter().enumerate() {
                    self.meet(result, &[a[index], b[index]], last);
                }
            }
            Structure::For => {
                let yielded = self.func.yielded(data.regions()[0]).to_vec();
                let params = self.func.region(data.regions()[0]).params()[1..].to_vec();
                for (index, &result) in data.results().iter().enumerate() {
                    // What the body makes of it comes first: a product inside weighs more than a load outside.
                    self.meet(params[index], &[yielded[index], data.operands()[3 + index]], last);
                    let layout = self.of(params[index]);
                    self.set(result, layout);
                }
            }
            Structure::While => {
                let [before, body] = [data.regions()[0], data.regions()[1]];
                let yielded = self.func.yielded(body).to_vec();
                for (index, &param) in self.func.region(before).params().iter().enumerate() {
                    self.meet(param, &[yielded[index], data.operands()[index]], last);
                }
                let left = self.func.yielded(before)[1..].to_vec();
                for (index, &result) in data.results().iter().enumerate() {
                    let param = self.func.region(body).params()[index];
                    self.meet(param, &[left[index]], last);
                    let layout = self.of(param);
                    self.set(result, layout);
                }
            }
            Structure::Plain | Structure::Elements => {
                let layouts = self.transfer(op);
                for (&result, layout) in data.results().iter().zip(layouts) {
                    self.set(result, layout);
                }
            }
        }
    }

    /// A value that comes from several places takes the layout of the first that has one; at last, any.
    fn meet(&mut self, value: Value, from: &[Value], last: bool) {
        let Type::Tile(tile) = self.func.ty(value) else { return };
        let natural = from.iter().find_map(|&source| self.of(source)).or_else(|| self.of(value));
        let layout = natural.or_else(|| last.then(|| default_layout(&tile.shape, self.hardware)));
        self.set(value, layout);
    }

    fn transfer(&self, op: OpId) -> Vec<Option<LinearLayout>> {
        let data = self.func.op(op);
        let any = || data.operands().iter().find_map(|&operand| self.of(operand));
        let all = |layout: Option<LinearLayout>| vec![layout; data.results().len()];
        match data.kind.class() {
            OpClass::Source(_) | OpClass::Terminator(_) | OpClass::Effect(_) | OpClass::Call(_) => all(None),
            OpClass::Desc(DescOp::Load) => {
                let ty = self.func.ty(data.result());
                all(ty.elem().map(|elem| block_layout(ty.shape(), elem, self.hardware)))
            }
            OpClass::Desc(
                DescOp::Make | DescOp::Base | DescOp::Size { .. } | DescOp::Stride { .. } | DescOp::Store,
            ) => all(None),
            OpClass::Elementwise(_) | OpClass::Comm(_) => all(any()),
            OpClass::Shape(kind) => self.shape(op, kind),
            OpClass::Tile(TileOp::Dot { .. }) => all(Some(product::choose(self.func, op, self.hardware).acc)),
            OpClass::Tile(TileOp::Histogram) => {
                all(Some(default_layout(self.func.ty(data.result()).shape(), self.hardware)))
            }
            OpClass::Apply(kind) => {
                let layout = applied(self.func, &self.found, op, kind, self.hardware);
                match kind {
                    ApplyOp::Reduce { axis, .. } => all(layouts::sliced(&layout, usize::from(axis))),
                    ApplyOp::Scan { .. } | ApplyOp::MapElementwise { .. } => all(Some(layout)),
                }
            }
            OpClass::Access(_) | OpClass::Atomic(..) => {
                all(accessed(self.func, &self.found, self.infos, op, self.hardware))
            }
            OpClass::Control(_) => all(None),
        }
    }

    fn shape(&self, op: OpId, kind: ShapeOp<'_>) -> Vec<Option<LinearLayout>> {
        let data = self.func.op(op);
        let source = data.operands()[0];
        let to = self.func.ty(data.results()[0]).shape();
        let natural = self.of(source);
        match kind {
            ShapeOp::Splat | ShapeOp::Broadcast => vec![None],
            ShapeOp::Reshape if to.is_empty() => vec![None],
            ShapeOp::Reshape => vec![natural.and_then(|layout| layouts::reshaped(&layout, to))],
            ShapeOp::Transpose { perm } => vec![natural.and_then(|layout| layouts::transposed(&layout, perm))],
            ShapeOp::ConvertLayout => vec![self.func.ty(data.results()[0]).layout().cloned()],
            ShapeOp::Join => {
                let halves = natural.or_else(|| self.of(data.operands()[1]));
                let shape = self.func.ty(source).shape();
                let halves = halves.or_else(|| (!shape.is_empty()).then(|| default_layout(shape, self.hardware)));
                vec![halves.and_then(|layout| layouts::joined(&layout))]
            }
            ShapeOp::Split => {
                if to.is_empty() {
                    return vec![None; 2];
                }
                let split = natural.and_then(|layout| layouts::split(&layout));
                vec![Some(split.unwrap_or_else(|| default_layout(to, self.hardware))); 2]
            }
            ShapeOp::Gather { .. } => {
                vec![self.of(data.operands()[1]).or_else(|| Some(default_layout(to, self.hardware)))]
            }
        }
    }
}

/// The layout in which an access to memory is done; `None` for an access to one element.
pub(super) fn accessed(
    func: &Func,
    naturals: &Naturals,
    infos: &AxisInfos,
    op: OpId,
    hardware: Hardware,
) -> Option<LinearLayout> {
    let data = func.op(op);
    let pointers = data.operands()[0];
    if !func.ty(pointers).is_tile() {
        return None;
    }
    let of = |value: Value| naturals[value.index()].clone();
    let good = |layout: &LinearLayout| is_good(func, infos, op, layout, hardware);
    let only_loads = matches!(
        data.kind.class(),
        OpClass::Access(AccessOp::Load(_)) | OpClass::Atomic(AtomicOp::Load | AtomicOp::Poll, ..)
    );
    let stored = data.operands().get(1).filter(|_| !only_loads).and_then(|&value| of(value));
    let found = stored.or_else(|| of(pointers)).filter(good);
    Some(found.unwrap_or_else(|| coalesced(func, infos, op, hardware)))
}

/// The layout in which the operands of a reduction, a scan or an elementwise application are taken.
pub(super) fn applied(func: &Func, naturals: &Naturals, op: OpId, kind: ApplyOp, hardware: Hardware) -> LinearLayout {
    let data = func.op(op);
    let tile = data.operands().iter().copied().find(|&operand| func.ty(operand).is_tile());
    let shape = tile.map_or(&[1][..], |tile| func.ty(tile).shape());
    let natural = data.operands().iter().find_map(|operand| naturals[operand.index()].clone());
    match kind {
        ApplyOp::Reduce { axis, in_order: false } => natural
            .filter(|layout| is_pure_along(layout, usize::from(axis)))
            .unwrap_or_else(|| default_layout(shape, hardware)),
        ApplyOp::Reduce { axis, in_order: true } | ApplyOp::Scan { axis, .. } => {
            ordered_along(natural, shape, usize::from(axis), hardware)
        }
        ApplyOp::MapElementwise { pack } => packed(shape, natural, pack, hardware),
    }
}

/// A layout in which each lane holds groups of `pack` neighbours: the natural one if it does.
pub(super) fn packed(shape: &[u32], natural: Option<LinearLayout>, pack: u32, hardware: Hardware) -> LinearLayout {
    let groups = |layout: &LinearLayout| layout.num_consecutive(InDim::Register) >= pack;
    natural.filter(groups).unwrap_or_else(|| {
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        let (mut each, mut left) = (vec![1; shape.len()], pack);
        for &dim in &order {
            each[dim] = left.min(shape[dim]);
            left /= each[dim];
        }
        super::coalesce::spread(shape, &order, &each, hardware)
    })
}
