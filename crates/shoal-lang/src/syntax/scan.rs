//! Questions about statements that need no types: which names they assign, whether they return.

use std::collections::BTreeSet;

use super::ast::{Expr, ExprKind, FStringPart, Name, Stmt, StmtKind};

/// The names that statements may assign, `:=` included.
pub(crate) fn assigned_names(stmts: &[Stmt]) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    stmts.iter().for_each(|s| stmt_names(s, &mut names));
    names
}

/// The names that never stand for globals in a function: those that its statements assign before they read them, in the
/// order of the text, and those that the trips of a loop hand on. Others that are read first do until then, as in Triton.
pub(crate) fn local_names(body: &[Stmt]) -> BTreeSet<Name> {
    let mut first = FirstUses { assigned: BTreeSet::new(), read: BTreeSet::new() };
    body.iter().for_each(|s| first.stmt(s));
    first.assigned
}

/// What comes first for each name: its assignment or its use.
struct FirstUses {
    assigned: BTreeSet<Name>,
    read: BTreeSet<Name>,
}

impl FirstUses {
    fn stmt(&mut self, stmt: &Stmt) {
        let (targets, values, inner): (Vec<&Expr>, Vec<&Expr>, Vec<&Stmt>) = match &stmt.kind {
            StmtKind::Assign { targets, value } => (targets.iter().collect(), vec![value], Vec::new()),
            StmtKind::AugAssign { target, value, .. } => (vec![target], vec![target, value], Vec::new()),
            StmtKind::AnnAssign { target, value, .. } => match value {
                Some(value) => (vec![target], vec![value], Vec::new()),
                None => return,
            },
            StmtKind::For { target, iter, orelse, .. } => (vec![target], vec![iter], orelse.iter().collect()),
            StmtKind::While { orelse, .. } => (Vec::new(), Vec::new(), orelse.iter().collect()),
            StmtKind::With { context, target, body } => (target.iter().collect(), vec![context], body.iter().collect()),
            _ => {
                let (values, inner) = stmt_parts(stmt);
                (Vec::new(), values, inner)
            }
        };
        values.into_iter().for_each(|e| self.expr(e));
        let mut names = BTreeSet::new();
        for target in targets {
            children(target, &mut |part| {
                // What is indexed was made before.
                if matches!(target.kind, ExprKind::Subscript { .. }) {
                    self.expr(part);
                }
            });
            target_names(target, &mut names);
        }
        self.assign(names);
        match &stmt.kind {
            StmtKind::For { body, .. } => self.trips(None, body),
            StmtKind::While { test, body, .. } => self.trips(Some(test), body),
            _ => {}
        }
        inner.into_iter().for_each(|s| self.stmt(s));
    }

    /// What a loop does in each trip. What it reads and assigns afterwards is that of the trip before.
    fn trips(&mut self, test: Option<&Expr>, body: &[Stmt]) {
        let mut inside = FirstUses { assigned: self.assigned.clone(), read: BTreeSet::new() };
        test.into_iter().for_each(|e| inside.expr(e));
        body.iter().for_each(|s| inside.stmt(s));
        let handed_on = &inside.read & &assigned_names(body);
        self.assign(inside.assigned);
        self.read.append(&mut inside.read);
        self.assigned.extend(handed_on);
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Name(name) if !self.assigned.contains(name) => drop(self.read.insert(name.clone())),
            ExprKind::Comprehension { generators, .. } => {
                // Its variables are its own.
                let mut own = BTreeSet::new();
                generators.iter().for_each(|g| target_names(&g.target, &mut own));
                let mut inside = FirstUses { assigned: &self.assigned | &own, read: BTreeSet::new() };
                children(e, &mut |part| inside.expr(part));
                self.read.append(&mut inside.read);
            }
            _ => children(e, &mut |part| self.expr(part)),
        }
        if let ExprKind::Walrus { target, .. } = &e.kind {
            self.assign(BTreeSet::from([target.name.clone()]));
        }
    }

    fn assign(&mut self, names: BTreeSet<Name>) {
        let read = &self.read;
        self.assigned.extend(names.into_iter().filter(|name| !read.contains(name)));
    }
}

/// The names that an expression assigns with `:=`.
pub(crate) fn walrus_names(e: &Expr) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    walrus(e, &mut names);
    names
}

/// The variables of the `for` loops among statements, at any depth.
pub(crate) fn loop_variables(stmts: &[Stmt], names: &mut BTreeSet<Name>) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::For { target, body, .. } => {
                target_names(target, names);
                loop_variables(body, names);
            }
            StmtKind::While { body, .. } | StmtKind::With { body, .. } => loop_variables(body, names),
            StmtKind::If { body, orelse, .. } => {
                loop_variables(body, names);
                loop_variables(orelse, names);
            }
            _ => {}
        }
    }
}

/// Whether statements contain a `return`, at any depth.
pub(crate) fn contains_return(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|s| match &s.kind {
        StmtKind::Return(_) => true,
        StmtKind::For { body, orelse, .. }
        | StmtKind::While { body, orelse, .. }
        | StmtKind::If { body, orelse, .. } => contains_return(body) || contains_return(orelse),
        StmtKind::With { body, .. } => contains_return(body),
        _ => false,
    })
}

