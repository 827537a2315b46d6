//! **What.** Replaces calls of device functions by their bodies, and removes the functions nobody calls any more.
//! Functions marked `noinline` stay calls, and so does a call that closes a cycle.
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
//! **Why here.** First of all: every other pass looks at one function at a time, and a call hides what it does from
//! all of them.

use std::collections::{HashMap, HashSet};

use shoal_ir::{Func, FuncKind, Module, OpId, OpKind, Region};

use crate::clone_region::{Origin, Renaming, clone_op};
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
    };
    for index in 0..module.funcs.len() {
        inliner.finish(module, index);
    }
    remove_uncalled(module, &called_before);
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
            self.inline_region(module, &mut func, body);
            module.funcs[index] = func;
        }
        self.state[index] = State::Done;
    }

    fn inline_region(&self, module: &Module, func: &mut Func, region: Region) {
        for op in func.take_ops(region) {
            match self.body_of(module, func, op) {
                Some(callee) => inline_call(func, region, op, callee),
                None => {
                    func.append(region, op);
                    for inner in func.op(op).regions().to_vec() {
                        self.inline_region(module, func, inner);
                    }
                }
            }
        }
    }

    /// The function whose body takes the place of `op`, if it is such a call.
    fn body_of<'m>(&self, module: &'m Module, func: &Func, op: OpId) -> Option<&'m Func> {
        let OpKind::Call { callee } = &func.op(op).kind else { return None };
        let index = *self.by_name.get(callee)?;
        let callee = &module.funcs[index];
        (self.state[index] == State::Done && !callee.noinline && callee.kind == FuncKind::Device).then_some(callee)
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
