//! Statements, and the order in which they run.
//!
//! The IR has no jumps: a `return` inside a branch on a device value is lowered by moving everything that follows into
//! the branches that do not return. [`Lower::block`] therefore runs a list of statements *and all that follows it* up
//! to the end of the function; [`Lower::plain_block`] runs just the statements, where none of them returns.

use std::collections::BTreeSet;

use shoal_ir::OpKind;
use shoal_ir::types::{Elem, Scalar};
use shoal_source::{Diagnostic, Kind, Span};

use super::Lower;
use super::branch::Condition;
use super::jit::refill;
use super::loops::Iteration;
use super::nesting::MAX_NESTING;
use crate::builtin::describe;
use crate::lower_error::{ErrorScope, LowerError, LowerResult};
use crate::semantic::operand;
use crate::syntax::ast::{Expr, ExprKind, Stmt, StmtKind};
use crate::syntax::scan::{assigned_names, contains_return};
use crate::value::{Tuple, Value};

/// How often the code after an early return may be copied.
const MAX_COPIES: u32 = 256;

/// What runs after the statements at hand, up to the end of the function.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a> {
    task: Task<'a>,
    next: Option<&'a Rest<'a>>,
}

/// How far a statement with a `return` inside got.
enum Exit {
    /// Past itself: what follows is still to be run.
    Statement,
    /// To the end of the function, with what it returns.
    Function(Option<Value>),
}

#[derive(Clone, Copy)]
enum Task<'a> {
    Stmts(&'a [Stmt]),
    /// The remaining iterations of an unrolled loop.
    Unrolled {
        target: &'a Expr,
        body: &'a [Stmt],
        items: &'a [Value],
    },
}

