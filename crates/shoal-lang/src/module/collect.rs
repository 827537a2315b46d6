//! Collecting the names of a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use shoal_source::{FileId, Span};

use super::{Assigned, Function, Global, ImportTarget, KnownModule, ModuleId, ModuleRef, UserModule, decorator};
use crate::syntax::ast::{Alias, Expr, ExprKind, Module, Name, Stmt, StmtKind};

/// An import that may name another kernel file.
#[derive(Debug, Clone)]
pub(crate) struct Import {
    /// The dotted path without leading dots.
    pub(crate) path: Name,
    /// The number of leading dots.
    pub(crate) level: u32,
    pub(crate) span: Span,
}

/// Finds the module of an import: asks for kernel files, knows the language.
pub(crate) trait Resolve {
    /// The kernel file that an import names, read if need be.
    fn resolve(&mut self, import: &Import) -> Option<ModuleId>;
}

/// Collects the names of a file. `resolve` finds (and reads) other kernel files.
pub(crate) fn collect(ast: &Module, id: ModuleId, file: FileId, resolve: &mut dyn Resolve) -> UserModule {
    let mut collector = Collector { id, resolve, globals: BTreeMap::new(), stars: Vec::new() };
    collector.stmts(&ast.body);
    UserModule { file, globals: collector.globals, star_imports: collector.stars, live: None }
}

struct Collector<'a> {
    id: ModuleId,
    resolve: &'a mut dyn Resolve,
    globals: BTreeMap<Name, Global>,
    stars: Vec<ModuleRef>,
}

impl Collector<'_> {
    fn stmts(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::FunctionDef(def) => {
                let (kind, options) = decorator::read(&def.decorators, &self.globals);
                let function = Function { def: def.clone(), module: self.id, kind, options: Arc::new(options) };
                self.globals.insert(def.name.name.clone(), Global::Function(function));
            }
            StmtKind::ClassDef(def) => {
                self.globals.insert(def.name.name.clone(), Global::Class(def.clone()));
            }
            StmtKind::Assign { targets, value } => {
                for target in targets {
                    self.assign(target, value, None, &mut Vec::new());
                }
            }
            StmtKind::AnnAssign { target, annotation, value: Some(value) } => {
                self.assign(target, value, Some(annotation), &mut Vec::new());
            }
            StmtKind::Import(names) => names.iter().for_each(|alias| self.import(alias)),
            StmtKind::ImportFrom { module, level, names } => {
                let path = module.clone().unwrap_or_else(|| Name::from(""));
                for alias in names {
                    self.import_from(&path, *level, alias);
                }
            }
            // Both arms define names; which one runs is the host's business. The first definition counts as the
            // usual case, so the `else` part only adds names.
            StmtKind::If { body, orelse, .. } => {
                self.stmts_that_add(orelse);
                self.stmts(body);
            }
            StmtKind::Try(body) => self.stmts(body),
            _ => {}
        }
    }

    fn stmts_that_add(&mut self, body: &[Stmt]) {
        let before = self.globals.clone();
        self.stmts(body);
        self.globals.extend(before);
    }

    fn assign(&mut self, target: &Expr, value: &Expr, annotation: Option<&Expr>, path: &mut Vec<usize>) {
        match &target.kind {
            ExprKind::Name(name) => {
                let assigned = Assigned {
                    value: value.clone(),
                    annotation: annotation.cloned(),
                    path: path.clone(),
                    span: target.span,
                };
                self.globals.insert(name.clone(), Global::Assign(Arc::new(assigned)));
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    path.push(i);
                    self.assign(item, value, annotation, path);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    fn module(&mut self, path: &Name, level: u32, span: Span) -> ModuleRef {
        if level == 0
            && let Some(known) = KnownModule::from_path(path)
        {
            return ModuleRef::Known(known);
        }
        match self.resolve.resolve(&Import { path: path.clone(), level, span }) {
            Some(id) => ModuleRef::User(id),
            None => ModuleRef::Host(path.clone()),
        }
    }

    fn import(&mut self, alias: &Alias) {
        match &alias.asname {
            Some(name) => {
                let module = self.module(&alias.name, 0, alias.span);
                self.globals.insert(name.clone(), Global::Import(ImportTarget::Module(module)));
            }
            None => {
                let first = Name::from(alias.name.split('.').next().unwrap_or(&alias.name));
                let module = self.module(&first, 0, alias.span);
                self.globals.insert(first, Global::Import(ImportTarget::Module(module)));
            }
        }
    }

    fn import_from(&mut self, path: &Name, level: u32, alias: &Alias) {
        if path.is_empty() {
            // `from . import x`: x is a file.
            let module = self.module(&alias.name, level, alias.span);
            let name = alias.asname.clone().unwrap_or_else(|| alias.name.clone());
            self.globals.insert(name, Global::Import(ImportTarget::Module(module)));
            return;
        }
        let module = self.module(path, level, alias.span);
        if &*alias.name == "*" {
            self.stars.push(module);
            return;
        }
        let name = alias.asname.clone().unwrap_or_else(|| alias.name.clone());
        let submodule = match &module {
            ModuleRef::Known(k) => k.submodule(&alias.name),
            ModuleRef::User(_) | ModuleRef::Host(_) => None,
        };
        let target = match submodule {
            Some(k) => ImportTarget::Module(ModuleRef::Known(k)),
            None => ImportTarget::Name { module, name: alias.name.clone() },
        };
        self.globals.insert(name, Global::Import(target));
    }
}
