//! What builtins may ask of the lowering.

use shoal_source::Span;

use super::Lower;
use super::attribute::made_ident;
use crate::fault::Outcome;
use crate::syntax::ast::{BinOp, Name};
use crate::value::{Const, Object, Value};

impl Lower<'_> {
    /// The elements of something that can be iterated at compile time.
    pub(crate) fn elements(&mut self, value: &Value, span: Span) -> Outcome<Vec<Value>> {
        self.items(value, span)
    }

    /// Python's truth value of something known at compile time.
    pub(crate) fn is_true(&mut self, value: &Value) -> Outcome<bool> {
        self.truthy(value)
    }

    /// `a + b`.
    pub(crate) fn plus(&mut self, a: &Value, b: &Value) -> Outcome<Value> {
        self.step(self.emit.span)?;
        self.binary(BinOp::Add, a, b)
    }

    /// `str(value)`.
    pub(crate) fn text(&mut self, value: &Value) -> Outcome<String> {
        self.value_visited(value)?;
        let text = self.display(value);
        self.text_visited(text.len())?;
        Ok(text)
    }

    /// `repr(value)`.
    pub(crate) fn shown(&mut self, value: &Value) -> Outcome<String> {
        match value {
            Value::Const(text @ Const::Str(_)) => {
                self.value_visited(value)?;
                Ok(text.to_string())
            }
            _ => self.text(value),
        }
    }

    /// Calls a method of a live object, if it has it.
    pub(crate) fn host_method(&mut self, object: &Object, name: &str, args: &[Value]) -> Outcome<Option<Value>> {
        self.object_method(object, name, args)
    }

    /// `getattr(value, name)`, or `None`.
    pub(crate) fn attribute_named(&mut self, value: &Value, name: &str, span: Span) -> Outcome<Option<Value>> {
        let ident = made_ident(&Name::from(name), span);
        self.find_attribute(value, &ident, span)
    }
}
