//! Which tiles are materialised, and which are fused into the loops that read them.
//!
//! Operations that run a loop of their own (stores, reductions, dots, control flow) are *roots*; everything a root can
//! compute on the way is *fused* into its loop, element by element. A tile is *materialised*, which means written to
//! scratch once, if
//!
//! - it only comes to be as a whole: a dot, a scan, a loop's carried value;
//! - somebody needs it as memory: a dot's operand, a gather's source;
//! - it would be computed again and again, and that costs more than reading it: several roots read it, or a root in a
//!   loop further in, or one root reads it at several *places*, or it is repeated over a larger tile.
//!
//! The last point keeps code linear in the program: `join(a + b, a - b)` of `a, b = split(x)` reads `x` at two places
//! for each of its elements, so that a chain of such steps, fused, would double with each of them.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use cranelift_entity::{EntitySet, SecondaryMap};
use shoal_ir::class::{AccessOp, EffectOp, ElementwiseOp, OpClass, ShapeOp, SourceOp, TileOp};
use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{CommOp, Func, OpId, Use, Value};
use smallvec::SmallVec;

/// Costs up to this are paid again rather than materialised.
const CHEAP: u32 = 12;

/// What a load of whole vectors costs, beside its addresses and its mask.
const RUN_LOAD: u32 = 2;

/// Reads of one tile that are told apart. Cheap tiles, such as offsets, may have thousands of readers; the list of each
/// stays short, so that planning stays linear.
const MOST_READS: usize = 16;

/// The elements that a root's loop reads of a tile where it is at its element `i`: a hash of all the rearrangements
/// (transposes, splits, …) in between. Two reads with one place share their code.
type Place = u64;

/// The loop's own element.
const IN_PLACE: Place = 0;

/// One loop's reading of a tile.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Read {
    root: OpId,
    place: Place,
}

/// Who reads a tile, directly or through fused tiles.
#[derive(Clone, Debug, Default)]
struct Readers {
    /// The last in the program comes first.
    reads: SmallVec<[Read; 2]>,
    /// Whether there are more than these.
    truncated: bool,
}

impl Readers {
    fn add(&mut self, read: Read) {
        if self.reads.contains(&read) {
            return;
        }
        if self.reads.len() == MOST_READS {
            self.truncated = true;
        } else {
            self.reads.push(read);
        }
    }

    fn add_all(&mut self, other: &Readers, place: impl Fn(Place) -> Place) {
        for read in &other.reads {
            self.add(Read { root: read.root, place: place(read.place) });
        }
        self.truncated |= other.truncated;
    }

    fn is_repeated(&self) -> bool {
        self.truncated || self.reads.len() > 1
    }

    fn are_by_one_root(&self) -> bool {
        !self.truncated && self.reads.windows(2).all(|pair| pair[0].root == pair[1].root)
    }
}

/// The decisions for one function.
#[derive(Debug)]
pub(super) struct FusionPlan {
    materialised: EntitySet<Value>,
    readers: SecondaryMap<Value, Readers>,
}

impl FusionPlan {
    pub(super) fn new(func: &Func) -> FusionPlan {
        let order = func.walk();
        let costs = costs(func, &order);
        let mut plan = FusionPlan { materialised: EntitySet::new(), readers: SecondaryMap::new() };
        for &op in order.iter().rev() {
            plan.visit(func, op, &costs);
        }
        plan
    }

    /// Whether a tile is written to scratch.
    pub(super) fn is_materialised(&self, value: Value) -> bool {
        self.materialised.contains(value)
    }

    /// Whether no other root than `op` reads a tile.
    pub(super) fn is_read_only_by(&self, value: Value, op: OpId) -> bool {
        let readers = &self.readers[value];
        !readers.truncated && readers.reads.iter().all(|read| read.root == op)
    }

    /// How many roots other than `except` that are not `done` read a tile; of a long list, at least two while the last
    /// of them is not done.
    pub(super) fn unfinished_readers(&self, value: Value, done: &HashSet<OpId>, except: Option<OpId>) -> usize {
        let readers = &self.readers[value];
        let mut open: SmallVec<[OpId; MOST_READS]> =
            readers.reads.iter().map(|read| read.root).filter(|r| !done.contains(r) && Some(*r) != except).collect();
        open.sort_unstable();
        open.dedup();
        let unlisted = readers.truncated && readers.reads.first().is_some_and(|last| !done.contains(&last.root));
        if unlisted { open.len().max(2) } else { open.len() }
    }

