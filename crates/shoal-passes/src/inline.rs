//! **What.** Replaces calls of device functions by their bodies, and removes the functions nobody calls any more.
//! Functions marked `noinline` stay calls, and so does a call that closes a cycle, and one whose body would make the
//! function heavier than [`MAX_WEIGHT`]: functions that call the next one twice double with each level.
//!
//! ```text
//! func @twice(%0: f32) -> (f32) {            kernel @k(%0: f32) {
//!   %1 = add (%0, %0) : f32                    %1 = add (%0, %0) : f32
//!   return (%1)                         ==>    …
//! }                                          }
//! kernel @k(%0: f32) {
//!   %1 = call {callee = "twice"} (%0) : f32
//!   …
//! }
//! ```
//!
//! What is dead then is removed: a function that is applied to elements may call one that looks at the type of a tile, and
//! has no room for the tile itself.
//!
//! **Why here.** First of all: every other pass looks at one function at a time, and a call hides what it does from
//! all of them.

use std::collections::{HashMap, HashSet};

use shoal_ir::{Func, FuncKind, MAX_WEIGHT, Module, OpId, OpKind, Region};

use crate::clone_region::{Origin, Renaming, clone_op};
use crate::dce::dce;
use crate::facts::replace_value;

/// Inlines all calls that may be inlined.
pub fn inline(module: &mut Module) {
    let called_before: HashSet<String> = module.funcs.iter().flat_map(callees).collect();
    if called_before.is_empty() {
        return;
    }
    let mut inliner = Inliner {
        by_name: module.funcs.iter().enumerate().map(|(i, f)| (f.name.clone(), i)).collect(),
        state: vec![State::Open; module.funcs.len()],
        weight: module.funcs.iter().map(|f| f.region_weight(f.body())).collect(),
    };
    for index in 0..module.funcs.len() {
        inliner.finish(module, index);
    }
    remove_uncalled(module, &called_before);
    dce(module);
}

/// How far a function is.
#[derive(Copy, Clone, PartialEq, Eq)]
enum State {
    Open,
    Busy,
    Done,
}

struct Inliner {
    by_name: HashMap<String, usize>,
    state: Vec<State>,
    /// Of each function, as far as it is inlined.
    weight: Vec<u64>,
}

impl Inliner {
    /// Inlines everything into function `index`, its callees first, so that each body is copied in its final form.
    fn finish(&mut self, module: &mut Module, index: usize) {
        if self.state[index] != State::Open {
            return;
        }
        self.state[index] = State::Busy;
        let names = callees(&module.funcs[index]);
        if !names.is_empty() {
            for callee in names {
                if let Some(&callee) = self.by_name.get(&callee) {
                    self.finish(module, callee);
                }
            }
            let span = module.funcs[index].span;
            let stand_in = Func::new(String::new(), FuncKind::Device, span);
            let mut func = std::mem::replace(&mut module.funcs[index], stand_in);
            let body = func.body();
            self.inline_region(module, &mut func, index, body);
            module.funcs[index] = func;
        }
        self.state[index] = State::Done;
    }

    fn inline_region(&mut self, module: &Module, func: &mut Func, index: usize, region: Region) {
        for op in func.take_ops(region) {
            match self.body_of(module, func, op) {
                Some(callee) if self.weight_with(index, callee) <= MAX_WEIGHT => {
                    self.weight[index] = self.weight_with(index, callee);
                    inline_call(func, region, op, &module.funcs[callee]);
                }
                Some(_) | None => {
                    func.append(region, op);
                    for inner in func.op(op).regions().to_vec() {
                        self.inline_region(module, func, index, inner);
                    }
                }
            }
        }
    }

    /// The weight of a function after a call is inlined; the call and the callee's `return` go.
    fn weight_with(&self, index: usize, callee: usize) -> u64 {
        (self.weight[index] + self.weight[callee]).saturating_sub(2)
    }

    /// The function whose body takes the place of `op`, if it is such a call.
    fn body_of(&self, module: &Module, func: &Func, op: OpId) -> Option<usize> {
        let OpKind::Call { callee } = &func.op(op).kind else { return None };
        let index = *self.by_name.get(callee)?;
        let callee = &module.funcs[index];
        (self.state[index] == State::Done && !callee.noinline && callee.kind == FuncKind::Device).then_some(index)
    }
}

fn inline_call(func: &mut Func, region: Region, call: OpId, callee: &Func) {
    let mut names = Renaming::default();
    for (&param, &argument) in callee.params().iter().zip(func.op(call).operands()) {
        names.set(param, argument);
    }
    for &op in callee.region(callee.body()).ops() {
        if matches!(callee.op(op).kind, OpKind::Return) {
            let results = func.op(call).results().to_vec();
            for (old, &returned) in results.into_iter().zip(callee.op(op).operands()) {
                replace_value(func, region, old, names.of(returned));
            }
        } else {
            clone_op(Origin::Other(callee), op, func, region, &mut names);
        }
    }
    func.erase(call);
}

/// The functions that are called from `func`.
fn callees(func: &Func) -> Vec<String> {
    let mut names = Vec::new();
    for op in func.walk() {
        if let OpKind::Call { callee } = &func.op(op).kind {
            names.push(callee.clone());
        }
    }
    names
}

/// Removes the functions that were called once and can no longer be reached from a kernel or from a function that never
/// was called (which somebody outside the module may want).
fn remove_uncalled(module: &mut Module, called_before: &HashSet<String>) {
    let mut reached: HashSet<String> = HashSet::new();
    let mut open: Vec<String> = module
        .funcs
        .iter()
        .filter(|f| f.kind == FuncKind::Kernel || !called_before.contains(&f.name))
        .map(|f| f.name.clone())
        .collect();
    while let Some(name) = open.pop() {
        if reached.insert(name.clone()) {
            open.extend(module.func(&name).into_iter().flat_map(callees));
        }
    }
    module.funcs.retain(|f| reached.contains(&f.name));
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn calls_that_double_are_inlined_up_to_the_limit() {
        let mut text = String::from("func @f0(%0: f32) -> (f32) {\n  %1 = add (%0, %0) : f32\n  return (%1)\n}\n");
        for level in 1..60 {
            let call = format!("call {{callee = \"f{}\"}}", level - 1);
            let _ = write!(
                text,
                "func @f{level}(%0: f32) -> (f32) {{\n  %1 = {call} (%0) : f32\n  %2 = {call} (%1) : f32\n  return (%2)\n}}\n"
            );
        }
        text.push_str(
            "kernel @k(%0: f32, %1: ptr<f32>) {\n  %2 = call {callee = \"f59\"} (%0) : f32\n  store (%1, %2)\n  return ()\n}\n",
        );
        let mut sources = shoal_source::SourceMap::default();
        let file = sources.add("test.tile", text.as_str());
        let mut module = shoal_ir::parse::module(&text, file).expect("the kernel parses");
        inline(&mut module);
        for func in &module.funcs {
            assert!(func.region_weight(func.body()) <= MAX_WEIGHT, "{}", func.name);
        }
        assert!(module.func("k").is_some_and(|k| !callees(k).is_empty()), "the rest stays calls");
        assert!(module.funcs.iter().any(|f| f.region_weight(f.body()) > MAX_WEIGHT / 4), "what fits is inlined");
    }
}
