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
//! **Why here.** For CPUs, which must not store tiles of addresses from trip to trip. After `licm`, so that what does not
//! change is outside; before a last `canonicalize`, which moves the scalar to the base of the address.
//!
//! Offsets of pointers are carried as `i64`, to which `ptr_add` extends them anyway. Tiles of integers keep their type;
//! both wrap, so nothing changes in any case.

use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{Builder, Const, Elem, Facts, Func, Module, OpId, Region, Scalar, Shape, Type, Value};

use crate::constants::constant;
use crate::structure::{Structure, ends};

/// Splits the inductions of all `for` loops.
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
        let inductions = inductions_of(func, op);
        if inductions.is_empty() {
            func.append(region, op);
            continue;
        }
        split_loop(func, region, op, &inductions);
    }
}

/// A carried tile that only moves by uniform amounts.
struct Induction {
    /// Its place among the carried values.
    index: usize,
    /// The amounts added on a trip.
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

fn inductions_of(func: &Func, op: OpId) -> Vec<Induction> {
    if Structure::of_op(func, op) != Structure::For {
        return Vec::new();
    }
    let body = func.op(op).regions()[0];
    let params = &func.region(body).params()[1..];
    let carried = params.iter().zip(ends(func, body)).enumerate();
    carried.filter_map(|(index, (&param, &next))| induction(func, index, param, next)).collect()
}

/// Follows a carried tile's next value back to the tile itself.
fn induction(func: &Func, index: usize, param: Value, next: Value) -> Option<Induction> {
    let tile = func.ty(param).as_tile()?;
    let distance = match tile.elem {
        Elem::Ptr(_) => Scalar::I64,
        Elem::Scalar(s) if s.is_int() && s != Scalar::I1 => s,
        Elem::Scalar(_) => return None,
    };
    let mut steps = Vec::new();
    let mut current = next;
    while current != param {
        let op = func.op(func.def_op(current)?);
        let kind = step_kind(&op.kind)?;
        let (a, b) = (op.operands()[0], op.operands()[1]);
        let swapped = kind == StepKind::Add && !matches!(op.kind, OpKind::PtrAdd) && uniform_amount(func, b).is_none();
        let (rest, amount) = if swapped { (b, a) } else { (a, b) };
        steps.push(Step { amount: uniform_amount(func, amount)?, kind });
        current = rest;
    }
    (!steps.is_empty()).then_some(Induction { index, steps, distance })
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

/// Puts down a loop whose `inductions` carry distances, with what belongs before and after it.
fn split_loop(func: &mut Func, region: Region, op: OpId, inductions: &[Induction]) {
    let span = func.op(op).span;
    let body = func.op(op).regions()[0];
    let mut starts = Vec::new();
    for induction in inductions {
        let zero = Builder::at_end(func, region, span).int(0, induction.distance);
        starts.push(func.op(op).operands()[induction.index + 3]);
        func.set_operand(op, induction.index + 3, zero);
    }
    // At the head of the body the tiles are made anew; at its end the distances grow.
    let mut ops = func.take_ops(body);
    let end = ops.pop().expect("a region ends in a terminator");
    for (induction, &start) in inductions.iter().zip(&starts) {
        let param = func.region(body).params()[induction.index + 1];
        let uses = func.add_param(body, func.ty(param).clone());
        func.replace_all_uses(param, uses);
        func.value_mut(param).ty = Type::scalar(induction.distance);
        func.value_mut(param).facts = Facts::default();
        let tile = moved(&mut Builder::at_end(func, body, span), start, param);
        func.replace_all_uses(uses, tile);
        let last = func.region(body).params().len() - 1;
        func.remove_param(body, last);
    }
    for op in ops {
        func.append(body, op);
    }
    for induction in inductions {
        let mut distance = func.region(body).params()[induction.index + 1];
        for &step in &induction.steps {
            distance = advance(&mut Builder::at_end(func, body, span), distance, step);
        }
        func.set_operand(end, induction.index, distance);
    }
    func.append(body, end);
    func.append(region, op);
    restore_results(func, region, op, inductions, &starts);
}

/// After the loop the tiles are where the distances have led.
fn restore_results(func: &mut Func, region: Region, op: OpId, inductions: &[Induction], starts: &[Value]) {
    let span = func.op(op).span;
    for (induction, &start) in inductions.iter().zip(starts) {
        let result = func.op(op).results()[induction.index];
        let uses = func.value(result).uses().to_vec();
        func.value_mut(result).ty = Type::scalar(induction.distance);
        func.value_mut(result).facts = Facts::default();
        if uses.is_empty() {
            continue;
        }
        let tile = moved(&mut Builder::at_end(func, region, span), start, result);
        for this in uses {
            func.set_operand(this.op, this.index as usize, tile);
        }
    }
}
