//! What the decorators of a function say.

use std::collections::BTreeMap;

use super::{Global, ImportTarget, KnownModule, ModuleRef};
use crate::syntax::ast::{Arg, ArgKind, Expr, ExprKind, Name};

/// How a function runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// `@jit`: on the device.
    Jit,
    /// `@constexpr_function`: at compile time.
    CompileTime,
    /// Without decorator: host code, or at compile time if a kernel calls it with constants.
    Plain,
}

/// What `@jit(...)` says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JitOptions {
    /// Keep calls as calls.
    pub noinline: bool,
    /// Parameters whose values are never compiled in; indices are given as decimal text.
    pub do_not_specialize: Vec<Name>,
    /// Parameters whose alignment is never compiled in.
    pub do_not_specialize_on_alignment: Vec<Name>,
    /// Whether asserts are checked, if the decorator says so.
    pub debug: Option<bool>,
    /// What `@must_use_result` says, possibly nothing, if the function has it.
    pub must_use: Option<Name>,
}

/// Reads the decorators of a function. Decorators of the host side (`autotune`, `heuristics`) change nothing here.
pub(crate) fn read(decorators: &[Expr], globals: &BTreeMap<Name, Global>) -> (FunctionKind, JitOptions) {
    let mut kind = FunctionKind::Plain;
    let mut options = JitOptions::default();
    for decorator in decorators {
        let (target, args): (&Expr, &[Arg]) = match &decorator.kind {
            ExprKind::Call { func, args } => (func, args),
            _ => (decorator, &[]),
        };
        match language_name(target, globals).as_deref() {
            Some("jit") => {
                kind = FunctionKind::Jit;
                args.iter().for_each(|arg| read_option(arg, &mut options));
            }
            // Functions that call `extern_elementwise` are compiled like any other.
            Some("extern") => kind = FunctionKind::Jit,
            Some("constexpr_function") => kind = FunctionKind::CompileTime,
            Some("must_use_result") => {
                let said = args.first().and_then(|arg| one_name(&arg.value));
                options.must_use = Some(said.unwrap_or_else(|| Name::from("")));
            }
            _ => {}
        }
    }
    (kind, options)
}

fn read_option(arg: &Arg, options: &mut JitOptions) {
    let ArgKind::Keyword(name) = &arg.kind else { return };
    match &*name.name {
        "noinline" => options.noinline = is_true(&arg.value),
        "debug" => options.debug = Some(is_true(&arg.value)),
        "do_not_specialize" => options.do_not_specialize = names(&arg.value),
        "do_not_specialize_on_alignment" => options.do_not_specialize_on_alignment = names(&arg.value),
        _ => {}
    }
}

fn is_true(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Bool(true))
}

fn names(e: &Expr) -> Vec<Name> {
    match &e.kind {
        ExprKind::List(items) | ExprKind::Tuple(items) => items.iter().filter_map(one_name).collect(),
        _ => one_name(e).into_iter().collect(),
    }
}

fn one_name(e: &Expr) -> Option<Name> {
    match &e.kind {
        ExprKind::Str(s) => Some(s.clone()),
        ExprKind::Int(i) => Some(Name::from(i.to_string())),
        _ => None,
    }
}

/// The name in `shoal` or `shoal.language` that an expression such as `triton.jit` stands for.
pub(crate) fn language_name(e: &Expr, globals: &BTreeMap<Name, Global>) -> Option<Name> {
    match &e.kind {
        ExprKind::Name(n) => match globals.get(n)? {
            Global::Import(ImportTarget::Name { module: ModuleRef::Known(_), name }) => Some(name.clone()),
            _ => None,
        },
        ExprKind::Attribute { value, attr } => {
            module_of(value, globals)?;
            Some(attr.name.clone())
        }
        _ => None,
    }
}

fn module_of(e: &Expr, globals: &BTreeMap<Name, Global>) -> Option<KnownModule> {
    match &e.kind {
        ExprKind::Name(n) => match globals.get(n)? {
            Global::Import(ImportTarget::Module(ModuleRef::Known(k))) => Some(*k),
            Global::Import(ImportTarget::Name { module: ModuleRef::Known(k), name }) => k.submodule(name),
            _ => None,
        },
        ExprKind::Attribute { value, attr } => module_of(value, globals)?.submodule(&attr.name),
        _ => None,
    }
}
