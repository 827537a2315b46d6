//! Expressions.

use std::sync::Arc;

use shoal_source::{Diagnostic, Kind};

use super::Lower;
use super::operator::equal;
use crate::builtin::describe;
use crate::lower_error::{LowerError, LowerResult};
use crate::syntax::ast::{Expr, ExprKind, Unsupported};
use crate::value::{Const, Slice, Value};

impl Lower<'_> {
    /// The value of an expression.
    pub(crate) fn expr(&mut self, e: &Expr) -> LowerResult<Value> {
        let outer = std::mem::replace(&mut self.emit.span, e.span);
        let value = stacker::maybe_grow(128 << 10, 2 << 20, || self.expr_kind(e));
        self.emit.span = outer;
        value
    }

    fn expr_kind(&mut self, e: &Expr) -> LowerResult<Value> {
        match &e.kind {
            ExprKind::Name(name) => self.name(name, e.span),
            ExprKind::None => Ok(Value::NONE),
            ExprKind::Bool(b) => Ok(Value::bool(*b)),
            ExprKind::Int(i) => Ok(Value::int(*i)),
            ExprKind::Float(f) => Ok(Value::Const(Const::Float(*f))),
            ExprKind::Str(s) => Ok(Value::Const(Const::Str(s.clone()))),
            ExprKind::Ellipsis => Ok(Value::Const(Const::Ellipsis)),
            ExprKind::FString(parts) => self.fstring(parts),
            ExprKind::Binary { first, rest } => {
                let mut value = self.expr(first)?;
                for link in rest {
                    let right = self.expr(&link.right)?;
                    self.emit.span = link.span;
                    value = self.binary(link.op, &value, &right)?;
                }
                Ok(value)
            }
            ExprKind::Unary { op, operand } => {
                let a = self.expr(operand)?;
                self.unary(*op, &a)
            }
            ExprKind::Bools { op, values } => self.bools(*op, values),
            ExprKind::Compare { left, rest } => self.comparison(left, rest),
            ExprKind::Call { func, args } => self.call(func, args, e.span),
            ExprKind::Attribute { value, attr } => {
                let object = self.expr(value)?;
                self.attribute(&object, attr, value.span)
            }
            ExprKind::Subscript { value, index } => {
                let object = self.expr(value)?;
                let index = self.expr(index)?;
                match self.indexed_shape(value, &object) {
                    Some(error) => Err(error),
                    None => self.subscript(&object, &index),
                }
            }
            ExprKind::Slice { lower, upper, step } => {
                let mut part = |e: &Option<Box<Expr>>| e.as_deref().map_or(Ok(Value::NONE), |e| self.expr(e));
                Ok(Value::Slice(Arc::new(Slice { lower: part(lower)?, upper: part(upper)?, step: part(step)? })))
            }
            ExprKind::IfElse { test, body, orelse } => self.ternary(test, body, orelse),
            ExprKind::Tuple(items) | ExprKind::List(items) => self.tuple(items),
            ExprKind::Comprehension { element, generators } => self.comprehension(element, generators),
            ExprKind::Walrus { target, value } => {
                let value = self.expr(value)?;
                self.assign_value(&target.name, value, target.span)
            }
            ExprKind::Dict(entries) => self.dict(entries),
            ExprKind::Starred(_) => Err(unsupported(
                e,
                &Unsupported { what: "`*value` outside of a call", help: "write the elements one by one" },
            )),
            ExprKind::Unsupported(what) => Err(unsupported(e, what)),
        }
    }

    fn dict(&mut self, entries: &[(Option<Expr>, Expr)]) -> LowerResult<Value> {
        let mut pairs: Vec<(Value, Value)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let new = match key {
                Some(key) => {
                    let known = self.expr(key)?;
                    if known.is_dynamic() {
                        return Err(Diagnostic::error(
                            key.span,
                            "the key of a dictionary must be known at compile time",
                        )
                        .label(format!("this is {}", describe(&known)))
                        .into());
                    }
                    vec![(known, self.expr(value)?)]
                }
                None => match self.expr(value)? {
                    Value::Dict(inner) => inner.to_vec(),
                    other => {
                        return Err(LowerError::new(
                            value.span,
                            format!("`**` needs a dictionary, this is {}", describe(&other)),
                        ));
                    }
                },
            };
            for (key, value) in new {
                self.parts_visited(pairs.len())?;
                match pairs.iter_mut().find(|(known, _)| equal(known, &key)) {
                    Some(slot) => slot.1 = value,
                    None => pairs.push((key, value)),
                }
            }
        }
        self.bounded(Value::Dict(pairs.into()))
    }

    fn tuple(&mut self, items: &[Expr]) -> LowerResult<Value> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match &item.kind {
                ExprKind::Starred(inner) => match self.expr(inner)? {
                    Value::Tuple(t) => values.extend(t.items.iter().cloned()),
                    other => {
                        let message = format!("`*` needs a tuple, this is {}", describe(&other));
                        return Err(LowerError::new(inner.span, message));
                    }
                },
                _ => values.push(self.expr(item)?),
            }
        }
        self.bounded(Value::tuple(values))
    }
}

fn unsupported(e: &Expr, what: &Unsupported) -> LowerError {
    Diagnostic::error(e.span, format!("kernels have no {}", what.what))
        .kind(Kind::Unsupported)
        .label("not supported")
        .help(what.help)
        .into()
}
