//! Python objects as values of the compiler, and back.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyEllipsis, PyFloat, PyInt, PyList, PyString, PyTuple};
use shoal::{FunctionKind, HostAggregate, HostEnum, HostField, HostNamedTuple, HostSource, HostValue, JitOptions};

use crate::bridge::Bridge;
use crate::nesting;

/// What an object is to the compiler.
pub(crate) fn from_python(py: Python<'_>, object: &Bound<'_, PyAny>, bridge: &Bridge) -> PyResult<HostValue> {
    if object.is_none() {
        return Ok(HostValue::None);
    }
    if object.is_exact_instance_of::<PyBool>() {
        return Ok(HostValue::Bool(object.is_truthy()?));
    }
    if object.is_exact_instance_of::<PyInt>()
        && let Ok(value) = object.extract::<i128>()
    {
        return Ok(HostValue::Int(value));
    }
    if let Ok(value) = object.cast_exact::<PyFloat>() {
        return Ok(HostValue::Float(value.value()));
    }
    if let Ok(text) = object.cast_exact::<PyString>() {
        return Ok(HostValue::Str(text.to_str()?.to_owned()));
    }
    if object.is_exact_instance_of::<PyTuple>() || object.is_exact_instance_of::<PyList>() {
        return Ok(HostValue::Tuple(nesting::deeper(py, || list(py, object, bridge))?));
    }
    if let Ok(dict) = object.cast_exact::<PyDict>() {
        let pair = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((from_python(py, &key, bridge)?, from_python(py, &value, bridge)?))
        };
        return Ok(HostValue::Dict(nesting::deeper(py, || dict.iter().map(pair).collect::<PyResult<_>>())?));
    }
    if object.is_instance_of::<PyEllipsis>() {
        return Ok(HostValue::Ellipsis);
    }
    let described = bridge.rules(py).call_method1(intern!(py, "describe"), (object,))?;
    described_value(py, object, &described.cast_into::<PyTuple>()?, bridge)
}

/// Reads what `describe` in `runtime/bridge.py` says: a word, and what belongs to it.
fn described_value(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    described: &Bound<'_, PyTuple>,
    bridge: &Bridge,
) -> PyResult<HostValue> {
    let item = |at| described.get_item(at);
    let text = |at| item(at)?.extract::<String>();
    let word = text(0)?;
    Ok(match word.as_str() {
        "value" => from_python(py, &item(1)?, bridge)?,
        "dtype" => HostValue::Dtype(text(1)?),
        "constexpr" => HostValue::Constexpr(Box::new(from_python(py, &item(1)?, bridge)?)),
        "language" => HostValue::Language(text(1)?),
        "function" => HostValue::Function(Arc::new(source(object, &item(1)?, bridge)?)),
        "aggregate class" => {
            let field = |(name, constexpr, default): (String, bool, Bound<'_, PyAny>)| {
                Ok(HostField { name, constexpr, default: optional(py, &default, bridge)? })
            };
            let method = |(name, method): (String, Bound<'_, PyAny>)| {
                let facts = bridge.rules(py).call_method1(intern!(py, "source"), (&method,))?;
                Ok((name, Arc::new(source(&method, &facts, bridge)?)))
            };
            HostValue::AggregateClass(Arc::new(HostAggregate {
                object: bridge.number(object),
                name: text(1)?,
                fields: each(&item(2)?, field)?,
                methods: each(&item(3)?, method)?,
                statics: each(&item(4)?, method)?,
            }))
        }
        "named tuple class" => HostValue::NamedTupleClass(named_tuple(py, object, &item(1)?, bridge)?),
        "named tuple" => HostValue::NamedTuple(
            named_tuple(py, &object.get_type().into_any(), &item(1)?, bridge)?,
            list(py, object, bridge)?,
        ),
        "enum class" => HostValue::EnumClass(enumeration(py, object, &item(1)?, bridge)?),
        "member" => HostValue::Member(enumeration(py, &object.get_type().into_any(), &item(1)?, bridge)?, text(2)?),
        "object" => HostValue::Object { object: bridge.number_of_equal(object), shown: text(1)? },
        other => return Err(PyTypeError::new_err(format!("no such kind of value: {other}"))),
    })
}

fn list(py: Python<'_>, items: &Bound<'_, PyAny>, bridge: &Bridge) -> PyResult<Vec<HostValue>> {
    items.try_iter()?.map(|item| from_python(py, &item?, bridge)).collect()
}

fn each<'py, A, T>(items: &Bound<'py, PyAny>, read: impl Fn(A) -> PyResult<T>) -> PyResult<Vec<T>>
where
    A: FromPyObjectOwned<'py>,
{
    items.try_iter()?.map(|item| read(item?.extract::<A>().map_err(Into::into)?)).collect()
}

/// `()` for nothing, `(value,)` for a value.
fn optional(py: Python<'_>, default: &Bound<'_, PyAny>, bridge: &Bridge) -> PyResult<Option<HostValue>> {
    let mut values = list(py, default, bridge)?;
    Ok(values.pop())
}

