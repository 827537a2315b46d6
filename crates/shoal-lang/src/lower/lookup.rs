//! What a name stands for.

use shoal_source::{Diagnostic, Span};

use super::Lower;
use super::frame::Mode;
use super::globals::GlobalValue;
use crate::builtin;
use crate::fault::{Fault, Outcome};
use crate::module::{Global, ModuleId, ModuleRef};
use crate::names::nearest;
use crate::syntax::ast::Name;
use crate::value::{Class, KnownClass, Value};

impl Lower<'_> {
    /// The value of a name, as an expression.
    pub(super) fn name(&mut self, name: &Name, span: Span) -> Outcome<Value> {
        if let Some(binding) = self.frame.scope.get(name) {
            return match &binding.value {
                Value::Invalid => Err(Fault::reported()),
                value => Ok(value.clone()),
            };
        }
        if let Some(lost) = self.frame.lost.get(name) {
            return Err(Diagnostic::error(span, format!("`{name}` has no value here"))
                .label("used here")
                .with_label(lost.span, lost.why.clone())
                .help(lost.help)
                .into());
        }
        match self.global(self.frame.module, name)? {
            Some(_) if self.frame.assigned.contains(name) => {
                Err(Diagnostic::error(span, format!("`{name}` has no value here"))
                    .label("used before this function assigns it")
                    .note(format!("the function assigns `{name}`, so it does not see the global of that name"))
                    .help("give it a value on every path that leads here, or another name")
                    .into())
            }
            Some(global) => self.check_global(name, global, span),
            None => match python_name(name) {
                Some(value) => Ok(value),
                None => Err(self.unknown_name(name, span)),
            },
        }
    }

    /// Kernels see only those globals that cannot change after compilation.
    fn check_global(&mut self, name: &Name, global: GlobalValue, span: Span) -> Outcome<Value> {
        // Named tuples are allowed, as Triton does it: they are written once, next to their class.
        let plain = match &global.value {
            Value::Const(_) | Value::Member(_) | Value::Dict(_) => true,
            Value::Tuple(t) => t.class.is_none(),
            _ => false,
        };
        let allowed = self.frame.plain_globals || self.emit.options.allow_plain_globals;
        if matches!(global.value, Value::Invalid) {
            return Err(Fault::reported());
        }
        if let Value::Host(what) = &global.value {
            return Err(Diagnostic::error(span, format!("`{name}` belongs to the host program"))
                .label(format!("`{what}` cannot be used in a kernel"))
                .help("pass what you need as an argument, or make it a `tl.constexpr(...)` of the module")
                .into());
        }
        if plain && !global.constexpr && !allowed {
            let refused = Diagnostic::error(span, format!("the global `{name}` is not a `constexpr`"))
                .label("kernels see only globals that cannot change");
            // Of a live object, nobody knows the line that made it.
            let placed = if global.span.is_none() { refused } else { refused.with_label(global.span, "defined here") };
            return Err(placed
                .help(format!("write `{name} = tl.constexpr(...)`, or pass it as a parameter `{name}: tl.constexpr`"))
                .into());
        }
        Ok(global.value)
    }

    fn unknown_name(&self, name: &Name, span: Span) -> Fault {
        let module = self.program.module(self.frame.module);
        let candidates = (self.frame.scope.keys().map(|n| &**n))
            .chain(module.globals.keys().map(|n| &**n))
            .chain(PYTHON_NAMES.iter().copied());
        let diagnostic = Diagnostic::error(span, format!("`{name}` is not defined")).label("unknown name");
        let language = module.globals.iter().find_map(|(alias, global)| match global {
            Global::Import(target) => is_language(target).then_some(alias),
            _ => None,
        });
        if let Some(alias) = language
            && self.is_language_name(name)
        {
            return diagnostic.help(format!("did you mean `{alias}.{name}`?")).into();
        }
        match nearest(name, candidates) {
            Some(close) => diagnostic.help(format!("did you mean `{close}`?")).into(),
            None => diagnostic.into(),
        }
    }

    fn is_language_name(&self, name: &str) -> bool {
        builtin::find(name).is_some()
            || crate::dtype::from_language_name(name).is_some()
            || self.program.module(self.program.standard()).globals.contains_key(name)
    }

    /// A module-level name of a kernel file.
    pub(super) fn global(&mut self, module: ModuleId, name: &Name) -> Outcome<Option<GlobalValue>> {
        if let Some(function) = self.live_unit(module) {
            return self.live_global(module, &function, name);
        }
        if self.program.module(module).globals.contains_key(name) {
            return self.global_value(module, name).map(Some);
        }
        for star in self.program.module(module).star_imports.clone() {
            if let Some(value) = self.module_attribute(&star, name)? {
                return Ok(Some(GlobalValue { value, constexpr: true, span: Span::NONE }));
            }
        }
        Ok(None)
    }

    /// Whether code here runs at compile time only.
    pub(super) fn at_compile_time(&self) -> bool {
        self.frame.mode == Mode::CompileTime
    }
}

fn is_language(target: &crate::module::ImportTarget) -> bool {
    use crate::module::{ImportTarget, KnownModule};
    matches!(target, ImportTarget::Module(ModuleRef::Known(KnownModule::Language)))
}

/// Names that Python itself defines.
const PYTHON_NAMES: [&str; 24] = [
    "abs",
    "all",
    "any",
    "bool",
    "enumerate",
    "float",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "print",
    "range",
    "repr",
    "reversed",
    "round",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
];

pub(super) fn python_name(name: &str) -> Option<Value> {
    let class = match name {
        "int" => KnownClass::Int,
        "float" => KnownClass::Float,
        "bool" => KnownClass::Bool,
        "str" => KnownClass::Str,
        "tuple" | "list" => KnownClass::Tuple,
        _ => {
            return PYTHON_NAMES
                .contains(&name)
                .then(|| builtin::find(&format!("python.{name}")).map(Value::Builtin))
                .flatten();
        }
    };
    Some(Value::Class(Class::Known(class)))
}
