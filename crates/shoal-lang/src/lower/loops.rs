//! Loops: unrolled ones, and `for` and `while` on the device with the names they carry.
//!
//! A device loop carries every name that its body assigns and that had a device value before. A carried name keeps its
//! exact type; names first assigned inside are not visible after the loop.

use std::collections::BTreeSet;
use std::sync::Arc;

use shoal_ir::op::{CmpOp, ForAttrs};
use shoal_ir::types::Scalar;
use shoal_ir::{OpKind, Type};
use shoal_source::{Diagnostic, Kind, Span};

use super::Lower;
use super::frame::{Binding, Frame};
use super::jit::{name_leaves, refill};
use super::lane_loops::LanePlan;
use crate::builtin::describe;
use crate::lanes;
use crate::lower_error::{LowerError, LowerResult};
use crate::semantic::operand::Number;
use crate::semantic::promote::{self, Rules, Side};
use crate::semantic::{binary, cast, debug, operand};
use crate::syntax::ast::{Expr, ExprKind, Name, Stmt};
use crate::syntax::scan::{assigned_names, loop_variables, walrus_names};
use crate::value::{Const, Range, RangeKind, Tensor, Value};

/// What a `for` loop runs over.
pub(super) enum Iteration {
    Unrolled(Arc<[Value]>),
    Dynamic(Arc<Range>),
}

/// A name that a loop carries, with its value before the loop.
pub(super) struct Carried {
    pub(super) name: Name,
    pub(super) init: Binding,
}

