//! Assignments.
//!
//! A plain assignment puts numbers on the device: after `x = 3`, `x` is a scalar of type `i32`. Only `x: constexpr = 3`
//! keeps a number at compile time. Everything that cannot live on the device (dtypes, functions, strings, `None`) stays
//! what it is.

use shoal_source::{Diagnostic, Kind, Span};

use super::Lower;
use super::jit::name_leaves;
use super::subscript::index_list;
use crate::builtin::describe;
use crate::lower_error::{LowerError, LowerResult};
use crate::semantic::operand;
use crate::syntax::ast::{BinOp, Expr, ExprKind, Name};
use crate::value::{Aggregate, Class, Const, Field, FieldPhase, KnownClass, Tuple, Value};

impl Lower<'_> {
    /// The value as an assignment stores it.
    pub(super) fn storable(&mut self, value: Value) -> LowerResult<Value> {
        if self.at_compile_time() {
            return Ok(value);
        }
        match &value {
            Value::Const(Const::Bool(_) | Const::Int(_) | Const::Float(_)) => {
                operand::to_tensor(&mut self.emit, &value).map(Value::Tensor)
            }
            Value::Tuple(t) => {
                let items = t.items.iter().map(|v| self.storable(v.clone())).collect::<LowerResult<Vec<_>>>()?;
                Ok(Value::Tuple(Tuple { items: items.into(), class: t.class.clone() }))
            }
            Value::Aggregate(a) => {
                let store = |(v, field): (&Value, &Field)| match field.phase {
                    FieldPhase::Device => self.storable(v.clone()),
                    FieldPhase::Constexpr => Ok(v.clone()),
                };
                let fields = a.fields.iter().zip(&a.class.fields).map(store).collect::<LowerResult<Vec<_>>>()?;
                Ok(Value::Aggregate(Aggregate { class: a.class.clone(), fields: fields.into() }))
            }
            _ => Ok(value),
        }
    }

    /// `name = value`.
    pub(super) fn assign_name(&mut self, name: &Name, value: Value, span: Span) {
        name_leaves(&mut self.emit, name, &value);
        self.frame.bind(name.clone(), value, span);
    }

    /// `name = value` as a program writes it, and what the name then stands for.
    pub(super) fn assign_value(&mut self, name: &Name, value: Value, span: Span) -> LowerResult<Value> {
        let value =
            if self.frame.declared_constexpr.remove(name) { self.declared(name, value) } else { self.storable(value)? };
        self.assign_name(name, value.clone(), span);
        Ok(value)
    }

    /// `targets = value`.
    pub(super) fn assign(&mut self, targets: &[Expr], value: &Expr) -> LowerResult<()> {
        let value = self.expr(value)?;
        for target in targets {
            self.store(target, &value)?;
        }
        Ok(())
    }

    fn store(&mut self, target: &Expr, value: &Value) -> LowerResult<()> {
        match &target.kind {
            ExprKind::Name(name) => self.assign_value(name, value.clone(), target.span).map(drop),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                let values = unpack(items, value, target.span)?;
                items.iter().zip(values).try_for_each(|(item, value)| self.store(item, &value))
            }
            ExprKind::Subscript { value: object, index } => {
                let ExprKind::Name(name) = &object.kind else { return Err(bad_target(target)) };
                let old = self.expr(object)?;
                let index = self.expr(index)?;
                let takes = match &old {
                    Value::Tensor(t) => crate::semantic::element::is_element(t, &index_list(&index)),
                    Value::Vector(_) | Value::Invalid => true,
                    _ => false,
                };
                if !takes {
                    return Err(self.bad_element(target.span, &old));
                }
                let new = self.with_element(&old, &index, value)?;
                self.assign_name(name, new, target.span);
                Ok(())
            }
            _ => Err(bad_target(target)),
        }
    }

    /// Binds a loop variable or the like; numbers stay at compile time.
    pub(super) fn bind_target(&mut self, target: &Expr, value: &Value) -> LowerResult<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                self.frame.bind(name.clone(), value.clone(), target.span);
                Ok(())
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                let values = unpack(items, value, target.span)?;
                items.iter().zip(values).try_for_each(|(item, value)| self.bind_target(item, &value))
            }
            _ => Err(bad_target(target)),
        }
    }

    /// `target: annotation = value`.
    pub(super) fn annotated(&mut self, target: &Expr, annotation: &Expr, value: Option<&Expr>) -> LowerResult<()> {
        let annotation = match &annotation.kind {
            // Quoted annotations and those of the host say nothing to us.
            ExprKind::Str(_) => Value::NONE,
            _ => self.annotation(annotation),
        };
        let constexpr = matches!(annotation, Value::Class(Class::Known(KnownClass::Constexpr)));
        let ExprKind::Name(name) = &target.kind else { return Err(bad_target(target)) };
        match (constexpr, value) {
            (true, Some(value)) => {
                let value = self.expr(value)?;
                let value = self.declared(name, value);
                // The same statement may run again when a loop around it is unrolled.
                if let Some(old) = self.frame.scope.get(name)
                    && old.span != target.span
                {
                    return Err(Diagnostic::error(target.span, format!("the `constexpr` `{name}` is already defined"))
                        .label("assigned again here")
                        .with_label(old.span, "first assigned here")
                        .help("use another name: a `constexpr` cannot change")
                        .into());
                }
                self.frame.bind(name.clone(), value, target.span);
                Ok(())
            }
            (true, None) => {
                self.frame.declared_constexpr.insert(name.clone());
                Ok(())
            }
            (false, Some(value)) => self.assign(std::slice::from_ref(target), value),
            (false, None) => Ok(()),
        }
    }

    /// The value of an annotation; unknown ones are no error.
    fn annotation(&mut self, annotation: &Expr) -> Value {
        let errors = self.errors.len();
        let value = self.expr(annotation).unwrap_or(Value::NONE);
        self.errors.truncate(errors);
        value
    }

    /// A value for a name declared `constexpr`. One that is on the device stays there, as in Triton, but nobody means
    /// it.
    fn declared(&mut self, name: &Name, value: Value) -> Value {
        if let Value::Tensor(_) = value {
            self.emit.warn(
                format!("`{name}` is declared `constexpr`, but its value is computed on the device"),
                "remove the annotation, or compute the value from `constexpr`s only",
            );
        }
        value
    }

    /// `target op= value`.
    pub(super) fn augmented(&mut self, target: &Expr, op: BinOp, value: &Expr, span: Span) -> LowerResult<()> {
        if !matches!(target.kind, ExprKind::Name(_) | ExprKind::Subscript { .. }) {
            return Err(bad_target(target));
        }
        let old = self.expr(target)?;
        let change = self.expr(value)?;
        let outer = std::mem::replace(&mut self.emit.span, span);
        let new = self.binary(op, &old, &change);
        self.emit.span = outer;
        self.store(target, &new?)
    }
}

