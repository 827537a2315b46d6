//! Values of a live host program: from its words to ours, and back.

use std::sync::Arc;

use shoal_source::{Diagnostic, Span};

use super::Lower;
use super::globals::GlobalValue;
use crate::builtin::{Given, describe};
use crate::host::{HostAggregate, HostEnum, HostNamedTuple, HostObject, HostSource, HostValue};
use crate::lower_error::{LowerError, LowerResult};
use crate::module::{Function, FunctionKind, KnownModule, ModuleId, ModuleRef};
use crate::spec::ArgType;
use crate::syntax::ast::Name;
use crate::value::{
    AggregateClass, Class, Const, EnumClass, Field, FieldPhase, KnownClass, Member, NamedTupleClass, Object, Tuple,
    Value,
};

impl Lower<'_> {
    /// A free name of a live function, as the host sees it.
    pub(super) fn live_name(&mut self, function: &HostSource, name: &Name) -> LowerResult<Option<GlobalValue>> {
        let Some(live) = &self.program.live else { return Ok(None) };
        let Some(answer) = live.name(function.object, name, self.frame.place) else { return Ok(None) };
        let constexpr = matches!(answer, HostValue::Constexpr(_));
        let value = self.host_value(&answer)?;
        Ok(Some(GlobalValue { value, constexpr, span: Span::NONE }))
    }

    /// What a value of the host is in a kernel.
    pub(super) fn host_value(&mut self, value: &HostValue) -> LowerResult<Value> {
        Ok(match value {
            HostValue::None => Value::NONE,
            HostValue::Bool(b) => Value::bool(*b),
            HostValue::Int(i) => Value::int(*i),
            HostValue::Float(f) => Value::Const(Const::Float(*f)),
            HostValue::Str(s) => Value::str(s),
            HostValue::Ellipsis => Value::Const(Const::Ellipsis),
            HostValue::Constexpr(inner) => self.host_value(inner)?,
            HostValue::Tuple(items) => {
                let items = self.all_host_values(items)?;
                self.bounded(Value::tuple(items))?
            }
            HostValue::Dict(entries) => {
                let mut pairs = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    pairs.push((self.host_value(key)?, self.host_value(value)?));
                }
                self.bounded(Value::Dict(pairs.into()))?
            }
            HostValue::Dtype(name) => match ArgType::parse(name).ok().and_then(|ty| ty.as_dtype()) {
                Some(dtype) => Value::Dtype(dtype),
                None => return Err(self.emit.lower_error(format!("kernels have no dtype `{name}`"))),
            },
            HostValue::Language(path) => self.at_path(path)?,
            HostValue::Function(source) => Value::Function(self.live_function(source)?),
            HostValue::AggregateClass(class) => self.live_class(class.object, |l| l.live_aggregate(class))?,
            HostValue::NamedTupleClass(class) => Value::Class(Class::NamedTuple(self.live_named_tuple(class)?)),
            HostValue::NamedTuple(class, items) => {
                let class = self.live_named_tuple(class)?;
                let items = self.all_host_values(items)?;
                self.bounded(Value::Tuple(Tuple { items: items.into(), class: Some(class) }))?
            }
            HostValue::EnumClass(class) => Value::Class(Class::Enum(self.live_enum(class)?)),
            HostValue::Member(class, name) => {
                let class = self.live_enum(class)?;
                match class.members.iter().find(|m| *m.name == **name) {
                    Some(member) => Value::Member(member.clone()),
                    None => return Err(self.emit.lower_error(format!("`{}` has no member `{name}`", class.name))),
                }
            }
            HostValue::Object { object, shown } => {
                Value::Object(Object { object: *object, shown: Name::from(shown.as_str()) })
            }
        })
    }

    fn all_host_values(&mut self, values: &[HostValue]) -> LowerResult<Vec<Value>> {
        values.iter().map(|value| self.host_value(value)).collect()
    }

    /// A live function as a unit of the program.
    fn live_function(&mut self, source: &Arc<HostSource>) -> LowerResult<Function> {
        self.program.files.live(source).map_err(|errors| {
            for error in &errors {
                self.report(error.clone().into());
            }
            LowerError::reported()
        })
    }

    /// What the language has at a dotted path.
    fn at_path(&mut self, path: &str) -> LowerResult<Value> {
        if let Some(known) = KnownModule::from_path(path) {
            return Ok(Value::Module(ModuleRef::Known(known)));
        }
        if let Some((module, name)) = path.rsplit_once('.')
            && let Some(module) = KnownModule::from_path(module)
            && let Some(value) = self.module_attribute(&ModuleRef::Known(module), name)?
        {
            return Ok(value);
        }
        Ok(Value::Host(Name::from(path)))
    }

    /// A class of the host, made once, so that it stays the same class.
    fn live_class(
        &mut self,
        object: HostObject,
        make: impl FnOnce(&mut Self) -> LowerResult<Class>,
    ) -> LowerResult<Value> {
        if let Some(class) = self.live_classes.get(&object) {
            return Ok(Value::Class(class.clone()));
        }
        let class = make(self)?;
        self.live_classes.insert(object, class.clone());
        Ok(Value::Class(class))
    }

    pub(super) fn live_named_tuple(&mut self, class: &Arc<HostNamedTuple>) -> LowerResult<Arc<NamedTupleClass>> {
        let made = self.live_class(class.object, |l| {
            let mut fields = Vec::with_capacity(class.fields.len());
            for (name, default) in &class.fields {
                let default = default.as_ref().map(|d| l.host_value(d)).transpose()?;
                fields.push(Field { name: Name::from(name.as_str()), default, phase: FieldPhase::Device });
            }
            let name = Name::from(class.name.as_str());
            Ok(Class::NamedTuple(Arc::new(NamedTupleClass { name, fields, live: Some(class.clone()) })))
        })?;
        match made {
            Value::Class(Class::NamedTuple(class)) => Ok(class),
            _ => Err(self.two_classes(&class.name)),
        }
    }

    fn live_enum(&mut self, class: &Arc<HostEnum>) -> LowerResult<Arc<EnumClass>> {
        let made = self.live_class(class.object, |l| {
            let name = Name::from(class.name.as_str());
            let mut members = Vec::with_capacity(class.members.len());
            for (member, value) in &class.members {
                let value = l.host_value(value)?;
                let member = Name::from(member.as_str());
                members.push(Arc::new(Member { class: name.clone(), name: member, value, live: Some(class.clone()) }));
            }
            Ok(Class::Enum(Arc::new(EnumClass { name, members, live: Some(class.clone()) })))
        })?;
        match made {
            Value::Class(Class::Enum(class)) => Ok(class),
            _ => Err(self.two_classes(&class.name)),
        }
    }

    fn two_classes(&self, name: &str) -> LowerError {
        self.emit.lower_error(format!("the host describes the class `{name}` in two ways"))
    }

    fn live_aggregate(&mut self, class: &HostAggregate) -> LowerResult<Class> {
        let mut fields = Vec::with_capacity(class.fields.len());
        for field in &class.fields {
            let default = field.default.as_ref().map(|d| self.host_value(d)).transpose()?;
            let phase = if field.constexpr { FieldPhase::Constexpr } else { FieldPhase::Device };
            fields.push(Field { name: Name::from(field.name.as_str()), default, phase });
        }
        let methods = self.live_methods(&class.methods)?;
        let statics = self.live_methods(&class.statics)?;
        let name = Name::from(class.name.as_str());
        Ok(Class::Aggregate(Arc::new(AggregateClass { name, fields, methods, statics })))
    }

    /// The methods of a class. Plain ones are compiled, too: what they work on lives in kernels.
    fn live_methods(&mut self, methods: &[(String, Arc<HostSource>)]) -> LowerResult<Vec<(Name, Function)>> {
        let mut compiled = Vec::with_capacity(methods.len());
        for (name, source) in methods {
            let mut function = self.live_function(source)?;
            if function.kind == FunctionKind::Plain {
                function.kind = FunctionKind::Jit;
            }
            compiled.push((Name::from(name.as_str()), function));
        }
        Ok(compiled)
    }

    /// `object.name` of a live object.
    pub(super) fn object_attribute(&mut self, object: &Object, name: &str) -> LowerResult<Option<Value>> {
        let Some(live) = &self.program.live else { return Ok(None) };
        match live.bridge.attribute(object.object, name) {
            Some(answer) => self.host_value(&answer).map(Some),
            None => Ok(None),
        }
    }

    /// Calls a method of a live object, if it has it.
    pub(super) fn object_method(&mut self, object: &Object, name: &str, args: &[Value]) -> LowerResult<Option<Value>> {
        let Some(method) = self.object_attribute(object, name)? else { return Ok(None) };
        let span = self.emit.span;
        let given = args.iter().map(|value| Given::positional(value.clone(), span)).collect();
        self.call_value(&method, given, span).map(Some)
    }

    /// The live function behind one that is not compiled, if the host can be given all arguments.
    pub(super) fn runs_in_host(&self, f: &Function, given: &[Given]) -> Option<Arc<HostSource>> {
        let source = self.program.module(f.module).live.clone()?;
        given.iter().all(|arg| self.to_host(&arg.value).is_some()).then_some(source)
    }

    /// Calls something of the host with values known at compile time.
    pub(super) fn call_host(
        &mut self,
        object: HostObject,
        name: &str,
        given: &[Given],
        span: Span,
    ) -> LowerResult<Value> {
        let mut positional = Vec::new();
        let mut named = Vec::new();
        for arg in given {
            if matches!(arg.value, Value::Invalid) {
                return Err(LowerError::reported());
            }
            let Some(value) = self.to_host(&arg.value) else {
                let package = self.program.package(self.frame.module);
                let help = match self.in_language(name.rsplit('.').next().unwrap_or(name)) {
                    Some(function) => format!("in a kernel use `{function}(...)`"),
                    None => format!(
                        "decorate `{name}` with `@{package}.jit` to compile it, or pass values known at compile time"
                    ),
                };
                return Err(Diagnostic::error(arg.span, format!("`{name}` is called in the host program"))
                    .label(format!("this is {}, which only exists in the kernel", describe(&arg.value)))
                    .help(help)
                    .into());
            };
            match &arg.name {
                Some(name) => named.push((name.name.to_string(), value)),
                None => positional.push(value),
            }
        }
        let Some(live) = &self.program.live else { return Err(LowerError::reported()) };
        match live.bridge.call(object, &positional, &named) {
            Ok(answer) => self.host_value(&answer),
            Err(raised) => Err(Diagnostic::error(span, format!("`{name}` failed at compile time"))
                .label("called here")
                .note(raised)
                .into()),
        }
    }

    /// A compile-time value in the host's words; `None` for what only exists in kernels.
    pub(super) fn to_host(&self, value: &Value) -> Option<HostValue> {
        Some(match value {
            Value::Const(Const::None) => HostValue::None,
            Value::Const(Const::Bool(b)) => HostValue::Bool(*b),
            Value::Const(Const::Int(i)) => HostValue::Int(*i),
            Value::Const(Const::Float(f)) => HostValue::Float(*f),
            Value::Const(Const::Str(s)) => HostValue::Str(s.to_string()),
            Value::Const(Const::Ellipsis) => HostValue::Ellipsis,
            Value::Dtype(d) => HostValue::Dtype(d.to_string()),
            Value::Tuple(t) => {
                let items = t.items.iter().map(|v| self.to_host(v)).collect::<Option<_>>()?;
                match t.class.as_ref().map(|c| c.live.clone()) {
                    Some(class) => HostValue::NamedTuple(class?, items),
                    None => HostValue::Tuple(items),
                }
            }
            Value::Dict(pairs) => {
                let pair = |(k, v): &(Value, Value)| Some((self.to_host(k)?, self.to_host(v)?));
                HostValue::Dict(pairs.iter().map(pair).collect::<Option<_>>()?)
            }
            Value::Member(m) => HostValue::Member(m.live.clone()?, m.name.to_string()),
            Value::Object(o) => HostValue::Object { object: o.object, shown: o.shown.to_string() },
            Value::Function(f) => match &self.program.module(f.module).live {
                Some(source) => HostValue::Function(source.clone()),
                None => HostValue::Language(format!("shoal.language.{}", f.name())),
            },
            Value::Builtin(b) => HostValue::Language(b.path()),
            Value::Class(Class::Known(class)) => HostValue::Language(class_path(*class)),
            Value::Class(Class::NamedTuple(class)) => HostValue::NamedTupleClass(class.live.clone()?),
            Value::Class(Class::Enum(class)) => HostValue::EnumClass(class.live.clone()?),
            Value::Module(ModuleRef::Known(module)) => HostValue::Language(module.path().to_owned()),
            Value::Module(ModuleRef::User(_) | ModuleRef::Host(_))
            | Value::Class(Class::Aggregate(_))
            | Value::Tensor(_)
            | Value::Slice(_)
            | Value::Range(_)
            | Value::Condition(_)
            | Value::Descriptor(_)
            | Value::BlockPtr(_)
            | Value::Token(_)
            | Value::Vector(_)
            | Value::Aggregate(_)
            | Value::Method(_)
            | Value::Host(_)
            | Value::Invalid => return None,
        })
    }

    /// The live function whose names a unit resolves.
    pub(super) fn live_unit(&self, module: ModuleId) -> Option<Arc<HostSource>> {
        self.program.module(module).live.clone()
    }
}

fn class_path(class: KnownClass) -> String {
    let module = match class {
        KnownClass::Int | KnownClass::Float | KnownClass::Bool | KnownClass::Str | KnownClass::Tuple => "builtins",
        KnownClass::NamedTuple => "typing",
        KnownClass::Enum | KnownClass::IntEnum => "enum",
        KnownClass::Constexpr
        | KnownClass::Tensor
        | KnownClass::Dtype
        | KnownClass::PointerType
        | KnownClass::BlockType
        | KnownClass::ConstPtr
        | KnownClass::TensorDescriptor => "shoal.language",
    };
    format!("{module}.{}", class.name())
}