impl Lower<'_> {
    /// What a `for` loop runs over.
    pub(super) fn iteration(&mut self, iter: &Expr) -> LowerResult<Iteration> {
        match self.expr(iter)? {
            Value::Range(range) => match range.kind {
                RangeKind::Static => Ok(Iteration::Unrolled(self.range_items(&range, iter.span)?.into())),
                RangeKind::Dynamic(_) => Ok(Iteration::Dynamic(range)),
            },
            Value::Tuple(t) => Ok(Iteration::Unrolled(t.items)),
            Value::Invalid => Err(LowerError::reported()),
            other => Err(Diagnostic::error(iter.span, format!("a loop cannot run over {}", describe(&other)))
                .help("use `range`, `tl.range` or `tl.static_range`")
                .into()),
        }
    }

    pub(super) fn for_loop(
        &mut self,
        span: Span,
        target: &Expr,
        iter: &Expr,
        body: &[Stmt],
        orelse: &[Stmt],
    ) -> LowerResult<()> {
        no_else(orelse, "for")?;
        match self.iteration(iter)? {
            Iteration::Unrolled(items) => {
                for item in items.iter() {
                    self.step(span)?;
                    self.bind_target(target, item)?;
                    self.plain_block(body);
                }
                Ok(())
            }
            Iteration::Dynamic(range) => self.device_for(span, target, iter, &range, body),
        }
    }

    /// A `for` loop on the device.
    pub(super) fn device_for(
        &mut self,
        span: Span,
        target: &Expr,
        iter: &Expr,
        range: &Range,
        body: &[Stmt],
    ) -> LowerResult<()> {
        let ExprKind::Name(variable) = &target.kind else {
            return Err(LowerError::new(target.span, "the variable of a loop must be a name"));
        };
        self.emit.span = iter.span;
        if Self::differs_between_lanes(range) {
            return self.lane_for(span, (variable, target.span), range, body);
        }
        let bounds = self.bounds(range)?;
        let mut plan = LanePlan::default();
        while let Some(names) = self.counted_loop(span, (variable, target.span), range, &bounds, body, &plan)? {
            plan.names.extend(names);
        }
        self.frame.lose(
            variable,
            target.span,
            "it is the variable of a loop that has ended",
            "assign it to another name inside the loop",
        );
        Ok(())
    }

    /// A `for` loop that all lanes run together; gives the names that turn out to differ between lanes, if it has to
    /// be lowered again with them.
    fn counted_loop(
        &mut self,
        span: Span,
        (variable, at): (&Name, Span),
        range: &Range,
        bounds: &Bounds,
        body: &[Stmt],
        plan: &LanePlan,
    ) -> LowerResult<Option<BTreeSet<Name>>> {
        self.emit.span = span;
        let mut assigned = assigned_names(body);
        assigned.remove(variable);
        self.frame_visited()?;
        let attempt = self.attempt();
        let mut carried = self.carried(&assigned);
        self.widen(&mut carried, plan);
        let inits = leaves_of(carried.iter().map(|c| &c.init.value));
        let mut types = vec![bounds.ty.clone()];
        types.extend(inits.iter().map(|&v| self.emit.func.ty(v).clone()));

        let region = self.emit.func.new_region();
        let params: Vec<_> = types.iter().map(|ty| self.emit.func.add_param(region, ty.clone())).collect();
        self.emit.region = region;
        self.bind_carried(&carried, &params[1..]);
        let index = if bounds.reversed { self.mirrored(params[0], bounds) } else { params[0] };
        let index = Value::Tensor(self.emit.tensor(index));
        self.assign_name(variable, index, at);
        self.frame.loops += 1;
        self.plain_block(body);
        let names = self.newly_lanes(&carried);
        if !names.is_empty() && self.errors.len() == attempt.errors {
            self.abandon(attempt, &[region]);
            return Ok(Some(names));
        }
        let (next, failed) = self.next_values(&carried, &params[1..], span);
        self.emit.span = span;
        self.emit.b().yield_(&next);
        self.emit.region = attempt.outer;

        let after = std::mem::replace(&mut self.frame, attempt.before);
        let operands = [bounds.from, bounds.to, bounds.step].into_iter().chain(inits.iter().copied());
        let attrs = match range.kind {
            RangeKind::Dynamic(attrs) => attrs,
            RangeKind::Static => ForAttrs::default(),
        };
        let op = self.emit.b().op(OpKind::For(attrs), operands, types.into_iter().skip(1), [region]);
        let results = self.emit.func.op(op).results().to_vec();
        self.leave_loop(&carried, &results, after, &assigned, body);
        self.spoil(&failed, span);
        Ok(None)
    }

    /// The bounds of a device loop: scalars of one integer type, with a positive step.
    fn bounds(&mut self, range: &Range) -> LowerResult<Bounds> {
        let step_value = range.step.as_const().and_then(Const::as_int);
        if step_value == Some(0) {
            return Err(self.emit.lower_error("the step of a loop cannot be zero"));
        }
        let reversed = step_value.is_some_and(|s| s < 0);
        let step = match step_value {
            Some(s) if s < 0 => Value::int(s.saturating_neg()),
            _ => range.step.clone(),
        };
        let (from, to) = if reversed { (&range.end, &range.start) } else { (&range.start, &range.end) };
        let from = self.bound(from, "bounds")?;
        let to = self.bound(to, "bounds")?;
        let step = self.bound(&step, "step")?;
        let mut ty = Scalar::I1;
        for (i, t) in [&from, &to, &step].into_iter().enumerate() {
            let scalar = t.ty.number().unwrap_or(Scalar::I32);
            ty = if i == 0 { scalar } else { self.common_integer(ty, scalar)? };
        }
        if step_value.is_none() && self.emit.options.debug {
            self.check_step(&step)?;
        }
        let mut at = |t: &Tensor| cast::to_number(&mut self.emit, t, ty).map(|t| t.value);
        Ok(Bounds { from: at(&from)?, to: at(&to)?, step: at(&step)?, ty: Type::scalar(ty), reversed })
    }

    /// With debug on: a step that is known at run time only must be positive, or the loop would not mean what it says.
    fn check_step(&mut self, step: &Tensor) -> LowerResult<()> {
        let positive = binary::comparison(&mut self.emit, CmpOp::Gt, &step.clone().into(), &Number::Int(0).into())?;
        debug::check(&mut self.emit, &positive, "the step of a loop must be positive", None)
    }

    pub(super) fn common_integer(&self, a: Scalar, b: Scalar) -> LowerResult<Scalar> {
        let sides = (Side::Tensor(a), Side::Tensor(b));
        promote::common_type(sides.0, sides.1, Rules::Plain)
            .map_err(|mismatch| self.emit.lower_error(mismatch.words().0))
    }

    fn bound(&mut self, value: &Value, what: &str) -> LowerResult<Tensor> {
        if let Value::Const(Const::Float(_)) = value {
            return Err(self
                .emit
                .error(format!("the {what} of a loop must be integers"))
                .label(format!("this is {}", describe(value)))
                .help("`/` gives a float: divide with `//`")
                .into());
        }
        let mut t = operand::to_tensor(&mut self.emit, value)?;
        if !t.is_scalar() && t.shape().iter().all(|&d| d == 1) {
            let item = self.call_builtin_named("item", vec![Value::Tensor(t.clone())])?;
            t = item.as_tensor().cloned().unwrap_or(t);
        }
        if t.is_scalar() && t.ty.number().is_some_and(Scalar::is_int) {
            return Ok(t);
        }
        Err(self
            .emit
            .error(format!("the {what} of a loop must be integers"))
            .label(format!("this is {}", describe(&Value::Tensor(t))))
            .help("divide with `//` instead of `/`, or convert to an integer with `.to(tl.int32)`")
            .into())
    }

    /// The loop variable of a loop that runs backwards: the IR counts up from the lower bound.
    fn mirrored(&mut self, index: shoal_ir::Value, bounds: &Bounds) -> shoal_ir::Value {
        use shoal_ir::op::BinaryOp;
        let mut b = self.emit.b();
        let sum = b.binary(BinaryOp::Add, bounds.to, bounds.from);
        b.binary(BinaryOp::Sub, sum, index)
    }

    pub(super) fn while_loop(&mut self, span: Span, test: &Expr, body: &[Stmt], orelse: &[Stmt]) -> LowerResult<()> {
        no_else(orelse, "while")?;
        let mut plan = LanePlan::default();
        while !plan.divergent {
            match self.uniform_while(span, test, body, &plan)? {
                None => return Ok(()),
                Some(next) => plan = next,
            }
        }
        self.divergent_while(span, test, body)
    }

    /// A `while` loop that all lanes leave together; gives what turns out to differ between lanes, if it has to be
    /// lowered again with that.
    fn uniform_while(
        &mut self,
        span: Span,
        test: &Expr,
        body: &[Stmt],
        plan: &LanePlan,
    ) -> LowerResult<Option<LanePlan>> {
        let in_test = walrus_names(test);
        let mut assigned = assigned_names(body);
        assigned.extend(in_test.iter().cloned());
        self.frame_visited()?;
        let attempt = self.attempt();
        let mut carried = self.carried(&assigned);
        self.widen(&mut carried, plan);
        let inits = leaves_of(carried.iter().map(|c| &c.init.value));
        let types: Vec<Type> = inits.iter().map(|&v| self.emit.func.ty(v).clone()).collect();

        // The condition sees the carried values and hands them on, with what it assigns itself.
        let test_region = self.emit.func.new_region();
        let params: Vec<_> = types.iter().map(|ty| self.emit.func.add_param(test_region, ty.clone())).collect();
        self.emit.region = test_region;
        self.bind_carried(&carried, &params);
        self.frame.loops += 1;
        let condition = self.while_condition(test);
        let (condition, disable_licm) = match condition {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.abandon(attempt, &[test_region]);
                return Ok(Some(LanePlan { divergent: true, ..LanePlan::default() }));
            }
            Err(error) => {
                self.abandon(attempt, &[test_region]);
                return Err(error);
            }
        };
        let mut handed: Vec<Carried> = Vec::new();
        for c in &carried {
            let value = self.frame.scope.get(&c.name).map_or_else(|| c.init.value.clone(), |now| now.value.clone());
            handed.push(Carried { name: c.name.clone(), init: Binding { value, span: c.init.span } });
        }
        for name in &in_test {
            if let Some(now) = self.frame.scope.get(name)
                && now.value.is_dynamic()
                && !handed.iter().any(|c| c.name == *name)
            {
                handed.push(Carried { name: name.clone(), init: now.clone() });
            }
        }
        let handed_leaves = leaves_of(handed.iter().map(|c| &c.init.value));
        let handed_types: Vec<Type> = handed_leaves.iter().map(|&v| self.emit.func.ty(v).clone()).collect();
        self.emit.span = test.span;
        let operands = std::iter::once(condition).chain(handed_leaves);
        self.emit.b().op(OpKind::Condition, operands, [], []);

        let body_region = self.emit.func.new_region();
        let params: Vec<_> = handed_types.iter().map(|ty| self.emit.func.add_param(body_region, ty.clone())).collect();
        self.emit.region = body_region;
        self.bind_carried(&handed, &params);
        self.plain_block(body);
        let names = self.newly_lanes(&carried);
        if !names.is_empty() && self.errors.len() == attempt.errors {
            self.abandon(attempt, &[test_region, body_region]);
            let names = plan.names.iter().cloned().chain(names).collect();
            return Ok(Some(LanePlan { divergent: false, names }));
        }
        let (next, failed) = self.next_values(&carried, &params, span);
        self.emit.span = span;
        self.emit.b().yield_(&next);
        self.emit.region = attempt.outer;

        let after = std::mem::replace(&mut self.frame, attempt.before);
        let kind = OpKind::While { disable_licm };
        let op = self.emit.b().op(kind, inits, handed_types, [test_region, body_region]);
        let results = self.emit.func.op(op).results().to_vec();
        self.leave_loop(&handed, &results, after, &assigned, body);
        self.spoil(&failed, span);
        Ok(None)
    }

    /// The condition of a `while` as a scalar `i1`, and whether `tl.condition` keeps invariant code inside; `None` if it
    /// differs between lanes.
    fn while_condition(&mut self, test: &Expr) -> LowerResult<Option<(shoal_ir::Value, bool)>> {
        let value = self.expr(test)?;
        self.emit.span = test.span;
        let (value, disable_licm) = match value {
            Value::Condition(c) => (c.test.clone(), c.disable_licm),
            value => (value, false),
        };
        let tensor = match &value {
            Value::Tensor(t) => t.clone(),
            _ => {
                let known = Value::bool(self.truthy(&value)?);
                operand::to_tensor(&mut self.emit, &known)?
            }
        };
        if lanes::is_per_lane(&tensor) {
            return Ok(None);
        }
        Ok(Some((self.truth(&tensor, "while")?, disable_licm)))
    }

    /// The names of `assigned` that have a device value now.
    pub(super) fn carried(&self, assigned: &BTreeSet<Name>) -> Vec<Carried> {
        assigned
            .iter()
            .filter_map(|name| {
                let init = self.frame.scope.get(name)?;
                init.value.is_dynamic().then(|| Carried { name: name.clone(), init: init.clone() })
            })
            .collect()
    }

    pub(super) fn bind_carried(&mut self, carried: &[Carried], leaves: &[shoal_ir::Value]) {
        let mut rest = leaves;
        for c in carried {
            let (mine, others) = rest.split_at(leaves_of([&c.init.value]).len());
            rest = others;
            let value = refill(&c.init.value, mine);
            name_leaves(&mut self.emit, &c.name, &value);
            self.frame.bind(c.name.clone(), value, c.init.span);
        }
    }

    /// The carried values at the end of the body, and the names that have none of the right type: those keep the value
    /// they came with, so that the rest of the loop can still be looked at.
    fn next_values(
        &mut self,
        carried: &[Carried],
        params: &[shoal_ir::Value],
        span: Span,
    ) -> (Vec<shoal_ir::Value>, BTreeSet<Name>) {
        let mut next = Vec::new();
        let mut failed = BTreeSet::new();
        for c in carried {
            let count = leaves_of([&c.init.value]).len();
            match self.frame.scope.get(&c.name).cloned() {
                Some(now) if self.goes_with(&now.value, &c.init.value) => {
                    self.widened_like(&now.value, &c.init.value).leaves(&mut next);
                    continue;
                }
                Some(now) if matches!(now.value, Value::Invalid) => {}
                Some(now) => self.report(type_changed(c, &now)),
                None => {
                    let error = self.name(&c.name, span).err().unwrap_or_else(LowerError::reported);
                    self.report(error);
                }
            }
            failed.insert(c.name.clone());
            next.extend(params.iter().skip(next.len()).take(count));
        }
        (next, failed)
    }

    /// After a loop: carried names have its results, names first assigned inside are lost.
    pub(super) fn leave_loop(
        &mut self,
        carried: &[Carried],
        results: &[shoal_ir::Value],
        after: Frame,
        assigned: &BTreeSet<Name>,
        body: &[Stmt],
    ) {
        let mut variables = BTreeSet::new();
        loop_variables(body, &mut variables);
        for name in assigned {
            if carried.iter().any(|c| c.name == *name) {
                continue;
            }
            let Some(now) = after.scope.get(name) else { continue };
            if matches!(now.value, Value::Invalid) {
                self.frame.bind(name.clone(), Value::Invalid, now.span);
                continue;
            }
            match self.frame.scope.get(name).cloned() {
                None => self.frame.lose(
                    name,
                    now.span,
                    "it is assigned only inside a loop that may not run",
                    "assign it before the loop",
                ),
                Some(old) if old.value.type_name() == now.value.type_name() => {}
                Some(old) if now.value.is_dynamic() => self.report(
                    Diagnostic::error(
                        now.span,
                        format!("`{name}` is known at compile time before the loop, but not inside"),
                    )
                    .label(format!("here it becomes {}", describe(&now.value)))
                    .with_label(old.span, format!("before the loop it is {}", describe(&old.value)))
                    .help("give it a device value before the loop, for example with `tl.full` or `tl.zeros`")
                    .into(),
                ),
                // The variable of an unrolled loop inside: each iteration sets it anew.
                Some(_) if variables.contains(name) => self.frame.lose(
                    name,
                    now.span,
                    "it is the variable of a loop inside a loop that may not run",
                    "assign it before the loop",
                ),
                Some(old) => self.report(
                    Diagnostic::error(now.span, format!("the compile-time value of `{name}` changes in the loop"))
                        .label(format!("here it becomes {}", describe(&now.value)))
                        .with_label(old.span, format!("before the loop it is {}", describe(&old.value)))
                        .help("a loop on the device is compiled once: use another name, or `tl.static_range`")
                        .into(),
                ),
            }
        }
        self.bind_carried(carried, results);
        for c in carried {
            if let (Some(now), Some(binding)) = (after.scope.get(&c.name), self.frame.scope.get_mut(&c.name)) {
                binding.span = now.span;
            }
        }
    }

    /// After an error about a name, it has no value.
    pub(super) fn spoil(&mut self, failed: &BTreeSet<Name>, span: Span) {
        for name in failed {
            self.frame.bind(name.clone(), Value::Invalid, span);
        }
    }
}