/// The parts of a value that is assigned to several targets.
fn unpack(targets: &[Expr], value: &Value, span: Span) -> LowerResult<Vec<Value>> {
    if let Some(starred) = targets.iter().find(|t| matches!(t.kind, ExprKind::Starred(_))) {
        return Err(Diagnostic::error(starred.span, "kernels have no `*name` targets")
            .kind(Kind::Unsupported)
            .help("name each part, or take a slice of the tuple")
            .into());
    }
    match value {
        Value::Invalid => Err(LowerError::reported()),
        Value::Tuple(t) if t.items.len() == targets.len() => Ok(t.items.to_vec()),
        Value::Tuple(t) => {
            let (want, got) = (targets.len(), t.items.len());
            Err(Diagnostic::error(span, format!("{want} names for {got} values"))
                .label(if got > want { "too many values to unpack" } else { "not enough values to unpack" })
                .into())
        }
        Value::Tensor(_) => Err(Diagnostic::error(span, "a tensor cannot be unpacked")
            .label(format!("the value is {}", describe(value)))
            .help("use `tl.split` to take a tile apart")
            .into()),
        _ => Err(LowerError::new(span, format!("{} cannot be unpacked", describe(value)))),
    }
}

fn bad_target(target: &Expr) -> LowerError {
    let (what, help) = match &target.kind {
        ExprKind::Subscript { .. } => {
            ("only elements of a named tile can be assigned", "give the tile a name first: `tile[i, j] = value`")
        }
        ExprKind::Attribute { .. } => {
            ("attributes cannot be assigned", "values are immutable: make a new one with the changed field")
        }
        ExprKind::Starred(_) => ("kernels have no `*name` targets", "name each part, or take a slice of the tuple"),
        _ => ("this cannot be assigned to", "assign to a name"),
    };
    Diagnostic::error(target.span, what).label("cannot be assigned").help(help).into()
}
