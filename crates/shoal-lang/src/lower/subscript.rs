//! `value[index]`.

use shoal_source::{Diagnostic, Span};

use super::Lower;
use super::operator::equal;
use crate::builtin::describe;
use crate::lower_error::{LowerError, LowerResult};
use crate::semantic;
use crate::syntax::ast::{Expr, ExprKind};
use crate::value::{Const, Slice, Tuple, Value};

impl Lower<'_> {
    /// `object[index]`.
    pub(super) fn subscript(&mut self, object: &Value, index: &Value) -> LowerResult<Value> {
        if let Value::Dict(_) = object {
            self.value_visited(object)?;
        }
        match object {
            Value::Invalid => Err(LowerError::reported()),
            Value::Tensor(t) => {
                let indices = index_list(index);
                if semantic::element::is_element(t, &indices) {
                    return semantic::element::extract(&mut self.emit, t, &indices).map(Value::Tensor);
                }
                if t.ty.elem().is_some_and(|e| e.ptr().is_some())
                    && !indices.iter().all(semantic::shape::is_shape_index)
                {
                    return Err(self.indexed_pointer(self.emit.span));
                }
                semantic::shape::index(&mut self.emit, t, &indices).map(Value::Tensor)
            }
            Value::Tuple(t) => self.tuple_item(t, index),
            Value::Vector(v) => match index {
                Value::Slice(_) => {
                    let items = v.items().iter().cloned().map(Value::Tensor).collect();
                    let part = self.tuple_item(&Tuple { items, class: None }, index)?;
                    self.call_builtin_named("make_vector", vec![part])
                }
                _ => v.get(&self.emit, index).map(|i| Value::Tensor(v.items()[i].clone())),
            },
            Value::Const(Const::Str(s)) => {
                self.parts_visited(s.len())?;
                let chars: Vec<Value> = s.chars().map(|c| Value::str(c.encode_utf8(&mut [0; 4]))).collect();
                let picked = self.tuple_item(&Tuple { items: chars.into(), class: None }, index)?;
                Ok(match picked {
                    Value::Tuple(t) => {
                        let text: String = t.items.iter().filter_map(text_of).collect();
                        Value::str(&text)
                    }
                    one => one,
                })
            }
            Value::Dict(pairs) => match pairs.iter().find(|(key, _)| equal(key, index)) {
                Some((_, value)) => Ok(value.clone()),
                None if index.is_dynamic() => Err(self
                    .emit
                    .error("the key of a dictionary must be known at compile time")
                    .label(format!("the key is {}", describe(index)))
                    .into()),
                None => Err(self.emit.lower_error(format!("the dictionary has no key {}", describe(index)))),
            },
            Value::Object(o) => match self.object_method(o, "__getitem__", std::slice::from_ref(index))? {
                Some(item) => Ok(item),
                None => Err(self.emit.lower_error(format!("`{}` cannot be indexed", o.shown))),
            },
            Value::Aggregate(a) => match a.class.methods.iter().find(|(name, _)| &**name == "__getitem__") {
                Some((_, method)) => {
                    let (method, span) = (method.clone(), self.emit.span);
                    self.call_values(&method, vec![object.clone(), index.clone()], span)
                }
                None => Err(self.emit.lower_error(format!("{} cannot be indexed", describe(object)))),
            },
            // Subscripts of classes are type annotations: `tuple[int, int]`.
            Value::Class(_) => Ok(object.clone()),
            Value::Function(f) => Err(self
                .emit
                .error(format!("`{}[...]` launches a kernel, which only the host can do", f.name()))
                .help(format!("call it as a function: `{}(...)`", f.name()))
                .into()),
            _ => Err(self.emit.lower_error(format!("{} cannot be indexed", describe(object)))),
        }
    }

    /// The object after `object[index] = value`.
    pub(super) fn with_element(&mut self, object: &Value, index: &Value, value: &Value) -> LowerResult<Value> {
        match object {
            Value::Tensor(t) => {
                let indices = index_list(index);
                let value = semantic::operand::Operand::new(&self.emit, value)?;
                semantic::element::insert(&mut self.emit, t, &value, &indices).map(Value::Tensor)
            }
            Value::Vector(v) => {
                let at = v.get(&self.emit, index)?;
                let old = &v.items()[at];
                let value = semantic::operand::to_tensor(&mut self.emit, value)?;
                let value = semantic::cast::by_value(&mut self.emit, &value, semantic::operand::elem(old), None)?;
                let mut items = v.items().to_vec();
                items[at] = value;
                Ok(Value::Vector(semantic::vector::Vector::new(items)))
            }
            Value::Invalid => Err(LowerError::reported()),
            _ => Err(self.bad_element(self.emit.span, object)),
        }
    }

    /// `object[index] = value` where that names no element.
    pub(super) fn bad_element(&self, target: Span, object: &Value) -> LowerError {
        let error = Diagnostic::error(target, "elements of this value cannot be assigned")
            .label(format!("the value is {}", describe(object)));
        match object {
            Value::Tensor(t) if t.is_scalar() && t.ty.elem().is_some_and(|e| e.ptr().is_some()) => {
                self.indexed_pointer(target)
            }
            Value::Tensor(t) if !t.is_scalar() => error
                .help("an integer for each dimension names one element; for more compute a new tile with `tl.where`")
                .into(),
            Value::Tuple(_) | Value::Dict(_) => error.help("make a new one with the changed element").into(),
            _ => error.into(),
        }
    }

    /// `x[offsets]` of a pointer, in the words of the expression at hand.
    fn indexed_pointer(&self, span: Span) -> LowerError {
        let sources = self.program.sources();
        let text = sources.slice(span);
        let simple = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || c == '_');
        let address = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((base, index)) if simple(base) && simple(index) => format!("{base} + {index}"),
            Some((base, index)) if simple(base) && !index.contains(['[', ':', ',', '\n']) => {
                format!("{base} + ({index})")
            }
            _ => "pointer + offsets".to_owned(),
        };
        Diagnostic::error(span, "a pointer cannot be indexed")
            .label("this is an address, not an array")
            .help(format!("read with `tl.load({address})`, write with `tl.store({address}, value)`"))
            .into()
    }

    /// `x.shape[0]` and the like, where `x` has no dimensions; `None` for everything else.
    pub(super) fn indexed_shape(&mut self, value: &Expr, shape: &Value) -> Option<LowerError> {
        let ExprKind::Attribute { value: object, attr } = &value.kind else { return None };
        if &*attr.name != "shape" || !matches!(shape, Value::Tuple(t) if t.items.is_empty()) {
            return None;
        }
        let found = self.expr(object).ok()?;
        let pointer = found.as_tensor()?.ty.elem()?.ptr().is_some();
        let what = if pointer { "a pointer" } else { "a scalar" };
        let error = Diagnostic::error(value.span, format!("{what} has no dimensions"))
            .label(format!("this is {}", describe(&found)));
        Some(if pointer {
            error.help("a kernel gets the address alone: pass sizes and strides as arguments of their own").into()
        } else {
            error.into()
        })
    }

    fn tuple_item(&mut self, t: &Tuple, index: &Value) -> LowerResult<Value> {
        match index {
            Value::Invalid => Err(LowerError::reported()),
            Value::Slice(slice) => self.tuple_slice(t, slice),
            _ => {
                let Some(i) = index.as_const().and_then(Const::as_int) else {
                    return Err(self
                        .emit
                        .error("the index of a tuple must be known at compile time")
                        .label(format!("the index is {}", describe(index)))
                        .help("use `tl.static_range` so that the index is a `constexpr`")
                        .into());
                };
                let length = t.items.len() as i128;
                let at = if i < 0 { i + length } else { i };
                match usize::try_from(at).ok().and_then(|at| t.items.get(at)) {
                    Some(item) => Ok(item.clone()),
                    None => Err(self
                        .emit
                        .lower_error(format!("index {i} is out of range: the tuple has {length} elements"))),
                }
            }
        }
    }

    fn tuple_slice(&mut self, t: &Tuple, slice: &Slice) -> LowerResult<Value> {
        let part = |v: &Value| match v.as_const() {
            Some(Const::None) => Ok(None),
            Some(c) if c.as_int().is_some() => Ok(c.as_int()),
            _ => Err(self.emit.lower_error("the bounds of a slice must be integers known at compile time")),
        };
        let (lower, upper, step) = (part(&slice.lower)?, part(&slice.upper)?, part(&slice.step)?.unwrap_or(1));
        if step == 0 {
            return Err(self.emit.lower_error("the step of a slice cannot be zero"));
        }
        let length = t.items.len() as i128;
        let clamp = |v: i128| {
            let v = if v < 0 { v.saturating_add(length) } else { v };
            if step > 0 { v.clamp(0, length) } else { v.clamp(-1, length - 1) }
        };
        let (first, last) = if step > 0 { (0, length) } else { (length - 1, -1) };
        let mut at = lower.map_or(first, clamp);
        let end = upper.map_or(last, clamp);
        let mut items = Vec::new();
        while (step > 0 && at < end) || (step < 0 && at > end) {
            items.extend(usize::try_from(at).ok().and_then(|i| t.items.get(i)).cloned());
            at = at.saturating_add(step);
        }
        self.parts_visited(items.len())?;
        Ok(Value::tuple(items))
    }
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::Const(Const::Str(s)) => Some(s),
        _ => None,
    }
}

/// The entries of a subscript.
pub(super) fn index_list(index: &Value) -> Vec<Value> {
    match index {
        Value::Tuple(t) => t.items.to_vec(),
        other => vec![other.clone()],
    }
}