/// The class of a tuple whose items have names.
pub(crate) fn named_tuple_class(tuple: &Bound<'_, PyAny>, bridge: &Bridge) -> PyResult<Option<Arc<HostNamedTuple>>> {
    let py = tuple.py();
    let class = tuple.get_type();
    if tuple.is_exact_instance_of::<PyTuple>() || !class.hasattr(intern!(py, "_fields"))? {
        return Ok(None);
    }
    bridge.named_tuple(class.as_any(), || match from_python(py, class.as_any(), bridge)? {
        HostValue::NamedTupleClass(described) => Ok(Some(described)),
        _ => Ok(None),
    })
}

fn named_tuple(
    py: Python<'_>,
    class: &Bound<'_, PyAny>,
    fields: &Bound<'_, PyAny>,
    bridge: &Bridge,
) -> PyResult<Arc<HostNamedTuple>> {
    let field = |(name, default): (String, Bound<'_, PyAny>)| Ok((name, optional(py, &default, bridge)?));
    let fields = each(fields, field)?;
    Ok(Arc::new(HostNamedTuple { object: bridge.number(class), name: class_name(class)?, fields }))
}

fn enumeration(
    py: Python<'_>,
    class: &Bound<'_, PyAny>,
    members: &Bound<'_, PyAny>,
    bridge: &Bridge,
) -> PyResult<Arc<HostEnum>> {
    let member = |(name, value): (String, Bound<'_, PyAny>)| Ok((name, from_python(py, &value, bridge)?));
    let members = each(members, member)?;
    Ok(Arc::new(HostEnum { object: bridge.number(class), name: class_name(class)?, members }))
}

fn class_name(class: &Bound<'_, PyAny>) -> PyResult<String> {
    class.getattr(intern!(class.py(), "__name__"))?.extract()
}

/// A function with its source, from what `source` in `runtime/bridge.py` says.
pub(crate) fn source<'py>(
    object: &Bound<'py, PyAny>,
    facts: &Bound<'py, PyAny>,
    bridge: &Bridge,
) -> PyResult<HostSource> {
    let py = object.py();
    let fact = |name: &Bound<'py, PyString>| facts.getattr(name);
    let names = |name: &Bound<'py, PyString>| {
        let names: Vec<String> = fact(name)?.extract()?;
        Ok::<_, PyErr>(names.into_iter().map(Into::into).collect())
    };
    let kind: String = fact(intern!(py, "kind"))?.extract()?;
    let text: String = fact(intern!(py, "text"))?.extract()?;
    Ok(HostSource {
        object: bridge.number(object),
        name: fact(intern!(py, "name"))?.extract()?,
        file: fact(intern!(py, "file"))?.extract()?,
        first_line: fact(intern!(py, "first_line"))?.extract()?,
        text: text.into(),
        kind: match kind.as_str() {
            "jit" => FunctionKind::Jit,
            "compile time" => FunctionKind::CompileTime,
            _ => FunctionKind::Plain,
        },
        options: JitOptions {
            noinline: fact(intern!(py, "noinline"))?.extract()?,
            do_not_specialize: names(intern!(py, "do_not_specialize"))?,
            do_not_specialize_on_alignment: names(intern!(py, "do_not_specialize_on_alignment"))?,
            debug: fact(intern!(py, "debug"))?.extract()?,
            must_use: fact(intern!(py, "must_use"))?.extract::<Option<String>>()?.map(Into::into),
        },
    })
}

/// The object that a value of the compiler stands for.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &HostValue, bridge: &Bridge) -> PyResult<Bound<'py, PyAny>> {
    let items = |items: &[HostValue]| {
        let items = items.iter().map(|item| to_python(py, item, bridge)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, items)
    };
    let known = |object| bridge.object(py, object).ok_or_else(|| PyTypeError::new_err("the object is no longer there"));
    Ok(match value {
        HostValue::None => py.None().into_bound(py),
        HostValue::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        HostValue::Int(value) => value.into_pyobject(py)?.into_any(),
        HostValue::Float(value) => PyFloat::new(py, *value).into_any(),
        HostValue::Str(text) => PyString::new(py, text).into_any(),
        HostValue::Ellipsis => PyEllipsis::get(py).to_owned().into_any(),
        HostValue::Tuple(values) => items(values)?.into_any(),
        HostValue::Dict(pairs) => {
            let dict = PyDict::new(py);
            for (key, value) in pairs {
                dict.set_item(to_python(py, key, bridge)?, to_python(py, value, bridge)?)?;
            }
            dict.into_any()
        }
        HostValue::Constexpr(inner) => to_python(py, inner, bridge)?,
        HostValue::Dtype(name) => bridge.rules(py).call_method1(intern!(py, "dtype_named"), (name,))?,
        HostValue::Language(path) => bridge.rules(py).call_method1(intern!(py, "object_at"), (path,))?,
        HostValue::Function(source) => known(source.object)?,
        HostValue::AggregateClass(class) => known(class.object)?,
        HostValue::NamedTupleClass(class) => known(class.object)?,
        HostValue::NamedTuple(class, values) => known(class.object)?.call1(items(values)?)?,
        HostValue::EnumClass(class) => known(class.object)?,
        HostValue::Member(class, name) => known(class.object)?.get_item(name)?,
        HostValue::Object { object, .. } => known(*object)?,
    })
}
