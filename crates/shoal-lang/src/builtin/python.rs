//! Python's own functions, ranges, and what only concerns the compiler.

use std::sync::Arc;

use shoal_ir::op::ForAttrs;
use shoal_source::{Diagnostic, Severity};

use super::{Args, Builtin, BuiltinContext, describe};
use crate::consts;
use crate::lower_error::{LowerError, LowerResult};
use crate::semantic::debug;
use crate::semantic::operand::Operand;
use crate::syntax::ast::CmpOp;
use crate::value::{Aggregate, Class, Condition, Const, KnownClass, Range, RangeKind, Value};

/// Python's own functions, ranges, and what only concerns the compiler.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::anywhere("python.len", "x", run_len),
    Builtin::anywhere("python.range", "start, end=None, step=None", run_python_range),
    Builtin::anywhere("python.min", "*values", run_min),
    Builtin::anywhere("python.max", "*values", run_max),
    Builtin::anywhere("python.abs", "x", run_abs),
    Builtin::anywhere("python.sum", "items, start=0", run_sum),
    Builtin::anywhere("python.any", "items", run_any),
    Builtin::anywhere("python.all", "items", run_all),
    Builtin::anywhere("python.round", "x, digits: const=None", run_round),
    Builtin::anywhere("python.repr", "x", run_repr),
    Builtin::anywhere("python.zip", "*lists", run_zip),
    Builtin::anywhere("python.enumerate", "items, start: const=0", run_enumerate),
    Builtin::anywhere("python.reversed", "items", run_reversed),
    Builtin::anywhere("python.isinstance", "x, classes", run_isinstance),
    Builtin::anywhere("python.getattr", "x, name: const, *default", run_getattr),
    Builtin::anywhere("python.hasattr", "x, name: const", run_hasattr),
    Builtin::anywhere("python.type", "x", run_type),
    Builtin::kernel("python.print", "*values, hex: const=False", run_print),
    Builtin::anywhere(
        "static_print",
        "*values, sep: const=' ', end: const='', file: const=None, flush: const=False",
        run_static_print,
    ),
    Builtin::anywhere(
        "range",
        "arg1, arg2=None, step=None, num_stages: const=None, loop_unroll_factor: const=None, \
         disallow_acc_multi_buffer: const=False, flatten: const=False, warp_specialize: const=False, \
         disable_licm: const=False",
        run_range,
    ),
    Builtin::anywhere("static_range", "arg1: const, arg2: const=None, step: const=None", run_static_range),
    Builtin::kernel("condition", "arg1, disable_licm: const=False", run_condition),
    Builtin::anywhere("aggregate_replace", "instance, **changes", run_aggregate_replace),
];

/// The same aggregate with other values in some fields.
fn run_aggregate_replace(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let Value::Aggregate(before) = args.value("instance") else { return Err(args.wrong("instance", "an aggregate")) };
    let mut fields = before.fields.to_vec();
    for (change, span) in args.rest() {
        let Value::Tuple(pair) = change else { continue };
        let Value::Const(Const::Str(name)) = &pair.items[0] else { continue };
        let Some(at) = before.class.fields.iter().position(|field| field.name == *name) else {
            return Err(LowerError::new(*span, format!("`{}` has no field `{name}`", before.class.name)));
        };
        fields[at] = pair.items[1].clone();
    }
    Ok(Value::Aggregate(Aggregate { class: before.class.clone(), fields: fields.into() }))
}

fn run_len(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    match args.value("x") {
        Value::Tuple(t) => Ok(Value::int(t.items.len() as i128)),
        Value::Dict(pairs) => Ok(Value::int(pairs.len() as i128)),
        Value::Object(o) => {
            let length = l.host_method(&o.clone(), "__len__", &[])?;
            length.ok_or_else(|| args.wrong("x", "a tuple"))
        }
        Value::Const(Const::Str(s)) => Ok(Value::int(s.chars().count() as i128)),
        Value::Tensor(t) if !t.is_scalar() => Ok(Value::int(t.shape()[0])),
        value @ Value::Range(_) => Ok(Value::int(l.elements(value, args.span_of("x"))?.len() as i128)),
        _ => Err(args.wrong("x", "a tuple")),
    }
}

