//! Loops in which lanes differ.
//!
//! A loop whose condition differs between lanes goes on while any lane wants to: each trip runs under the mask of the
//! lanes that are still in it. A lane that has left keeps the values it left with. A loop that all lanes leave together
//! may still carry values that differ; which ones shows only when its body has been lowered, so it is lowered again.

use std::collections::BTreeSet;

use shoal_ir::op::{BinaryOp, CmpOp};
use shoal_ir::types::Scalar;
use shoal_ir::{OpKind, Type, Value as IrValue};
use shoal_source::Span;

use super::Lower;
use super::diverge::leaves;
use super::frame::{Binding, Frame};
use super::jit::refill;
use super::loops::{Carried, type_changed};
use crate::lanes;
use crate::lower_error::LowerResult;
use crate::semantic::{cast, operand};
use crate::syntax::ast::{Expr, Name, Stmt};
use crate::syntax::scan::{assigned_names, walrus_names};
use crate::value::{Const, Range, Tensor, Value};

/// What is known of the lanes in a loop before it is lowered.
#[derive(Debug, Clone, Default)]
pub(super) struct LanePlan {
    /// Lanes leave the loop at different times.
    pub(super) divergent: bool,
    /// Names that carry a value of each lane, though they begin with a scalar.
    pub(super) names: BTreeSet<Name>,
}

/// Where the lowering of a loop began, for beginning again.
pub(super) struct Attempt {
    pub(super) before: Frame,
    pub(super) outer: shoal_ir::Region,
    pub(super) errors: usize,
}

/// What keeps lanes in a loop.
enum Head<'a> {
    /// `while test`
    Test(&'a Expr),
    /// `for i in range(…)`
    Count(&'a Counter<'a>),
}

/// The variable of a `for` loop over lanes.
struct Counter<'a> {
    name: &'a Name,
    span: Span,
    from: IrValue,
    to: IrValue,
    step: IrValue,
    /// Whether it counts down.
    down: bool,
}

