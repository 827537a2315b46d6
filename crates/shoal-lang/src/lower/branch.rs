//! `if` statements and conditional expressions.

use shoal_source::{Diagnostic, Span};

use super::Lower;
use super::frame::{Binding, Scope};
use super::jit::refill;
use crate::builtin::describe;
use crate::lanes;
use crate::lower_error::{LowerError, LowerResult};
use crate::semantic::{cast, operand};
use crate::syntax::ast::{Expr, Name, Stmt};
use crate::value::{Tensor, Value};

/// A condition: known now, a scalar `i1`, or a truth value of each lane.
pub(super) enum Condition {
    Static(bool),
    Dynamic(shoal_ir::Value),
    Lanes(shoal_ir::Value),
}

impl Lower<'_> {
    /// Evaluates the condition of an `if` or `while`.
    pub(super) fn condition(&mut self, test: &Expr, word: &str) -> LowerResult<Condition> {
        let value = self.expr(test)?;
        let outer = std::mem::replace(&mut self.emit.span, test.span);
        let condition = match &value {
            Value::Tensor(t) if lanes::is_per_lane(t) => {
                cast::truth(&mut self.emit, t).map(|mask| Condition::Lanes(mask.value))
            }
            Value::Tensor(t) => self.truth(t, word).map(Condition::Dynamic),
            _ => self.truthy(&value).map(Condition::Static),
        };
        self.emit.span = outer;
        condition
    }

    /// A scalar `i1` that says whether a tensor is true.
    pub(super) fn truth(&mut self, t: &Tensor, word: &str) -> LowerResult<shoal_ir::Value> {
        let elements: u64 = t.shape().iter().map(|&d| u64::from(d)).product();
        if elements > 1 {
            return Err(self
                .emit
                .error(format!("the condition of `{word}` is a tile of {elements} elements"))
                .label(describe(&Value::Tensor(t.clone())))
                .help("choose element by element with `tl.where`, or reduce the tile to a scalar with `tl.max` or `tl.sum`")
                .into());
        }
        let mut value = Value::Tensor(t.clone());
        if !t.is_scalar() {
            self.emit.warn(format!("the condition of `{word}` is a tile of one element"), "use `.item()`");
            value = self.call_builtin_named("item", vec![value])?;
        }
        let scalar = operand::to_tensor(&mut self.emit, &value)?;
        cast::truth(&mut self.emit, &scalar).map(|t| t.value)
    }

    /// An `if` statement without `return` inside.
    pub(super) fn branch(&mut self, span: Span, test: &Expr, body: &[Stmt], orelse: &[Stmt]) -> LowerResult<()> {
        match self.condition(test, "if")? {
            Condition::Static(true) => self.plain_block(body),
            Condition::Static(false) => self.plain_block(orelse),
            Condition::Dynamic(condition) => return self.dynamic_branch(span, condition, body, orelse),
            Condition::Lanes(mask) => return self.divergent_branch(span, mask, body, orelse),
        }
        Ok(())
    }

    fn dynamic_branch(
        &mut self,
        span: Span,
        condition: shoal_ir::Value,
        body: &[Stmt],
        orelse: &[Stmt],
    ) -> LowerResult<()> {
        self.frame_visited()?;
        let before = self.frame.clone();
        let (then_region, ()) = self.in_region(|l| l.plain_block(body));
        let then_frame = std::mem::replace(&mut self.frame, before.clone());
        let (else_region, ()) = self.in_region(|l| l.plain_block(orelse));
        let else_frame = std::mem::replace(&mut self.frame, before);
        self.emit.span = span;
        self.frame.lost.extend(then_frame.lost);
        self.frame.lost.extend(else_frame.lost);
        let merged = self.merge(then_frame.scope, else_frame.scope);
        let arm = |pick: fn(&Merged) -> &Value| merged.iter().map(pick).collect::<Vec<_>>();
        let (then_values, else_values) = (arm(|m| &m.then_value), arm(|m| &m.else_value));
        let then_values = self.as_lanes_of(then_region, &then_values, &else_values);
        let else_values = self.as_lanes_of(else_region, &else_values, &then_values.iter().collect::<Vec<_>>());
        let (then_values, else_values): (Vec<&Value>, Vec<&Value>) =
            (then_values.iter().collect(), else_values.iter().collect());
        let results = self.finish_if(condition, [(then_region, &then_values), (else_region, &else_values)])?;
        let mut rest = results.as_slice();
        for m in &merged {
            let mut leaves = Vec::new();
            m.then_value.leaves(&mut leaves);
            let (mine, others) = rest.split_at(leaves.len());
            rest = others;
            let value = lanes::retyped(&self.emit, refill(&m.then_value, mine));
            self.assign_name(&m.name, value, m.span);
        }
        Ok(())
    }

    /// Values at the end of one arm, those that differ between lanes at the end of the other arm as values of lanes.
    fn as_lanes_of(&mut self, region: shoal_ir::Region, values: &[&Value], others: &[&Value]) -> Vec<Value> {
        let outer = std::mem::replace(&mut self.emit.region, region);
        let widened = values.iter().zip(others).map(|(value, other)| self.widened_like(value, other)).collect();
        self.emit.region = outer;
        widened
    }

    /// Compares the scopes at the ends of both arms with the one before. Names that an arm changed are given back;
    /// names that have a value in one arm only are lost.
    fn merge(&mut self, then_scope: Scope, else_scope: Scope) -> Vec<Merged> {
        let mut merged = Vec::new();
        let mut names: Vec<Name> = then_scope.keys().chain(else_scope.keys()).cloned().collect();
        names.sort();
        names.dedup();
        for name in names {
            let before = self.frame.scope.get(&name).cloned();
            match (then_scope.get(&name), else_scope.get(&name)) {
                (Some(a), Some(b)) => merged.extend(self.merge_name(&name, a, b, before.as_ref())),
                (Some(one), None) | (None, Some(one)) => {
                    if matches!(one.value, Value::Invalid) {
                        self.frame.bind(name, Value::Invalid, one.span);
                    } else {
                        self.frame.lose(
                            &name,
                            one.span,
                            "it gets a value on one side of an `if` only",
                            "assign it before the `if`, or on both sides",
                        );
                    }
                }
                (None, None) => {}
            }
        }
        merged
    }

    fn merge_name(&mut self, name: &Name, a: &Binding, b: &Binding, before: Option<&Binding>) -> Option<Merged> {
        if matches!(a.value, Value::Invalid) || matches!(b.value, Value::Invalid) {
            self.frame.bind(name.clone(), Value::Invalid, a.span);
            return None;
        }
        let leaves = |v: &Value| {
            let mut leaves = Vec::new();
            v.leaves(&mut leaves);
            leaves
        };
        if a.value.type_name() == b.value.type_name() || self.goes_with(&a.value, &b.value) {
            if leaves(&a.value) == leaves(&b.value) {
                self.frame.scope.insert(name.clone(), a.clone());
                return None;
            }
            let span = if before.is_some_and(|x| x.span == a.span) { b.span } else { a.span };
            return Some(Merged { name: name.clone(), then_value: a.value.clone(), else_value: b.value.clone(), span });
        }
        let (a_words, b_words) = (describe(&a.value), describe(&b.value));
        match before {
            // A name that was there before and changes its type is an error; one that is only used inside the arms is
            // not, until somebody asks for it.
            // Nor is one that was only announced with `None`.
            Some(_) if (a.value.is_dynamic() || b.value.is_dynamic()) && ![a, b].iter().any(|x| x.value.is_none()) => {
                self.report(
                    Diagnostic::error(a.span, format!("`{name}` has different types after this `if`"))
                        .label(format!("here it is {a_words}"))
                        .with_label(b.span, format!("otherwise it is {b_words}"))
                        .help("convert one of them with `.to(...)`, or use another name")
                        .into(),
                );
                self.frame.bind(name.clone(), Value::Invalid, a.span);
            }
            _ => self.frame.lose(
                name,
                a.span,
                format!("on one side of the `if` it is {a_words}, on the other {b_words}"),
                "give it the same type on both sides",
            ),
        }
        None
    }

    /// `body if test else orelse`.
    pub(super) fn ternary(&mut self, test: &Expr, body: &Expr, orelse: &Expr) -> LowerResult<Value> {
        let condition = match self.condition(test, "if")? {
            Condition::Static(true) => return self.expr(body),
            Condition::Static(false) => return self.expr(orelse),
            Condition::Dynamic(condition) => condition,
            Condition::Lanes(mask) => return self.divergent_choice(mask, body, orelse),
        };
        let (then_region, then_value) = self.in_region(|l| l.arm(body));
        let (else_region, else_value) = self.in_region(|l| l.arm(orelse));
        let (a, b) = (then_value?, else_value?);
        if a.type_name() != b.type_name() {
            return Err(Diagnostic::error(self.emit.span, "the two values of this conditional have different types")
                .with_label(body.span, format!("this is {}", describe(&a)))
                .with_label(orelse.span, format!("this is {}", describe(&b)))
                .help("convert one of them with `.to(...)`")
                .into());
        }
        let results = self.finish_if(condition, [(then_region, &[&a]), (else_region, &[&b])])?;
        Ok(refill(&a, &results))
    }

    pub(super) fn arm(&mut self, e: &Expr) -> LowerResult<Value> {
        let value = self.expr(e)?;
        match &value {
            Value::Invalid => Err(LowerError::reported()),
            Value::Const(c) if c.as_float().is_some() => operand::to_tensor(&mut self.emit, &value).map(Value::Tensor),
            _ => Ok(value),
        }
    }
}

/// A name that the arms of a branch give different values of one type.
struct Merged {
    name: Name,
    then_value: Value,
    else_value: Value,
    span: Span,
}
