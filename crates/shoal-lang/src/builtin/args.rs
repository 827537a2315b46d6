//! The bound arguments of a call, with accessors that complain in the user's words.

use shoal_source::{Diagnostic, Span};

use super::Builtin;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::Function;
use crate::value::{Const, Dtype, Tensor, Value};

/// The bound arguments of a call: one value for every parameter.
#[derive(Debug)]
pub struct Args {
    builtin: &'static Builtin,
    /// The call.
    pub span: Span,
    values: Vec<(&'static str, Value, Span)>,
    rest: Vec<(Value, Span)>,
    defaulted: usize,
}

static NONE: Value = Value::NONE;

impl Args {
    pub(super) fn new(builtin: &'static Builtin, span: Span, capacity: usize) -> Args {
        Args { builtin, span, values: Vec::with_capacity(capacity), rest: Vec::new(), defaulted: 0 }
    }

    pub(super) fn push(&mut self, name: &'static str, value: Value, span: Span) {
        self.values.push((name, value, span));
    }

    pub(super) fn push_rest(&mut self, value: Value, span: Span) {
        self.rest.push((value, span));
    }

    pub(super) fn push_default(&mut self, name: &'static str, value: Value) {
        self.values.push((name, value, self.span));
        self.defaulted += 1;
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(n, _, _)| *n == name)
    }

    /// Whether the call itself gave a value for the parameter.
    #[must_use]
    pub fn given(&self, name: &str) -> bool {
        let given = self.values.len() - self.defaulted;
        self.values[..given].iter().any(|(n, _, _)| *n == name)
    }

    /// The name of the function called.
    #[must_use]
    pub fn function_name(&self) -> &'static str {
        self.builtin.short_name()
    }

    /// The value of a parameter.
    #[must_use]
    pub fn value(&self, name: &str) -> &Value {
        debug_assert!(self.has(name), "`{}` has a parameter `{name}`", self.builtin.name);
        self.values.iter().find(|(n, _, _)| *n == name).map_or(&NONE, |(_, v, _)| v)
    }

    /// The value of a parameter, unless it is `None`.
    #[must_use]
    pub fn optional(&self, name: &str) -> Option<&Value> {
        Some(self.value(name)).filter(|v| !v.is_none())
    }

    /// Where the argument was written; the call itself for defaults.
    #[must_use]
    pub fn span_of(&self, name: &str) -> Span {
        self.values.iter().find(|(n, _, _)| *n == name).map_or(self.span, |(_, _, s)| *s)
    }

    /// The arguments of a `*name` parameter.
    #[must_use]
    pub fn rest(&self) -> &[(Value, Span)] {
        &self.rest
    }

    /// The arguments of a `*name` parameter, where a single tuple stands for its elements: `f(x, 1, 2)` and
    /// `f(x, (1, 2))` are the same.
    #[must_use]
    pub fn rest_flat(&self) -> Vec<Value> {
        match self.rest.as_slice() {
            [(Value::Tuple(t), _)] => t.items.to_vec(),
            rest => rest.iter().map(|(v, _)| v.clone()).collect(),
        }
    }

    /// An error about an argument.
    #[must_use]
    pub fn wrong(&self, name: &str, expected: &str) -> LowerError {
        let found = self.value(name);
        if matches!(found, Value::Invalid) {
            return LowerError::reported();
        }
        let message = format!("`{name}` of `{}` must be {expected}", self.function_name());
        Diagnostic::error(self.span_of(name), message).label(format!("this is {}", describe(found))).into()
    }

    /// A compile-time integer.
    pub fn int(&self, name: &str) -> LowerResult<i128> {
        self.value(name).as_const().and_then(Const::as_int).ok_or_else(|| self.wrong(name, "a compile-time integer"))
    }

    /// A compile-time integer, unless `None`.
    pub fn optional_int(&self, name: &str) -> LowerResult<Option<i128>> {
        if self.value(name).is_none() { Ok(None) } else { self.int(name).map(Some) }
    }

    /// A compile-time truth value.
    pub fn bool(&self, name: &str) -> LowerResult<bool> {
        match self.value(name).as_const() {
            Some(c @ (Const::Bool(_) | Const::Int(_) | Const::None)) => Ok(c.truthy()),
            _ => Err(self.wrong(name, "`True` or `False`")),
        }
    }

    /// A string.
    pub fn str(&self, name: &str) -> LowerResult<&str> {
        match self.value(name) {
            Value::Const(Const::Str(s)) => Ok(s),
            _ => Err(self.wrong(name, "a string")),
        }
    }

    /// A string, unless `None`; the empty string counts as `None`.
    pub fn optional_str(&self, name: &str) -> LowerResult<Option<&str>> {
        if self.value(name).is_none() { Ok(None) } else { self.str(name).map(|s| Some(s).filter(|s| !s.is_empty())) }
    }

    /// A dtype.
    pub fn dtype(&self, name: &str) -> LowerResult<&Dtype> {
        match self.value(name) {
            Value::Dtype(d) => Ok(d),
            _ => Err(self.wrong(name, "a dtype such as `tl.float32`")),
        }
    }

    /// A dtype, unless `None`.
    pub fn optional_dtype(&self, name: &str) -> LowerResult<Option<&Dtype>> {
        if self.value(name).is_none() { Ok(None) } else { self.dtype(name).map(Some) }
    }

    /// A `@jit` function.
    pub fn function(&self, name: &str) -> LowerResult<&Function> {
        match self.value(name) {
            Value::Function(f) => Ok(f),
            _ => Err(self.wrong(name, "a `@jit` function")),
        }
    }

    /// A value that is already on the device.
    pub fn tensor(&self, name: &str) -> LowerResult<&Tensor> {
        self.value(name).as_tensor().ok_or_else(|| self.wrong(name, "a tensor"))
    }

    /// A tuple or list; any other value stands for a tuple of one.
    #[must_use]
    pub fn sequence(&self, name: &str) -> Vec<Value> {
        match self.value(name) {
            Value::Tuple(t) => t.items.to_vec(),
            v => vec![v.clone()],
        }
    }

    /// A shape: a tuple of compile-time integers that are each a power of two.
    pub fn shape(&self, name: &str) -> LowerResult<Vec<u32>> {
        shape_from(&self.sequence(name), self.span_of(name))
    }

    /// A list of compile-time integers.
    pub fn ints(&self, name: &str) -> LowerResult<Vec<i128>> {
        self.sequence(name)
            .iter()
            .map(|v| v.as_const().and_then(Const::as_int))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| self.wrong(name, "a tuple of compile-time integers"))
    }
}

