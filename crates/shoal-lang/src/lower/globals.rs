//! Module-level values, computed when a kernel asks for them.

use std::collections::BTreeSet;

use shoal_ir::types::{Elem, Ptr, Scalar, Type};
use shoal_source::{Diagnostic, Span, similar};

use super::frame::Frame;
use super::{Lower, type_of};
use crate::builtin;
use crate::dtype;
use crate::enums;
use crate::host::HostSource;
use crate::host_cache::Place;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::{Assigned, Global, ImportTarget, KnownModule, ModuleId, ModuleRef};
use crate::semantic::libshmem;
use crate::syntax::ast::{Expr, ExprKind, Name};
use crate::value::{Access, Class, Dtype, KnownClass, Value};

/// A module-level value.
#[derive(Debug, Clone)]
pub(super) struct GlobalValue {
    pub(super) value: Value,
    /// Whether it was wrapped in `constexpr(...)`, so kernels may use it.
    pub(super) constexpr: bool,
    pub(super) span: Span,
}

/// How far the computation of a global is.
#[derive(Debug, Clone)]
pub(super) enum GlobalState {
    Running,
    Done(Box<GlobalValue>),
    Failed,
}

impl Lower<'_> {
    /// The value of a name that the module defines.
    pub(super) fn global_value(&mut self, module: ModuleId, name: &Name) -> LowerResult<GlobalValue> {
        let key = (module, name.clone());
        match self.globals.get(&key) {
            Some(GlobalState::Done(value)) => return Ok((**value).clone()),
            Some(GlobalState::Failed) => return Err(LowerError::reported()),
            Some(GlobalState::Running) => {
                return Err(self.emit.lower_error(format!("the value of `{name}` depends on itself")));
            }
            None => {}
        }
        self.globals.insert(key.clone(), GlobalState::Running);
        let result = self.compute_global(module, name);
        let state = match &result {
            Ok(value) => GlobalState::Done(Box::new(value.clone())),
            Err(_) => GlobalState::Failed,
        };
        self.globals.insert(key, state);
        result
    }

    /// A free name of a live function; those of its body are converted once.
    pub(super) fn live_global(
        &mut self,
        module: ModuleId,
        function: &HostSource,
        name: &Name,
    ) -> LowerResult<Option<GlobalValue>> {
        if self.frame.place == Place::Signature {
            return self.live_name(function, name);
        }
        let key = (module, name.clone());
        match self.globals.get(&key) {
            Some(GlobalState::Done(value)) => return Ok(Some((**value).clone())),
            Some(GlobalState::Failed) => return Err(LowerError::reported()),
            Some(GlobalState::Running) | None => {}
        }
        let found = self.live_name(function, name);
        match &found {
            Ok(Some(value)) => drop(self.globals.insert(key, GlobalState::Done(Box::new(value.clone())))),
            Err(_) => drop(self.globals.insert(key, GlobalState::Failed)),
            Ok(None) => {}
        }
        found
    }

    fn compute_global(&mut self, module: ModuleId, name: &Name) -> LowerResult<GlobalValue> {
        let Some(global) = self.program.module(module).globals.get(name).cloned() else {
            return Err(LowerError::reported());
        };
        let fixed = |value, span| Ok(GlobalValue { value, constexpr: true, span });
        match global {
            Global::Function(f) => {
                let span = f.def.name.span;
                fixed(Value::Function(f), span)
            }
            Global::Class(class) => {
                let value = self.class(module, &class)?;
                fixed(value, class.name.span)
            }
            Global::Import(ImportTarget::Module(m)) => fixed(Value::Module(m), Span::NONE),
            Global::Import(ImportTarget::Name { module: from, name: imported }) => self.imported(&from, &imported),
            Global::Assign(assigned) => self.assigned(module, name, &assigned),
        }
    }

    fn imported(&mut self, from: &ModuleRef, name: &Name) -> LowerResult<GlobalValue> {
        if let ModuleRef::User(id) = from {
            return match self.global(*id, name)? {
                Some(value) => Ok(value),
                None => {
                    let file = self.program.file_name(*id);
                    Err(self.emit.lower_error(format!("`{file}` does not define `{name}`")))
                }
            };
        }
        let value = match self.module_attribute(from, name)? {
            Some(value) => value,
            None => Value::Host(Name::from(format!("{from}.{name}"))),
        };
        Ok(GlobalValue { value, constexpr: true, span: Span::NONE })
    }

    fn assigned(&mut self, module: ModuleId, name: &Name, assigned: &Assigned) -> LowerResult<GlobalValue> {
        let constexpr = self.is_constexpr(module, &assigned.value) || self.annotated_constexpr(module, assigned);
        let frame = Frame::compile_time(module);
        let outer = std::mem::replace(&mut self.frame, frame);
        let errors = self.errors.len();
        let value = self.expr(&assigned.value);
        self.frame = outer;
        let mut value = match value {
            Ok(value) => value,
            // What only the host can compute is no error of the kernel file: the use of it is.
            Err(error) if !constexpr => {
                self.errors.truncate(errors);
                drop(error);
                Value::Host(name.clone())
            }
            Err(error) => return Err(error),
        };
        for &i in &assigned.path {
            value = match &value {
                Value::Tuple(t) => t.items.get(i).cloned().unwrap_or(Value::Host(name.clone())),
                _ => Value::Host(name.clone()),
            };
        }
        Ok(GlobalValue { value, constexpr, span: assigned.span })
    }

    fn annotated_constexpr(&self, module: ModuleId, assigned: &Assigned) -> bool {
        let annotation = assigned.annotation.as_ref().and_then(|a| self.program.language_name(module, a));
        annotation.as_deref() == Some("constexpr")
    }

    /// Whether an expression is `constexpr(...)` or computed from such values. Each name is looked at once, so
    /// definitions in a circle and those that use another twice take no time; evaluating circles reports them.
    fn is_constexpr(&self, module: ModuleId, e: &Expr) -> bool {
        let unit = self.program.module(module);
        let mut seen = BTreeSet::new();
        let mut open = vec![e];
        while let Some(e) = open.pop() {
            match &e.kind {
                ExprKind::Call { func, .. }
                    if self.program.language_name(module, func).as_deref() == Some("constexpr") =>
                {
                    return true;
                }
                ExprKind::Name(n) => {
                    if let Some(Global::Assign(a)) = unit.globals.get(n)
                        && seen.insert(n)
                    {
                        open.push(&a.value);
                    }
                }
                ExprKind::Binary { first, rest } => {
                    open.push(first);
                    open.extend(rest.iter().map(|link| &link.right));
                }
                ExprKind::Unary { operand, .. } => open.push(operand),
                ExprKind::IfElse { body, orelse, .. } => open.extend([&**body, &**orelse]),
                ExprKind::Compare { left, rest } => {
                    open.push(left);
                    open.extend(rest.iter().map(|(_, right)| right));
                }
                _ => {}
            }
        }
        false
    }

    /// A name inside a module.
    pub(super) fn module_attribute(&mut self, module: &ModuleRef, name: &str) -> LowerResult<Option<Value>> {
        match module {
            ModuleRef::User(id) => {
                let name = Name::from(name);
                Ok(self.global(*id, &name)?.map(|g| g.value))
            }
            ModuleRef::Known(known) => self.known_attribute(*known, name),
            ModuleRef::Host(path) => Ok(Some(Value::Host(Name::from(format!("{path}.{name}"))))),
        }
    }

    fn known_attribute(&mut self, module: KnownModule, name: &str) -> LowerResult<Option<Value>> {
        if let Some(sub) = module.submodule(name) {
            return Ok(Some(Value::Module(ModuleRef::Known(sub))));
        }
        let builtin = |name: &str| builtin::find(name).map(Value::Builtin);
        Ok(match module {
            KnownModule::Language => return self.language_attribute(name),
            KnownModule::Root => match name {
                "constexpr_function" | "jit" | "aggregate" | "autotune" | "heuristics" | "Config" => {
                    Some(Value::Host(Name::from(format!("shoal.{name}"))))
                }
                "constexpr" => Some(Value::Class(Class::Known(KnownClass::Constexpr))),
                _ => self.standard(name)?,
            },
            KnownModule::LanguageMath => match builtin(&format!("math.{name}")).or_else(|| builtin(name)) {
                Some(value) => Some(value),
                None => self.standard(name)?,
            },
            KnownModule::Libdevice => builtin(&format!("libdevice.{name}")),
            KnownModule::Libshmem => builtin(&format!("libshmem_device.{name}")).or_else(|| libshmem::constant(name)),
            KnownModule::Extra | KnownModule::ExtraTarget => {
                builtin(&format!("extra.{name}")).or_else(|| builtin(&format!("language_extra.{name}")))
            }
            // Triton-distributed's module has one of libdevice's functions, too.
            KnownModule::LanguageExtra if name == "ffs" => builtin("libdevice.ffs"),
            KnownModule::LanguageExtra => builtin(&format!("language_extra.{name}")),
            KnownModule::TargetInfo => builtin(&format!("target_info.{name}")),
            KnownModule::Math => builtin(&format!("pymath.{name}")).or_else(|| builtin::math::constant(name)),
            KnownModule::Typing => Some(match name {
                "NamedTuple" => Value::Class(Class::Known(KnownClass::NamedTuple)),
                _ => Value::Host(Name::from(format!("typing.{name}"))),
            }),
            KnownModule::Enum => Some(match name {
                "IntEnum" | "IntFlag" => Value::Class(Class::Known(KnownClass::IntEnum)),
                "Enum" | "Flag" => Value::Class(Class::Known(KnownClass::Enum)),
                _ => Value::Host(Name::from(format!("enum.{name}"))),
            }),
            KnownModule::Builtins => super::lookup::python_name(name),
        })
    }

    fn language_attribute(&mut self, name: &str) -> LowerResult<Option<Value>> {
        if let Some(scalar) = dtype::from_language_name(name) {
            return Ok(Some(Value::Dtype(Dtype::scalar(scalar))));
        }
        if let Some(builtin) = builtin::find(name) {
            return Ok(Some(Value::Builtin(builtin)));
        }
        let class = match name {
            "constexpr" => KnownClass::Constexpr,
            "tensor" => KnownClass::Tensor,
            "dtype" => KnownClass::Dtype,
            "pointer_type" => KnownClass::PointerType,
            "block_type" => KnownClass::BlockType,
            "const" => KnownClass::ConstPtr,
            "tuple" => KnownClass::Tuple,
            "tensor_descriptor" | "tensor_descriptor_base" => KnownClass::TensorDescriptor,
            "constexpr_type" | "tuple_type" => {
                return Ok(type_of::class_named(name).map(|class| Value::Class(Class::NamedTuple(class))));
            }
            "PropagateNan" => return Ok(Some(enums::PROPAGATE_NAN.class())),
            "CONSTEXPR_0" => return Ok(Some(Value::int(0))),
            "pi32_t" => {
                let ty = Type::Elem(Elem::Ptr(Ptr::global(Scalar::I32)));
                return Ok(Some(Value::Dtype(Dtype { ty, access: Access::ReadWrite })));
            }
            _ => return self.standard(inner_name(name)),
        };
        Ok(Some(Value::Class(Class::Known(class))))
    }

    /// A function of the standard library.
    fn standard(&mut self, name: &str) -> LowerResult<Option<Value>> {
        let name = Name::from(name);
        let id = self.program.standard();
        let module = self.program.module(id);
        match module.globals.get(&name) {
            Some(Global::Function(_)) => self.global_value(id, &name).map(|g| Some(g.value)),
            Some(_) | None => Ok(None),
        }
    }

    /// The error for a name that a module does not have.
    pub(super) fn no_such_attribute(&self, module: &ModuleRef, name: &str, span: Span, object: Span) -> LowerError {
        // The module is called what the user calls it.
        let shown = match self.program.sources().slice(object) {
            "" => module.to_string(),
            text => text.to_owned(),
        };
        let diagnostic = Diagnostic::error(span, format!("`{shown}` has no `{name}`")).label("unknown name");
        let language = matches!(
            module,
            ModuleRef::Known(KnownModule::Language | KnownModule::LanguageMath | KnownModule::Root | KnownModule::Math)
        );
        if language && builtin::find(&format!("libdevice.{name}")).is_some() {
            let package = self.program.package(self.frame.module);
            return diagnostic
                .help(format!(
                    "it is in libdevice: `from {package}.language.extra import libdevice`, then `libdevice.{name}(...)`"
                ))
                .into();
        }
        let standard = self.program.module(self.program.standard());
        let close = match module {
            ModuleRef::Known(KnownModule::Language | KnownModule::Root) => {
                let mut names: Vec<&str> = standard.globals.keys().map(|n| &**n).collect();
                names.retain(|name| !name.starts_with('_'));
                for known in builtin::names().filter(|name| !name.contains('.')).chain(dtype::language_names()) {
                    names.push(known);
                }
                similar(name, names.into_iter())
            }
            ModuleRef::Known(KnownModule::Libdevice) => {
                similar(name, builtin::names().filter_map(|n| n.strip_prefix("libdevice.")))
            }
            ModuleRef::Known(KnownModule::Libshmem) => {
                let functions = builtin::names().filter_map(|n| n.strip_prefix("libshmem_device."));
                similar(name, functions.chain(libshmem::constant_names().map(|(name, _)| name)))
            }
            ModuleRef::Known(_) | ModuleRef::User(_) | ModuleRef::Host(_) => None,
        };
        match close {
            Some(close) => diagnostic.help(format!("did you mean `{close}`?")).into(),
            None => diagnostic.into(),
        }
    }
}

/// What the library calls a function that kernels take from the modules the language is made of, though it is not among
/// the names of the language.
fn inner_name(name: &str) -> &str {
    match name {
        "get_int_dtype" => "_get_int_dtype",
        "get_primitive_bitwidth" => "_primitive_bitwidth",
        "sort_impl" => "_sort_impl",
        _ => name,
    }
}