fn make_range(start: &Value, end: &Value, step: &Value, kind: RangeKind) -> Value {
    let step = if step.is_none() { Value::int(1) } else { step.clone() };
    let (start, end) = if end.is_none() { (Value::int(0), start.clone()) } else { (start.clone(), end.clone()) };
    Value::Range(Arc::new(Range { start, end, step, kind }))
}

fn run_python_range(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let kind = RangeKind::Dynamic(ForAttrs::default());
    Ok(make_range(args.value("start"), args.value("end"), args.value("step"), kind))
}

fn run_range(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let count = |name: &str| -> LowerResult<Option<u32>> {
        match args.optional_int(name)? {
            None => Ok(None),
            Some(n) => u32::try_from(n).map(Some).map_err(|_| args.wrong(name, "a small positive integer")),
        }
    };
    let attrs = ForAttrs {
        num_stages: count("num_stages")?,
        unroll: count("loop_unroll_factor")?,
        flatten: args.bool("flatten")?,
        warp_specialize: args.bool("warp_specialize")?,
        disallow_acc_multi_buffer: args.bool("disallow_acc_multi_buffer")?,
        disable_licm: args.bool("disable_licm")?,
    };
    Ok(make_range(args.value("arg1"), args.value("arg2"), args.value("step"), RangeKind::Dynamic(attrs)))
}

fn run_static_range(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    Ok(make_range(args.value("arg1"), args.value("arg2"), args.value("step"), RangeKind::Static))
}

fn run_condition(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let condition = Condition { test: args.value("arg1").clone(), disable_licm: args.bool("disable_licm")? };
    Ok(Value::Condition(Arc::new(condition)))
}

/// The values that `min`, `max` choose from: the arguments, or the elements of a single one.
fn candidates(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Vec<Value>> {
    match args.rest() {
        [(one @ (Value::Tuple(_) | Value::Range(_) | Value::Const(Const::Str(_))), span)] => l.elements(one, *span),
        [(Value::Invalid, _)] => Err(LowerError::reported()),
        [(one, span)] => {
            let name = args.function_name();
            let error = Diagnostic::error(*span, format!("`{name}` chooses between two or more values"))
                .label(format!("this is only {}", describe(one)));
            Err(match one {
                Value::Tensor(t) if !t.is_scalar() => {
                    error.help(format!("for the {name} of a tile's elements use `tl.{name}(v, axis=0)`"))
                }
                _ => error.help(format!("give a second value: `{name}(a, b)`")),
            }
            .into())
        }
        rest => Ok(rest.iter().map(|(v, _)| v.clone()).collect()),
    }
}

fn choose(l: &mut dyn BuiltinContext<'_>, args: &Args, op: CmpOp, device: &str) -> LowerResult<Value> {
    let mut values = candidates(l, args)?.into_iter();
    let Some(mut best) = values.next() else {
        return Err(LowerError::new(args.span, format!("`{}` needs at least one value", args.function_name())));
    };
    for value in values {
        best = match (best.as_const(), value.as_const()) {
            (Some(a), Some(b)) => {
                if let Some(number) = [a, b].into_iter().find_map(unordered) {
                    let name = args.function_name();
                    return Err(Diagnostic::error(args.span, format!("`{name}` of constants does not take {number}"))
                        .help("on the device, `tl.minimum` and `tl.maximum` take every number")
                        .into());
                }
                let take = consts::compare(op, b, a).map_err(|message| LowerError::new(args.span, message))?;
                if take { value } else { best }
            }
            _ => l.builtin_call(device, vec![best, value])?,
        };
    }
    Ok(best)
}

/// The constants that Python's `min` and `max` order otherwise than devices do.
fn unordered(c: &Const) -> Option<&'static str> {
    match c {
        Const::Float(f) if f.is_nan() => Some("NaN"),
        Const::Float(f) if *f == 0.0 && f.is_sign_negative() => Some("negative zero"),
        _ => None,
    }
}

