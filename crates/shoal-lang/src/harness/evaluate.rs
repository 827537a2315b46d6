//! Evaluating a harness: statements and expressions of host code, in a small part of Python.

use std::collections::HashMap;

use shoal_source::{Diagnostic, Span};

use super::operate::{binary, builtin, compare, integer, truth, unary};
use super::{HarnessArgs, HarnessValue as Value, HarnessWorld};
use crate::module::{Function, FunctionKind, Global, ModuleId};
use crate::program::Program;
use crate::syntax::ast::{Arg, ArgKind, BoolOp, Expr, ExprKind, Generator, Name, Stmt, StmtKind};
use crate::syntax::scan::stmt_parts;

type Result<T> = std::result::Result<T, Diagnostic>;

/// Statements and expressions that a harness may evaluate.
const MAX_STEPS: u32 = 2_000_000;

/// How a statement ends.
enum Flow {
    Next,
    Break,
    Continue,
    Return,
}

struct Evaluator<'a> {
    program: &'a Program,
    module: ModuleId,
    /// The parameter that is the world.
    world_name: Name,
    world: &'a mut dyn HarnessWorld,
    names: HashMap<Name, Value>,
    steps: u32,
    /// Globals under evaluation: one that needs itself has no value.
    open: Vec<Name>,
}

pub(super) fn run(
    program: &Program,
    function: &Function,
    given: &[(String, Value)],
    world: &mut dyn HarnessWorld,
) -> Result<()> {
    let def = &function.def;
    let Some(first) = def.params.first() else {
        let text = format!("the harness `{}` has no parameter for the world", function.name());
        return Err(Diagnostic::error(def.name.span, text).help("write `def NAME(world):`"));
    };
    let world_name = first.name.name.clone();
    let mut evaluator = Evaluator {
        program,
        module: function.module,
        world_name,
        world,
        names: HashMap::new(),
        steps: 0,
        open: vec![],
    };
    for (name, _) in given {
        if !def.params[1..].iter().any(|param| *param.name.name == **name) {
            let text = format!("the harness `{}` has no parameter `{name}`", function.name());
            return Err(Diagnostic::error(def.name.span, text));
        }
    }
    for param in &def.params[1..] {
        let value = match (given.iter().find(|(name, _)| **name == *param.name.name), &param.default) {
            (Some((_, value)), _) => value.clone(),
            (None, Some(default)) => evaluator.expr(default)?,
            (None, None) => {
                let text = format!("the parameter `{}` of the harness has no value", param.name.name);
                return Err(Diagnostic::error(param.name.span, text).help("give it a default, or set it"));
            }
        };
        evaluator.names.insert(param.name.name.clone(), value);
    }
    evaluator.stmts(&def.body)?;
    Ok(())
}

/// The defaults of the parameters after the world that need no world.
pub(super) fn defaults(program: &Program, function: &Function) -> Vec<(String, Value)> {
    let Some(first) = function.def.params.first() else { return Vec::new() };
    let mut evaluator = Evaluator {
        program,
        module: function.module,
        world_name: first.name.name.clone(),
        world: &mut NoWorld,
        names: HashMap::new(),
        steps: 0,
        open: vec![],
    };
    let mut found = Vec::new();
    for param in &function.def.params[1..] {
        if let Some(value) = param.default.as_ref().and_then(|default| evaluator.expr(default).ok()) {
            found.push((param.name.name.to_string(), value));
        }
    }
    found
}

/// Where there is no world yet.
struct NoWorld;

impl HarnessWorld for NoWorld {
    fn at(&mut self, _: Span) {}

    fn attribute(&mut self, _name: &str) -> std::result::Result<Value, String> {
        Err("there is no world here".into())
    }

    fn call(&mut self, _method: &str, _args: HarnessArgs) -> std::result::Result<Value, String> {
        Err("there is no world here".into())
    }

    fn call_on(&mut self, _: usize, _method: &str, _args: HarnessArgs) -> std::result::Result<Value, String> {
        Err("there is no world here".into())
    }

    fn launch(&mut self, _kernel: &str, _grid: Vec<i128>, _args: HarnessArgs) -> std::result::Result<(), String> {
        Err("there is no world here".into())
    }
}

