//! **What.** Does several trips of a loop in one, where the user asks for it with `unroll = n`.
//!
//! ```text
//! for {unroll = 2} (%0, %n, %1) do (%i: i32) {          for (%0, %m, %2) do (%i: i32) {
//!   … %i …                                                … %i …
//!   yield ()                                              … %i + 1 …
//! }                                                ==>    yield ()
//!                                                       }
//!                                                       for (%m, %n, %1) do (%i: i32) {   ; the last trip, if odd
//!                                                         … %i …
//!                                                         yield ()
//!                                                       }
//! ```
//!
//! **Why here.** After `canonicalize` and `cse`, so that the copies are of the least; before `licm` and another round
//! of both, which find what the copies share.
//!
//! A loop that is known to make no more trips than asked for becomes straight-line code. The second loop, for the rest,
//! is left out where the number of trips is known to leave none. `step` is positive, and the counter is taken not to
//! wrap. A factor that would make a loop heavier than [`MAX_LOOP_WEIGHT`] is taken for the greatest that does not: past
//! that, code only grows. Loops of a function that has grown to half of [`MAX_WEIGHT`] stay as they are.

use shoal_ir::op::{BinaryOp, ForAttrs, OpKind};
use shoal_ir::{Builder, Func, MAX_WEIGHT, Module, OpId, Region, Value};

use crate::clone_region::{Origin, Renaming, clone_op};
use crate::constants::int_constant;

/// How heavy a loop may become.
pub const MAX_LOOP_WEIGHT: u64 = 1 << 13;

/// Unrolls the loops that ask for it.
pub fn unroll(module: &mut Module) {
    for func in &mut module.funcs {
        let body = func.body();
        let mut weight = func.region_weight(body);
        unroll_in(func, body, &mut weight);
    }
}

/// Unrolls the loops of a region, and counts what that adds to the function's weight.
fn unroll_in(func: &mut Func, region: Region, weight: &mut u64) {
    for op in func.take_ops(region) {
        for inner in func.op(op).regions().to_vec() {
            unroll_in(func, inner, weight);
        }
        match factor(func, op, weight) {
            Some(factor) => unroll_loop(func, region, op, factor),
            None => func.append(region, op),
        }
    }
}

/// By how much a loop is to be unrolled.
fn factor(func: &Func, op: OpId, weight: &mut u64) -> Option<u32> {
    let OpKind::For(ForAttrs { unroll: Some(factor), .. }) = func.op(op).kind else { return None };
    if *weight > MAX_WEIGHT / 2 {
        return None;
    }
    // Each trip also advances the counter.
    let trip = func.region_weight(func.op(op).regions()[0]) + 3;
    let factor = u64::from(factor).min(MAX_LOOP_WEIGHT / trip);
    *weight += trip * factor;
    u32::try_from(factor).ok().filter(|&factor| factor > 1)
}

fn unroll_loop(func: &mut Func, region: Region, op: OpId, factor: u32) {
    if let OpKind::For(attrs) = &mut func.op_mut(op).kind {
        attrs.unroll = None;
    }
    let results = match trips(func, op) {
        Some(trips) if trips <= i128::from(factor) => straight_line(func, region, op, trips),
        trips => {
            let rest_is_empty = trips.is_some_and(|trips| trips % i128::from(factor) == 0);
            let main = main_loop(func, region, op, factor, if rest_is_empty { Rest::None } else { Rest::Some });
            if rest_is_empty { func.op(main).results().to_vec() } else { rest(func, region, op, main) }
        }
    };
    for (old, new) in func.op(op).results().to_vec().into_iter().zip(results) {
        func.replace_all_uses(old, new);
    }
    func.erase(op);
}

/// How many trips a loop makes, if its bounds are constants.
fn trips(func: &Func, op: OpId) -> Option<i128> {
    let bound = |index: usize| int_constant(func, func.op(op).operands()[index]);
    let (from, to, step) = (bound(0)?, bound(1)?, bound(2)?);
    (step > 0).then(|| ((to - from).max(0) + step - 1) / step)
}

/// Whether trips may be left over.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Rest {
    None,
    Some,
}

/// Appends one trip of a loop to `target`; gives the next carried values.
fn trip(func: &mut Func, target: Region, op: OpId, counter: Value, carried: &[Value]) -> Vec<Value> {
    let body = func.op(op).regions()[0];
    let mut names = Renaming::default();
    let arguments = std::iter::once(counter).chain(carried.iter().copied());
    for (&param, argument) in func.region(body).params().iter().zip(arguments) {
        names.set(param, argument);
    }
    let ops = func.region(body).ops().to_vec();
    for &inner in &ops[..ops.len() - 1] {
        clone_op(Origin::Same, inner, func, target, &mut names);
    }
    func.yielded(body).iter().map(|&v| names.of(v)).collect()
}

