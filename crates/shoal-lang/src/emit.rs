//! Where IR is written: the function under construction, the place in it, and what the target allows.

use std::collections::HashSet;

use shoal_ir::{Builder, Func, FuncKind, Region, Type};
use shoal_source::{Diagnostic, Span};

use crate::lower_error::LowerError;
use crate::options::Options;
use crate::value::{Access, Tensor, Value};

/// Where IR is written.
#[derive(Debug)]
pub struct Emit<'p> {
    /// The function under construction.
    pub func: Func,
    /// The region that grows.
    pub region: Region,
    /// The expression being lowered; new operations get this span.
    pub span: Span,
    /// The lanes that run the code under construction, where not all of them do: a truth value for each.
    pub active: Option<shoal_ir::Value>,
    /// Whether the region is applied to elements: it computes on scalars, and neither touches memory nor asserts.
    pub elementwise: bool,
    /// Compile options and what the target allows.
    pub options: &'p Options,
    /// Warnings and the output of `static_print`.
    pub notes: Vec<Diagnostic>,
    /// Places and words of the warnings given.
    warned: HashSet<(Span, String)>,
}

impl<'p> Emit<'p> {
    /// Starts with an empty function.
    pub(crate) fn new(options: &'p Options) -> Emit<'p> {
        let func = Func::new("", FuncKind::Device, Span::NONE);
        let region = func.body();
        let span = Span::NONE;
        Emit {
            func,
            region,
            span,
            active: None,
            elementwise: false,
            options,
            notes: Vec::new(),
            warned: HashSet::new(),
        }
    }

    /// A builder at the current place.
    pub fn b(&mut self) -> Builder<'_> {
        Builder::at_end(&mut self.func, self.region, self.span)
    }

    /// An error at the expression being lowered.
    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.span, message)
    }

    /// A error at the expression being lowered.
    pub fn lower_error(&self, message: impl Into<String>) -> LowerError {
        self.error(message).into()
    }

    /// Adds a warning at the expression being lowered. Each is given once.
    pub fn warn(&mut self, message: impl Into<String>, help: impl Into<String>) {
        let message = message.into();
        if self.warned.insert((self.span, message.clone())) {
            self.notes.push(Diagnostic::warning(self.span, message).help(help));
        }
    }

    /// The front end's view of an IR value that is a scalar or a tile.
    pub fn tensor(&self, value: shoal_ir::Value) -> Tensor {
        Tensor { value, ty: self.func.ty(value).clone(), access: Access::ReadWrite }
    }

    /// Writes what `f` writes into a fresh region with parameters of these types.
    pub fn in_region<T>(&mut self, params: &[Type], f: impl FnOnce(&mut Self, &[shoal_ir::Value]) -> T) -> (Region, T) {
        let region = self.func.new_region();
        let values: Vec<_> = params.iter().map(|ty| self.func.add_param(region, ty.clone())).collect();
        let outer = std::mem::replace(&mut self.region, region);
        let result = f(self, &values);
        self.region = outer;
        (region, result)
    }
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Value {
        Value::Tensor(t)
    }
}
