//! Loops that only look at memory, so that nobody but others can end them.
//!
//! A loop that [watches memory](super::watches_memory) may end by itself as well: it counts its looks, looks at the clock, or
//! changes the memory that it looks at. Then nobody can say that it waits in vain.

use std::collections::{BTreeMap, BTreeSet};

use super::waits::Slice;
use crate::class::{AtomicOp, OpClass, Structure};
use crate::func::{Func, OpId, Region, Value, ValueDef};
use crate::op::{OpKind, RmwOp};
use crate::types::{Scalar, Type};

/// Whether every trip of a `while` loop does the same as the one before, unless others have changed what it reads.
pub fn only_looks(func: &Func, looped: OpId) -> bool {
    let &[before, body] = func.op(looped).regions() else { return false };
    let mut ops = Vec::new();
    for region in [before, body] {
        func.walk_region(region, &mut ops);
    }
    let trips = Trips { func, looped, before, body };
    !ops.into_iter().any(|op| trips.change_memory(op)) && !trips.count()
}

/// The trips of a loop, and what each hands to the next.
struct Trips<'f> {
    func: &'f Func,
    looped: OpId,
    before: Region,
    body: Region,
}

/// What a value of a trip is computed from.
#[derive(Default)]
struct Sources {
    /// Values that the trip before has handed over, by their numbers.
    carried: BTreeSet<usize>,
    clock: bool,
}

