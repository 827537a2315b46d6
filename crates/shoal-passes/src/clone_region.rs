//! Copies operations, with everything inside them, to another place or another function.
//!
//! The copy is the original with its values renamed: a [`Renaming`] says which value stands for which. Values without
//! an entry stand for themselves, so operations copied within one function go on using what is defined around them.

use std::collections::HashMap;

use shoal_ir::{Func, OpId, Region, Value};

/// Which value of the target stands for a value of the source.
#[derive(Debug, Default)]
pub struct Renaming {
    names: HashMap<Value, Value>,
}

impl Renaming {
    /// Lets `new` stand for `old`.
    pub fn set(&mut self, old: Value, new: Value) {
        self.names.insert(old, new);
    }

    /// What stands for `old`.
    pub fn of(&self, old: Value) -> Value {
        self.names.get(&old).copied().unwrap_or(old)
    }
}

/// Where the originals are.
#[derive(Copy, Clone, Debug)]
pub enum Origin<'f> {
    /// In the function that also gets the copies.
    Same,
    /// In another one.
    Other(&'f Func),
}

impl<'f> Origin<'f> {
    fn func<'a>(self, into: &'a Func) -> &'a Func
    where
        'f: 'a,
    {
        match self {
            Origin::Same => into,
            Origin::Other(func) => func,
        }
    }
}

/// Appends a copy of `op` to `target`; its results get new names.
pub fn clone_op(origin: Origin<'_>, op: OpId, into: &mut Func, target: Region, names: &mut Renaming) -> OpId {
    let source = origin.func(into);
    let data = source.op(op).clone();
    let is_by_lanes = source.by_lanes.contains(op);
    let types: Vec<_> = data.results().iter().map(|&r| source.ty(r).clone()).collect();
    let regions: Vec<Region> = data
        .regions()
        .iter()
        .map(|&region| {
            let copy = into.new_region();
            clone_params(origin, region, into, copy, names);
            clone_ops(origin, region, into, copy, names);
            copy
        })
        .collect();
    let operands: Vec<Value> = data.operands().iter().map(|&v| names.of(v)).collect();
    let copy = into.make_op(data.kind.clone(), operands, types, regions, data.span);
    for (index, &old) in data.results().iter().enumerate() {
        let new = into.op(copy).results()[index];
        names.set(old, new);
        copy_notes(origin, old, into, new);
    }
    if is_by_lanes {
        into.by_lanes.insert(copy);
    }
    into.append(target, copy);
    copy
}

/// Appends copies of all operations of `region`, its terminator included, to `target`.
pub fn clone_ops(origin: Origin<'_>, region: Region, into: &mut Func, target: Region, names: &mut Renaming) {
    let ops = origin.func(into).region(region).ops().to_vec();
    for op in ops {
        clone_op(origin, op, into, target, names);
    }
}

/// Gives `target` the parameters of `region`, under new names.
pub fn clone_params(origin: Origin<'_>, region: Region, into: &mut Func, target: Region, names: &mut Renaming) {
    let params = origin.func(into).region(region).params().to_vec();
    for old in params {
        let ty = origin.func(into).ty(old).clone();
        let new = into.add_param(target, ty);
        names.set(old, new);
        copy_notes(origin, old, into, new);
    }
}

/// Copies a value's promises and its user's name.
fn copy_notes(origin: Origin<'_>, old: Value, into: &mut Func, new: Value) {
    let data = origin.func(into).value(old);
    let (facts, name) = (data.facts.clone(), data.name.clone());
    let target = into.value_mut(new);
    target.facts = facts;
    target.name = name;
}