/// `counter + n step`.
fn advanced(func: &mut Func, target: Region, op: OpId, counter: Value, n: u32) -> Value {
    if n == 0 {
        return counter;
    }
    let (span, step) = (func.op(op).span, func.op(op).operands()[2]);
    let mut b = Builder::at_end(func, target, span);
    let distance = scaled(&mut b, step, n);
    b.binary(BinaryOp::Add, counter, distance)
}

fn scaled(b: &mut Builder<'_>, value: Value, by: u32) -> Value {
    let ty = b.func.ty(value).clone();
    let by = b.int(i64::from(by), ty);
    b.binary(BinaryOp::Mul, value, by)
}

fn straight_line(func: &mut Func, region: Region, op: OpId, trips: i128) -> Vec<Value> {
    let from = func.op(op).operands()[0];
    let mut carried = func.op(op).operands()[3..].to_vec();
    for n in 0..u32::try_from(trips).unwrap_or(0) {
        let counter = advanced(func, region, op, from, n);
        carried = trip(func, region, op, counter, &carried);
    }
    carried
}

/// The loop whose trips each do `factor` of the old one's.
fn main_loop(func: &mut Func, region: Region, op: OpId, factor: u32, rest: Rest) -> OpId {
    let operands = func.op(op).operands().to_vec();
    let (from, to, step) = (operands[0], operands[1], operands[2]);
    let (kind, span) = (func.op(op).kind.clone(), func.op(op).span);
    let mut b = Builder::at_end(func, region, span);
    let to = match rest {
        Rest::None => to,
        Rest::Some => last_full_trip(&mut b, from, to, step, factor),
    };
    let wide_step = scaled(&mut b, step, factor);
    let body = b.func.new_region();
    let counter_type = b.func.ty(from).clone();
    let counter = b.func.add_param(body, counter_type);
    let mut carried: Vec<Value> = Vec::new();
    for &initial in &operands[3..] {
        let ty = b.func.ty(initial).clone();
        carried.push(b.func.add_param(body, ty));
    }
    for n in 0..factor {
        let counter = advanced(func, body, op, counter, n);
        carried = trip(func, body, op, counter, &carried);
    }
    let mut b = Builder::at_end(func, body, span);
    b.yield_(&carried);
    b.move_to_end(region);
    let start = [from, to, wide_step].into_iter().chain(operands[3..].iter().copied());
    let types: Vec<_> = operands[3..].iter().map(|&v| b.func.ty(v).clone()).collect();
    b.op(kind, start, types, [body])
}

/// Where the loop of full trips ends: `from + (trips / factor) * factor * step`.
fn last_full_trip(b: &mut Builder<'_>, from: Value, to: Value, step: Value, factor: u32) -> Value {
    // No trip at all rather than a negative number of them, also for unsigned counters.
    let to = b.binary(BinaryOp::Max, to, from);
    let distance = b.binary(BinaryOp::Sub, to, from);
    let wide = scaled(b, step, factor);
    // The trips left over after full ones cover `distance` rounded up to a step, so full ones cover this much:
    let ty = b.func.ty(step).clone();
    let one = b.int(1, ty);
    let step_less_one = b.binary(BinaryOp::Sub, step, one);
    let reach = b.binary(BinaryOp::Add, distance, step_less_one);
    let full = b.binary(BinaryOp::Div, reach, wide);
    let covered = b.binary(BinaryOp::Mul, full, wide);
    b.binary(BinaryOp::Add, from, covered)
}

/// The old loop, for the trips that the main one leaves over.
fn rest(func: &mut Func, region: Region, op: OpId, main: OpId) -> Vec<Value> {
    let end = func.op(main).operands()[1];
    let mut names = Renaming::default();
    let copy = clone_op(Origin::Same, op, func, region, &mut names);
    func.set_operand(copy, 0, end);
    for (index, result) in func.op(main).results().to_vec().into_iter().enumerate() {
        func.set_operand(copy, index + 3, result);
    }
    func.op(copy).results().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absurd_factor_makes_code_of_bounded_size() {
        let text = "kernel @k(%0: ptr<i32>, %1: i32) {\n  %2 = const {value = 0} () : i32\n  %3 = const {value = 1} () : i32\n  \
                    for {unroll = 4294967295} (%2, %1, %3) do (%4: i32) {\n    store (%0, %4)\n    yield ()\n  }\n  return ()\n}\n";
        let mut sources = shoal_source::SourceMap::default();
        let file = sources.add("test.tile", text);
        let mut module = shoal_ir::parse::module(text, file).expect("the kernel parses");
        unroll(&mut module);
        let ops = module.funcs[0].walk().len();
        assert!(ops > 1000, "the loop is unrolled");
        assert!(ops < 2 * MAX_LOOP_WEIGHT as usize, "{ops} operations");
    }
}
