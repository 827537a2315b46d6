//! **What.** Moves what a loop computes anew on each trip, although nothing in it changes, to before the loop.
//!
//! ```text
//! for (%0, %1, %2) do (%i: i32) {            %5 = mul (%n, %m) : i32
//!   %5 = mul (%n, %m) : i32           ==>    for (%0, %1, %2) do (%i: i32) {
//!   %6 = add (%5, %i) : i32                    %6 = add (%5, %i) : i32
//!   …                                          …
//! ```
//!
//! **Why here.** After `cse`, so that one copy moves; before the passes that look at what loops carry.
//!
//! - Pure operations move. The loop may run no trip at all, which costs time but changes nothing.
//! - Loads move only out of a `for` whose constant bounds say that it runs, and that has no effect that conflicts with
//!   a read: a load that would not have happened could fault.
//! - Tiles that cost nothing to make where they are used (constants, iotas, splats, broadcasts, reshapes) move only
//!   along with something that needs them outside: alone, they would only live longer.
//! - Loops marked `disable_licm` keep everything.

use std::collections::HashSet;

use cranelift_entity::EntitySet;
use shoal_ir::effects::{CallEffects, EffectTable};
use shoal_ir::op::OpKind;
use shoal_ir::{Func, Module, OpId, Region, Value};

use crate::constants::int_constant;
use shoal_ir::Structure;

/// Hoists invariant operations out of all loops.
pub fn licm(module: &mut Module) {
    let calls = CallEffects::of_module(module);
    for func in &mut module.funcs {
        let body = func.body();
        let effects = calls.table(func);
        hoist_in(func, &effects, body);
    }
}

/// Goes through a region, inner loops first, and puts what leaves a loop before it.
fn hoist_in(func: &mut Func, effects: &EffectTable, region: Region) {
    for op in func.take_ops(region) {
        for inner in func.op(op).regions().to_vec() {
            hoist_in(func, effects, inner);
        }
        if is_open_loop(&func.op(op).kind) {
            for moved in invariant_ops(func, effects, op) {
                func.append(region, moved);
            }
        }
        func.append(region, op);
    }
}

fn is_open_loop(kind: &OpKind) -> bool {
    match Structure::of(kind) {
        Structure::For | Structure::While => {
            !matches!(kind, OpKind::While { disable_licm: true }) && !matches!(kind, OpKind::For(a) if a.disable_licm)
        }
        Structure::If | Structure::Elements | Structure::Plain => false,
    }
}

/// Takes the invariant operations out of a loop's regions, in order.
fn invariant_ops(func: &mut Func, effects: &EffectTable, looped: OpId) -> Vec<OpId> {
    let regions = func.op(looped).regions().to_vec();
    let loads_may_move = certainly_runs(func, looped);
    // Values that differ from trip to trip.
    let mut varying = EntitySet::with_capacity(func.num_values());
    let mut candidates = Vec::new();
    for &region in &regions {
        for &param in func.region(region).params() {
            varying.insert(param);
        }
    }
    for &region in &regions {
        for &op in func.region(region).ops() {
            let own = effects[op];
            let moves = own.is_pure() || (loads_may_move && own.only_reads() && !effects[looped].conflicts(own));
            if moves && !func.op(op).results().is_empty() && !uses_any(func, op, &varying) {
                candidates.push(op);
            } else {
                for &result in func.op(op).results() {
                    varying.insert(result);
                }
            }
        }
    }
    let chosen = without_lone_free_tiles(func, candidates);
    if !chosen.is_empty() {
        let leaving: HashSet<OpId> = chosen.iter().copied().collect();
        for region in regions {
            for op in func.take_ops(region) {
                if !leaving.contains(&op) {
                    func.append(region, op);
                }
            }
        }
    }
    chosen
}

fn uses_any(func: &Func, op: OpId, values: &EntitySet<Value>) -> bool {
    let data = func.op(op);
    data.operands().iter().any(|&v| values.contains(v))
        || data.regions().iter().any(|&r| func.region(r).ops().iter().any(|&inner| uses_any(func, inner, values)))
}

/// Keeps free tiles only where another chosen operation uses them.
fn without_lone_free_tiles(func: &Func, candidates: Vec<OpId>) -> Vec<OpId> {
    let mut chosen: HashSet<OpId> = HashSet::new();
    for &op in candidates.iter().rev() {
        let used_outside = || {
            let uses = func.op(op).results().iter().flat_map(|&r| func.value(r).uses());
            uses.into_iter().any(|u| stands_in_chosen(func, u.op, &chosen))
        };
        if !is_free_tile(func, op) || used_outside() {
            chosen.insert(op);
        }
    }
    candidates.into_iter().filter(|op| chosen.contains(op)).collect()
}

/// Whether an operation is chosen or lies inside one that is.
fn stands_in_chosen(func: &Func, op: OpId, chosen: &HashSet<OpId>) -> bool {
    let mut current = Some(op);
    while let Some(op) = current {
        if chosen.contains(&op) {
            return true;
        }
        current = func.op(op).parent().and_then(|region| func.region(region).owner());
    }
    false
}

fn is_free_tile(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    let cheap = matches!(
        data.kind,
        OpKind::Const(_) | OpKind::Iota { .. } | OpKind::Splat | OpKind::Broadcast | OpKind::Reshape
    );
    cheap && func.ty(data.results()[0]).is_tile()
}

fn certainly_runs(func: &Func, looped: OpId) -> bool {
    let data = func.op(looped);
    Structure::of(&data.kind) == Structure::For
        && match (int_constant(func, data.operands()[0]), int_constant(func, data.operands()[1])) {
            (Some(from), Some(to)) => from < to,
            (Some(_), None) | (None, _) => false,
        }
}
