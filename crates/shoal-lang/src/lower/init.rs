//! `__init__` of an aggregate: statements that compute, and assignments to `self` that give the fields their values.

use std::sync::Arc;

use shoal_source::{Diagnostic, Span};

use super::Lower;
use super::frame::Frame;
use crate::builtin::Given;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::Function;
use crate::syntax::ast::{Expr, ExprKind, Ident, Stmt, StmtKind};
use crate::value::{Aggregate, AggregateClass, Value};

impl Lower<'_> {
    /// The fields of a new aggregate whose class has an `__init__`.
    pub(super) fn initialised(
        &mut self,
        class: &AggregateClass,
        init: &Function,
        mut given: Vec<Given>,
        span: Span,
    ) -> LowerResult<Vec<Value>> {
        let Some(this) = init.def.params.first() else {
            return Err(LowerError::new(init.def.name.span, "`__init__` needs the parameter `self`"));
        };
        given.insert(0, Given::positional(Value::NONE, span));
        let args = self.bind_function(init, given, span)?;
        let mut frame = Frame::kernel(init.module).of(init);
        for (param, value) in init.def.params.iter().zip(args).skip(1) {
            frame.bind(param.name.name.clone(), value, param.name.span);
        }
        let outer = std::mem::replace(&mut self.frame, frame);
        let values = self.in_call(span, init.name(), |l| l.assigned_fields(class, &this.name, &init.def.body));
        self.frame = outer;
        values
    }

    fn assigned_fields(&mut self, class: &AggregateClass, this: &Ident, body: &[Stmt]) -> LowerResult<Vec<Value>> {
        let mut values: Vec<Option<Value>> = class.fields.iter().map(|field| field.default.clone()).collect();
        for stmt in body {
            self.emit.span = stmt.span;
            self.frame.bind(this.name.clone(), assigned_so_far(class, &values), this.span);
            let Some((field, value)) = field_assignment(stmt, this) else {
                self.plain_block(std::slice::from_ref(stmt));
                continue;
            };
            let Some(at) = class.fields.iter().position(|f| f.name == field.name) else {
                let message = format!("`{}` has no field `{}`", class.name, field.name);
                return Err(Diagnostic::error(field.span, message)
                    .help("declare it in the class: `name: tl.tensor`")
                    .into());
            };
            values[at] = Some(self.expr(value)?);
        }
        let missing = |(value, field): (Option<Value>, &crate::value::Field)| {
            value.ok_or_else(|| {
                LowerError::new(this.span, format!("`__init__` does not assign the field `{}`", field.name))
            })
        };
        values.into_iter().zip(&class.fields).map(missing).collect()
    }
}

/// `self` with the fields that have values, which the rest of `__init__` may read.
fn assigned_so_far(class: &AggregateClass, values: &[Option<Value>]) -> Value {
    let assigned = class.fields.iter().zip(values).filter_map(|(field, value)| Some((field.clone(), value.clone()?)));
    let (fields, values): (Vec<_>, Vec<_>) = assigned.unzip();
    let class = AggregateClass {
        name: class.name.clone(),
        fields,
        methods: class.methods.clone(),
        statics: class.statics.clone(),
    };
    Value::Aggregate(Aggregate { class: Arc::new(class), fields: values.into() })
}

/// `self.field = value`.
fn field_assignment<'s>(stmt: &'s Stmt, this: &Ident) -> Option<(&'s Ident, &'s Expr)> {
    let (target, value) = match &stmt.kind {
        StmtKind::Assign { targets, value } => match targets.as_slice() {
            [target] => (target, value),
            _ => return None,
        },
        StmtKind::AnnAssign { target, value: Some(value), .. } => (target, value),
        _ => return None,
    };
    match &target.kind {
        ExprKind::Attribute { value: object, attr } => match &object.kind {
            ExprKind::Name(name) if *name == this.name => Some((attr, value)),
            _ => None,
        },
        _ => None,
    }
}