impl Trips<'_> {
    /// Whether doing an operation once more may change memory.
    fn change_memory(&self, op: OpId) -> bool {
        let data = self.func.op(op);
        match data.kind.class() {
            OpClass::Atomic(AtomicOp::Load, ..) => false,
            // One that gives up by itself looks at the clock.
            OpClass::Atomic(AtomicOp::Poll, ..) => data.operands().len() > 2,
            OpClass::Atomic(AtomicOp::Rmw(RmwOp::Add | RmwOp::Xor), ..) => {
                let kind = data.operands().get(1).and_then(|&value| self.func.def_kind(value));
                !matches!(kind, Some(OpKind::Const(number)) if number.as_int() == Some(0))
            }
            // What these write once, they write again.
            OpClass::Atomic(
                AtomicOp::Cas | AtomicOp::Rmw(RmwOp::Min | RmwOp::Max | RmwOp::And | RmwOp::Or | RmwOp::Xchg),
                ..,
            ) => !data.operands().iter().skip(1).all(|&value| self.repeat(value)),
            OpClass::Control(_) => false,
            OpClass::Call(_) => true,
            OpClass::Source(_)
            | OpClass::Elementwise(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Access(_)
            | OpClass::Atomic(AtomicOp::Store, ..)
            | OpClass::Desc(_)
            | OpClass::Comm(_)
            | OpClass::Effect(_)
            | OpClass::Terminator(_) => {
                let effects = super::of_kind(&data.kind);
                effects.writes.any() || effects.pending
            }
        }
    }

    /// Whether a value is the same on every trip, whatever others do.
    fn repeat(&self, value: Value) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![value]);
        while let Some(value) = open.pop() {
            if !seen.insert(value) || !self.slice().is_inside(value) {
                continue;
            }
            let ValueDef::Result(op, _) = self.func.value(value).def() else { return false };
            let data = self.func.op(op);
            if !matches!(data.kind.class(), OpClass::Source(_) | OpClass::Elementwise(_) | OpClass::Shape(_)) {
                return false;
            }
            open.extend(data.operands());
        }
        true
    }

    /// Whether the loop's condition depends on how many trips there were, or on the time.
    fn count(&self) -> bool {
        let Some(&condition) = self.handed(self.before).first() else { return true };
        let first = self.sources(condition, None);
        let (mut clock, mut open) = (first.clock, Vec::from_iter(first.carried));
        let mut edges: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        while let Some(carried) = open.pop() {
            if edges.contains_key(&carried) {
                continue;
            }
            let Some(&next) = self.handed(self.body).get(carried) else { return true };
            let sources = self.sources(next, Some(carried));
            clock |= sources.clock;
            open.extend(&sources.carried);
            edges.insert(carried, sources.carried);
        }
        // One truth value cannot count.
        edges.retain(|&carried, _| !self.is_truth(carried));
        clock || edges.keys().any(|&carried| depends_on_itself(&edges, carried))
    }

    fn is_truth(&self, carried: usize) -> bool {
        let value = self.func.region(self.before).params().get(carried);
        value.is_some_and(|&value| *self.func.ty(value) == Type::scalar(Scalar::I1))
    }

    /// The operands that end a region.
    fn handed(&self, region: Region) -> &[Value] {
        self.func.terminator(region).map_or(&[], |end| self.func.op(end).operands())
    }

    /// What `value` is computed from within a trip. That `keeps` is kept as it is does not count.
    fn sources(&self, value: Value, keeps: Option<usize>) -> Sources {
        let mut sources = Sources::default();
        let mut seen = BTreeSet::new();
        let mut open = vec![(value, keeps.is_some())];
        while let Some((value, is_kept)) = open.pop() {
            if !seen.insert((value, is_kept)) {
                continue;
            }
            match self.func.value(value).def() {
                ValueDef::Param(region, index) if region == self.before => {
                    if !is_kept || keeps != Some(index as usize) {
                        sources.carried.insert(index as usize);
                    }
                }
                ValueDef::Param(region, index) if region == self.body => {
                    open.extend(self.handed(self.before).get(1 + index as usize).map(|&passed| (passed, is_kept)));
                }
                ValueDef::Result(op, index) => self.add_operands(op, index as usize, is_kept, &mut open, &mut sources),
                ValueDef::Param(..) => self.add_others(value, &mut open),
            }
        }
        sources
    }

    fn add_operands(
        &self,
        op: OpId,
        index: usize,
        is_kept: bool,
        open: &mut Vec<(Value, bool)>,
        sources: &mut Sources,
    ) {
        let data = self.func.op(op);
        let operands = data.operands();
        // The operands after these may be handed on as they are.
        let computes_with = if matches!(data.kind, OpKind::Select) {
            1
        } else if matches!(data.kind, OpKind::Load(_)) {
            2
        } else {
            operands.len()
        };
        sources.clock |= matches!(data.kind, OpKind::Clock);
        match Structure::of_op(self.func, op) {
            Structure::If => {
                open.extend(operands.first().map(|&condition| (condition, false)));
                let yielded = data.regions().iter().filter_map(|&region| self.handed(region).get(index));
                open.extend(yielded.map(|&value| (value, is_kept)));
            }
            Structure::Plain => {
                let operands = operands.iter().enumerate().filter(|&(_, &value)| self.slice().is_inside(value));
                open.extend(operands.map(|(i, &value)| (value, is_kept && i >= computes_with)));
            }
            Structure::For | Structure::While | Structure::Elements => {
                if let Some(&value) = data.results().get(index) {
                    self.add_others(value, open);
                }
            }
        }
    }

    fn add_others(&self, value: Value, open: &mut Vec<(Value, bool)>) {
        let mut slice = self.slice();
        slice.add_sources(value);
        open.extend(slice.open.into_iter().map(|value| (value, false)));
    }

    fn slice(&self) -> Slice<'_> {
        Slice::new(self.func, self.looped)
    }
}

