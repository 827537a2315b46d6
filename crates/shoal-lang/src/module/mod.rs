//! Modules: what a kernel file defines and imports.
//!
//! A file is read once and only its names are collected; values are computed when a kernel asks for them
//! (see `lower/globals.rs`). So host code in the file costs nothing and can never be an error by itself.

mod collect;
mod decorator;
mod known;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use shoal_source::{FileId, Span};

pub(crate) use collect::{Import, Resolve, collect};
pub use decorator::FunctionKind;
pub use decorator::JitOptions;
pub(crate) use decorator::{language_name, read as read_decorators};
pub(crate) use known::KnownModule;

use crate::host::HostSource;
use crate::syntax::ast::{ClassDef, Expr, FunctionDef, Name};

/// A file of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleId(pub(crate) u32);

/// A module that a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum ModuleRef {
    /// A kernel file.
    User(ModuleId),
    /// A module of the language, or one of Python's that kernels may use.
    Known(KnownModule),
    /// A module of the host program, by its dotted name.
    Host(Name),
}

impl fmt::Display for ModuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModuleRef::User(id) => write!(f, "#{}", id.0),
            ModuleRef::Known(k) => f.write_str(k.path()),
            ModuleRef::Host(path) => f.write_str(path),
        }
    }
}

/// A function of a kernel file.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its definition.
    pub def: Arc<FunctionDef>,
    /// The file it stands in.
    pub module: ModuleId,
    /// How it runs.
    pub kind: FunctionKind,
    /// What its `@jit` decorator says.
    pub options: Arc<JitOptions>,
}

impl Function {
    /// The function's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.def.name.name
    }

    /// A text that tells it from every other function of the program.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}.{}@{}", self.module.0, self.name(), self.def.span.start)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.module == other.module && self.def.span == other.def.span
    }
}

/// What a module-level name is bound to.
#[derive(Debug, Clone)]
pub(crate) enum Global {
    /// A function, with what its decorators say.
    Function(Function),
    /// A class.
    Class(Arc<ClassDef>),
    /// An assigned expression.
    Assign(Arc<Assigned>),
    /// An imported module or name.
    Import(ImportTarget),
}

/// A module-level assignment to one name.
#[derive(Debug)]
pub(crate) struct Assigned {
    pub(crate) value: Expr,
    pub(crate) annotation: Option<Expr>,
    /// Where in the value the name's part is, for `a, b = …`.
    pub(crate) path: Vec<usize>,
    pub(crate) span: Span,
}

/// What an import binds a name to.
#[derive(Debug, Clone)]
pub(crate) enum ImportTarget {
    Module(ModuleRef),
    Name { module: ModuleRef, name: Name },
}

/// A kernel file, or a live function of the host.
#[derive(Debug)]
pub(crate) struct UserModule {
    pub(crate) file: FileId,
    pub(crate) globals: BTreeMap<Name, Global>,
    /// Modules whose names are all visible: `from x import *`.
    pub(crate) star_imports: Vec<ModuleRef>,
    /// For a live function: where it comes from. Then the host answers its free names, and `globals` holds the function
    /// alone.
    pub(crate) live: Option<Arc<HostSource>>,
}
