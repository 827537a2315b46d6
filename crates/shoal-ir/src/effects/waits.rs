//! Which programs may have to wait for others.
//!
//! A program waits at an operation that says so, and in a `while` loop that watches memory: one that goes round until
//! somebody else writes what it reads. Both are scheduling points, and a kernel with any of them runs on fibers.

use cranelift_entity::EntitySet;

use super::{CallEffects, Effects};
use crate::class::{AccessOp, OpClass, Structure};
use crate::func::{Func, Module, OpId, Region, Value, ValueDef};

/// Whether a program of this function may wait for another one.
pub fn may_wait(module: &Module, func: &Func) -> bool {
    CallEffects::of_module(module).of_func(&func.name).waits
}

/// Whether a `while` loop may be waiting for another program: its condition rereads memory, or it synchronises.
pub fn watches_memory(func: &Func, looped: OpId) -> bool {
    match func.op(looped).regions() {
        &[before, body] => watches(func, looped, (super::of_region(func, before), super::of_region(func, body))),
        _ => false,
    }
}

/// The same, with the effects of its condition and of its body at hand.
pub(super) fn watches(func: &Func, looped: OpId, (condition, body): (Effects, Effects)) -> bool {
    condition.reads.any()
        || condition.order.is_some()
        || body.order.is_some()
        || (body.reads.any() && (body.pinned || rereads(func, looped)))
}

/// Whether what a loop's condition depends on comes from a load, in the loop's body, of an address that is the same on
/// every trip. (A search reads other addresses on every trip, and ends by itself.)
fn rereads(func: &Func, looped: OpId) -> bool {
    let Some(condition) = func.op(looped).regions().first().and_then(|&before| func.terminator(before)) else {
        return false;
    };
    let mut slice = Slice::new(func, looped);
    slice.add_at(func.op(condition).operands(), 0);
    let invariants = slice.invariants();
    while let Some(value) = slice.open.pop() {
        if let Some(load) = func.def_op(value).filter(|&op| is_load(func, op))
            && func.op(load).operands().first().is_some_and(|&v| invariants.contains(v) || !slice.is_inside(v))
        {
            return true;
        }
        slice.add_sources(value);
    }
    false
}

fn is_load(func: &Func, op: OpId) -> bool {
    matches!(func.op(op).kind.class(), OpClass::Access(AccessOp::Load(_)))
}

/// Values that others are computed from, inside a loop.
pub(super) struct Slice<'f> {
    func: &'f Func,
    looped: OpId,
    seen: EntitySet<Value>,
    pub(super) open: Vec<Value>,
}

impl<'f> Slice<'f> {
    pub(super) fn new(func: &'f Func, looped: OpId) -> Self {
        Slice { func, looped, seen: EntitySet::new(), open: Vec::new() }
    }

    fn add_all(&mut self, values: &[Value]) {
        for &value in values {
            if !self.seen.contains(value) && self.is_inside(value) {
                self.seen.insert(value);
                self.open.push(value);
            }
        }
    }

    pub(super) fn is_inside(&self, value: Value) -> bool {
        let regions = self.func.op(self.looped).regions();
        let home = match self.func.value(value).def() {
            ValueDef::Param(region, _) => Some(region),
            ValueDef::Result(op, _) => self.func.op(op).parent(),
        };
        home.is_some_and(|home| regions.iter().any(|&region| self.func.is_inside(home, region)))
    }