fn depends_on_itself(edges: &BTreeMap<usize, BTreeSet<usize>>, carried: usize) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![carried]);
    while let Some(next) = open.pop() {
        for &source in edges.get(&next).into_iter().flatten() {
            if source == carried {
                return true;
            }
            if seen.insert(source) {
                open.push(source);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn looks(body: &str) -> bool {
        let text = format!(
            "kernel @k(%p: ptr<i32>, %n: i32) {{\n  %zero = const {{value = 0}} () : i32\n  %one = const {{value = 1}} () : i32\n  \
             {body}\n  return ()\n}}"
        );
        let module = parse::module(&text, shoal_source::Span::NONE.file).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        crate::verify(&module).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let func = &module.funcs[0];
        let mut ops = Vec::new();
        func.walk_region(func.body(), &mut ops);
        let looped = ops.into_iter().find(|&op| Structure::of_op(func, op) == Structure::While).expect("a loop");
        assert!(super::super::watches_memory(func, looped));
        only_looks(func, looped)
    }

    /// `while ATOMIC == 0: BODY`.
    fn until(atomic: &str, body: &str) -> bool {
        looks(&format!(
            "while () do {{
               %v = {atomic} : i32
               %c = cmp {{is = eq}} (%v, %zero) : i1
               condition (%c)
             }} do {{
               {body}
               yield ()
             }}"
        ))
    }

    #[test]
    fn loops_that_look_again_only_look() {
        assert!(until("load (%p)", ""));
        assert!(until("atomic_rmw {op = add, sem = acquire, scope = sys} (%p, %zero)", ""));
        assert!(until("atomic_rmw {op = xchg, sem = acquire, scope = sys} (%p, %one)", ""));
        assert!(until("atomic_cas {sem = acquire, scope = sys} (%p, %one, %zero)", ""));
    }

    #[test]
    fn loops_that_change_memory_do_more() {
        assert!(!until("atomic_rmw {op = add, sem = acquire, scope = sys} (%p, %one)", ""));
        assert!(!until("load (%p)", "store (%p, %n)"));
        let on = |atomic: &str| {
            let read = format!("%m = load (%p) : i32\n %next = add (%m, %one) : i32\n %old = {atomic} : i32");
            until("load (%p)", &read)
        };
        assert!(!on("atomic_cas {sem = relaxed, scope = gpu} (%p, %m, %next)"), "a ticket");
        assert!(!on("atomic_rmw {op = xchg, sem = relaxed, scope = gpu} (%p, %next)"));
        assert!(on("atomic_rmw {op = max, sem = relaxed, scope = gpu} (%p, %n)"));
    }

    #[test]
    fn loops_that_count_may_end_by_themselves() {
        let counted = |next: &str| {
            looks(&format!(
                "%r = while (%n) : i32 do (%i: i32) {{
                   %v = load (%p) : i32
                   %a = cmp {{is = eq}} (%v, %zero) : i1
                   %b = cmp {{is = gt}} (%i, %zero) : i1
                   %c = and (%a, %b) : i1
                   condition (%c, %i)
                 }} do (%j: i32) {{
                   %k = sub (%j, %one) : i32
                   yield ({next})
                 }}"
            ))
        };
        assert!(!counted("%k"));
        assert!(counted("%j"), "what is handed on unchanged does not count");
        assert!(counted("%n"));
    }

    #[test]
    fn many_truth_values_may_count() {
        let carried = |ty: &str, reduced: &str| {
            looks(&format!(
                "%first = const {{value = true}} () : {ty}
                 %r = while (%first) : {ty} do (%left: {ty}) {{
                   %v = load (%p) : i32
                   %a = cmp {{is = eq}} (%v, %zero) : i1
                   {reduced}
                   %c = and (%a, %b) : i1
                   condition (%c, %left)
                 }} do (%some: {ty}) {{
                   %fewer = xor (%some, %first) : {ty}
                   yield (%fewer)
                 }}"
            ))
        };
        assert!(carried("i1", "%b = or (%left, %left) : i1"));
        assert!(!carried(
            "tile<8xi1>",
            "%b = reduce {axis = 0} (%left) : i1 do (%l: i1, %m: i1) {
                   %lm = or (%l, %m) : i1
                   yield (%lm)
                 }"
        ));
    }

    #[test]
    fn what_decides_nothing_may_count() {
        assert!(looks(
            "%r = while (%n) : i32 do (%i: i32) {
               %v = load (%p) : i32
               %c = cmp {is = eq} (%v, %zero) : i1
               condition (%c, %i)
             } do (%j: i32) {
               %k = sub (%j, %one) : i32
               yield (%k)
             }"
        ));
    }

    #[test]
    fn what_was_read_last_is_no_count() {
        assert!(looks(
            "%r, %s = while (%n, %zero) : i32, i32 do (%v: i32, %last: i32) {
               %a = cmp {is = eq} (%v, %last) : i1
               condition (%a, %v, %last)
             } do (%w: i32, %unused: i32) {
               %x = load (%p) : i32
               %b = cmp {is = eq} (%x, %zero) : i1
               %y = select (%b, %x, %w) : i32
               yield (%y, %w)
             }"
        ));
    }

    #[test]
    fn loops_that_look_at_the_clock_may_end_by_themselves() {
        assert!(!looks(
            "while () do {
               %v = load (%p) : i32
               %a = cmp {is = eq} (%v, %zero) : i1
               %t = clock () : i64
               %limit = const {value = 1000} () : i64
               %b = cmp {is = lt} (%t, %limit) : i1
               %c = and (%a, %b) : i1
               condition (%c)
             } do {
               yield ()
             }"
        ));
    }
}
