//! What builtins may ask of the lowering that calls them.
//!
//! Builtins write IR and answer with values. They know nothing of scopes, statements and files: this is all they see.

use shoal_source::Span;

use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::module::Function;
use crate::value::{Object, Value};

/// What builtins may ask of the lowering that calls them.
pub trait BuiltinContext<'p> {
    /// Where IR is written.
    fn emit(&mut self) -> &mut Emit<'p>;

    /// The elements of something that can be iterated at compile time.
    fn elements(&mut self, value: &Value, span: Span) -> LowerResult<Vec<Value>>;

    /// Python's truth value of something known at compile time.
    fn is_true(&mut self, value: &Value) -> LowerResult<bool>;

    /// `a + b`.
    fn plus(&mut self, a: &Value, b: &Value) -> LowerResult<Value>;

    /// `str(value)`.
    fn text(&mut self, value: &Value) -> LowerResult<String>;

    /// `repr(value)`.
    fn shown(&mut self, value: &Value) -> LowerResult<String>;

    /// `getattr(value, name)`, or `None`.
    fn attribute_named(&mut self, value: &Value, name: &str, span: Span) -> LowerResult<Option<Value>>;

    /// Calls a method of a live object, if it has it.
    fn host_method(&mut self, object: &Object, name: &str, args: &[Value]) -> LowerResult<Option<Value>>;

    /// Calls a function of the language by name, with positional arguments.
    fn builtin_call(&mut self, name: &str, args: Vec<Value>) -> LowerResult<Value>;

    /// Lowers a `@jit` function into the region under construction instead of calling it: for the combine functions of
    /// `reduce`, `associative_scan` and `map_elementwise`.
    fn inline_call(&mut self, f: &Function, args: Vec<Value>, span: Span) -> LowerResult<Value>;
}
