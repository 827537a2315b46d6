//! What a kernel of a file depends on.

use std::collections::BTreeSet;

use shoal_source::Span;

use crate::module::{Function, Global, ImportTarget, ModuleId, ModuleRef};
use crate::program::Program;
use crate::syntax::ast::{Expr, ExprKind, Name, Stmt};
use crate::syntax::scan::{children, stmt_parts};

/// The text of a kernel, of the functions it calls and of the globals it uses, transitively, with their lines.
pub(crate) fn source_key(program: &Program, kernel: &Function) -> Vec<u8> {
    let mut walk = Walk { program, seen: BTreeSet::new(), todo: Vec::new(), out: Vec::new() };
    walk.function(kernel);
    while let Some((module, name)) = walk.todo.pop() {
        walk.global(module, &name);
    }
    walk.out
}

struct Walk<'p> {
    program: &'p Program,
    seen: BTreeSet<(ModuleId, Name)>,
    todo: Vec<(ModuleId, Name)>,
    out: Vec<u8>,
}

impl Walk<'_> {
    /// Adds a piece of source with its file and line, which debug information and error texts show.
    fn text(&mut self, span: Span) {
        let sources = self.program.sources();
        let (line, column) = sources.line_col(span).unwrap_or((0, 0));
        let text = sources.slice(span);
        self.out.extend(format!("{}:{line}:{column}:{}\n", sources.name(span.file), text.len()).bytes());
        self.out.extend(text.bytes());
        self.out.push(b'\n');
    }

    fn function(&mut self, f: &Function) {
        self.text(f.def.span);
        let module = f.module;
        f.def.decorators.iter().for_each(|e| self.expr(module, e));
        for param in &f.def.params {
            param.annotation.iter().chain(&param.default).for_each(|e| self.expr(module, e));
        }
        f.def.body.iter().for_each(|s| self.stmt(module, s));
    }

    fn global(&mut self, module: ModuleId, name: &Name) {
        if !self.seen.insert((module, name.clone())) {
            return;
        }
        match self.program.module(module).globals.get(name).cloned() {
            Some(Global::Function(f)) => self.function(&f),
            Some(Global::Class(class)) => {
                self.text(class.span);
                class.bases.iter().for_each(|e| self.expr(module, e));
                class.body.iter().for_each(|s| self.stmt(module, s));
            }
            Some(Global::Assign(assigned)) => {
                self.text(assigned.span);
                self.text(assigned.value.span);
                self.expr(module, &assigned.value);
            }
            Some(Global::Import(ImportTarget::Name { module: ModuleRef::User(from), name })) => {
                self.todo.push((from, name));
            }
            Some(Global::Import(target)) => self.out.extend(format!("import {target:?}\n").bytes()),
            None => {
                for star in &self.program.module(module).star_imports {
                    if let ModuleRef::User(from) = star {
                        self.todo.push((*from, name.clone()));
                    }
                }
            }
        }
    }

    fn stmt(&mut self, module: ModuleId, stmt: &Stmt) {
        let (exprs, inner) = stmt_parts(stmt);
        exprs.into_iter().for_each(|e| self.expr(module, e));
        inner.into_iter().for_each(|s| self.stmt(module, s));
    }

    fn expr(&mut self, module: ModuleId, e: &Expr) {
        match &e.kind {
            ExprKind::Name(name) => self.todo.push((module, name.clone())),
            // `helpers.scale`: the name in the other file matters, not the whole file.
            ExprKind::Attribute { value, attr } => {
                if let ExprKind::Name(name) = &value.kind
                    && let Some(Global::Import(ImportTarget::Module(ModuleRef::User(from)))) =
                        self.program.module(module).globals.get(name)
                {
                    self.todo.push((*from, attr.name.clone()));
                }
                self.expr(module, value);
            }
            _ => {
                let mut parts = Vec::new();
                children(e, &mut |child| parts.push(child));
                parts.into_iter().for_each(|child| self.expr(module, child));
            }
        }
    }
}