impl Lower<'_> {
    /// Lowers the body of a function; gives what it returns.
    pub(super) fn body(&mut self, stmts: &[Stmt]) -> LowerResult<Value> {
        self.copies = 0;
        Ok(self.block(stmts, None).unwrap_or(Value::NONE))
    }

    /// Runs statements and all that follows; gives what the function returns, `None` if it reaches its end without a
    /// `return`.
    pub(super) fn block(&mut self, stmts: &[Stmt], rest: Option<&Rest<'_>>) -> Option<Value> {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.block_here(stmts, rest))
    }

    fn block_here(&mut self, stmts: &[Stmt], rest: Option<&Rest<'_>>) -> Option<Value> {
        for (i, stmt) in stmts.iter().enumerate() {
            if self.gave_up() {
                return Some(Value::Invalid);
            }
            self.emit.span = stmt.span;
            if !contains_return(std::slice::from_ref(stmt)) {
                self.recovering(stmt, |l| l.stmt(stmt));
                continue;
            }
            let after = Rest { task: Task::Stmts(&stmts[i + 1..]), next: rest };
            let exit = self.returning(stmt, &after).unwrap_or_else(|error| {
                self.report(error);
                Exit::Function(Some(Value::Invalid))
            });
            if let Exit::Function(value) = exit {
                return value;
            }
        }
        self.follow(rest)
    }

    fn follow(&mut self, rest: Option<&Rest<'_>>) -> Option<Value> {
        let rest = rest?;
        match rest.task {
            Task::Stmts(stmts) => self.block(stmts, rest.next),
            Task::Unrolled { target, body, items } => match items.split_first() {
                None => self.follow(rest.next),
                Some((first, items)) => {
                    if let Err(error) = self.bind_target(target, first) {
                        self.report(error);
                        return Some(Value::Invalid);
                    }
                    let after = Rest { task: Task::Unrolled { target, body, items }, next: rest.next };
                    self.block(body, Some(&after))
                }
            },
        }
    }

    /// A statement that contains a `return`, and all that follows.
    fn returning(&mut self, stmt: &Stmt, after: &Rest<'_>) -> LowerResult<Exit> {
        match &stmt.kind {
            StmtKind::Return(value) => {
                self.step(stmt.span)?;
                match value {
                    Some(value) => Ok(Exit::Function(Some(self.expr(value)?))),
                    None => Ok(Exit::Function(Some(Value::NONE))),
                }
            }
            StmtKind::If { test, body, orelse } => match self.condition(test, "if")? {
                Condition::Static(true) => Ok(Exit::Function(self.block(body, Some(after)))),
                Condition::Static(false) => Ok(Exit::Function(self.block(orelse, Some(after)))),
                Condition::Dynamic(condition) => {
                    self.returning_if(stmt.span, condition, [body, orelse], after).map(Exit::Function)
                }
                Condition::Lanes(mask) => {
                    self.divergent_return(stmt.span, mask, [body, orelse], after).map(Exit::Function)
                }
            },
            StmtKind::For { target, iter, body, orelse } if orelse.is_empty() => match self.iteration(iter)? {
                Iteration::Unrolled(items) => {
                    let items: &[Value] = &items;
                    let rest = Rest { task: Task::Unrolled { target, body, items }, next: Some(after) };
                    Ok(Exit::Function(self.follow(Some(&rest))))
                }
                Iteration::Dynamic(range) => {
                    self.device_for(stmt.span, target, iter, &range, body)?;
                    Ok(Exit::Statement)
                }
            },
            _ => {
                self.recovering(stmt, |l| l.stmt(stmt));
                Ok(Exit::Statement)
            }
        }
    }

    /// A branch on a device value with a `return` inside: each arm runs to the end of the function.
    fn returning_if(
        &mut self,
        span: Span,
        condition: shoal_ir::Value,
        arms: [&[Stmt]; 2],
        after: &Rest<'_>,
    ) -> LowerResult<Option<Value>> {
        self.one_more_return(span, arms)?;
        self.open_returns += 1;
        let before = self.frame.clone();
        let (then_region, then_value) = self.in_region(|l| l.block(arms[0], Some(after)));
        self.frame = before;
        let (else_region, else_value) = self.in_region(|l| l.block(arms[1], Some(after)));
        self.open_returns -= 1;
        self.emit.span = span;
        let regions = [then_region, else_region];
        let mut values = match (then_value, else_value) {
            (None, None) => {
                self.finish_if(condition, [(then_region, &[]), (else_region, &[])])?;
                return Ok(None);
            }
            (Some(a), Some(b)) => [a, b],
            // A path that reaches the end without `return` gives no particular value.
            (Some(a), None) => [a.clone(), self.any_like(&a, else_region)?],
            (None, Some(b)) => [self.any_like(&b, then_region)?, b],
        };
        self.unify_returns(span, regions, &mut values)?;
        let [then_value, else_value] = values;
        let results = self.finish_if(condition, [(then_region, &[&then_value]), (else_region, &[&else_value])])?;
        Ok(Some(crate::lanes::retyped(&self.emit, refill(&then_value, &results))))
    }

    /// Counts a branch with a `return` inside: there is a limit to how often what follows is copied.
    pub(super) fn one_more_return(&mut self, span: Span, arms: [&[Stmt]; 2]) -> LowerResult<()> {
        if !arms.iter().any(|arm| always_returns(arm)) {
            self.copies += 1;
            if self.copies > MAX_COPIES {
                return Err(Diagnostic::error(span, "too many branches that may or may not return")
                    .help("return in every path of a branch, or compute the result first and return once")
                    .into());
            }
        }
        if self.open_returns >= MAX_NESTING {
            return Err(Diagnostic::error(
                span,
                format!("more than {MAX_NESTING} branches that return follow each other"),
            )
            .help("compute the result first and return once, at the end")
            .into());
        }
        self.frame_visited()
    }

    /// Some value of the same type, written at the end of a region.
    fn any_like(&mut self, value: &Value, region: shoal_ir::Region) -> LowerResult<Value> {
        let mut leaves = Vec::new();
        value.leaves(&mut leaves);
        let outer = std::mem::replace(&mut self.emit.region, region);
        let mut made = Vec::new();
        for leaf in leaves {
            let ty = self.emit.func.ty(leaf).clone();
            made.push(match ty.elem() {
                Some(Elem::Scalar(s)) => self.emit.b().constant(shoal_ir::Const::zero(s), ty),
                Some(Elem::Ptr(p)) => {
                    let address = self.emit.b().int(0, ty.with_elem(Scalar::I64));
                    self.emit.b().cast(address, p)
                }
                None => {
                    self.emit.region = outer;
                    let message = "one path of this branch returns a tensor descriptor, the other returns nothing";
                    return Err(self.emit.error(message).help("return a descriptor on both paths").into());
                }
            });
        }
        self.emit.region = outer;
        Ok(refill(value, &made))
    }

    /// Makes what two paths return the same type; constants become scalars if they differ.
    fn unify_returns(
        &mut self,
        span: Span,
        regions: [shoal_ir::Region; 2],
        values: &mut [Value; 2],
    ) -> LowerResult<()> {
        let [a, b] = &*values;
        if matches!(a, Value::Invalid) || matches!(b, Value::Invalid) {
            return Err(LowerError::reported());
        }
        if a.type_name() == b.type_name() {
            return Ok(());
        }
        if self.goes_with(a, b) {
            let (a, b) = (a.clone(), b.clone());
            for (value, other, region) in [(0, &b, regions[0]), (1, &a, regions[1])] {
                let outer = std::mem::replace(&mut self.emit.region, region);
                values[value] = self.widened_like(&values[value].clone(), other);
                self.emit.region = outer;
            }
            return Ok(());
        }
        if let (Value::Const(x), Value::Const(y)) = (a, b)
            && crate::consts::equal(x, y)
        {
            values[1] = a.clone();
            return Ok(());
        }
        match (a.clone(), b.clone()) {
            (Value::Tuple(x), Value::Tuple(y)) if x.items.len() == y.items.len() => {
                let mut parts = (Vec::new(), Vec::new());
                for (p, q) in x.items.iter().zip(y.items.iter()) {
                    let mut pair = [p.clone(), q.clone()];
                    self.unify_returns(span, regions, &mut pair)?;
                    let [p, q] = pair;
                    parts.0.push(p);
                    parts.1.push(q);
                }
                *values = [
                    Value::Tuple(Tuple { items: parts.0.into(), class: x.class }),
                    Value::Tuple(Tuple { items: parts.1.into(), class: y.class }),
                ];
                Ok(())
            }
            (a, b) if !a.is_none() && !b.is_none() && (is_number(&a) || is_number(&b)) => {
                for (i, value) in [a, b].into_iter().enumerate() {
                    let outer = std::mem::replace(&mut self.emit.region, regions[i]);
                    let tensor = operand::to_tensor(&mut self.emit, &value);
                    self.emit.region = outer;
                    values[i] = Value::Tensor(tensor?);
                }
                if values[0].type_name() == values[1].type_name() {
                    return Ok(());
                }
                Err(different_returns(span, values))
            }
            _ => Err(different_returns(span, values)),
        }
    }

    /// Runs statements of which none returns.
    pub(super) fn plain_block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if self.gave_up() {
                return;
            }
            self.emit.span = stmt.span;
            self.recovering(stmt, |l| l.stmt(stmt));
        }
    }

    /// Runs a statement; on an error, the names it would have assigned have no value.
    fn recovering(&mut self, stmt: &Stmt, f: impl FnOnce(&mut Self) -> LowerResult<()>) {
        let span = self.emit.span;
        let result = self.step(stmt.span).and_then(|()| f(self));
        self.emit.span = span;
        if let Err(error) = result {
            self.ended |= error.scope() == ErrorScope::Function;
            self.report(error);
            // A name of which an element could not be replaced keeps its value.
            let elements = matches!(&stmt.kind, StmtKind::Assign { targets, .. }
                if targets.iter().all(|target| matches!(target.kind, ExprKind::Subscript { .. })));
            let names = if elements { BTreeSet::new() } else { assigned_names(std::slice::from_ref(stmt)) };
            for name in names {
                self.frame.bind(name, Value::Invalid, stmt.span);
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> LowerResult<()> {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.stmt_kind(stmt))
    }

    fn stmt_kind(&mut self, stmt: &Stmt) -> LowerResult<()> {
        match &stmt.kind {
            StmtKind::Pass => Ok(()),
            StmtKind::Expr(e) => match &e.kind {
                ExprKind::Str(_) | ExprKind::Ellipsis => Ok(()),
                ExprKind::Call { func, args } => self.call_unused(func, args, e.span),
                _ => self.expr(e).map(drop),
            },
            StmtKind::Assign { targets, value } => self.assign(targets, value),
            StmtKind::AugAssign { target, op, value } => self.augmented(target, *op, value, stmt.span),
            StmtKind::AnnAssign { target, annotation, value } => self.annotated(target, annotation, value.as_ref()),
            StmtKind::If { test, body, orelse } => self.branch(stmt.span, test, body, orelse),
            StmtKind::For { target, iter, body, orelse } => self.for_loop(stmt.span, target, iter, body, orelse),
            StmtKind::While { test, body, orelse } => self.while_loop(stmt.span, test, body, orelse),
            StmtKind::With { context, target, body } => self.with_block(context, target.as_ref(), body),
            StmtKind::Assert { test, msg } => self.assertion(test, msg.as_ref()),
            StmtKind::Return(_) => Err(Diagnostic::error(stmt.span, "`return` inside a loop")
                .kind(Kind::Unsupported)
                .label("a loop on the device runs to its end")
                .help("put the condition into a `while`, or mask what must not happen")
                .into()),
            _ => Err(unsupported(stmt, self.program.package(self.frame.module))),
        }
    }

    /// `assert test, msg` is `tl.device_assert(test, msg)`.
    fn assertion(&mut self, test: &Expr, msg: Option<&Expr>) -> LowerResult<()> {
        let test = self.expr(test)?;
        let msg = match msg {
            Some(msg) => self.expr(msg)?,
            None => Value::str(""),
        };
        self.call_builtin_named("device_assert", vec![test, msg]).map(drop)
    }

    /// Runs `f` with a fresh region as the place to write; gives the region too.
    pub(super) fn in_region<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (shoal_ir::Region, T) {
        let region = self.emit.func.new_region();
        let outer = std::mem::replace(&mut self.emit.region, region);
        let value = f(self);
        self.emit.region = outer;
        (region, value)
    }

    /// Ends both arms of a branch with the values they give, and makes the branch.
    pub(super) fn finish_if(
        &mut self,
        condition: shoal_ir::Value,
        arms: [(shoal_ir::Region, &[&Value]); 2],
    ) -> LowerResult<Vec<shoal_ir::Value>> {
        let outer = self.emit.region;
        let mut types = Vec::new();
        for (region, values) in arms {
            let mut leaves = Vec::new();
            values.iter().for_each(|v| v.leaves(&mut leaves));
            types = leaves.iter().map(|&v| self.emit.func.ty(v).clone()).collect();
            self.emit.region = region;
            self.emit.b().yield_(&leaves);
        }
        self.emit.region = outer;
        let regions = [arms[0].0, arms[1].0];
        let op = self.emit.b().op(OpKind::If, [condition], types, regions);
        Ok(self.emit.func.op(op).results().to_vec())
    }
}

fn is_number(value: &Value) -> bool {
    value.as_const().is_some_and(|c| c.as_float().is_some())
}

/// Whether every path through the statements returns.
fn always_returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|s| match &s.kind {
        StmtKind::Return(_) => true,
        StmtKind::If { body, orelse, .. } => always_returns(body) && always_returns(orelse),
        _ => false,
    })
}