/// Checks a shape: every dimension a power of two, at most 2^20 elements.
pub(crate) fn shape_from(dims: &[Value], span: Span) -> LowerResult<Vec<u32>> {
    let mut shape = Vec::with_capacity(dims.len());
    let mut elements: u64 = 1;
    for (i, dim) in dims.iter().enumerate() {
        if matches!(dim, Value::Invalid) {
            return Err(LowerError::reported());
        }
        let Some(size) = dim.as_const().and_then(Const::as_int) else {
            return Err(Diagnostic::error(span, format!("dimension {i} of the shape must be a compile-time integer"))
                .label(format!("dimension {i} is {}", describe(dim)))
                .help("make it a `constexpr`: a parameter `NAME: tl.constexpr`, or a local `NAME: tl.constexpr = …`")
                .into());
        };
        let size = match u64::try_from(size) {
            Ok(size) if size.is_power_of_two() => size,
            _ => return Err(not_a_power_of_two(span, &format!("dimension {i} of the shape"), size)),
        };
        elements = elements.saturating_mul(size);
        shape.push(size);
    }
    if elements > shoal_ir::types::MAX_TILE_ELEMENTS {
        let most = shoal_ir::types::MAX_TILE_ELEMENTS;
        return Err(Diagnostic::error(span, format!("a tile of {elements} elements is too large"))
            .label(format!("shape {shape:?}"))
            .help(format!("a tile has at most {most} elements: loop over smaller tiles"))
            .into());
    }
    // No dimension is larger than the tile.
    Ok(shape.into_iter().map(|size| size as u32).collect())
}

/// The error for a size that is not a power of two.
pub(crate) fn not_a_power_of_two(span: Span, what: &str, size: i128) -> LowerError {
    let diagnostic = Diagnostic::error(span, format!("{what} must be a power of two")).label(format!("this is {size}"));
    match u32::try_from(size).ok().filter(|s| *s > 0).and_then(u32::checked_next_power_of_two) {
        Some(next) => diagnostic.help(format!("use {next} and mask the elements past the end")),
        None => diagnostic.help("use a positive power of two"),
    }
    .into()
}

/// A value in the user's words.
#[must_use]
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Const(c) => format!("`{c}`"),
        Value::Tensor(t) if t.is_scalar() => format!("a scalar of type `{}`", t.type_name()),
        Value::Tensor(t) if crate::lanes::is_per_lane(t) => format!("a value of type `{}`", t.type_name()),
        Value::Tensor(t) => format!("a tile of type `{}`", t.type_name()),
        Value::Dtype(d) => format!("the dtype `{d}`"),
        Value::Tuple(t) => format!("a tuple of {} elements", t.items.len()),
        Value::Dict(pairs) => format!("a dictionary of {} entries", pairs.len()),
        Value::Token(_) => "the token of a wait".into(),
        Value::Object(o) => format!("the host's object `{}`", o.shown),
        Value::Function(f) => format!("the function `{}`", f.name()),
        _ => value.type_name(),
    }
}
