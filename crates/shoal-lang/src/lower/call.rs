//! Calls: who is called, with which arguments.

use std::sync::Arc;

use shoal_source::{Diagnostic, Span, similar};

use super::Lower;
use super::operator::equal;
use crate::builtin::{self, Builtin, Given, Phase, describe};
use crate::consts::MAX_STRING;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::{Function, FunctionKind};
use crate::syntax::ast::{Arg, ArgKind, Expr, Ident, Name, ParamKind};
use crate::value::{Const, Dtype, Method, MethodTarget, NamedTupleClass, Tuple, Value};

impl Lower<'_> {
    /// `func(args)`.
    pub(super) fn call(&mut self, func: &Expr, args: &[Arg], span: Span) -> LowerResult<Value> {
        let callee = self.expr(func)?;
        self.call_with(&callee, args, span)
    }

    /// `func(args)` as a statement, which drops the result.
    pub(super) fn call_unused(&mut self, func: &Expr, args: &[Arg], span: Span) -> LowerResult<()> {
        let callee = self.expr(func)?;
        if let Some(why) = must_use(&callee) {
            let name = self.program.sources().slice(func.span).to_owned();
            let error = Diagnostic::error(span, format!("the result of `{name}` is not used"));
            return Err(if why.is_empty() { error } else { error.note(why.to_string()) }.into());
        }
        self.call_with(&callee, args, span).map(drop)
    }

    fn call_with(&mut self, callee: &Value, args: &[Arg], span: Span) -> LowerResult<Value> {
        let given = self.arguments(args)?;
        self.emit.span = span;
        self.call_value(callee, given, span)
    }

    fn arguments(&mut self, args: &[Arg]) -> LowerResult<Vec<Given>> {
        let mut given = Vec::with_capacity(args.len());
        let mut failed = None;
        for arg in args {
            let span = arg.value.span;
            let value = match self.expr(&arg.value) {
                Ok(value) => value,
                // The other arguments may have errors of their own.
                Err(error) => {
                    self.report(error);
                    failed = Some(LowerError::reported());
                    continue;
                }
            };
            match &arg.kind {
                ArgKind::Positional => given.push(Given::positional(value, span)),
                ArgKind::Keyword(name) => given.push(Given { name: Some(name.clone()), value, span }),
                ArgKind::Star => match value {
                    Value::Tuple(t) => {
                        self.parts_visited(t.items.len())?;
                        given.extend(t.items.iter().map(|v| Given::positional(v.clone(), span)));
                    }
                    other => {
                        let message = format!("`*` needs a tuple, this is {}", describe(&other));
                        return Err(LowerError::new(span, message));
                    }
                },
                ArgKind::StarStar => given.extend(named_arguments(&value, span)?),
            }
        }
        failed.map_or(Ok(given), Err)
    }

    /// Calls a value with evaluated arguments.
    pub(crate) fn call_value(&mut self, callee: &Value, mut given: Vec<Given>, span: Span) -> LowerResult<Value> {
        match callee {
            Value::Invalid => Err(LowerError::reported()),
            Value::Builtin(builtin) => self.call_builtin(builtin, given, span),
            Value::Function(f) => self.call_function(f, given, span),
            Value::Method(m) => {
                let Method { receiver, span: at, target } = &**m;
                match target {
                    MethodTarget::Function(f) => {
                        given.insert(0, Given::positional(receiver.clone(), *at));
                        self.call_value(f, given, span)
                    }
                    MethodTarget::Named(name) => self.named_method(receiver, name, &given, span),
                }
            }
            Value::Class(class) => self.construct(class, given, span),
            Value::Object(o) => self.call_host(o.object, &o.shown.clone(), &given, span),
            Value::Host(name) => Err(self.host_only(name, span, "cannot be called in a kernel")),
            _ => Err(Diagnostic::error(span, format!("{} cannot be called", describe(callee))).into()),
        }
    }

    fn call_builtin(&mut self, builtin: &'static Builtin, given: Vec<Given>, span: Span) -> LowerResult<Value> {
        if builtin.phase == Phase::Kernel && self.at_compile_time() {
            let message = format!("`{}` cannot run at compile time", builtin.short_name());
            return Err(Diagnostic::error(span, message)
                .label("this function writes device code")
                .help("call it in a `@jit` function")
                .into());
        }
        let args = builtin::bind(builtin, given, span)?;
        (builtin.run)(self, &args)
    }

    /// Calls a function of the language by name, with positional arguments.
    pub(super) fn call_builtin_named(&mut self, name: &str, args: Vec<Value>) -> LowerResult<Value> {
        let span = self.emit.span;
        let given = args.into_iter().map(|value| Given::positional(value, span)).collect();
        match builtin::find(name) {
            Some(builtin) => self.call_builtin(builtin, given, span),
            None => {
                let language = crate::module::ModuleRef::Known(crate::module::KnownModule::Language);
                match self.module_attribute(&language, name)? {
                    Some(callee) => self.call_value(&callee, given, span),
                    None => Err(self.emit.lower_error(format!("`{name}` is not available"))),
                }
            }
        }
    }

    fn call_function(&mut self, f: &Function, given: Vec<Given>, span: Span) -> LowerResult<Value> {
        if f.kind != FunctionKind::Jit
            && let Some(source) = self.runs_in_host(f, &given)
        {
            return self.call_host(source.object, f.name(), &given, span);
        }
        let args = self.bind_function(f, given, span)?;
        match f.kind {
            FunctionKind::Jit if !self.at_compile_time() => self.call_jit(f, args, span),
            FunctionKind::Plain if !self.at_compile_time() && args.iter().any(Value::is_dynamic) => {
                Err(Diagnostic::error(span, format!("`{}` is a host function", f.name()))
                    .label("called with values that are on the device")
                    .with_label(f.def.name.span, "defined here without `@jit`")
                    .help(format!("decorate `{}` with `@{}.jit`", f.name(), self.program.package(f.module)))
                    .into())
            }
            FunctionKind::Jit | FunctionKind::CompileTime | FunctionKind::Plain => {
                self.run_at_compile_time(f, args, span)
            }
        }
    }

    /// Calls a function with positional values.
    pub(crate) fn call_values(&mut self, f: &Function, args: Vec<Value>, span: Span) -> LowerResult<Value> {
        let given = args.into_iter().map(|value| Given::positional(value, span)).collect();
        self.call_function(f, given, span)
    }

    /// One value for each parameter of a function, `*args` as a tuple.
    pub(super) fn bind_function(&mut self, f: &Function, given: Vec<Given>, span: Span) -> LowerResult<Vec<Value>> {
        let params = &f.def.params;
        let mut values: Vec<Option<Value>> = vec![None; params.len()];
        let mut extra = Vec::new();
        let mut next = 0;
        for arg in given {
            if matches!(arg.value, Value::Invalid) {
                return Err(LowerError::reported());
            }
            match &arg.name {
                None => match params.get(next).map(|p| p.kind) {
                    Some(ParamKind::PositionalOnly | ParamKind::Normal) => {
                        values[next] = Some(arg.value);
                        next += 1;
                    }
                    Some(ParamKind::VarPositional) => extra.push(arg.value),
                    Some(ParamKind::KeywordOnly | ParamKind::VarKeyword) | None => {
                        return Err(too_many_arguments(f, next, arg.span));
                    }
                },
                Some(name) => {
                    let found = params.iter().position(|p| {
                        p.name.name == name.name && matches!(p.kind, ParamKind::Normal | ParamKind::KeywordOnly)
                    });
                    let Some(i) = found else { return Err(unknown_parameter(f, name)) };
                    if values[i].replace(arg.value).is_some() {
                        return Err(LowerError::new(
                            name.span,
                            format!("`{}` gets two values for `{}`", f.name(), name.name),
                        ));
                    }
                }
            }
        }
        self.fill_defaults(f, values, extra, span)
    }

    fn fill_defaults(
        &mut self,
        f: &Function,
        values: Vec<Option<Value>>,
        extra: Vec<Value>,
        span: Span,
    ) -> LowerResult<Vec<Value>> {
        let mut bound = Vec::with_capacity(values.len());
        let mut missing = Vec::new();
        let mut extra = Some(extra);
        for (param, value) in f.def.params.iter().zip(values) {
            bound.push(match (value, param.kind, &param.default) {
                (Some(value), _, _) => value,
                (None, ParamKind::VarPositional, _) => Value::tuple(extra.take().unwrap_or_default()),
                (None, ParamKind::VarKeyword, _) => {
                    return Err(Diagnostic::error(param.name.span, "`@jit` functions have no `**` parameters")
                        .help("name the parameters")
                        .into());
                }
                (None, _, Some(default)) => self.in_module(f.module, |l| l.expr(default))?,
                (None, _, None) => {
                    missing.push(format!("`{}`", param.name.name));
                    Value::Invalid
                }
            });
        }
        if missing.is_empty() {
            return Ok(bound);
        }
        let plural = if missing.len() == 1 { "argument" } else { "arguments" };
        Err(Diagnostic::error(span, format!("`{}` is missing the {plural} {}", f.name(), missing.join(", ")))
            .with_label(f.def.name.span, "defined here")
            .into())
    }

    /// Evaluates something in the scope of a module, at compile time: defaults, and what classes are made of.
    pub(super) fn in_module<T>(
        &mut self,
        module: crate::module::ModuleId,
        f: impl FnOnce(&mut Self) -> LowerResult<T>,
    ) -> LowerResult<T> {
        let frame = super::frame::Frame::signature(module);
        let outer = std::mem::replace(&mut self.frame, frame);
        let result = f(self);
        self.frame = outer;
        result
    }

    /// A method that compile-time values have.
    fn named_method(&mut self, receiver: &Value, name: &Name, given: &[Given], span: Span) -> LowerResult<Value> {
        match (receiver, given) {
            (Value::Dtype(d), [only]) if &**name == "with_element_ty" => match &only.value {
                Value::Dtype(elem) if elem.elem().is_some() => {
                    let ty = elem.elem().map_or_else(|| d.ty.clone(), |e| d.ty.with_elem(e));
                    Ok(Value::Dtype(Dtype { ty, access: elem.access }))
                }
                other => Err(LowerError::new(only.span, format!("expected a dtype, found {}", describe(other)))),
            },
            (Value::Dtype(d), []) => {
                d.method(name).ok_or_else(|| LowerError::new(span, format!("`{name}` does not apply to `{d}`")))
            }
            (Value::Dtype(d), _) if name.starts_with("is_") => {
                d.method(name).ok_or_else(|| LowerError::new(span, format!("`{name}` does not apply to `{d}`")))
            }
            (Value::Dict(pairs), _) => {
                self.value_visited(receiver)?;
                dict_method(pairs, name, given, span)
            }
            (Value::Const(Const::Str(s)), _) => {
                let made = string_method(s, name, given, span)?;
                self.text_visited(s.len())?;
                self.value_visited(&made)?;
                Ok(made)
            }
            (Value::Const(c), []) if c.as_int().is_some() => {
                let size = c.as_int().unwrap_or_default().unsigned_abs();
                Ok(Value::int(i128::from(match &**name {
                    "bit_length" => u128::BITS - size.leading_zeros(),
                    _ => size.count_ones(),
                })))
            }
            (Value::Tuple(Tuple { items, class: Some(class) }), _) if &**name == "_replace" => {
                replace_fields(items, class, given)
            }
            (Value::Tuple(t), [only]) => self.tuple_method(t, name, only),
            (Value::Tensor(_), [only]) => {
                let logic = if &**name == "logical_and" {
                    crate::semantic::binary::Logic::And
                } else {
                    crate::semantic::binary::Logic::Or
                };
                crate::semantic::binary::logical(&mut self.emit, logic, receiver, &only.value)
            }
            _ => Err(LowerError::new(span, format!("`{name}` does not take these arguments"))),
        }
    }

    fn tuple_method(&mut self, t: &Tuple, name: &Name, only: &Given) -> LowerResult<Value> {
        match &**name {
            "index" => match t.items.iter().position(|v| equal(v, &only.value)) {
                Some(i) => Ok(Value::int(i as i128)),
                None => Err(LowerError::new(only.span, format!("{} is not in the tuple", describe(&only.value)))),
            },
            _ => Ok(Value::int(t.items.iter().filter(|v| equal(v, &only.value)).count() as i128)),
        }
    }
}

