//! What must hold of a module. Whatever passes here is compiled and interpreted without a panic.
//!
//! This file holds the rules of structure: names, scope, regions, terminators. `typing` holds those of each
//! operation's operands and results.

mod comm;
mod control;
mod memory;
mod typing;

use std::collections::{HashMap, HashSet};

use cranelift_entity::{EntityRef, EntitySet};
use shoal_source::Diagnostic;

use crate::class::{OpClass, Structure};
use crate::effects::CallEffects;
use crate::func::{Func, FuncKind, MAX_WARPS, Module, OpId, Region, Value};
use crate::op::OpKind;
use crate::types::{MAX_TILE_ELEMENTS, Type};

/// Checks a module; gives all that is wrong with it.
pub fn verify(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let calls = CallEffects::of_module(module);
    let mut names = HashSet::new();
    for func in &module.funcs {
        if !names.insert(func.name.as_str()) {
            errors.push(Diagnostic::error(func.span, format!("two functions are called `{}`", func.name)));
        }
        Verifier {
            module,
            calls: &calls,
            func,
            visible: EntitySet::with_capacity(func.num_values()),
            errors: &mut errors,
        }
        .func();
    }
    if errors.is_empty() {
        errors.extend(recursion(module));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Functions may not call themselves, directly or through others: there is no stack to grow on a device.
fn recursion(module: &Module) -> Option<Diagnostic> {
    /// How far a function is.
    #[derive(Copy, Clone, PartialEq, Eq)]
    enum State {
        OnPath,
        Done,
    }
    fn visit<'m>(
        by_name: &HashMap<&'m str, &'m Func>,
        func: &'m Func,
        states: &mut HashMap<&'m str, State>,
    ) -> Option<Diagnostic> {
        if states.contains_key(func.name.as_str()) {
            return None;
        }
        states.insert(&func.name, State::OnPath);
        for op in func.walk() {
            let OpClass::Call(callee) = func.op(op).kind.class() else { continue };
            if states.get(callee) == Some(&State::OnPath) {
                return Some(Diagnostic::error(func.op(op).span, format!("`{callee}` ends up calling itself")));
            }
            let found = by_name.get(callee).and_then(|callee| visit(by_name, callee, states));
            if found.is_some() {
                return found;
            }
        }
        states.insert(&func.name, State::Done);
        None
    }
    let by_name: HashMap<&str, &Func> = module.funcs.iter().map(|f| (f.name.as_str(), f)).collect();
    let mut states = HashMap::new();
    module.funcs.iter().find_map(|func| visit(&by_name, func, &mut states))
}

struct Verifier<'m> {
    module: &'m Module,
    calls: &'m CallEffects,
    func: &'m Func,
    visible: EntitySet<Value>,
    errors: &'m mut Vec<Diagnostic>,
}

