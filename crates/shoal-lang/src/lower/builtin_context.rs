//! The lowering as builtins see it.

use shoal_source::Span;

use super::Lower;
use super::attribute::made_ident;
use crate::builtin::BuiltinContext;
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::module::Function;
use crate::syntax::ast::{BinOp, Name};
use crate::value::{Const, Object, Value};

impl<'p> BuiltinContext<'p> for Lower<'p> {
    fn emit(&mut self) -> &mut Emit<'p> {
        &mut self.emit
    }

    fn elements(&mut self, value: &Value, span: Span) -> LowerResult<Vec<Value>> {
        self.items(value, span)
    }

    fn is_true(&mut self, value: &Value) -> LowerResult<bool> {
        self.truthy(value)
    }

    fn plus(&mut self, a: &Value, b: &Value) -> LowerResult<Value> {
        self.step(self.emit.span)?;
        self.binary(BinOp::Add, a, b)
    }

    fn text(&mut self, value: &Value) -> LowerResult<String> {
        self.value_visited(value)?;
        let text = self.display(value);
        self.text_visited(text.len())?;
        Ok(text)
    }

    fn shown(&mut self, value: &Value) -> LowerResult<String> {
        match value {
            Value::Const(text @ Const::Str(_)) => {
                self.value_visited(value)?;
                Ok(text.to_string())
            }
            _ => self.text(value),
        }
    }

    fn attribute_named(&mut self, value: &Value, name: &str, span: Span) -> LowerResult<Option<Value>> {
        let ident = made_ident(&Name::from(name), span);
        self.find_attribute(value, &ident, span)
    }

    fn host_method(&mut self, object: &Object, name: &str, args: &[Value]) -> LowerResult<Option<Value>> {
        self.object_method(object, name, args)
    }

    fn builtin_call(&mut self, name: &str, args: Vec<Value>) -> LowerResult<Value> {
        self.call_builtin_named(name, args)
    }

    fn inline_call(&mut self, f: &Function, args: Vec<Value>, span: Span) -> LowerResult<Value> {
        self.lower_inline(f, args, span)
    }
}