fn run_min(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    choose(l, args, CmpOp::Lt, "minimum")
}

fn run_max(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    choose(l, args, CmpOp::Gt, "maximum")
}

fn run_abs(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    match args.value("x") {
        x @ Value::Tensor(_) => l.builtin_call("abs", vec![x.clone()]),
        x => match x.as_const() {
            Some(Const::Float(f)) => Ok(Value::Const(Const::Float(f.abs()))),
            Some(c) if c.as_int().is_some_and(|i| i != i128::MIN) => {
                Ok(Value::int(c.as_int().unwrap_or_default().abs()))
            }
            _ => Err(args.wrong("x", "a number")),
        },
    }
}

fn run_sum(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let mut total = args.value("start").clone();
    for item in l.elements(args.value("items"), args.span_of("items"))? {
        total = l.plus(&total, &item)?;
    }
    Ok(total)
}

fn run_any(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    for item in l.elements(args.value("items"), args.span_of("items"))? {
        if l.is_true(&item)? {
            return Ok(Value::bool(true));
        }
    }
    Ok(Value::bool(false))
}

fn run_all(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    for item in l.elements(args.value("items"), args.span_of("items"))? {
        if !l.is_true(&item)? {
            return Ok(Value::bool(false));
        }
    }
    Ok(Value::bool(true))
}

fn run_round(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let Some(c) = args.value("x").as_const() else { return Err(args.wrong("x", "a number known at compile time")) };
    match (c, args.optional_int("digits")?) {
        (Const::Float(f), None) if f.is_finite() && f.abs() < 1e38 => Ok(Value::int(f.round_ties_even() as i128)),
        (Const::Float(f), Some(digits)) => {
            let scale = 10f64.powi(i32::try_from(digits).unwrap_or(0).clamp(-300, 300));
            let rounded = (f * scale).round_ties_even() / scale;
            Ok(Value::Const(Const::Float(if rounded.is_finite() { rounded } else { *f })))
        }
        (c, _) => match c.as_int() {
            Some(i) => Ok(Value::int(i)),
            None => Err(args.wrong("x", "a number known at compile time")),
        },
    }
}

fn run_repr(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    l.shown(args.value("x")).map(|text| Value::str(&text))
}

fn run_zip(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let lists = args.rest().iter().map(|(v, s)| l.elements(v, *s)).collect::<LowerResult<Vec<_>>>()?;
    let shortest = lists.iter().map(Vec::len).min().unwrap_or(0);
    let row = |i: usize| Value::tuple(lists.iter().filter_map(|list| list.get(i).cloned()).collect());
    Ok(Value::tuple((0..shortest).map(row).collect()))
}

fn run_enumerate(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let start = args.int("start")?;
    let items = l.elements(args.value("items"), args.span_of("items"))?;
    let pair = |(i, v): (usize, Value)| Value::tuple(vec![Value::int(start.saturating_add(i as i128)), v]);
    Ok(Value::tuple(items.into_iter().enumerate().map(pair).collect()))
}

fn run_reversed(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let mut items = l.elements(args.value("items"), args.span_of("items"))?;
    items.reverse();
    Ok(Value::tuple(items))
}

fn run_isinstance(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let x = args.value("x");
    for class in args.sequence("classes") {
        let yes = match &class {
            Value::Class(class) => is_instance(x, class),
            // What lives on the device is no instance of the host's classes.
            Value::Object(_) if x.is_dynamic() => false,
            Value::Object(class) => {
                let answer = l.host_method(class, "__instancecheck__", std::slice::from_ref(x))?;
                let answer = answer.ok_or_else(|| args.wrong("classes", "a class or a tuple of classes"))?;
                l.is_true(&answer)?
            }
            _ => return Err(args.wrong("classes", "a class or a tuple of classes")),
        };
        if yes {
            return Ok(Value::bool(true));
        }
    }
    Ok(Value::bool(false))
}