    fn visit(&mut self, func: &Func, op: OpId, costs: &SecondaryMap<Value, u32>) {
        let data = func.op(op);
        let is_tile = |v: &Value| func.ty(*v).is_tile();
        for operand in needed_in_memory(func, &data.kind, data.operands()) {
            if is_tile(&operand) {
                self.materialised.insert(operand);
            }
        }
        let results: SmallVec<[Value; 2]> = data.results().iter().copied().filter(is_tile).collect();
        let fused = is_fusible(&data.kind) && !results.is_empty() && !self.decide(func, op, &results, costs);
        if !fused {
            for &result in &results {
                self.materialised.insert(result);
            }
        }
        for &operand in data.operands().iter().filter(|v| is_tile(v)) {
            let mut readers = std::mem::take(&mut self.readers[operand]);
            if is_fusible(&data.kind) && !results.is_empty() {
                for (i, &result) in results.iter().enumerate() {
                    let own = Readers {
                        reads: SmallVec::from_slice(&[Read { root: op, place: IN_PLACE }]),
                        truncated: false,
                    };
                    let of_result = if fused { &self.readers[result] } else { &own };
                    readers.add_all(of_result, |place| place_in_operand(func, op, i, operand, place));
                }
            } else {
                readers.add(Read { root: op, place: IN_PLACE });
            }
            self.readers[operand] = readers;
        }
    }

    /// Whether tiles that could be fused are materialised all the same.
    fn decide(&self, func: &Func, op: OpId, results: &[Value], costs: &SecondaryMap<Value, u32>) -> bool {
        if results.iter().any(|&r| self.is_materialised(r)) {
            return true;
        }
        let region = func.op(op).parent();
        results.iter().any(|&result| {
            let readers = &self.readers[result];
            let elsewhere = readers.reads.iter().any(|read| func.op(read.root).parent() != region);
            costs[result] > CHEAP
                && (readers.is_repeated() || elsewhere || is_spread(func, result))
                && !is_view(&func.op(op).kind, readers.are_by_one_root())
        })
    }
}

/// Whether a tile of floats is repeated over a larger one, so that a loop over that would compute each element again and
/// again. (Integers may be addresses, of which more is known where they are computed.)
fn is_spread(func: &Func, value: Value) -> bool {
    let is_float = func.ty(value).number().is_some_and(|ty| ty.float_format().is_some());
    let broadcast = |&this: &Use| matches!(func.op(this.op).kind, OpKind::Broadcast);
    is_float && func.value(value).uses().iter().any(broadcast)
}

/// Whether a tile only shows its operand in another way, so that it is the operand that is to be materialised. A
/// transpose that several loops read is better done once.
fn is_view(kind: &OpKind, by_one_root: bool) -> bool {
    match kind.class() {
        OpClass::Shape(ShapeOp::Broadcast | ShapeOp::Split) | OpClass::Comm(CommOp::ConsumeToken) => true,
        OpClass::Shape(ShapeOp::Transpose { .. }) => by_one_root,
        OpClass::Shape(_)
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
        | OpClass::Call(_) => false,
    }
}

/// The place at which an operand is read for the place `of_result` of a result. All but rearrangements read where they
/// write.
fn place_in_operand(func: &Func, op: OpId, result: usize, operand: Value, of_result: Place) -> Place {
    let data = func.op(op);
    let OpClass::Shape(shape) = data.kind.class() else { return of_result };
    let mut hasher = DefaultHasher::new();
    (of_result, std::mem::discriminant(&shape)).hash(&mut hasher);
    match shape {
        ShapeOp::Broadcast | ShapeOp::Reshape => {
            (func.ty(operand).shape(), func.ty(data.result()).shape()).hash(&mut hasher);
        }
        ShapeOp::Transpose { perm } => perm.hash(&mut hasher),
        ShapeOp::Split => result.hash(&mut hasher),
        // Both sides of a join are read at the same place.
        ShapeOp::Join => {}
        // The operand is a scalar; the source is memory, and the indices are read in place; a layout is no place here.
        ShapeOp::Splat | ShapeOp::Gather { .. } | ShapeOp::ConvertLayout => return of_result,
    }
    hasher.finish()
}

/// The tile behind a transpose of its last two dimensions, and whether there was one.
pub(super) fn behind_transpose(func: &Func, value: Value) -> (Value, bool) {
    let Some(op) = func.def_op(value) else { return (value, false) };
    let swaps_last = |perm: &[u8]| {
        let n = perm.len();
        n >= 2 && perm.iter().enumerate().all(|(i, &p)| usize::from(p) == if i + 2 < n { i } else { 2 * n - 3 - i })
    };
    let swapped = matches!(&func.op(op).kind, OpKind::Transpose { perm } if swaps_last(perm));
    if swapped { (func.op(op).operands()[0], true) } else { (value, false) }
}

