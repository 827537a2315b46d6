//! **What.** A loop that adds tiles up, only for the sum over an axis after it, adds up the sums of the tiles instead.
//!
//! ```text
//! %r = for (%0, %n, %1, %zeros) : tile<4096xf32>               %z = const {value = 0.0} () : f32
//!     do (%i: i32, %acc: tile<4096xf32>) {                     %r = for (%0, %n, %1, %z) : f32
//!   … %x …                                                         do (%i: i32, %acc: f32) {
//!   %next = add (%acc, %x) : tile<4096xf32>                      … %x …
//!   yield (%next)                                        ==>     %sum = reduce {axis = 0} (%x) : f32 do …
//! }                                                              %next = add (%acc, %sum) : f32
//! %sum = reduce {axis = 0} (%r) : f32 do … add …                 yield (%next)
//!                                                              }
//! ```
//!
//! **Why here.** For CPUs, where a carried tile is memory that each trip reads and writes, and a sum over a tile is kept in
//! registers. After `licm` and `canonicalize`, which dissolve loops of one trip.
//!
//! - An update under a mask, `select(mask, acc + x, acc)`, counts as well: what is masked adds zero.
//! - Short axes stay: ending a sum costs as much as some vectors of the tile.
//! - Sums of floats are added in another order, as any sum over an axis may be. Types narrower than `f32` stay: they
//!   would be rounded in other places.

use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{Builder, Const, Facts, Func, Module, OpId, Region, Scalar, Structure, Type, Value};

use crate::constants::constant;

/// Axes from this length on are summed on each trip.
const LONG_AXIS: u32 = 64;

/// Rewrites all loops.
pub fn reduce_early(module: &mut Module) {
    for func in &mut module.funcs {
        for op in func.walk() {
            if Structure::of_op(func, op) == Structure::For {
                for index in 0..func.op(op).results().len() {
                    if let Some(sum) = find(func, op, index) {
                        rewrite(func, op, index, &sum);
                    }
                }
            }
        }
    }
}

/// A carried tile that is only summed.
struct Sum {
    /// The reduction after the loop.
    reduce: OpId,
    /// What a trip adds.
    added: Value,
    /// Where it is added; everywhere if there is none.
    mask: Option<Value>,
}

fn find(func: &Func, op: OpId, index: usize) -> Option<Sum> {
    let body = func.op(op).regions()[0];
    let (param, next) = (func.region(body).params()[index + 1], func.yielded(body)[index]);
    let [this] = func.value(func.op(op).results()[index]).uses() else { return None };
    let reduce = this.op;
    let OpKind::Reduce { axis, in_order: false } = func.op(reduce).kind else { return None };
    let beside = func.op(reduce).parent() == func.op(op).parent() && func.op(reduce).operands().len() == 1;
    let long = func.ty(param).shape().get(usize::from(axis)).is_some_and(|&length| length >= LONG_AXIS);
    if !beside || !long || !is_exact_enough(func.ty(param).number()?) || !adds(func, reduce) {
        return None;
    }
    update(func, body, param, next).map(|(added, mask)| Sum { reduce, added, mask })
}

fn is_exact_enough(elem: Scalar) -> bool {
    matches!(elem, Scalar::F32 | Scalar::F64) || elem.is_int() && elem != Scalar::I1
}

/// Whether a reduction adds.
fn adds(func: &Func, reduce: OpId) -> bool {
    let region = func.op(reduce).regions()[0];
    let [add, end] = *func.region(region).ops() else { return false };
    let (params, add) = (func.region(region).params(), func.op(add));
    let both = matches!(add.operands(), [a, b] if a != b && params.contains(a) && params.contains(b));
    matches!(add.kind, OpKind::Binary(BinaryOp::Add)) && both && func.op(end).operands() == [add.result()]
}

