//! What a name stands for.

use shoal_source::{Diagnostic, Span, similar};

use super::Lower;
use super::frame::Mode;
use super::globals::GlobalValue;
use crate::builtin;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::{Global, ModuleId, ModuleRef};
use crate::syntax::ast::Name;
use crate::value::{Class, KnownClass, Value};

impl Lower<'_> {
    /// The value of a name, as an expression.
    pub(super) fn name(&mut self, name: &Name, span: Span) -> LowerResult<Value> {
        if let Some(binding) = self.frame.scope.get(name) {
            return match &binding.value {
                Value::Invalid => Err(LowerError::reported()),
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
            Some(_) if self.frame.locals.contains(name) => {
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
    fn check_global(&mut self, name: &Name, global: GlobalValue, span: Span) -> LowerResult<Value> {
        // Named tuples are allowed, as Triton does it: they are written once, next to their class.
        let plain = match &global.value {
            Value::Const(_) | Value::Member(_) | Value::Dict(_) => true,
            Value::Tuple(t) => t.class.is_none(),
            _ => false,
        };
        let allowed = self.frame.plain_globals || self.emit.options.allow_plain_globals;
        if matches!(global.value, Value::Invalid) {
            return Err(LowerError::reported());
        }
        if let Value::Host(what) = &global.value {
            let label = format!("`{what}` cannot be used in a kernel");
            return Err(match self.in_language(last_part(what)) {
                Some(_) => self.host_only(what, span, &label),
                None => Diagnostic::error(span, format!("`{name}` belongs to the host program"))
                    .label(label)
                    .help("pass what you need as an argument, or make it a `tl.constexpr(...)` of the module")
                    .into(),
            });
        }
        if plain && !global.constexpr && !allowed {
            let refused = Diagnostic::error(span, format!("the global `{name}` is not a `constexpr`"))
                .label("kernels see only globals that cannot change");
            // Live objects have no span.
            let placed = if global.span.is_none() { refused } else { refused.with_label(global.span, "defined here") };
            return Err(placed
                .help(format!("write `{name} = tl.constexpr(...)`, or pass it as a parameter `{name}: tl.constexpr`"))
                .into());
        }
        Ok(global.value)
    }

    fn unknown_name(&self, name: &Name, span: Span) -> LowerError {
        let module = self.program.module(self.frame.module);
        let candidates = (self.frame.scope.keys().map(|n| &**n))
            .chain(module.globals.keys().map(|n| &**n))
            .chain(PYTHON_NAMES.iter().copied());
        let diagnostic = Diagnostic::error(span, format!("`{name}` is not defined")).label("unknown name");
        if self.language_alias().is_some()
            && let Some(function) = self.in_language(name)
        {
            return diagnostic.help(format!("did you mean `{function}`?")).into();
        }
        match similar(name, candidates) {
            Some(close) => diagnostic.help(format!("did you mean `{close}`?")).into(),
            None => diagnostic.into(),
        }
    }

    /// What the file calls the language.
    fn language_alias(&self) -> Option<Name> {
        let module = self.program.module(self.frame.module);
        module.globals.iter().find_map(|(alias, global)| match global {
            Global::Import(target) => is_language(target).then(|| alias.clone()),
            _ => None,
        })
    }

    /// What a name of NumPy, torch or Python's `math` is called in the language, if it has it.
    pub(super) fn in_language(&self, name: &str) -> Option<String> {
        let language = builtin::find(name).is_some()
            || crate::dtype::from_language_name(name).is_some()
            || (!name.starts_with('_') && self.program.module(self.program.standard()).globals.contains_key(name));
        if language {
            return Some(format!("{}.{name}", self.language_alias().as_deref().unwrap_or("tl")));
        }
        builtin::find(&format!("libdevice.{name}")).map(|_| format!("libdevice.{name}"))
    }

    /// The error for something of the host program: what to use instead, where the language has its like.
    pub(super) fn host_only(&self, what: &str, span: Span, label: &str) -> LowerError {
        let help = match self.in_language(last_part(what)) {
            Some(function) => format!("in a kernel use `{function}`"),
            None => "pass what you need as an argument".to_owned(),
        };
        Diagnostic::error(span, format!("`{what}` belongs to the host program")).label(label).help(help).into()
    }

    /// A module-level name of a kernel file.
    pub(super) fn global(&mut self, module: ModuleId, name: &Name) -> LowerResult<Option<GlobalValue>> {
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

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
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
