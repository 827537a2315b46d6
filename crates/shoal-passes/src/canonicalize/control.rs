//! Control flow whose course is known, and values that control flow only passes on.

use shoal_ir::{Func, OpId, OpKind, Region, Type, Value};

use super::Rewriter;
use crate::constants::{constant, int_constant};
use crate::facts::replace_value;
use shoal_ir::Structure;

/// Puts what remains of a control-flow operation in its place, if that is less than the operation. Says whether it
/// did; the operation is gone then.
pub(super) fn dissolve(cx: &mut Rewriter<'_>, op: OpId) -> bool {
    match Structure::of_op(cx.func, op) {
        Structure::If => dissolve_if(cx, op),
        Structure::For => dissolve_for(cx, op),
        Structure::While => dissolve_while(cx, op),
        Structure::Plain if matches!(cx.func.op(op).kind, OpKind::Split) => split_of_join(cx, op),
        Structure::Elements | Structure::Plain => false,
    }
}

fn split_of_join(cx: &mut Rewriter<'_>, op: OpId) -> bool {
    let Some(join) = cx.def_if(cx.operand(op, 0), |k| matches!(k, OpKind::Join)) else { return false };
    let halves = cx.func.op(join).operands().to_vec();
    finish(cx, op, &halves);
    true
}

/// Lets `values` stand for the results of `op` and erases it.
fn finish(cx: &mut Rewriter<'_>, op: OpId, values: &[Value]) {
    for (result, &value) in cx.func.op(op).results().to_vec().into_iter().zip(values) {
        replace_value(cx.func, cx.region, result, value);
    }
    cx.func.erase(op);
}

/// Moves the operations of a region, its terminator apart, to where the rewriter stands, with `arguments` for its
/// parameters. Gives the values it ends with.
fn unfold(cx: &mut Rewriter<'_>, region: Region, arguments: &[Value]) -> Vec<Value> {
    for (param, &argument) in cx.func.region(region).params().to_vec().into_iter().zip(arguments) {
        cx.func.replace_all_uses(param, argument);
    }
    let mut ops = cx.func.take_ops(region);
    let end = ops.pop().expect("a region ends in a terminator");
    for op in ops {
        cx.func.append(cx.region, op);
    }
    let values = cx.func.op(end).operands().to_vec();
    cx.func.erase(end);
    values
}

fn dissolve_if(cx: &mut Rewriter<'_>, op: OpId) -> bool {
    let condition = cx.operand(op, 0);
    let regions = cx.func.op(op).regions().to_vec();
    if let Some(c) = constant(cx.func, condition) {
        let values = unfold(cx, regions[usize::from(c.is_zero())], &[]);
        finish(cx, op, &values);
        return true;
    }
    let only_ends = regions.iter().all(|&r| cx.func.region(r).ops().len() == 1);
    let scalars = cx.func.op(op).results().iter().all(|&r| matches!(cx.func.ty(r), Type::Elem(_)));
    if only_ends && scalars {
        let (a, b) = (cx.func.yielded(regions[0]).to_vec(), cx.func.yielded(regions[1]).to_vec());
        let pairs = a.into_iter().zip(b);
        let values: Vec<Value> = pairs.map(|(a, b)| cx.make_select(condition, a, b)).collect();
        finish(cx, op, &values);
        return true;
    }
    same_in_both(cx, op, &regions);
    false
}

/// Results that both branches take from outside, from one place.
fn same_in_both(cx: &mut Rewriter<'_>, op: OpId, regions: &[Region]) {
    for index in 0..cx.func.op(op).results().len() {
        let result = cx.func.op(op).results()[index];
        let value = cx.func.yielded(regions[0])[index];
        if value == cx.func.yielded(regions[1])[index] && !cx.func.value(result).uses().is_empty() {
            cx.func.replace_all_uses(result, value);
            cx.changed = true;
        }
    }
}

/// How often a loop with these bounds runs.
fn trips(func: &Func, op: OpId) -> Option<i128> {
    let data = func.op(op);
    let (from, to, step) = (data.operands()[0], data.operands()[1], data.operands()[2]);
    if from == to {
        return Some(0);
    }
    let (from, to, step) = (int_constant(func, from)?, int_constant(func, to)?, int_constant(func, step)?);
    if from >= to {
        return Some(0);
    }
    (step > 0).then(|| (to - from + step - 1) / step)
}

fn dissolve_for(cx: &mut Rewriter<'_>, op: OpId) -> bool {
    let body = cx.func.op(op).regions()[0];
    let start = cx.func.op(op).operands()[3..].to_vec();
    match trips(cx.func, op) {
        Some(0) => {
            finish(cx, op, &start);
            return true;
        }
        Some(1) => {
            let arguments: Vec<Value> = std::iter::once(cx.operand(op, 0)).chain(start).collect();
            let values = unfold(cx, body, &arguments);
            finish(cx, op, &values);
            return true;
        }
        Some(_) | None => {}
    }
    for (index, &initial) in start.iter().enumerate() {
        let param = cx.func.region(body).params()[index + 1];
        let next = cx.func.yielded(body)[index];
        if next == param || next == initial {
            let result = cx.func.op(op).results()[index];
            pass_by(cx, param, initial);
            pass_by(cx, result, initial);
        }
    }
    false
}

/// Uses of a value that is always `value` use that.
fn pass_by(cx: &mut Rewriter<'_>, always: Value, value: Value) {
    if !cx.func.value(always).uses().is_empty() {
        cx.func.replace_all_uses(always, value);
        cx.changed = true;
    }
}

fn dissolve_while(cx: &mut Rewriter<'_>, op: OpId) -> bool {
    let [before, body] = [cx.func.op(op).regions()[0], cx.func.op(op).regions()[1]];
    let start = cx.func.op(op).operands().to_vec();
    let condition = cx.func.yielded(before)[0];
    if constant(cx.func, condition).is_some_and(|c| c.is_zero()) {
        let values = unfold(cx, before, &start);
        finish(cx, op, &values[1..]);
        return true;
    }
    for (index, &initial) in start.iter().enumerate() {
        let param = cx.func.region(before).params()[index];
        let next = cx.func.yielded(body)[index];
        let handed_on = cx.func.yielded(before)[1..].iter().position(|&v| v == param);
        let comes_back = handed_on.is_some_and(|i| next == cx.func.region(body).params()[i]);
        if next == initial || comes_back {
            pass_by(cx, param, initial);
        }
    }
    pass_by_condition(cx, op, before, body);
    false
}

/// What the condition hands on from outside the loop need not go through it.
fn pass_by_condition(cx: &mut Rewriter<'_>, op: OpId, before: Region, body: Region) {
    for index in 0..cx.func.op(op).results().len() {
        let value = cx.func.yielded(before)[index + 1];
        // While the loop is being put down its operation stands nowhere, so a region inside it ends the walk upwards.
        if !is_defined_inside(cx.func, value, before) {
            let (param, result) = (cx.func.region(body).params()[index], cx.func.op(op).results()[index]);
            pass_by(cx, param, value);
            pass_by(cx, result, value);
        }
    }
}

fn is_defined_inside(func: &Func, value: Value, region: Region) -> bool {
    func.is_inside(func.defining_region(value), region)
}

impl Rewriter<'_> {
    fn make_select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let ty = self.func.ty(a).clone();
        self.make(OpKind::Select, &[condition, a, b], ty)
    }
}