fn different_returns(span: Span, values: &[Value; 2]) -> LowerError {
    Diagnostic::error(span, "this function returns different types")
        .label("on the two sides of this branch")
        .note(format!("one side returns {}, the other {}", describe(&values[0]), describe(&values[1])))
        .help("convert the values to one type before returning, for example with `.to(...)`")
        .into()
}

fn unsupported(stmt: &Stmt, package: &str) -> LowerError {
    let nested = format!("define it outside of the kernel, with `@{package}.jit`");
    let (what, help) = match &stmt.kind {
        StmtKind::Break => ("`break`", "loops on the device run to their end: use `while` with the condition"),
        StmtKind::Continue => ("`continue`", "put the rest of the loop body under an `if`"),
        StmtKind::FunctionDef(_) => ("nested functions", nested.as_str()),
        StmtKind::ClassDef(_) => ("nested classes", "move it to module level"),
        StmtKind::Import(_) | StmtKind::ImportFrom { .. } => ("imports", "import at module level"),
        StmtKind::Raise(_) => ("`raise`", "use `tl.static_assert` at compile time or `tl.device_assert` at run time"),
        StmtKind::Try(_) => ("`try` statements", "check the condition with an `if`"),
        StmtKind::Unsupported(u) => (u.what, u.help),
        _ => ("this statement", "write it differently"),
    };
    Diagnostic::error(stmt.span, format!("kernels have no {what}"))
        .kind(Kind::Unsupported)
        .label("not supported")
        .help(help)
        .into()
}
