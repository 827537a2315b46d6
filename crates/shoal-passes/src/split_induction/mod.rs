//! **What.** A carried tile that moves by one amount on each trip of a loop becomes its first value and a carried
//! scalar: how far it has moved.
//!
//! ```text
//! %r = for (%0, %1, %2, %x0) : tile<64xptr<f32>>          %c = const {value = 0} () : i64
//!     do (%i: i32, %x: tile<64xptr<f32>>) {               %r = for (%0, %1, %2, %c) : i64 do (%i: i32, %o: i64) {
//!   … %x …                                                  %s = splat (%o) : tile<64xi64>
//!   %s = splat (%d) : tile<64xi32>                  ==>     %x = ptr_add (%x0, %s) : tile<64xptr<f32>>
//!   %n = ptr_add (%x, %s) : tile<64xptr<f32>>               … %x …
//!   yield (%n)                                              %d64 = cast {round = rtne} (%d) : i64
//! }                                                         %n = add (%o, %d64) : i64
//!                                                           yield (%n)
//!                                                         }
//! ```
//!
//! **Why here.** For CPUs, which must not store tiles of addresses from trip to trip. After `licm`, so that what does
//! not change is outside; before a last `canonicalize`, which moves the scalar to the base of the address.
//!
//! The same is done for `while`, where a value goes through the condition before it reaches the body.
//!
//! Offsets of pointers are carried as `i64`, to which `ptr_add` extends them anyway. Tiles of integers keep their type;
//! both wrap, so nothing changes in any case.

mod counted;
mod open;

use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{Builder, Const, Elem, Facts, Func, Module, OpId, Region, Scalar, Shape, Type, Value};

use crate::constants::constant;
use shoal_ir::Structure;

/// Splits the inductions of all loops.
pub fn split_induction(module: &mut Module) {
    for func in &mut module.funcs {
        let body = func.body();
        split_in(func, body);
    }
}

fn split_in(func: &mut Func, region: Region) {
    for op in func.take_ops(region) {
        for inner in func.op(op).regions().to_vec() {
            split_in(func, inner);
        }
        match Structure::of_op(func, op) {
            Structure::For => counted::split(func, region, op),
            Structure::While => open::split(func, region, op),
            Structure::If | Structure::Elements | Structure::Plain => func.append(region, op),
        }
    }
}

/// How a carried tile moves on a trip.
struct Movement {
    /// The amounts added.
    steps: Vec<Step>,
    /// The type in which the distance is carried.
    distance: Scalar,
}

/// A uniform amount.
#[derive(Copy, Clone)]
struct Step {
    amount: Amount,
    kind: StepKind,
}

#[derive(Copy, Clone)]
enum Amount {
    Constant(Const),
    Scalar(Value),
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum StepKind {
    Add,
    Sub,
}

/// Follows a tile's next value back to the tile itself, if only uniform amounts lie between.
fn movement(func: &Func, tile: Value, next: Value) -> Option<Movement> {
    let distance = match func.ty(tile).as_tile()?.elem {
        Elem::Ptr(_) => Scalar::I64,
        Elem::Scalar(s) if s.is_int() && s != Scalar::I1 => s,
        Elem::Scalar(_) => return None,
    };
    let mut steps = Vec::new();
    let mut current = next;
    while current != tile {
        let op = func.op(func.def_op(current)?);
        let kind = step_kind(&op.kind)?;
        let (a, b) = (op.operands()[0], op.operands()[1]);
        let swapped = kind == StepKind::Add && !matches!(op.kind, OpKind::PtrAdd) && uniform_amount(func, b).is_none();
        let (rest, amount) = if swapped { (b, a) } else { (a, b) };
        steps.push(Step { amount: uniform_amount(func, amount)?, kind });
        current = rest;
    }
    (!steps.is_empty()).then_some(Movement { steps, distance })
}

fn step_kind(kind: &OpKind) -> Option<StepKind> {
    if matches!(kind, OpKind::PtrAdd | OpKind::Binary(BinaryOp::Add)) {
        Some(StepKind::Add)
    } else if matches!(kind, OpKind::Binary(BinaryOp::Sub)) {
        Some(StepKind::Sub)
    } else {
        None
    }
}

fn uniform_amount(func: &Func, value: Value) -> Option<Amount> {
    if let Some(c) = constant(func, value) {
        return Some(Amount::Constant(c));
    }
    let op = func.op(func.def_op(value)?);
    matches!(op.kind, OpKind::Splat).then(|| Amount::Scalar(op.operands()[0]))
}

/// `start`, moved by a scalar distance.
fn moved(b: &mut Builder<'_>, start: Value, by: Value) -> Value {
    let shape = Shape::from_slice(b.func.ty(start).shape());
    let by = b.splat(by, &shape);
    let is_pointer = b.func.ty(start).number().is_none();
    b.value(if is_pointer { OpKind::PtrAdd } else { OpKind::Binary(BinaryOp::Add) }, &[start, by])
}

/// The distance after one more step.
fn advance(b: &mut Builder<'_>, distance: Value, step: Step) -> Value {
    let amount = match step.amount {
        Amount::Scalar(value) => value,
        Amount::Constant(c) => b.constant(c, Type::scalar(c.ty())),
    };
    let number = b.func.ty(distance).number().expect("a distance is a number");
    let amount = b.cast(amount, number);
    let kind = match step.kind {
        StepKind::Add => BinaryOp::Add,
        StepKind::Sub => BinaryOp::Sub,
    };
    b.binary(kind, distance, amount)
}

/// Makes a value of the loop `op` that was a tile a distance. Its uses use the tile at that distance from `start`,
/// which is made at the end of `region`.
fn turn_into_distance(func: &mut Func, region: Region, op: OpId, value: Value, start: Value, distance: Scalar) {
    let span = func.op(op).span;
    let uses = func.value(value).uses().to_vec();
    func.value_mut(value).ty = Type::scalar(distance);
    func.value_mut(value).facts = Facts::default();
    if uses.is_empty() {
        return;
    }
    let tile = moved(&mut Builder::at_end(func, region, span), start, value);
    for this in uses {
        func.set_operand(this.op, this.index as usize, tile);
    }
}

/// Lets a carried value start at distance zero; gives where the tile starts. The zero is made at the end of `region`.
fn start_at_zero(func: &mut Func, region: Region, op: OpId, operand: usize, distance: Scalar) -> Value {
    let span = func.op(op).span;
    let start = func.op(op).operands()[operand];
    let zero = Builder::at_end(func, region, span).int(0, distance);
    func.set_operand(op, operand, zero);
    start
}

/// Lets the terminator `end` of `region`, which is not put down yet, hand over the next distance.
fn hand_over(func: &mut Func, region: Region, end: OpId, operand: usize, distance: Value, steps: &[Step]) {
    let span = func.op(end).span;
    let next = steps
        .iter()
        .fold(distance, |distance, &step| advance(&mut Builder::at_end(func, region, span), distance, step));
    func.set_operand(end, operand, next);
}
