//! Inductions of `for`.

use shoal_ir::{Func, OpId, Region};

use super::{Movement, hand_over, movement, start_at_zero, turn_into_distance};

/// A carried tile.
struct Induction {
    /// Its place among the carried values.
    index: usize,
    movement: Movement,
}

fn inductions(func: &Func, op: OpId) -> Vec<Induction> {
    let body = func.op(op).regions()[0];
    let params = &func.region(body).params()[1..];
    let carried = params.iter().zip(func.yielded(body)).enumerate();
    carried
        .filter_map(|(index, (&param, &next))| Some(Induction { index, movement: movement(func, param, next)? }))
        .collect()
}

/// Puts down a loop, with what belongs before and after it.
pub(super) fn split(func: &mut Func, region: Region, op: OpId) {
    let inductions = inductions(func, op);
    if inductions.is_empty() {
        func.append(region, op);
        return;
    }
    let body = func.op(op).regions()[0];
    let mut starts = Vec::new();
    for Induction { index, movement } in &inductions {
        starts.push(start_at_zero(func, region, op, index + 3, movement.distance));
    }
    // At the head of the body the tiles are made anew; at its end the distances grow.
    let mut ops = func.take_ops(body);
    let end = ops.pop().expect("a region ends in a terminator");
    for (Induction { index, movement }, &start) in inductions.iter().zip(&starts) {
        let param = func.region(body).params()[index + 1];
        turn_into_distance(func, body, op, param, start, movement.distance);
    }
    for inner in ops {
        func.append(body, inner);
    }
    for Induction { index, movement } in &inductions {
        let param = func.region(body).params()[index + 1];
        hand_over(func, body, end, *index, param, &movement.steps);
    }
    func.append(body, end);
    func.append(region, op);
    for (Induction { index, movement }, &start) in inductions.iter().zip(&starts) {
        let result = func.op(op).results()[*index];
        turn_into_distance(func, region, op, result, start, movement.distance);
    }
}
