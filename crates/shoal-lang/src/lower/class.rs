//! Classes: named tuples, enumerations, aggregates, and what calling a class makes.

use std::sync::Arc;

use shoal_ir::Type;
use shoal_source::{Diagnostic, Span};

use super::Lower;
use crate::builtin::{BuiltinContext, Given, describe, shape_from};
use crate::consts::float_repr;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::{Function, FunctionKind, JitOptions, ModuleId};
use crate::syntax::ast::{ClassDef, Expr, ExprKind, Name, StmtKind};
use crate::value::{
    Access, Aggregate, AggregateClass, Class, Const, Dtype, EnumClass, Field, FieldPhase, KnownClass, Member,
    NamedTupleClass, Range, Tuple, Value,
};

impl Lower<'_> {
    /// The class that a definition makes.
    pub(super) fn class(&mut self, module: ModuleId, def: &Arc<ClassDef>) -> LowerResult<Value> {
        if let Some(class) = self.classes.get(&def.span) {
            return Ok(class.clone());
        }
        let named = |d| self.program.language_name(module, d);
        let is_aggregate =
            def.decorators.iter().any(|d| matches!(named(d).as_deref(), Some("aggregate" | "_aggregate")));
        let value = if is_aggregate {
            self.aggregate_class(module, def)?
        } else {
            match self.base_class(module, def)? {
                Some(KnownClass::NamedTuple) => {
                    let fields = self.fields(module, def)?;
                    let class = NamedTupleClass { name: def.name.name.clone(), fields, live: None };
                    Value::Class(Class::NamedTuple(Arc::new(class)))
                }
                Some(KnownClass::Enum | KnownClass::IntEnum) => self.enum_class(module, def)?,
                Some(_) | None => Value::Host(def.name.name.clone()),
            }
        };
        self.classes.insert(def.span, value.clone());
        Ok(value)
    }

    fn base_class(&mut self, module: ModuleId, def: &ClassDef) -> LowerResult<Option<KnownClass>> {
        for base in &def.bases {
            let value = self.in_module(module, |l| l.expr(base));
            if let Ok(Value::Class(Class::Known(known))) = value {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    fn fields(&mut self, module: ModuleId, def: &ClassDef) -> LowerResult<Vec<Field>> {
        let mut fields = Vec::new();
        for stmt in &def.body {
            if let StmtKind::AnnAssign { target, value, annotation } = &stmt.kind
                && let ExprKind::Name(name) = &target.kind
            {
                let default = match value {
                    Some(value) => Some(self.in_module(module, |l| l.expr(value))?),
                    None => None,
                };
                let phase = match self.program.language_name(module, annotation).as_deref() {
                    Some("constexpr") => FieldPhase::Constexpr,
                    _ => FieldPhase::Device,
                };
                fields.push(Field { name: name.clone(), default, phase });
            }
        }
        Ok(fields)
    }

    fn aggregate_class(&mut self, module: ModuleId, def: &ClassDef) -> LowerResult<Value> {
        let AggregateClass { mut fields, mut methods, mut statics, .. } = self.inherited(module, def)?;
        for field in self.fields(module, def)? {
            match fields.iter_mut().find(|f| f.name == field.name) {
                Some(inherited) => *inherited = field,
                None => fields.push(field),
            }
        }
        for stmt in &def.body {
            if let StmtKind::FunctionDef(method) = &stmt.kind {
                let function = Function {
                    def: method.clone(),
                    module,
                    kind: FunctionKind::Jit,
                    options: Arc::new(JitOptions::default()),
                };
                let is_static = |d: &Expr| matches!(&d.kind, ExprKind::Name(name) if &**name == "staticmethod");
                let list = if method.decorators.iter().any(is_static) { &mut statics } else { &mut methods };
                list.retain(|(name, _)| *name != method.name.name);
                list.push((method.name.name.clone(), function));
            }
        }
        let class = AggregateClass { name: def.name.name.clone(), fields, methods, statics };
        Ok(Value::Class(Class::Aggregate(Arc::new(class))))
    }

    /// What an aggregate class has of its bases.
    fn inherited(&mut self, module: ModuleId, def: &ClassDef) -> LowerResult<AggregateClass> {
        let name = def.name.name.clone();
        let mut all = AggregateClass { name, fields: Vec::new(), methods: Vec::new(), statics: Vec::new() };
        for base in &def.bases {
            let Value::Class(Class::Aggregate(base)) = self.in_module(module, |l| l.expr(base))? else {
                return Err(LowerError::new(base.span, "an aggregate inherits from aggregates only"));
            };
            all.fields.extend(base.fields.iter().cloned());
            all.methods.extend(base.methods.iter().cloned());
            all.statics.extend(base.statics.iter().cloned());
        }
        Ok(all)
    }

    fn enum_class(&mut self, module: ModuleId, def: &ClassDef) -> LowerResult<Value> {
        let class = &def.name.name;
        let mut members = Vec::new();
        for stmt in &def.body {
            if let StmtKind::Assign { targets, value } = &stmt.kind
                && let [target] = targets.as_slice()
                && let ExprKind::Name(name) = &target.kind
            {
                let value = self.in_module(module, |l| l.expr(value)).unwrap_or(Value::Host(name.clone()));
                members.push(Arc::new(Member { class: class.clone(), name: name.clone(), value, live: None }));
            }
        }
        Ok(Value::Class(Class::Enum(Arc::new(EnumClass { name: class.clone(), members, live: None }))))
    }

    /// `Class(args)`.
    pub(super) fn construct(&mut self, class: &Class, given: Vec<Given>, span: Span) -> LowerResult<Value> {
        match class {
            Class::Known(known) => self.construct_known(*known, &given, span),
            Class::NamedTuple(c) => {
                let items = fill_fields(&c.name, &c.fields, given, span)?;
                self.bounded(Value::Tuple(Tuple { items: items.into(), class: Some(c.clone()) }))
            }
            Class::Aggregate(c) => {
                let init = c.methods.iter().find(|(name, _)| &**name == "__init__");
                let fields = match init {
                    Some((_, init)) => self.initialised(c, init, given, span)?,
                    None => fill_fields(&c.name, &c.fields, given, span)?,
                };
                self.bounded(Value::Aggregate(Aggregate { class: c.clone(), fields: fields.into() }))
            }
            Class::Enum(c) => match given.as_slice() {
                [Given { value, .. }] => match c.members.iter().find(|m| super::operator::equal(&m.value, value)) {
                    Some(member) => Ok(Value::Member(member.clone())),
                    None => Err(LowerError::new(span, format!("`{}` has no member {}", c.name, describe(value)))),
                },
                _ => Err(LowerError::new(span, format!("`{}` takes one value", c.name))),
            },
        }
    }

    fn construct_known(&mut self, class: KnownClass, given: &[Given], span: Span) -> LowerResult<Value> {
        let wrong = |expected: &str| {
            Err(LowerError::from(Diagnostic::error(span, format!("`{}` takes {expected}", class.name()))))
        };
        match (class, given) {
            (KnownClass::Constexpr, [g]) => match &g.value {
                v if v.is_dynamic() => Err(Diagnostic::error(g.span, "a `constexpr` must be known at compile time")
                    .label(format!("this is {}", describe(v)))
                    .into()),
                v => Ok(v.clone()),
            },
            (KnownClass::Int | KnownClass::Float | KnownClass::Bool | KnownClass::Str, [g]) => self.convert(class, g),
            (KnownClass::Str, []) => Ok(Value::str("")),
            (KnownClass::Tuple, []) => Ok(Value::tuple(Vec::new())),
            (KnownClass::Tuple, [g]) => self.items(&g.value, g.span).map(Value::tuple),
            (KnownClass::PointerType, [elem, rest @ ..]) => pointer_type(elem, rest, span),
            (KnownClass::BlockType, [elem, shape]) => block_type(elem, shape),
            (KnownClass::Dtype, [g]) => match &g.value {
                Value::Dtype(d) => Ok(Value::Dtype(d.clone())),
                Value::Const(Const::Str(s)) => match crate::dtype::from_signature_name(s) {
                    Some(scalar) => Ok(Value::Dtype(Dtype::scalar(scalar))),
                    None => Err(LowerError::new(g.span, format!("there is no dtype `{s}`"))),
                },
                _ => wrong("the name of a dtype"),
            },
            (KnownClass::Tensor, _) => wrong("nothing a kernel can give: use `tl.full` or `tl.zeros`"),
            (KnownClass::TensorDescriptor, _) => wrong("nothing a kernel can give: use `tl.make_tensor_descriptor`"),
            _ => wrong("other arguments"),
        }
    }

    /// `int(x)`, `float(x)`, `bool(x)`, `str(x)`.
    fn convert(&mut self, class: KnownClass, g: &Given) -> LowerResult<Value> {
        if let Value::Tensor(_) = &g.value {
            let (name, to) = match class {
                KnownClass::Int => ("int", "tl.int32"),
                KnownClass::Float => ("float", "tl.float32"),
                KnownClass::Bool => ("bool", "tl.int1"),
                _ => ("str", "…"),
            };
            return Err(Diagnostic::error(g.span, format!("`{name}` needs a value known at compile time"))
                .label(format!("this is {}", describe(&g.value)))
                .help(format!("to convert on the device, use `.to({to})`"))
                .into());
        }
        if class == KnownClass::Bool {
            return Ok(Value::bool(self.truthy(&g.value)?));
        }
        if class == KnownClass::Str {
            return self.text(&g.value).map(|text| Value::str(&text));
        }
        let failed = || {
            let message = format!("`{}` cannot convert {}", class.name(), describe(&g.value));
            LowerError::new(g.span, message)
        };
        let constant = g.value.as_const().ok_or_else(failed)?;
        let converted = match (class, constant) {
            (KnownClass::Int, Const::Float(f)) if f.is_finite() && f.abs() < 1e38 => Const::Int(f.trunc() as i128),
            (KnownClass::Int, Const::Str(s)) => {
                s.trim().replace('_', "").parse().map(Const::Int).map_err(|_| failed())?
            }
            (KnownClass::Float, Const::Str(s)) => Const::Float(parse_float(s).ok_or_else(failed)?),
            (KnownClass::Int, c) => c.as_int().map(Const::Int).ok_or_else(failed)?,
            (_, c) => c.as_float().map(Const::Float).ok_or_else(failed)?,
        };
        Ok(Value::Const(converted))
    }

    /// The elements of something that can be iterated at compile time.
    pub(super) fn items(&mut self, value: &Value, span: Span) -> LowerResult<Vec<Value>> {
        let items = self.all_items(value, span)?;
        self.parts_visited(items.len())?;
        Ok(items)
    }

    fn all_items(&mut self, value: &Value, span: Span) -> LowerResult<Vec<Value>> {
        match value {
            Value::Invalid => Err(LowerError::reported()),
            Value::Tuple(t) => Ok(t.items.to_vec()),
            Value::Const(Const::Str(s)) => Ok(s.chars().map(|c| Value::str(c.encode_utf8(&mut [0; 4]))).collect()),
            Value::Range(r) => self.range_items(r, span),
            Value::Dict(pairs) => Ok(pairs.iter().map(|(key, _)| key.clone()).collect()),
            Value::Class(Class::Enum(e)) => Ok(e.members.iter().cloned().map(Value::Member).collect()),
            Value::Tensor(_) => Err(Diagnostic::error(span, format!("{} cannot be iterated", describe(value)))
                .help("its elements are reduced with `tl.sum(v, axis=0)`, `tl.max(v, axis=0)` and the like")
                .into()),
            _ => Err(Diagnostic::error(span, format!("{} cannot be iterated", describe(value)))
                .help("only tuples and ranges known at compile time can")
                .into()),
        }
    }

    /// The numbers of a range that is known at compile time.
    pub(super) fn range_items(&mut self, range: &Range, span: Span) -> LowerResult<Vec<Value>> {
        const MOST: usize = 1 << 16;
        let part = |v: &Value, what: &str| {
            if let Some(Const::Float(_)) = v.as_const() {
                return Err(Diagnostic::error(span, format!("the {what} of this range is not an integer"))
                    .label(format!("the {what} is {}", describe(v)))
                    .help("`/` gives a float: divide with `//`")
                    .into());
            }
            v.as_const().and_then(Const::as_int).ok_or_else(|| {
                LowerError::from(
                    Diagnostic::error(span, format!("the {what} of this range must be known at compile time"))
                        .label(format!("the {what} is {}", describe(v)))
                        .help("make it a `constexpr`, or use `range` for a loop on the device"),
                )
            })
        };
        let (start, end, step) = (part(&range.start, "start")?, part(&range.end, "end")?, part(&range.step, "step")?);
        if step == 0 {
            return Err(LowerError::new(span, "the step of a range cannot be zero"));
        }
        let mut items = Vec::new();
        let mut at = start;
        while (step > 0 && at < end) || (step < 0 && at > end) {
            if items.len() >= MOST {
                return Err(Diagnostic::error(span, format!("this range has more than {MOST} elements"))
                    .label("each is compiled on its own")
                    .help("use `range` for a loop on the device")
                    .into());
            }
            items.push(Value::int(at));
            at = at.saturating_add(step);
        }
        Ok(items)
    }

    /// `str(value)`.
    pub(super) fn display(&self, value: &Value) -> String {
        match value {
            Value::Const(Const::Str(s)) => s.to_string(),
            Value::Const(Const::Float(f)) => float_repr(*f),
            Value::Const(c) => c.to_string(),
            Value::Dtype(d) => d.to_string(),
            Value::Tuple(t) => {
                let items: Vec<String> = t.items.iter().map(|v| self.repr(v)).collect();
                match &t.class {
                    Some(class) => {
                        let named: Vec<String> =
                            class.fields.iter().zip(&items).map(|(f, v)| format!("{}={v}", f.name)).collect();
                        format!("{}({})", class.name, named.join(", "))
                    }
                    None if items.len() == 1 => format!("({},)", items[0]),
                    None => format!("({})", items.join(", ")),
                }
            }
            Value::Dict(pairs) => {
                let pairs: Vec<String> =
                    pairs.iter().map(|(k, v)| format!("{}: {}", self.repr(k), self.repr(v))).collect();
                format!("{{{}}}", pairs.join(", "))
            }
            Value::Object(o) => o.shown.to_string(),
            Value::Member(m) => format!("{}.{}", m.class, m.name),
            Value::Function(f) => format!("<function {}>", f.name()),
            _ => value.type_name(),
        }
    }

    fn repr(&self, value: &Value) -> String {
        match value {
            Value::Const(c) => c.to_string(),
            _ => self.display(value),
        }
    }
}

fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase().replace('_', "");
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let known = matches!(digits, "inf" | "infinity" | "nan");
    let plain = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if known || plain { text.parse().ok() } else { None }
}

fn fill_fields(class: &Name, fields: &[Field], given: Vec<Given>, span: Span) -> LowerResult<Vec<Value>> {
    let mut values: Vec<Option<Value>> = vec![None; fields.len()];
    for (position, arg) in given.into_iter().enumerate() {
        let at = match &arg.name {
            None => (position < fields.len()).then_some(position),
            Some(name) => fields.iter().position(|f| f.name == name.name),
        };
        let Some(at) = at else {
            let message = match &arg.name {
                Some(name) => format!("`{class}` has no field `{}`", name.name),
                None => format!("`{class}` has {} fields", fields.len()),
            };
            return Err(Diagnostic::error(arg.span, message).label("one too many").into());
        };
        values[at] = Some(arg.value);
    }
    fields
        .iter()
        .zip(values)
        .map(|(field, value)| {
            value
                .or_else(|| field.default.clone())
                .ok_or_else(|| LowerError::new(span, format!("`{class}` is missing the field `{}`", field.name)))
        })
        .collect()
}

fn pointer_type(elem: &Given, rest: &[Given], span: Span) -> LowerResult<Value> {
    let mut access = Access::ReadWrite;
    for (i, arg) in rest.iter().enumerate() {
        let by_position = if i == 0 { "address_space" } else { "const" };
        let name = arg.name.as_ref().map_or(by_position, |n| &*n.name);
        match (name, arg.value.as_const()) {
            ("const", Some(c)) if c.truthy() => access = Access::ReadOnly,
            ("const" | "address_space", Some(_)) => {}
            _ => return Err(LowerError::new(arg.span, format!("`pointer_type` has no parameter `{name}`"))),
        }
    }
    match &elem.value {
        Value::Dtype(d) => match d.pointer_to(access) {
            Some(pointer) => Ok(Value::Dtype(pointer)),
            None => Err(LowerError::new(span, format!("there is no pointer to `{d}`"))),
        },
        other => Err(LowerError::new(elem.span, format!("`pointer_type` takes a dtype, this is {}", describe(other)))),
    }
}

fn block_type(elem: &Given, shape: &Given) -> LowerResult<Value> {
    let Value::Dtype(d) = &elem.value else {
        return Err(LowerError::new(
            elem.span,
            format!("`block_type` takes a dtype, this is {}", describe(&elem.value)),
        ));
    };
    let dims = match &shape.value {
        Value::Tuple(t) => t.items.to_vec(),
        one => vec![one.clone()],
    };
    let shape = shape_from(&dims, shape.span)?;
    match d.elem() {
        Some(elem) => Ok(Value::Dtype(Dtype { ty: Type::tile(elem, &shape), access: d.access })),
        None => Err(LowerError::new(elem.span, "a block holds numbers or pointers")),
    }
}