    /// What a value is computed from, through branches and around loops. The function may not be verified yet, so
    /// lists may be too short.
    pub(super) fn add_sources(&mut self, value: Value) {
        let func = self.func;
        let handed_over = |region: Option<&Region>| {
            let end = region.and_then(|&region| func.terminator(region));
            end.map_or(&[][..], |end| func.op(end).operands())
        };
        let (owner, inside, index) = match func.value(value).def() {
            ValueDef::Result(op, index) => (Some(op), None, index as usize),
            ValueDef::Param(region, index) => (func.region(region).owner(), Some(region), index as usize),
        };
        let Some(op) = owner else { return };
        let (operands, regions) = (func.op(op).operands(), func.op(op).regions());
        match (Structure::of_op(func, op), inside) {
            (Structure::If, _) => {
                self.add_at(operands, 0);
                regions.iter().for_each(|region| self.add_at(handed_over(Some(region)), index));
            }
            (Structure::For, Some(_)) if index == 0 => self.add_all(operands.get(..3).unwrap_or(operands)),
            (Structure::For, _) => {
                let carried = if inside.is_some() { index - 1 } else { index };
                self.add_all(operands.get(..3).unwrap_or(operands));
                self.add_at(operands, 3 + carried);
                self.add_at(handed_over(regions.first()), carried);
            }
            (Structure::While, Some(region)) if regions.first() == Some(&region) => {
                self.add_at(operands, index);
                self.add_at(handed_over(regions.get(1)), index);
            }
            (Structure::While, _) => {
                self.add_at(handed_over(regions.first()), 0);
                self.add_at(handed_over(regions.first()), 1 + index);
            }
            (Structure::Elements | Structure::Plain, _) => self.add_all(operands),
        }
    }

    fn add_at(&mut self, values: &[Value], index: usize) {
        self.add_all(values.get(index..=index).unwrap_or(&[]));
    }

    /// The values of the loop that depend on nothing that a trip, of this loop or of one inside it, changes.
    fn invariants(&self) -> EntitySet<Value> {
        let func = self.func;
        let mut ops = Vec::new();
        for &region in func.op(self.looped).regions() {
            func.walk_region(region, &mut ops);
        }
        let mut invariants = EntitySet::new();
        for op in ops {
            let data = func.op(op);
            let computes = data.regions().is_empty() && super::of_kind(&data.kind).is_pure();
            if computes && data.operands().iter().all(|&v| invariants.contains(v) || !self.is_inside(v)) {
                invariants.extend(data.results().iter().copied());
            }
        }
        invariants
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn waits(body: &str) -> bool {
        let text = format!(
            "kernel @k(%p: ptr<i32>, %n: i32) {{\n  %zero = const {{value = 0}} () : i32\n  {body}\n  return ()\n}}"
        );
        let module = parse::module(&text, shoal_source::Span::NONE.file).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        crate::verify(&module).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        may_wait(&module, &module.funcs[0])
    }

    #[test]
    fn polls_wait() {
        assert!(waits("%a = atomic_poll {sem = acquire, scope = gpu} (%p, %n) : i1"));
        assert!(!waits("%a = atomic_load {sem = acquire, scope = gpu} (%p) : i32"));
    }

    #[test]
    fn loops_whose_condition_reads_memory_wait() {
        assert!(waits(
            "while () do {
               %v = load (%p) : i32
               %c = cmp {is = eq} (%v, %zero) : i1
               condition (%c)
             } do {
               yield ()
             }"
        ));
    }

    #[test]
    fn loops_whose_body_rereads_what_the_condition_needs_wait() {
        let looped = |address: &str| {
            format!(
                "%r = while (%n) : i32 do (%v: i32) {{
                   %c = cmp {{is = eq}} (%v, %zero) : i1
                   condition (%c, %v)
                 }} do (%w: i32) {{
                   %q = ptr_add (%p, {address}) : ptr<i32>
                   %x = load (%q) : i32
                   yield (%x)
                 }}"
            )
        };
        assert!(waits(&looped("%n")));
        assert!(!waits(&looped("%w")), "a search ends by itself");
    }

    #[test]
    fn loops_that_only_compute_do_not_wait() {
        assert!(!waits(
            "%r, %s = while (%n, %zero) : i32, i32 do (%v: i32, %t: i32) {
               %c = cmp {is = gt} (%v, %zero) : i1
               condition (%c, %v, %t)
             } do (%w: i32, %u: i32) {
               %one = const {value = 1} () : i32
               %next = sub (%w, %one) : i32
               %x = load (%p) : i32
               %sum = add (%u, %x) : i32
               yield (%next, %sum)
             }"
        ));
    }

    #[test]
    fn loops_that_synchronise_wait() {
        assert!(waits(
            "%r = while (%n) : i32 do (%v: i32) {
               %c = cmp {is = eq} (%v, %zero) : i1
               condition (%c, %v)
             } do (%w: i32) {
               %x = atomic_cas {sem = acq_rel, scope = gpu} (%p, %zero, %n) : i32
               yield (%x)
             }"
        ));
    }
}