/// The bounds of a device loop.
struct Bounds {
    from: shoal_ir::Value,
    to: shoal_ir::Value,
    step: shoal_ir::Value,
    ty: Type,
    reversed: bool,
}

fn leaves_of<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<shoal_ir::Value> {
    let mut leaves = Vec::new();
    values.into_iter().for_each(|v| v.leaves(&mut leaves));
    leaves
}

fn no_else(orelse: &[Stmt], word: &str) -> LowerResult<()> {
    match orelse.first() {
        None => Ok(()),
        Some(first) => Err(Diagnostic::error(first.span, format!("kernels have no `else` after a `{word}` loop"))
            .kind(Kind::Unsupported)
            .label("not supported")
            .help("loops cannot be left early, so put this after the loop")
            .into()),
    }
}

pub(super) fn type_changed(c: &Carried, now: &Binding) -> LowerError {
    let (old, new) = (&c.init.value, &now.value);
    let help = match (old.as_tensor(), new.as_tensor()) {
        (Some(a), Some(b)) if a.shape() == b.shape() => {
            let elem = |t: &Tensor| t.ty.elem().map(|e| crate::dtype::display(&Type::Elem(e), t.access));
            match (elem(a), elem(b)) {
                (Some(a), Some(b)) => {
                    format!("begin with a value of type `{b}`, or convert back to `{a}` with `.to(...)`")
                }
                _ => "keep one type throughout the loop".to_owned(),
            }
        }
        (Some(_), Some(b)) if !b.is_scalar() => {
            format!("begin with a tile of that shape: `tl.zeros({:?}, dtype=…)`", b.shape())
        }
        _ => "keep one type throughout the loop".to_owned(),
    };
    Diagnostic::error(now.span, format!("`{}` changes its type in the loop", c.name))
        .label(format!("here it becomes {}", describe(new)))
        .with_label(c.init.span, format!("before the loop it is {}", describe(old)))
        .help(help)
        .into()
}