fn is_instance(x: &Value, class: &Class) -> bool {
    match (class, x) {
        (Class::Known(known), _) => is_known_instance(x, *known),
        (Class::NamedTuple(c), Value::Tuple(t)) => t.class.as_ref().is_some_and(|k| Arc::ptr_eq(k, c)),
        (Class::Enum(c), Value::Member(m)) => m.class == c.name,
        (Class::Aggregate(c), Value::Aggregate(a)) => Arc::ptr_eq(&a.class, c),
        _ => false,
    }
}

fn is_known_instance(x: &Value, class: KnownClass) -> bool {
    match class {
        KnownClass::Int => matches!(x, Value::Const(Const::Int(_) | Const::Bool(_))),
        KnownClass::Float => matches!(x, Value::Const(Const::Float(_))),
        KnownClass::Bool => matches!(x, Value::Const(Const::Bool(_))),
        KnownClass::Str => matches!(x, Value::Const(Const::Str(_))),
        KnownClass::Tuple => matches!(x, Value::Tuple(_)),
        KnownClass::Constexpr => !x.is_dynamic(),
        KnownClass::Tensor => matches!(x, Value::Tensor(_)),
        KnownClass::Dtype => matches!(x, Value::Dtype(_)),
        KnownClass::PointerType => matches!(x, Value::Dtype(d) if d.elem().is_some_and(|e| e.ptr().is_some())),
        KnownClass::BlockType => matches!(x, Value::Dtype(d) if d.ty.is_tile()),
        KnownClass::TensorDescriptor => matches!(x, Value::Descriptor(_)),
        KnownClass::NamedTuple => matches!(x, Value::Tuple(t) if t.class.is_some()),
        KnownClass::Enum | KnownClass::IntEnum => matches!(x, Value::Member(_)),
        KnownClass::ConstPtr => false,
    }
}

fn run_getattr(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let name = args.str("name")?;
    match (l.attribute_named(args.value("x"), name, args.span_of("name"))?, args.rest()) {
        (Some(value), _) => Ok(value),
        (None, [(default, _)]) => Ok(default.clone()),
        (None, _) => {
            Err(LowerError::new(args.span, format!("{} has no attribute `{name}`", describe(args.value("x")))))
        }
    }
}

fn run_hasattr(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let found = l.attribute_named(args.value("x"), args.str("name")?, args.span_of("name"));
    Ok(Value::bool(matches!(found, Ok(Some(_)))))
}

fn run_type(_: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let class = match args.value("x") {
        Value::Const(Const::Bool(_)) => KnownClass::Bool,
        Value::Const(Const::Int(_)) => KnownClass::Int,
        Value::Const(Const::Float(_)) => KnownClass::Float,
        Value::Const(Const::Str(_)) => KnownClass::Str,
        Value::Tensor(_) => KnownClass::Tensor,
        Value::Dtype(_) => KnownClass::Dtype,
        Value::Descriptor(_) => KnownClass::TensorDescriptor,
        Value::Tuple(t) => match &t.class {
            Some(class) => return Ok(Value::Class(Class::NamedTuple(class.clone()))),
            None => KnownClass::Tuple,
        },
        Value::Aggregate(a) => return Ok(Value::Class(Class::Aggregate(a.class.clone()))),
        _ => return Err(args.wrong("x", "a value with a class")),
    };
    Ok(Value::Class(Class::Known(class)))
}

/// `print(...)` in a kernel is `tl.device_print`, which wants a text first.
fn run_print(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let (prefix, values) = match args.rest() {
        [(Value::Const(Const::Str(prefix)), _), values @ ..] => (&**prefix, values),
        values => ("", values),
    };
    let values = values.iter().map(|(v, _)| Operand::new(l.emit(), v)).collect::<LowerResult<Vec<_>>>()?;
    debug::print(l.emit(), prefix, &values, args.bool("hex")?)?;
    Ok(Value::NONE)
}

fn run_static_print(l: &mut dyn BuiltinContext<'_>, args: &Args) -> LowerResult<Value> {
    let parts = args.rest().iter().map(|(v, _)| l.text(v)).collect::<LowerResult<Vec<String>>>()?;
    let note = Diagnostic::new(Severity::Note, args.span, parts.join(args.str("sep")?));
    l.emit().notes.push(note);
    Ok(Value::NONE)
}
