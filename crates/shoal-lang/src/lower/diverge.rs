//! Branches that only some lanes take.
//!
//! The lanes of a program run in step: each arm runs, once, if any lane takes it, under the mask of the lanes that do.
//! A name that an arm changes keeps its old value on the other lanes. What is no value of lanes (a tile, a descriptor)
//! is the program's as a whole, and has the value of the arm that ran last.

use shoal_ir::{OpKind, Type, Value as IrValue};
use shoal_source::{Diagnostic, Span};

use super::Lower;
use super::flow::Rest;
use super::frame::{Binding, Frame};
use super::jit::refill;
use crate::builtin::describe;
use crate::lanes;
use crate::lower_error::{LowerError, LowerResult};
use crate::syntax::ast::{Expr, Name, Stmt};
use crate::value::Value;

/// One arm of a branch, with what it leaves behind.
struct Arm {
    mask: IrValue,
    region: shoal_ir::Region,
    frame: Frame,
}

/// A name after the branch: its value before, and where arms changed it.
struct Change {
    name: Name,
    span: Span,
    before: Option<Value>,
    arms: [Option<Value>; 2],
}

impl Lower<'_> {
    /// An `if` on a condition that differs between lanes.
    pub(super) fn divergent_branch(
        &mut self,
        span: Span,
        condition: IrValue,
        body: &[Stmt],
        orelse: &[Stmt],
    ) -> LowerResult<()> {
        self.frame_visited()?;
        let masks = self.arm_masks(condition);
        let before = self.frame.clone();
        let mut arms = Vec::new();
        for (mask, stmts) in masks.into_iter().zip([body, orelse]) {
            let (region, ()) = self.in_region(|l| l.under(mask, |l| l.plain_block(stmts)));
            let frame = std::mem::replace(&mut self.frame, before.clone());
            arms.push(Arm { mask, region, frame });
        }
        self.emit.span = span;
        let [first, second]: [Arm; 2] = arms.try_into().unwrap_or_else(|_| unreachable!("a branch has two arms"));
        self.frame.lost.extend(first.frame.lost.clone());
        self.frame.lost.extend(second.frame.lost.clone());
        let changes = self.changes([&first.frame, &second.frame]);
        self.join(&changes, [first, second])
    }

    /// The lanes that take each arm.
    pub(super) fn arm_masks(&mut self, condition: IrValue) -> [IrValue; 2] {
        let outer = self.emit.active;
        let e = &mut self.emit;
        let otherwise = lanes::inverted(e, condition);
        [lanes::both(e, outer, condition), lanes::both(e, outer, otherwise)]
    }

    /// Runs `f` as code of these lanes only.
    pub(super) fn under<T>(&mut self, mask: IrValue, f: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.emit.active.replace(mask);
        let result = f(self);
        self.emit.active = outer;
        result
    }

    /// The names that arms changed. Those that have a value in one arm only, or values that do not go together, are
    /// lost or reported.
    fn changes(&mut self, frames: [&Frame; 2]) -> Vec<Change> {
        let mut names: Vec<Name> = frames.iter().flat_map(|frame| frame.scope.keys().cloned()).collect();
        names.sort();
        names.dedup();
        let mut changes = Vec::new();
        for name in names {
            let before = self.frame.scope.get(&name).cloned();
            let now = frames.map(|frame| frame.scope.get(&name).cloned());
            let changed = |b: &Option<Binding>| match (b, &before) {
                (Some(now), Some(then)) => !same(&now.value, &then.value),
                (Some(_), None) => true,
                (None, _) => false,
            };
            if now.iter().flatten().any(|b| matches!(b.value, Value::Invalid)) {
                self.frame.bind(name, Value::Invalid, self.emit.span);
                continue;
            }
            let arms = now.clone().map(|b| if changed(&b) { b } else { None });
            let Some(span) = arms.iter().flatten().next().map(|b| b.span) else { continue };
            if before.is_none() && arms.iter().any(Option::is_none) {
                let help = "assign it before the `if`, or on both sides";
                self.frame.lose(&name, span, "it gets a value on one side of an `if` only", help);
                continue;
            }
            let values: Vec<&Value> =
                before.iter().map(|b| &b.value).chain(arms.iter().flatten().map(|b| &b.value)).collect();
            if let Some(odd) = values.iter().find(|v| !self.goes_with(v, values[0])) {
                self.report_change(&name, span, values[0], odd, before.is_some());
                continue;
            }
            let before = before.map(|b| b.value);
            changes.push(Change { name, span, before, arms: arms.map(|b| b.map(|b| b.value)) });
        }
        changes
    }

    /// Whether two values are one after lanes took the place of scalars.
    pub(super) fn goes_with(&self, a: &Value, b: &Value) -> bool {
        if a.type_name() == b.type_name() {
            return true;
        }
        let (a, b) = (leaves(a), leaves(b));
        let types = |v: &IrValue| self.emit.func.ty(*v).clone();
        !a.is_empty()
            && a.len() == b.len()
            && a.iter()
                .map(types)
                .zip(b.iter().map(types))
                .all(|(a, b)| a == b || (lanes::may_differ(&a) && lanes::may_differ(&b) && a.elem() == b.elem()))
    }

    fn report_change(&mut self, name: &Name, span: Span, a: &Value, b: &Value, known: bool) {
        if known && (a.is_dynamic() || b.is_dynamic()) && !a.is_none() && !b.is_none() {
            let error = Diagnostic::error(span, format!("`{name}` has different types after this `if`"))
                .label(format!("it is {} on some lanes, {} on others", describe(a), describe(b)))
                .help("convert one of them with `.to(...)`, or use another name");
            self.report(error.into());
            self.frame.bind(name.clone(), Value::Invalid, span);
        } else {
            let why = format!("on one side of the `if` it is {}, on the other {}", describe(a), describe(b));
            self.frame.lose(name, span, why, "give it the same type on both sides");
        }
    }

    /// Makes the branches of both arms, and the values that names have after them.
    fn join(&mut self, changes: &[Change], arms: [Arm; 2]) -> LowerResult<()> {
        let masks = [arms[0].mask, arms[1].mask];
        let mut results: [Vec<IrValue>; 2] = [Vec::new(), Vec::new()];
        for (i, arm) in arms.into_iter().enumerate() {
            let given: Vec<IrValue> = changes.iter().filter_map(|c| c.arms[i].as_ref()).flat_map(leaves).collect();
            // What the arm does not give: the value so far where it fits, for what belongs to the whole program.
            let mut so_far = Vec::new();
            let mut earlier = results[0].iter().copied();
            for change in changes {
                let first: Vec<Option<IrValue>> = match &change.arms[0] {
                    Some(value) if i == 1 => leaves(value).iter().map(|_| earlier.next()).collect(),
                    _ => change.before.as_ref().map(leaves).unwrap_or_default().into_iter().map(Some).collect(),
                };
                if let Some(value) = &change.arms[i] {
                    so_far.extend((0..leaves(value).len()).map(|leaf| first.get(leaf).copied().flatten()));
                }
            }
            results[i] = self.run_if_any(arm.mask, arm.region, &given, &so_far)?;
        }
        let mut rest = [results[0].iter().copied(), results[1].iter().copied()];
        for change in changes {
            let mut parts: [Option<Vec<IrValue>>; 2] = [None, None];
            for (i, part) in parts.iter_mut().enumerate() {
                *part = change.arms[i].as_ref().map(|value| rest[i].by_ref().take(leaves(value).len()).collect());
            }
            let shape = change.arms.iter().flatten().next().cloned().unwrap_or(Value::NONE);
            let before = change.before.as_ref().map(leaves);
            let after: Vec<IrValue> = (0..leaves(&shape).len())
                .map(|leaf| {
                    let old = before.as_ref().and_then(|b| b.get(leaf)).copied();
                    self.merge_leaf(old, masks, [0, 1].map(|i| parts[i].as_ref().map(|p| p[leaf])))
                })
                .collect();
            let value = lanes::retyped(&self.emit, refill(&shape, &after));
            self.assign_name(&change.name, value, change.span);
        }
        Ok(())
    }

    /// Runs a region if any lane is set; gives what it gives, or the values so far, or zeros.
    fn run_if_any(
        &mut self,
        mask: IrValue,
        region: shoal_ir::Region,
        given: &[IrValue],
        so_far: &[Option<IrValue>],
    ) -> LowerResult<Vec<IrValue>> {
        let types: Vec<Type> = given.iter().map(|&v| self.emit.func.ty(v).clone()).collect();
        let condition = lanes::any(&mut self.emit, mask);
        let outer = std::mem::replace(&mut self.emit.region, region);
        self.emit.b().yield_(given);
        let otherwise = self.emit.func.new_region();
        self.emit.region = otherwise;
        let mut defaults = Vec::new();
        for (ty, old) in types.iter().zip(so_far) {
            let fits = old.filter(|&old| self.emit.func.ty(old) == ty);
            let Some(value) = fits.or_else(|| lanes::zero(&mut self.emit, ty)) else {
                self.emit.region = outer;
                let message = "a tensor descriptor or a token is made on some lanes only";
                return Err(self.emit.error(message).help("make it before the `if`").into());
            };
            defaults.push(value);
        }
        self.emit.b().yield_(&defaults);
        self.emit.region = outer;
        let op = self.emit.b().op(OpKind::If, [condition], types, [region, otherwise]);
        Ok(self.emit.func.op(op).results().to_vec())
    }

    /// One value after a branch: on each lane that of the arm it took.
    fn merge_leaf(&mut self, before: Option<IrValue>, masks: [IrValue; 2], arms: [Option<IrValue>; 2]) -> IrValue {
        let any = arms.iter().flatten().next().copied().or(before).expect("a name that an arm changed");
        if !lanes::may_differ(self.emit.func.ty(any)) {
            return arms[1].or(arms[0]).unwrap_or(any);
        }
        let e = &mut self.emit;
        let mut now = before.map(|value| lanes::splat(e, value));
        for (mask, value) in masks.into_iter().zip(arms) {
            let Some(value) = value else { continue };
            let value = lanes::splat(e, value);
            now = Some(match now {
                Some(old) => e.b().select(mask, value, old),
                None => value,
            });
        }
        now.unwrap_or(any)
    }

    /// `body if test else orelse` where the test differs between lanes.
    pub(super) fn divergent_choice(&mut self, condition: IrValue, body: &Expr, orelse: &Expr) -> LowerResult<Value> {
        let masks = self.arm_masks(condition);
        let mut values = Vec::new();
        for (mask, e) in masks.into_iter().zip([body, orelse]) {
            values.push(self.under(mask, |l| l.arm(e))?);
        }
        let (a, b) = (&values[0], &values[1]);
        if !self.goes_with(a, b) {
            return Err(Diagnostic::error(self.emit.span, "the two values of this conditional have different types")
                .with_label(body.span, format!("this is {}", describe(a)))
                .with_label(orelse.span, format!("this is {}", describe(b)))
                .help("convert one of them with `.to(...)`")
                .into());
        }
        Ok(self.chosen(masks, a, b))
    }

    /// The first value on the lanes of the first mask, the second elsewhere.
    fn chosen(&mut self, masks: [IrValue; 2], a: &Value, b: &Value) -> Value {
        let pairs: Vec<(IrValue, IrValue)> = leaves(a).into_iter().zip(leaves(b)).collect();
        let merged: Vec<IrValue> =
            pairs.into_iter().map(|(x, y)| self.merge_leaf(Some(y), masks, [Some(x), None])).collect();
        lanes::retyped(&self.emit, refill(a, &merged))
    }

    /// A branch on lanes with a `return` inside: each arm runs to the end of the function.
    pub(super) fn divergent_return(
        &mut self,
        span: Span,
        condition: IrValue,
        arms: [&[Stmt]; 2],
        after: &Rest<'_>,
    ) -> LowerResult<Option<Value>> {
        self.one_more_return(span, arms)?;
        let masks = self.arm_masks(condition);
        let before = self.frame.clone();
        self.open_returns += 1;
        let mut values = Vec::new();
        for (mask, stmts) in masks.into_iter().zip(arms) {
            self.frame = before.clone();
            let (region, value) = self.in_region(|l| l.under(mask, |l| l.block(stmts, Some(after))));
            self.emit.span = span;
            let value = value.unwrap_or(Value::NONE);
            if matches!(value, Value::Invalid) {
                self.open_returns -= 1;
                return Err(LowerError::reported());
            }
            let given = leaves(&value);
            let so_far = vec![None; given.len()];
            let results = self.run_if_any(mask, region, &given, &so_far)?;
            values.push(refill(&value, &results));
        }
        self.open_returns -= 1;
        let (a, b) = (&values[0], &values[1]);
        if a.is_none() && b.is_none() {
            return Ok(Some(Value::NONE));
        }
        // A path that reaches the end without `return` gives no particular value.
        if a.is_none() || b.is_none() {
            return Ok(Some(if a.is_none() { b.clone() } else { a.clone() }));
        }
        if !self.goes_with(a, b) {
            return Err(Diagnostic::error(span, "this function returns different types on different lanes")
                .note(format!("some return {}, others {}", describe(a), describe(b)))
                .help("convert the values to one type before returning, for example with `.to(...)`")
                .into());
        }
        Ok(Some(self.chosen(masks, a, b)))
    }
}

/// The IR values that a value is made of.
pub(super) fn leaves(value: &Value) -> Vec<IrValue> {
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    leaves
}

/// Whether nothing changed.
fn same(a: &Value, b: &Value) -> bool {
    a.type_name() == b.type_name() && leaves(a) == leaves(b)
}