/// Operands that must be memory; chunks do for all other operations.
fn needed_in_memory(func: &Func, kind: &OpKind, operands: &[Value]) -> SmallVec<[Value; 2]> {
    match kind.class() {
        OpClass::Tile(TileOp::Dot { .. }) => operands[..2].iter().map(|&v| behind_transpose(func, v).0).collect(),
        OpClass::Shape(ShapeOp::Gather { .. }) => operands[..1].into(),
        OpClass::Effect(EffectOp::Print { .. }) => operands.into(),
        OpClass::Tile(TileOp::Histogram)
        | OpClass::Shape(_)
        | OpClass::Effect(_)
        | OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Apply(_)
        | OpClass::Access(_)
        | OpClass::Atomic(..)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => SmallVec::new(),
    }
}

/// Whether single chunks of the result can be computed from chunks of the operands.
pub(super) fn is_fusible(kind: &OpKind) -> bool {
    match kind.class() {
        OpClass::Source(SourceOp::ProgramId { .. } | SourceOp::NumPrograms { .. }) => false,
        OpClass::Elementwise(ElementwiseOp::Extern(function)) => function.pure,
        OpClass::Elementwise(ElementwiseOp::InlineAsm(_)) => false,
        OpClass::Source(SourceOp::Const(_) | SourceOp::Iota { .. }) | OpClass::Shape(_) | OpClass::Elementwise(_) => {
            true
        }
        OpClass::Access(AccessOp::Load(attrs)) => !attrs.mode.is_pinned(),
        OpClass::Comm(op) => op == CommOp::ConsumeToken,
        OpClass::Access(AccessOp::Store { .. })
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Atomic(..)
        | OpClass::Desc(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => false,
    }
}

/// What computing one chunk of each tile takes, in simple instructions, saturating.
fn costs(func: &Func, order: &[OpId]) -> SecondaryMap<Value, u32> {
    // Tiles that no operation computes, such as what a loop carries, are in memory.
    let mut costs: SecondaryMap<Value, u32> = SecondaryMap::with_default(100);
    for &op in order {
        let data = func.op(op);
        let own = if reads_runs(func, op) { RUN_LOAD } else { own_cost(&data.kind) };
        let inputs: u32 =
            data.operands().iter().filter(|&&v| func.ty(v).is_tile()).map(|&v| costs[v]).fold(0, u32::saturating_add);
        for &result in data.results() {
            if func.ty(result).is_tile() {
                costs[result] = own.saturating_add(inputs);
            }
        }
    }
    costs
}

/// Whether an operation loads whole vectors: reading them again costs no more than reading a copy.
fn reads_runs(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    let (OpKind::Load(_), Some(&pointers)) = (&data.kind, data.operands().first()) else { return false };
    let (shape, runs) = (func.ty(pointers).shape(), &func.value(pointers).facts.contiguous);
    shape.last().zip(runs.last()).is_some_and(|(&size, &run)| run >= u64::from(size.min(16)))
}

fn own_cost(kind: &OpKind) -> u32 {
    const LONG: u32 = 20;
    const UNKNOWN: u32 = 100;
    match kind.class() {
        OpClass::Source(_) => 0,
        OpClass::Shape(ShapeOp::Splat | ShapeOp::Broadcast | ShapeOp::Reshape | ShapeOp::ConvertLayout) => 0,
        OpClass::Shape(ShapeOp::Join | ShapeOp::Split | ShapeOp::Transpose { .. }) => 1,
        OpClass::Shape(ShapeOp::Gather { .. }) => LONG,
        OpClass::Elementwise(op) => match op {
            ElementwiseOp::Bitcast => 0,
            ElementwiseOp::Binary(BinaryOp::Div | BinaryOp::DivRn | BinaryOp::Rem) => 8,
            ElementwiseOp::Unary(_)
            | ElementwiseOp::Binary(_)
            | ElementwiseOp::Cmp(_)
            | ElementwiseOp::Select
            | ElementwiseOp::Fma
            | ElementwiseOp::Cast(_)
            | ElementwiseOp::PtrAdd => 1,
            ElementwiseOp::Math(_) => LONG,
            ElementwiseOp::Extern(_) | ElementwiseOp::InlineAsm(_) => UNKNOWN,
        },
        OpClass::Comm(CommOp::ConsumeToken) => 0,
        OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Access(_)
        | OpClass::Atomic(..)
        | OpClass::Desc(_)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_)
        | OpClass::Call(_) => UNKNOWN,
    }
}
