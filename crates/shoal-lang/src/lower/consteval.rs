//! Functions that run at compile time: `@constexpr_function`s and plain helpers, by Python's rules.
//!
//! Lists are immutable tuples here; `list.append(x)` and `list[i] = x` on a name rebind the name. Every statement
//! counts as a step, and steps are limited, so this always ends.

use shoal_source::{Diagnostic, Span};

use super::Lower;
use super::frame::Frame;
use crate::builtin::describe;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::Function;
use crate::syntax::ast::{ArgKind, Expr, ExprKind, Name, Stmt, StmtKind};
use crate::value::{Const, Value};

/// How a statement ended.
enum Exit {
    Next,
    Break,
    Continue,
    Return(Value),
}

impl Lower<'_> {
    /// Runs a function at compile time.
    pub(super) fn run_at_compile_time(&mut self, f: &Function, args: Vec<Value>, span: Span) -> LowerResult<Value> {
        self.in_call(span, f.name(), |l| {
            let mut frame = Frame::compile_time(f.module).of(f);
            for (param, value) in f.def.params.iter().zip(args) {
                frame.bind(param.name.name.clone(), value, param.name.span);
            }
            let outer = std::mem::replace(&mut l.frame, frame);
            let outer_span = l.emit.span;
            let exit = l.run(&f.def.body);
            l.frame = outer;
            l.emit.span = outer_span;
            match exit? {
                Exit::Return(value) => Ok(value),
                Exit::Next | Exit::Break | Exit::Continue => Ok(Value::NONE),
            }
        })
    }

    fn run(&mut self, stmts: &[Stmt]) -> LowerResult<Exit> {
        for stmt in stmts {
            self.step(stmt.span)?;
            self.emit.span = stmt.span;
            match stacker::maybe_grow(128 << 10, 2 << 20, || self.run_stmt(stmt))? {
                Exit::Next => {}
                exit => return Ok(exit),
            }
        }
        Ok(Exit::Next)
    }

    fn run_stmt(&mut self, stmt: &Stmt) -> LowerResult<Exit> {
        match &stmt.kind {
            StmtKind::Pass | StmtKind::Import(_) | StmtKind::ImportFrom { .. } => {}
            StmtKind::Break => return Ok(Exit::Break),
            StmtKind::Continue => return Ok(Exit::Continue),
            StmtKind::Return(None) => return Ok(Exit::Return(Value::NONE)),
            StmtKind::Return(Some(e)) => return Ok(Exit::Return(self.expr(e)?)),
            StmtKind::Expr(e) => self.run_expr(e)?,
            StmtKind::Assign { targets, value } => {
                let value = self.expr(value)?;
                for target in targets {
                    self.run_assign(target, &value)?;
                }
            }
            StmtKind::AnnAssign { target, value, .. } => {
                if let Some(value) = value {
                    let value = self.expr(value)?;
                    self.run_assign(target, &value)?;
                }
            }
            StmtKind::AugAssign { target, op, value } => {
                let old = self.expr(target)?;
                let change = self.expr(value)?;
                self.emit.span = stmt.span;
                let new = self.binary(*op, &old, &change)?;
                self.run_assign(target, &new)?;
            }
            StmtKind::If { test, body, orelse } => {
                let condition = self.expr(test)?;
                self.emit.span = test.span;
                return if self.truthy(&condition)? { self.run(body) } else { self.run(orelse) };
            }
            StmtKind::For { target, iter, body, orelse } => return self.run_for(target, iter, body, orelse),
            StmtKind::While { test, body, orelse } => return self.run_while(test, body, orelse),
            StmtKind::Assert { test, msg } => self.run_assert(test, msg.as_ref())?,
            StmtKind::Raise(e) => {
                let what = match e {
                    Some(e) => self.raised(e),
                    None => "an error".to_owned(),
                };
                return Err(Diagnostic::error(stmt.span, format!("compile-time code raised {what}")).into());
            }
            StmtKind::FunctionDef(_) | StmtKind::ClassDef(_) | StmtKind::Try(_) | StmtKind::With { .. } => {
                return Err(LowerError::new(stmt.span, "this statement is not supported in compile-time functions"));
            }
            StmtKind::Unsupported(what) => {
                return Err(Diagnostic::error(stmt.span, format!("compile-time functions have no {}", what.what))
                    .help(what.help)
                    .into());
            }
        }
        Ok(Exit::Next)
    }

    /// The words of `raise Error("message")`.
    fn raised(&mut self, e: &Expr) -> String {
        let (name, args) = match &e.kind {
            ExprKind::Call { func, args } => (&func.kind, args.as_slice()),
            kind => (kind, [].as_slice()),
        };
        let name = match name {
            ExprKind::Name(n) => n.to_string(),
            _ => "an error".to_owned(),
        };
        match args.first().map(|a| self.expr(&a.value)) {
            Some(Ok(value)) => format!("`{name}`: {}", self.display(&value)),
            _ => format!("`{name}`"),
        }
    }

    fn run_expr(&mut self, e: &Expr) -> LowerResult<()> {
        if let ExprKind::Call { func, args } = &e.kind
            && let ExprKind::Attribute { value, attr } = &func.kind
            && let ExprKind::Name(name) = &value.kind
            && let [arg] = args.as_slice()
            && arg.kind == ArgKind::Positional
            && matches!(&*attr.name, "append" | "extend")
            && let Value::Tuple(list) = self.expr(value)?
        {
            let new = self.expr(&arg.value)?;
            let mut items = list.items.to_vec();
            if &*attr.name == "append" {
                items.push(new);
            } else {
                items.extend(self.items(&new, arg.value.span)?);
            }
            let list = self.bounded(Value::tuple(items))?;
            self.frame.bind(name.clone(), list, value.span);
            return Ok(());
        }
        self.expr(e).map(drop)
    }

    fn run_assign(&mut self, target: &Expr, value: &Value) -> LowerResult<()> {
        let ExprKind::Subscript { value: list, index } = &target.kind else {
            return self.bind_target(target, value);
        };
        let index = self.expr(index)?;
        let (ExprKind::Name(name), Value::Tuple(t)) = (&list.kind, self.expr(list)?) else {
            return Err(LowerError::new(target.span, "only elements of a list held by a name can be assigned"));
        };
        let length = t.items.len() as i128;
        let at = index.as_const().and_then(Const::as_int).map(|i| if i < 0 { i + length } else { i });
        let mut items = t.items.to_vec();
        match at.and_then(|at| usize::try_from(at).ok()).and_then(|at| items.get_mut(at)) {
            Some(slot) => *slot = value.clone(),
            None => {
                return Err(LowerError::new(target.span, format!("the index {} is out of range", describe(&index))));
            }
        }
        let name: Name = name.clone();
        let list = self.bounded(Value::tuple(items))?;
        self.frame.bind(name, list, target.span);
        Ok(())
    }

    fn run_for(&mut self, target: &Expr, iter: &Expr, body: &[Stmt], orelse: &[Stmt]) -> LowerResult<Exit> {
        let source = self.expr(iter)?;
        for item in self.items(&source, iter.span)? {
            self.step(iter.span)?;
            self.bind_target(target, &item)?;
            match self.run(body)? {
                Exit::Next | Exit::Continue => {}
                Exit::Break => return Ok(Exit::Next),
                exit @ Exit::Return(_) => return Ok(exit),
            }
        }
        self.run(orelse)
    }

    fn run_while(&mut self, test: &Expr, body: &[Stmt], orelse: &[Stmt]) -> LowerResult<Exit> {
        loop {
            self.step(test.span)?;
            let condition = self.expr(test)?;
            if !self.truthy(&condition)? {
                return self.run(orelse);
            }
            match self.run(body)? {
                Exit::Next | Exit::Continue => {}
                Exit::Break => return Ok(Exit::Next),
                exit @ Exit::Return(_) => return Ok(exit),
            }
        }
    }

    fn run_assert(&mut self, test: &Expr, msg: Option<&Expr>) -> LowerResult<()> {
        let condition = self.expr(test)?;
        if self.truthy(&condition)? {
            return Ok(());
        }
        let diagnostic = Diagnostic::error(test.span, "a compile-time assertion does not hold").label("this is false");
        Err(match msg.map(|m| self.expr(m)).transpose()? {
            Some(msg) => diagnostic.note(self.display(&msg)),
            None => diagnostic,
        }
        .into())
    }
}