fn stmt_names(stmt: &Stmt, names: &mut BTreeSet<Name>) {
    match &stmt.kind {
        StmtKind::Assign { targets, value } => {
            targets.iter().for_each(|t| target_names(t, names));
            walrus(value, names);
        }
        StmtKind::AugAssign { target, value, .. } => {
            target_names(target, names);
            walrus(value, names);
        }
        StmtKind::AnnAssign { target, value: Some(value), .. } => {
            target_names(target, names);
            walrus(value, names);
        }
        StmtKind::For { target, iter, body, orelse } => {
            target_names(target, names);
            walrus(iter, names);
            body.iter().chain(orelse).for_each(|s| stmt_names(s, names));
        }
        StmtKind::While { test, body, orelse } | StmtKind::If { test, body, orelse } => {
            walrus(test, names);
            body.iter().chain(orelse).for_each(|s| stmt_names(s, names));
        }
        StmtKind::With { context, target, body } => {
            walrus(context, names);
            target.iter().for_each(|t| target_names(t, names));
            body.iter().for_each(|s| stmt_names(s, names));
        }
        StmtKind::Expr(e) | StmtKind::Return(Some(e)) => walrus(e, names),
        StmtKind::Assert { test, msg } => {
            walrus(test, names);
            msg.iter().for_each(|e| walrus(e, names));
        }
        _ => {}
    }
}

/// The names in an assignment's target.
pub(crate) fn target_names(target: &Expr, names: &mut BTreeSet<Name>) {
    match &target.kind {
        ExprKind::Name(n) => {
            names.insert(n.clone());
        }
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|t| target_names(t, names)),
        ExprKind::Starred(inner) => target_names(inner, names),
        // An element of a tile or a vector: the name stands for a new one afterwards.
        ExprKind::Subscript { value, .. } => target_names(value, names),
        _ => {}
    }
}

fn walrus(e: &Expr, names: &mut BTreeSet<Name>) {
    if let ExprKind::Walrus { target, .. } = &e.kind {
        names.insert(target.name.clone());
    }
    children(e, &mut |child| walrus(child, names));
}

/// The expressions and the statements that a statement is made of, one level down.
pub(crate) fn stmt_parts(stmt: &Stmt) -> (Vec<&Expr>, Vec<&Stmt>) {
    let mut exprs: Vec<&Expr> = Vec::new();
    let mut inner: Vec<&Stmt> = Vec::new();
    match &stmt.kind {
        StmtKind::Assign { targets, value } => {
            exprs.extend(targets);
            exprs.push(value);
        }
        StmtKind::AugAssign { target, value, .. } => exprs.extend([target, value]),
        StmtKind::AnnAssign { target, annotation, value } => {
            exprs.extend([target, annotation]);
            exprs.extend(value);
        }
        StmtKind::For { target, iter, body, orelse } => {
            exprs.extend([target, iter]);
            inner.extend(body.iter().chain(orelse));
        }
        StmtKind::While { test, body, orelse } | StmtKind::If { test, body, orelse } => {
            exprs.push(test);
            inner.extend(body.iter().chain(orelse));
        }
        StmtKind::With { context, target, body } => {
            exprs.push(context);
            exprs.extend(target);
            inner.extend(body);
        }
        StmtKind::Assert { test, msg } => {
            exprs.push(test);
            exprs.extend(msg);
        }
        StmtKind::Return(e) | StmtKind::Raise(e) => exprs.extend(e),
        StmtKind::Expr(e) => exprs.push(e),
        StmtKind::FunctionDef(f) => inner.extend(&f.body),
        StmtKind::Try(body) => inner.extend(body),
        StmtKind::ClassDef(_)
        | StmtKind::Import(_)
        | StmtKind::ImportFrom { .. }
        | StmtKind::Pass
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Unsupported(_) => {}
    }
    (exprs, inner)
}

/// Calls `f` with each direct part of an expression.
pub(crate) fn children<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    match &e.kind {
        ExprKind::FString(parts) => fstring_children(parts, f),
        ExprKind::Binary { first, rest } => {
            f(first);
            rest.iter().for_each(|link| f(&link.right));
        }
        ExprKind::Unary { operand, .. } => f(operand),
        ExprKind::Bools { values, .. } | ExprKind::Tuple(values) | ExprKind::List(values) => {
            values.iter().for_each(f);
        }
        ExprKind::Compare { left, rest } => {
            f(left);
            rest.iter().for_each(|(_, e)| f(e));
        }
        ExprKind::Call { func, args } => {
            f(func);
            args.iter().for_each(|a| f(&a.value));
        }
        ExprKind::Attribute { value, .. } | ExprKind::Walrus { value, .. } | ExprKind::Starred(value) => f(value),
        ExprKind::Subscript { value, index } => {
            f(value);
            f(index);
        }
        ExprKind::Slice { lower, upper, step } => [lower, upper, step].into_iter().flatten().for_each(|e| f(e)),
        ExprKind::IfElse { test, body, orelse } => {
            f(test);
            f(body);
            f(orelse);
        }
        ExprKind::Dict(items) => items.iter().for_each(|(k, v)| {
            k.iter().for_each(&mut *f);
            f(v);
        }),
        ExprKind::Comprehension { element, generators } => {
            f(element);
            for g in generators {
                f(&g.iter);
                g.ifs.iter().for_each(&mut *f);
            }
        }
        ExprKind::Name(_)
        | ExprKind::None
        | ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Str(_)
        | ExprKind::Ellipsis
        | ExprKind::Unsupported(_) => {}
    }
}

fn fstring_children<'a>(parts: &'a [FStringPart], f: &mut dyn FnMut(&'a Expr)) {
    for part in parts {
        if let FStringPart::Field { value, spec, .. } = part {
            f(value);
            fstring_children(spec, f);
        }
    }
}