impl Verifier<'_> {
    fn func(&mut self) {
        let func = self.func;
        if func.kind == FuncKind::Kernel && !func.results.is_empty() {
            self.errors.push(Diagnostic::error(func.span, "a kernel returns nothing"));
        }
        let comes_from_host = |ty: &Type| match ty {
            Type::Elem(_) | Type::Desc(_) => true,
            Type::Tile(_) | Type::Token => false,
        };
        if func.kind == FuncKind::Kernel && !func.params().iter().all(|&p| comes_from_host(func.ty(p))) {
            self.errors
                .push(Diagnostic::error(func.span, "a kernel's parameters are scalars, pointers and descriptors"));
        }
        if !func.gpu.num_warps.is_power_of_two() || func.gpu.num_warps > MAX_WARPS {
            let message = format!("`num_warps` must be a power of two up to {MAX_WARPS}, not {}", func.gpu.num_warps);
            self.errors.push(Diagnostic::error(func.span, message));
        }
        for ty in &func.results {
            if let Err(why) = well_formed(ty) {
                self.errors.push(Diagnostic::error(func.span, why));
            }
        }
        self.region(func.body(), None);
    }

    fn region(&mut self, region: Region, owner: Option<OpId>) {
        let data = self.func.region(region);
        let span = owner.map_or(self.func.span, |op| self.func.op(op).span);
        for &param in data.params() {
            self.value(param, span);
        }
        let Some((&last, rest)) = data.ops().split_last() else {
            let message = format!("this region is empty; it ends in `{}`", self.terminators(region, owner));
            self.errors.push(Diagnostic::error(span, message));
            return;
        };
        for &op in rest {
            if self.func.op(op).kind.is_terminator() {
                let message = "operations follow the one that ends this region";
                self.errors.push(Diagnostic::error(self.func.op(op).span, message));
            }
            self.op(op);
        }
        self.op(last);
        let expected = self.terminators(region, owner);
        let (found, _) = crate::print::spell(&self.func.op(last).kind);
        if found != expected {
            let message = format!("this region ends in `{found}`, but must end in `{expected}`");
            self.errors.push(Diagnostic::error(self.func.op(last).span, message));
        }
        for &param in data.params() {
            self.visible.remove(param);
        }
        for &op in data.ops() {
            for &result in self.func.op(op).results() {
                self.visible.remove(result);
            }
        }
    }

    /// What ends a region.
    fn terminators(&self, region: Region, owner: Option<OpId>) -> &'static str {
        match owner.map(|op| self.func.op(op)) {
            None => "return",
            Some(op) if matches!(op.kind, OpKind::While { .. }) && op.regions()[0] == region => "condition",
            Some(_) => "yield",
        }
    }

    fn value(&mut self, value: Value, span: shoal_source::Span) {
        self.visible.insert(value);
        if let Err(why) = well_formed(self.func.ty(value)) {
            self.errors.push(Diagnostic::error(span, why));
        }
        let (facts, rank) = (&self.func.value(value).facts, self.func.ty(value).shape().len().max(1));
        for list in [&facts.divisible, &facts.contiguous, &facts.constant] {
            if !list.is_empty() && (list.len() != rank || list.contains(&0)) {
                let message = "facts give one positive number for each dimension";
                self.errors.push(Diagnostic::error(span, message));
            }
        }
    }

    fn op(&mut self, op: OpId) {
        let data = self.func.op(op);
        let mut hidden = false;
        for &operand in data.operands() {
            if !self.visible.contains(operand) {
                hidden = true;
                let message = format!(
                    "`{}` uses a value that is not visible here ({})",
                    crate::print::spell(&data.kind).0,
                    operand.index()
                );
                self.errors.push(Diagnostic::error(data.span, message));
            }
        }
        let wanted = Structure::of(&data.kind).regions();
        if data.regions().len() != wanted {
            let message =
                format!("`{}` has {wanted} regions, not {}", crate::print::spell(&data.kind).0, data.regions().len());
            self.errors.push(Diagnostic::error(data.span, message));
            // What follows is judged as if this were right.
            for &result in data.results() {
                self.visible.insert(result);
            }
            return;
        }
        for &result in data.results() {
            self.value(result, data.span);
            // A value is visible to what follows, not to the operation's own regions.
            self.visible.remove(result);
        }
        for &region in data.regions() {
            self.region(region, Some(op));
        }
        for &result in data.results() {
            self.visible.insert(result);
        }
        if !hidden && let Err(why) = typing::check(self.module, self.calls, self.func, op) {
            self.errors.push(Diagnostic::error(data.span, format!("`{}`: {why}", crate::print::spell(&data.kind).0)));
        }
    }
}

fn well_formed(ty: &Type) -> Result<(), String> {
    let shape = match ty {
        Type::Elem(_) | Type::Token => return Ok(()),
        Type::Tile(tile) => &tile.shape,
        Type::Desc(desc) => &desc.block,
    };
    if shape.is_empty() {
        return Err(format!("`{ty}` has no dimension"));
    }
    if shape.iter().any(|d| !d.is_power_of_two()) {
        return Err(format!("`{ty}` has a dimension that is not a power of two"));
    }
    let elements = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::from(d)));
    if elements.is_none_or(|n| n > MAX_TILE_ELEMENTS) {
        return Err(format!("`{ty}` has more than {MAX_TILE_ELEMENTS} elements"));
    }
    let layout = ty.as_tile().and_then(|tile| tile.layout.as_ref());
    if layout.is_some_and(|layout| layout.shape() != ty.shape()) {
        return Err(format!("`{ty}` has the layout of another shape"));
    }
    Ok(())
}