impl Lower<'_> {
    /// The value, with those parts as values of lanes that are values of lanes in the other.
    pub(super) fn widened_like(&mut self, value: &Value, other: &Value) -> Value {
        let (mine, theirs) = (leaves(value), leaves(other));
        if mine.len() != theirs.len() {
            return value.clone();
        }
        let widened: Vec<IrValue> = mine
            .into_iter()
            .zip(theirs)
            .map(|(a, b)| {
                let types = (self.emit.func.ty(a), self.emit.func.ty(b));
                let wide = matches!(types.0, Type::Elem(_)) && lanes::is_lane_type(types.1);
                if wide { lanes::splat(&mut self.emit, a) } else { a }
            })
            .collect();
        lanes::retyped(&self.emit, refill(value, &widened))
    }

    /// The value with all its scalars as values of lanes.
    fn as_lanes(&mut self, value: &Value) -> Value {
        let parts: Vec<IrValue> = leaves(value)
            .into_iter()
            .map(|leaf| {
                let scalar = matches!(self.emit.func.ty(leaf), Type::Elem(_));
                if scalar { lanes::splat(&mut self.emit, leaf) } else { leaf }
            })
            .collect();
        lanes::retyped(&self.emit, refill(value, &parts))
    }

    /// Begins names that will differ between lanes as values of lanes.
    pub(super) fn widen(&mut self, carried: &mut [Carried], plan: &LanePlan) {
        for c in carried {
            if plan.divergent || plan.names.contains(&c.name) {
                c.init.value = self.as_lanes(&c.init.value.clone());
            }
        }
    }

    /// The carried names that began as scalars and have become values of lanes.
    pub(super) fn newly_lanes(&self, carried: &[Carried]) -> BTreeSet<Name> {
        let differs = |c: &&Carried| {
            self.frame.scope.get(&c.name).is_some_and(|now| {
                let mut pairs = leaves(&now.value).into_iter().zip(leaves(&c.init.value));
                let widened = |(a, b): (IrValue, IrValue)| {
                    let (a, b) = (self.emit.func.ty(a), self.emit.func.ty(b));
                    lanes::is_lane_type(a) && matches!(b, Type::Elem(_))
                };
                self.goes_with(&now.value, &c.init.value) && pairs.any(widened)
            })
        };
        carried.iter().filter(differs).map(|c| c.name.clone()).collect()
    }

    /// Notes where the lowering of a loop begins.
    pub(super) fn attempt(&self) -> Attempt {
        Attempt { before: self.frame.clone(), outer: self.emit.region, errors: self.errors.len() }
    }

    /// Goes back to where the lowering of a loop began.
    pub(super) fn abandon(&mut self, attempt: Attempt, regions: &[shoal_ir::Region]) {
        self.emit.region = attempt.outer;
        self.frame = attempt.before;
        for &region in regions.iter().rev() {
            for op in self.emit.func.take_ops(region).into_iter().rev() {
                self.emit.func.erase(op);
            }
        }
    }

    /// A `while` loop that lanes leave at different times.
    pub(super) fn divergent_while(&mut self, span: Span, test: &Expr, body: &[Stmt]) -> LowerResult<()> {
        let mut assigned = assigned_names(body);
        assigned.extend(walrus_names(test));
        self.lane_loop(span, &assigned, body, &Head::Test(test))
    }

    /// Whether the bounds of a loop differ between lanes.
    pub(super) fn differs_between_lanes(range: &Range) -> bool {
        [&range.start, &range.end, &range.step].into_iter().any(|v| v.as_tensor().is_some_and(lanes::is_per_lane))
    }

    /// A `for` loop whose bounds differ between lanes.
    pub(super) fn lane_for(
        &mut self,
        span: Span,
        (variable, at): (&Name, Span),
        range: &Range,
        body: &[Stmt],
    ) -> LowerResult<()> {
        let step = range.step.as_const().and_then(Const::as_int);
        if step == Some(0) {
            return Err(self.emit.lower_error("the step of a loop cannot be zero"));
        }
        let mut bounds = Vec::new();
        let mut ty = Scalar::I32;
        for value in [&range.start, &range.end, &range.step] {
            let t = operand::to_tensor(&mut self.emit, value)?;
            let Some(scalar) = t.ty.number().filter(|s| s.is_int() && lanes::may_differ(&t.ty)) else {
                return Err(self.emit.lower_error("the bounds of a loop must be integers"));
            };
            ty = self.common_integer(ty, scalar)?;
            bounds.push(t);
        }
        let each: Vec<IrValue> = bounds
            .iter()
            .map(|t| cast::to_number(&mut self.emit, t, ty).map(|t| lanes::splat(&mut self.emit, t.value)))
            .collect::<LowerResult<_>>()?;
        let mut assigned = assigned_names(body);
        assigned.remove(variable);
        let down = step.is_some_and(|s| s < 0);
        let counter = Counter { name: variable, span: at, from: each[0], to: each[1], step: each[2], down };
        self.lane_loop(span, &assigned, body, &Head::Count(&counter))?;
        let help = "assign it to another name inside the loop";
        self.frame.lose(variable, at, "it is the variable of a loop that has ended", help);
        Ok(())
    }

    fn lane_loop(&mut self, span: Span, assigned: &BTreeSet<Name>, body: &[Stmt], head: &Head<'_>) -> LowerResult<()> {
        self.frame_visited()?;
        let attempt = self.attempt();
        let mut carried = self.carried(assigned);
        self.widen(&mut carried, &LanePlan { divergent: true, names: BTreeSet::new() });
        let mut inits: Vec<IrValue> = carried.iter().flat_map(|c| leaves(&c.init.value)).collect();
        if let Head::Count(counter) = head {
            inits.push(counter.from);
        }
        inits.push(lanes::active(&mut self.emit));
        let types: Vec<Type> = inits.iter().map(|&v| self.emit.func.ty(v).clone()).collect();

        let (test_region, params) = self.loop_region(&types);
        self.bind_carried(&carried, &params);
        self.frame.loops += 1;
        let still = match self.stays(head, &params) {
            Ok(still) => still,
            Err(error) => {
                self.abandon(attempt, &[test_region]);
                return Err(error);
            }
        };
        let staying = params.len() - 1;
        let mut handed = self.carried_leaves(&carried, &params, params[staying]).0;
        handed.extend(params.get(handed.len()..staying).unwrap_or_default());
        handed.push(still);
        let go_on = lanes::any(&mut self.emit, still);
        self.emit.b().op(OpKind::Condition, std::iter::once(go_on).chain(handed), [], []);

        let (body_region, params) = self.loop_region(&types);
        self.bind_carried(&carried, &params);
        let mask = params[staying];
        if let Head::Count(counter) = head {
            let index = Value::Tensor(self.emit.tensor(params[staying - 1]));
            self.assign_name(counter.name, index, counter.span);
        }
        self.under(mask, |l| l.plain_block(body));
        self.emit.span = span;
        let (mut next, failed) = self.carried_leaves(&carried, &params, mask);
        if let Head::Count(counter) = head {
            next.push(self.emit.b().binary(BinaryOp::Add, params[staying - 1], counter.step));
        }
        next.push(mask);
        self.emit.b().yield_(&next);
        self.emit.region = attempt.outer;
        let after = std::mem::replace(&mut self.frame, attempt.before);
        let kind = OpKind::While { disable_licm: false };
        let op = self.emit.b().op(kind, inits, types, [test_region, body_region]);
        let results = self.emit.func.op(op).results().to_vec();
        self.leave_loop(&carried, &results, after, assigned, body);
        self.spoil(&failed, span);
        Ok(())
    }

    /// A region of a loop, which grows from now on.
    fn loop_region(&mut self, types: &[Type]) -> (shoal_ir::Region, Vec<IrValue>) {
        let region = self.emit.func.new_region();
        let params = types.iter().map(|ty| self.emit.func.add_param(region, ty.clone())).collect();
        self.emit.region = region;
        (region, params)
    }

    /// The lanes that make another trip.
    fn stays(&mut self, head: &Head<'_>, params: &[IrValue]) -> LowerResult<IrValue> {
        let mask = params[params.len() - 1];
        let wants = match head {
            Head::Test(test) => {
                let value = self.under(mask, |l| l.expr(test))?;
                let value = match value {
                    Value::Condition(c) => c.test.clone(),
                    value => value,
                };
                let tensor: Tensor = match &value {
                    Value::Tensor(t) => t.clone(),
                    known => {
                        let known = Value::bool(self.truthy(known)?);
                        operand::to_tensor(&mut self.emit, &known)?
                    }
                };
                let truth = cast::truth(&mut self.emit, &tensor)?;
                lanes::of_each(&mut self.emit, &truth)?.value
            }
            Head::Count(counter) => {
                let order = if counter.down { CmpOp::Gt } else { CmpOp::Lt };
                self.emit.b().cmp(order, params[params.len() - 2], counter.to)
            }
        };
        Ok(lanes::both(&mut self.emit, Some(mask), wants))
    }

    /// What carried names are made of now: on the lanes of the mask, and what they came with elsewhere. Names that
    /// changed their type are reported, and keep what they came with.
    fn carried_leaves(
        &mut self,
        carried: &[Carried],
        params: &[IrValue],
        mask: IrValue,
    ) -> (Vec<IrValue>, BTreeSet<Name>) {
        let mut next = Vec::new();
        let mut failed = BTreeSet::new();
        for c in carried {
            let count = leaves(&c.init.value).len();
            let came: Vec<IrValue> = params[next.len()..next.len() + count].to_vec();
            let now = self.frame.scope.get(&c.name).cloned();
            match now {
                Some(now) if self.goes_with(&now.value, &c.init.value) => {
                    for (new, old) in leaves(&now.value).into_iter().zip(came) {
                        next.push(self.on_lanes(mask, new, old));
                    }
                    continue;
                }
                Some(Binding { value: Value::Invalid, .. }) => {}
                Some(now) => self.report(type_changed(c, &now)),
                None => {
                    let error = self.name(&c.name, c.init.span).err();
                    self.report(error.unwrap_or_else(crate::lower_error::LowerError::reported));
                }
            }
            failed.insert(c.name.clone());
            next.extend(came);
        }
        (next, failed)
    }

    /// The new value on the lanes of a mask, the old one elsewhere.
    fn on_lanes(&mut self, mask: IrValue, new: IrValue, old: IrValue) -> IrValue {
        if new == old || !lanes::may_differ(self.emit.func.ty(new)) {
            return new;
        }
        let new = lanes::splat(&mut self.emit, new);
        self.emit.b().select(mask, new, old)
    }
}
