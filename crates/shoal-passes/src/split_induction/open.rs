//! Inductions of `while`: a carried tile goes through the condition into the body, where it moves.

use shoal_ir::{Func, OpId, Region};

use super::{Movement, hand_over, movement, start_at_zero, turn_into_distance};

/// A carried tile.
struct Induction {
    /// Its place among the carried values.
    index: usize,
    /// Its place among the values that the condition hands on.
    handed_on: usize,
    movement: Movement,
}

fn inductions(func: &Func, op: OpId) -> Vec<Induction> {
    let [before, body] = [func.op(op).regions()[0], func.op(op).regions()[1]];
    let params = func.region(before).params();
    let carried = params.iter().zip(func.yielded(body)).enumerate();
    carried
        .filter_map(|(index, (&param, &next))| {
            let handed_on = func.yielded(before)[1..].iter().position(|&v| v == param)?;
            let tile = func.region(body).params()[handed_on];
            Some(Induction { index, handed_on, movement: movement(func, tile, next)? })
        })
        .collect()
}

/// Puts down a loop, with what belongs before and after it.
pub(super) fn split(func: &mut Func, region: Region, op: OpId) {
    let inductions = inductions(func, op);
    if inductions.is_empty() {
        func.append(region, op);
        return;
    }
    let [before, body] = [func.op(op).regions()[0], func.op(op).regions()[1]];
    let mut starts = Vec::new();
    for Induction { index, movement, .. } in &inductions {
        starts.push(start_at_zero(func, region, op, *index, movement.distance));
    }
    for inner in [before, body] {
        let mut ops = func.take_ops(inner);
        let end = ops.pop().expect("a region ends in a terminator");
        let place = |i: &Induction| if inner == before { i.index } else { i.handed_on };
        for (induction, &start) in inductions.iter().zip(&starts) {
            let param = func.region(inner).params()[place(induction)];
            turn_into_distance(func, inner, op, param, start, induction.movement.distance);
        }
        for inner_op in ops {
            func.append(inner, inner_op);
        }
        for induction in &inductions {
            let param = func.region(inner).params()[place(induction)];
            if inner == before {
                hand_over(func, inner, end, induction.handed_on + 1, param, &[]);
            } else {
                hand_over(func, inner, end, induction.index, param, &induction.movement.steps);
            }
        }
        func.append(inner, end);
    }
    func.append(region, op);
    for (Induction { handed_on, movement, .. }, &start) in inductions.iter().zip(&starts) {
        let result = func.op(op).results()[*handed_on];
        turn_into_distance(func, region, op, result, start, movement.distance);
    }
}