/// Whether statements subscript this name: `kernel[grid]`.
pub(super) fn mentions(body: &[Stmt], name: &str) -> bool {
    let mut stmts: Vec<&Stmt> = body.iter().collect();
    while let Some(stmt) = stmts.pop() {
        let (exprs, inner) = stmt_parts(stmt);
        if exprs.into_iter().any(|e| launches(e, name)) {
            return true;
        }
        stmts.extend(inner);
    }
    false
}

fn launches(e: &Expr, name: &str) -> bool {
    match &e.kind {
        ExprKind::Call { func, .. } => launches(func, name),
        ExprKind::Subscript { value, .. } => matches!(&value.kind, ExprKind::Name(n) if **n == *name),
        _ => false,
    }
}

fn wrong<T>(span: Span, text: impl Into<String>) -> Result<T> {
    Err(Diagnostic::error(span, text.into()).label("in this harness"))
}

impl Evaluator<'_> {
    fn stmts(&mut self, body: &[Stmt]) -> Result<Flow> {
        for stmt in body {
            match self.stmt(stmt)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<Flow> {
        self.count(stmt.span)?;
        match &stmt.kind {
            StmtKind::Expr(e) => {
                // A text by itself is a comment.
                if !matches!(e.kind, ExprKind::Str(_)) {
                    self.expr(e)?;
                }
            }
            StmtKind::Assign { targets, value } => {
                let value = self.expr(value)?;
                for target in targets {
                    self.assign(target, value.clone())?;
                }
            }
            StmtKind::AnnAssign { target, value: Some(value), .. } => {
                let value = self.expr(value)?;
                self.assign(target, value)?;
            }
            StmtKind::AugAssign { target, op, value } => {
                let (old, value) = (self.expr(target)?, self.expr(value)?);
                let Some(new) = binary(*op, &old, &value) else {
                    return wrong(stmt.span, format!("`{}` does not work on these values", op.symbol()));
                };
                self.assign(target, new)?;
            }
            StmtKind::If { test, body, orelse } => {
                let branch = if truth(&self.expr(test)?) { body } else { orelse };
                return self.stmts(branch);
            }
            StmtKind::For { target, iter, body, orelse } if orelse.is_empty() => {
                let Value::List(items) = self.expr(iter)? else {
                    return wrong(iter.span, "a harness loops over `range(…)` or a list");
                };
                for item in items {
                    self.assign(target, item)?;
                    match self.stmts(body)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        Flow::Return => return Ok(Flow::Return),
                    }
                }
            }
            StmtKind::Assert { test, .. } => {
                if !truth(&self.expr(test)?) {
                    return wrong(stmt.span, "this assertion does not hold");
                }
            }
            StmtKind::Return(_) => return Ok(Flow::Return),
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Pass => {}
            _ => {
                return wrong(
                    stmt.span,
                    "a harness has assignments, `if`, `for`, calls and launches, and no such statement",
                );
            }
        }
        Ok(Flow::Next)
    }

    fn count(&mut self, span: Span) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS { wrong(span, "this harness takes too long") } else { Ok(()) }
    }

    fn assign(&mut self, target: &Expr, value: Value) -> Result<()> {
        match (&target.kind, value) {
            (ExprKind::Name(name), value) => {
                self.names.insert(name.clone(), value);
                Ok(())
            }
            (ExprKind::Tuple(targets) | ExprKind::List(targets), Value::List(items))
                if targets.len() == items.len() =>
            {
                targets.iter().zip(items).try_for_each(|(target, item)| self.assign(target, item))
            }
            _ => wrong(target.span, "a harness assigns to names"),
        }
    }

    fn expr(&mut self, e: &Expr) -> Result<Value> {
        self.count(e.span)?;
        Ok(match &e.kind {
            ExprKind::None => Value::None,
            ExprKind::Bool(b) => Value::Bool(*b),
            ExprKind::Int(i) => Value::Int(*i),
            ExprKind::Float(x) => Value::Float(*x),
            ExprKind::Str(s) => Value::Str(s.to_string()),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                Value::List(items.iter().map(|item| self.expr(item)).collect::<Result<_>>()?)
            }
            ExprKind::Name(name) => return self.name(name, e.span),
            ExprKind::Attribute { value, attr } => return self.attribute(value, &attr.name, e.span),
            ExprKind::Unary { op, operand } => {
                let value = self.expr(operand)?;
                let result = unary(*op, &value);
                return result.map_or_else(|| wrong(e.span, format!("`{}` does not work on this", op.symbol())), Ok);
            }
            ExprKind::Binary { first, rest } => {
                let mut value = self.expr(first)?;
                for link in rest {
                    let right = self.expr(&link.right)?;
                    let Some(result) = binary(link.op, &value, &right) else {
                        return wrong(link.span, format!("`{}` does not work on these values", link.op.symbol()));
                    };
                    value = result;
                }
                value
            }
            ExprKind::Bools { op, values } => {
                let mut last = Value::Bool(*op == BoolOp::And);
                for value in values {
                    last = self.expr(value)?;
                    if truth(&last) == (*op == BoolOp::Or) {
                        break;
                    }
                }
                last
            }
            ExprKind::Compare { left, rest } => {
                let mut left = self.expr(left)?;
                for (op, right) in rest {
                    let right = self.expr(right)?;
                    match compare(*op, &left, &right) {
                        Some(true) => left = right,
                        Some(false) => return Ok(Value::Bool(false)),
                        None => return wrong(e.span, format!("`{}` does not compare these values", op.symbol())),
                    }
                }
                Value::Bool(true)
            }
            ExprKind::IfElse { test, body, orelse } => {
                let branch = if truth(&self.expr(test)?) { body } else { orelse };
                return self.expr(branch);
            }
            ExprKind::Subscript { value, index } => return self.subscript(value, index, e.span),
            ExprKind::Comprehension { element, generators } => {
                let mut values = Vec::new();
                self.comprehension(element, generators, &mut values)?;
                Value::List(values)
            }
            ExprKind::Call { func, args } => return self.call(func, args, e.span),
            _ => return wrong(e.span, "a harness has no such expression"),
        })
    }

    /// Adds what a comprehension gives from these `for`s on.
    fn comprehension(&mut self, element: &Expr, generators: &[Generator], values: &mut Vec<Value>) -> Result<()> {
        let [outer, inner @ ..] = generators else {
            values.push(self.expr(element)?);
            return Ok(());
        };
        let Value::List(items) = self.expr(&outer.iter)? else {
            return wrong(outer.iter.span, "a harness loops over `range(…)` or a list");
        };
        for item in items {
            self.assign(&outer.target, item)?;
            if self.all_true(&outer.ifs)? {
                self.comprehension(element, inner, values)?;
            }
        }
        Ok(())
    }

    fn all_true(&mut self, tests: &[Expr]) -> Result<bool> {
        for test in tests {
            if !truth(&self.expr(test)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn name(&mut self, name: &Name, span: Span) -> Result<Value> {
        if let Some(value) = self.names.get(name) {
            return Ok(value.clone());
        }
        let unit = self.program.module(self.module);
        match unit.globals.get(name) {
            Some(Global::Assign(assigned)) if !self.open.contains(name) => {
                self.open.push(name.clone());
                let mut value = self.constant(&assigned.value);
                self.open.pop();
                for &at in &assigned.path {
                    value = value.and_then(|value| match value {
                        Value::List(mut items) if at < items.len() => Ok(items.swap_remove(at)),
                        _ => wrong(span, format!("`{name}` has no value here")),
                    });
                }
                value
            }
            _ => wrong(span, format!("`{name}` has no value in a harness")),
        }
    }

    /// A constant of the file; `tl.constexpr(…)` around it changes nothing.
    fn constant(&mut self, e: &Expr) -> Result<Value> {
        match &e.kind {
            ExprKind::Call { func, args }
                if self.program.language_name(self.module, func).as_deref() == Some("constexpr") && args.len() == 1 =>
            {
                self.expr(&args[0].value)
            }
            _ => self.expr(e),
        }
    }

    fn is_world(&self, e: &Expr) -> bool {
        matches!(&e.kind, ExprKind::Name(name) if *name == self.world_name)
    }

    fn attribute(&mut self, value: &Expr, attr: &Name, span: Span) -> Result<Value> {
        if self.is_world(value) {
            return self.world.attribute(attr).or_else(|message| wrong(span, message));
        }
        // `tl.float32` is its name.
        match self.program.language_name(
            self.module,
            &Expr {
                kind: ExprKind::Attribute {
                    value: Box::new(value.clone()),
                    attr: crate::syntax::ast::Ident { name: attr.clone(), span },
                },
                span,
            },
        ) {
            Some(name) => Ok(Value::Str(name.to_string())),
            None => wrong(span, format!("`.{attr}` has no value in a harness")),
        }
    }

    fn subscript(&mut self, value: &Expr, index: &Expr, span: Span) -> Result<Value> {
        let (value, index) = (self.expr(value)?, self.expr(index)?);
        match (value, integer(&index)) {
            (Value::List(items), Some(index)) => {
                let at = if index < 0 { index + items.len() as i128 } else { index };
                let item = usize::try_from(at).ok().and_then(|at| items.get(at).cloned());
                item.map_or_else(|| wrong(span, format!("there is no element {index}")), Ok)
            }
            _ => wrong(span, "a harness takes elements of lists only"),
        }
    }

    fn call(&mut self, func: &Expr, args: &[Arg], span: Span) -> Result<Value> {
        if let ExprKind::Subscript { value, index } = &func.kind
            && let ExprKind::Name(name) = &value.kind
            && self.is_kernel(name)
        {
            let grid = match self.expr(index)? {
                Value::List(items) => items,
                one => vec![one],
            };
            let grid: Option<Vec<i128>> = grid.iter().map(integer).collect();
            let Some(grid) = grid else { return wrong(index.span, "a grid is one to three integers") };
            let args = self.args(args)?;
            self.world.at(span);
            return match self.world.launch(name, grid, args) {
                Ok(()) => Ok(Value::None),
                Err(message) => wrong(span, message),
            };
        }
        if let ExprKind::Name(name) = &func.kind
            && self.is_other_function(name)
        {
            return wrong(
                span,
                format!("a harness calls no other function of the file: write here what `{name}` does"),
            );
        }
        let args = self.args(args)?;
        self.world.at(span);
        match &func.kind {
            ExprKind::Attribute { value, attr } if self.is_world(value) => {
                self.world.call(&attr.name, args).or_else(|message| wrong(span, message))
            }
            ExprKind::Attribute { value, attr } => match self.object(value)? {
                Some(object) => self.world.call_on(object, &attr.name, args).or_else(|message| wrong(span, message)),
                None => self.builtin(&attr.name, &args, span),
            },
            ExprKind::Name(name) => self.builtin(name, &args, span),
            _ => wrong(span, "a harness cannot call this"),
        }
    }

    /// The thing of the world that a name or an element of a list stands for.
    fn object(&mut self, e: &Expr) -> Result<Option<usize>> {
        let value = match &e.kind {
            ExprKind::Name(name) => self.names.get(name).cloned(),
            ExprKind::Subscript { .. } | ExprKind::Call { .. } => Some(self.expr(e)?),
            _ => None,
        };
        Ok(match value {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        })
    }

    fn builtin(&mut self, name: &Name, args: &HarnessArgs, span: Span) -> Result<Value> {
        match builtin(name, &args.0).filter(|_| args.1.is_empty()) {
            Some(value) => Ok(value),
            None if self.is_kernel(name) => wrong(span, format!("launch the kernel with a grid: `{name}[(1,)](…)`")),
            None => wrong(span, format!("a harness cannot call `{name}` with these arguments")),
        }
    }

    fn is_kernel(&self, name: &Name) -> bool {
        let unit = self.program.module(self.module);
        matches!(unit.globals.get(name), Some(Global::Function(f)) if f.kind == FunctionKind::Jit)
    }

    fn is_other_function(&self, name: &Name) -> bool {
        let unit = self.program.module(self.module);
        matches!(unit.globals.get(name), Some(Global::Function(f)) if f.kind != FunctionKind::Jit)
    }

    fn args(&mut self, args: &[Arg]) -> Result<HarnessArgs> {
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        for arg in args {
            match &arg.kind {
                ArgKind::Positional => positional.push(self.expr(&arg.value)?),
                ArgKind::Keyword(name) => named.push((name.name.to_string(), self.expr(&arg.value)?)),
                ArgKind::Star => match self.expr(&arg.value)? {
                    Value::List(items) => positional.extend(items),
                    _ => return wrong(arg.value.span, "`*` needs a list"),
                },
                ArgKind::StarStar => return wrong(arg.value.span, "a harness passes no `**` arguments"),
            }
        }
        Ok((positional, named))
    }
}