/// The arguments of `**dictionary`.
fn named_arguments(value: &Value, span: Span) -> LowerResult<Vec<Given>> {
    let Value::Dict(pairs) = value else {
        return Err(LowerError::new(span, format!("`**` needs a dictionary, this is {}", describe(value))));
    };
    let named = |(key, value): &(Value, Value)| match key {
        Value::Const(Const::Str(name)) => {
            Ok(Given { name: Some(Ident { name: name.clone(), span }), value: value.clone(), span })
        }
        other => Err(LowerError::new(span, format!("{} cannot name an argument", describe(other)))),
    };
    pairs.iter().map(named).collect()
}

/// Why the result of a call must not be dropped; possibly an empty text.
fn must_use(callee: &Value) -> Option<Name> {
    match callee {
        Value::Function(f) => f.options.must_use.clone(),
        Value::Builtin(b) if b.name == "advance" => Some(Name::from(
            "Note that tl.advance does not have any side effects. To move the block pointer, you need to assign the \
             result of tl.advance to a variable.",
        )),
        Value::Method(m) => match &m.target {
            MethodTarget::Function(f) => must_use(f),
            MethodTarget::Named(_) => None,
        },
        _ => None,
    }
}

fn dict_method(pairs: &[(Value, Value)], name: &Name, given: &[Given], span: Span) -> LowerResult<Value> {
    match (&**name, given) {
        ("keys", []) => Ok(Value::tuple(pairs.iter().map(|(k, _)| k.clone()).collect())),
        ("values", []) => Ok(Value::tuple(pairs.iter().map(|(_, v)| v.clone()).collect())),
        ("items", []) => {
            let pair = |(k, v): &(Value, Value)| Value::tuple(vec![k.clone(), v.clone()]);
            Ok(Value::tuple(pairs.iter().map(pair).collect()))
        }
        ("get", [key] | [key, _]) => {
            let found = pairs.iter().find(|(k, _)| equal(k, &key.value)).map(|(_, v)| v.clone());
            Ok(found.unwrap_or_else(|| given.get(1).map_or(Value::NONE, |default| default.value.clone())))
        }
        _ => Err(LowerError::new(span, format!("the dictionary's `{name}` does not take these arguments"))),
    }
}