/// What is added to a carried tile, and under which mask, if nothing else happens to it.
fn update(func: &Func, body: Region, param: Value, next: Value) -> Option<(Value, Option<Value>)> {
    let uses_of = |value: Value| func.value(value).uses().len();
    let here = |value: Value| func.def_op(value).filter(|&op| func.op(op).parent() == Some(body));
    if uses_of(next) != 1 {
        return None;
    }
    let op = func.op(here(next)?);
    if let (OpKind::Select, &[mask, changed, kept]) = (&op.kind, op.operands()) {
        let alone = kept == param && uses_of(param) == 2 && uses_of(changed) == 1;
        let added = addend(func, here(changed)?, param)?;
        return alone.then_some((added, Some(mask)));
    }
    let added = addend(func, here(next)?, param)?;
    (uses_of(param) == 1).then_some((added, None))
}

/// The other side of an addition to `param`.
fn addend(func: &Func, op: OpId, param: Value) -> Option<Value> {
    let data = func.op(op);
    let (OpKind::Binary(BinaryOp::Add), &[a, b]) = (&data.kind, data.operands()) else { return None };
    let other = if a == param { b } else { a };
    ((a == param || b == param) && other != param).then_some(other)
}

fn rewrite(func: &mut Func, op: OpId, index: usize, sum: &Sum) {
    let body = func.op(op).regions()[0];
    let (param, result) = (func.region(body).params()[index + 1], func.op(op).results()[index]);
    let tile = func.ty(param).clone();
    let summed = func.op(sum.reduce).result();
    let ty = func.ty(summed).clone();
    let OpKind::Reduce { axis, .. } = func.op(sum.reduce).kind else { unreachable!("`find` gives reductions") };

    // What each trip adds: before the terminator, which is the only one to read the tile's next value.
    let end = func.terminator(body).expect("a region ends in a terminator");
    let elem = tile.number().expect("a tile of numbers");
    let added = match sum.mask {
        None => sum.added,
        Some(mask) => {
            let mut b = Builder::before(func, end);
            let zero = b.constant(Const::zero(elem), tile.clone());
            b.select(mask, sum.added, zero)
        }
    };
    let partial = sum_over(func, end, axis, added, &ty);

    // The tile becomes its sum, from its start to the end.
    let start = func.op(op).operands()[index + 3];
    let first = match constant(func, start) {
        Some(c) if c.is_zero() => Builder::before(func, op).constant(c, ty.clone()),
        Some(_) | None => sum_over(func, op, axis, start, &ty),
    };
    func.set_operand(op, index + 3, first);
    func.replace_all_uses(summed, result);
    func.erase(sum.reduce);
    for value in [param, result] {
        func.value_mut(value).ty = ty.clone();
        func.value_mut(value).facts = Facts::default();
    }
    let old = func.op(end).operands()[index];
    let next = Builder::before(func, end).binary(BinaryOp::Add, param, partial);
    func.set_operand(end, index, next);
    // The tile's own update reads a value that is no tile any more.
    erase_update(func, old, param);
}

/// Erases the operations that computed a tile's next value.
fn erase_update(func: &mut Func, next: Value, param: Value) {
    let Some(op) = func.def_op(next) else { return };
    let changed = matches!(func.op(op).kind, OpKind::Select).then(|| func.op(op).operands()[1]);
    func.erase(op);
    if let Some(changed) = changed.filter(|&v| v != param) {
        erase_update(func, changed, param);
    }
}

/// A sum over an axis, made before an operation.
fn sum_over(func: &mut Func, before: OpId, axis: u8, tile: Value, ty: &Type) -> Value {
    let span = func.op(before).span;
    let elem = func.ty(tile).number().expect("a tile of numbers");
    let region = func.new_region();
    let [a, b] = [(); 2].map(|()| func.add_param(region, Type::scalar(elem)));
    let mut inside = Builder::at_end(func, region, span);
    let sum = inside.binary(BinaryOp::Add, a, b);
    inside.yield_(&[sum]);
    let op = Builder::before(func, before).op(OpKind::Reduce { axis, in_order: false }, [tile], [ty.clone()], [region]);
    func.op(op).result()
}