fn replace_fields(items: &Arc<[Value]>, class: &Arc<NamedTupleClass>, given: &[Given]) -> LowerResult<Value> {
    let mut items = items.to_vec();
    for arg in given {
        let at = arg.name.as_ref().and_then(|n| class.fields.iter().position(|f| f.name == n.name));
        match at.and_then(|i| items.get_mut(i)) {
            Some(slot) => *slot = arg.value.clone(),
            None => return Err(LowerError::new(arg.span, format!("`{}` has no such field", class.name))),
        }
    }
    Ok(Value::Tuple(Tuple { items: items.into(), class: Some(class.clone()) }))
}

fn string_method(s: &Name, name: &Name, given: &[Given], span: Span) -> LowerResult<Value> {
    let texts: Option<Vec<&str>> = given
        .iter()
        .map(|g| match &g.value {
            Value::Const(Const::Str(t)) => Some(&**t),
            _ => None,
        })
        .collect();
    match (&**name, texts.as_deref()) {
        ("startswith", Some([t])) => Ok(Value::bool(s.starts_with(t))),
        ("endswith", Some([t])) => Ok(Value::bool(s.ends_with(t))),
        ("lower", Some([])) => Ok(Value::str(&s.to_lowercase())),
        ("upper", Some([])) => Ok(Value::str(&s.to_uppercase())),
        ("strip", Some([])) => Ok(Value::str(s.trim())),
        ("replace", Some([from, to])) if !from.is_empty() => {
            let grown = s.matches(from).count().saturating_mul(to.len());
            if grown > MAX_STRING {
                return Err(LowerError::new(span, "the string is too long"));
            }
            Ok(Value::str(&s.replace(from, to)))
        }
        _ => Err(LowerError::new(span, format!("the string method `{name}` does not take these arguments"))),
    }
}

fn too_many_arguments(f: &Function, most: usize, span: Span) -> LowerError {
    let names: Vec<&str> = f.def.params.iter().map(|p| &*p.name.name).collect();
    Diagnostic::error(span, format!("`{}` takes at most {most} positional arguments", f.name()))
        .label("one too many")
        .with_label(f.def.name.span, format!("its parameters are: {}", names.join(", ")))
        .into()
}

fn unknown_parameter(f: &Function, keyword: &Ident) -> LowerError {
    let (name, span) = (&*keyword.name, keyword.span);
    let names = f.def.params.iter().map(|p| &*p.name.name);
    let diagnostic = Diagnostic::error(span, format!("`{}` has no parameter `{name}`", f.name()))
        .label("unknown keyword")
        .with_label(f.def.name.span, "defined here");
    match similar(name, names) {
        Some(close) => diagnostic.help(format!("did you mean `{close}`?")).into(),
        None => diagnostic.into(),
    }
}
