//! Operators: Python's rules for what is known at compile time, the device's for the rest.

use shoal_source::Diagnostic;

use super::Lower;
use crate::builtin::describe;
use crate::consts;
use crate::lower_error::{LowerError, LowerResult};
use crate::semantic;
use crate::syntax::ast::{BinOp, BoolOp, CmpOp, Expr, UnaryOp};
use crate::value::{Class, Const, Member, Tuple, Value};

/// The longest tuple that `*` may make.
const MAX_TUPLE: usize = 1 << 16;

impl Lower<'_> {
    /// `a op b`.
    pub(super) fn binary(&mut self, op: BinOp, a: &Value, b: &Value) -> LowerResult<Value> {
        if matches!(a, Value::Invalid) || matches!(b, Value::Invalid) {
            return Err(LowerError::reported());
        }
        if let Some(result) = self.operator_method(op, a, b)? {
            return Ok(result);
        }
        if matches!(a, Value::Vector(_)) || matches!(b, Value::Vector(_)) {
            return semantic::vector::operator(&mut self.emit, op, a, b);
        }
        if matches!(a, Value::Tensor(_)) || matches!(b, Value::Tensor(_)) {
            return semantic::binary::apply(&mut self.emit, op, a, b);
        }
        if let (Some(x), Some(y)) = (a.as_const(), b.as_const()) {
            let result = consts::binary(op, x, y).map_err(|message| self.emit.lower_error(message))?;
            if let Const::Str(text) = &result {
                self.text_visited(text.len())?;
            }
            return Ok(Value::Const(result));
        }
        match (op, a, b) {
            (BinOp::Add, Value::Tuple(x), Value::Tuple(y)) => {
                self.bounded(Value::tuple(x.items.iter().chain(y.items.iter()).cloned().collect()))
            }
            (BinOp::Mul, Value::Tuple(t), Value::Const(n)) | (BinOp::Mul, Value::Const(n), Value::Tuple(t)) => {
                self.repeat_tuple(t, n)
            }
            _ => Err(self
                .emit
                .error(format!("`{}` does not work between these values", op.symbol()))
                .label(format!("{} and {}", describe(a), describe(b)))
                .into()),
        }
    }

    fn repeat_tuple(&mut self, t: &Tuple, n: &Const) -> LowerResult<Value> {
        let Some(times) = n.as_int() else {
            return Err(self.emit.lower_error("a tuple can be multiplied by an integer only"));
        };
        // Nothing, however often, is nothing, and not a loop.
        let times = if t.items.is_empty() { 0 } else { usize::try_from(times.max(0)).unwrap_or(usize::MAX) };
        if t.items.len().saturating_mul(times) > MAX_TUPLE {
            return Err(self.emit.lower_error("the tuple is too long"));
        }
        self.bounded(Value::tuple((0..times).flat_map(|_| t.items.iter().cloned()).collect()))
    }

    /// An operator that an aggregate class or a live object defines as a method.
    fn operator_method(&mut self, op: BinOp, a: &Value, b: &Value) -> LowerResult<Option<Value>> {
        let (forward, reflected) = match op {
            BinOp::Add => ("__add__", "__radd__"),
            BinOp::Sub => ("__sub__", "__rsub__"),
            BinOp::Mul => ("__mul__", "__rmul__"),
            BinOp::MatMul => ("__matmul__", "__rmatmul__"),
            BinOp::Div => ("__truediv__", "__rtruediv__"),
            BinOp::FloorDiv => ("__floordiv__", "__rfloordiv__"),
            BinOp::Mod => ("__mod__", "__rmod__"),
            BinOp::Pow => ("__pow__", "__rpow__"),
            BinOp::Shl => ("__lshift__", "__rlshift__"),
            BinOp::Shr => ("__rshift__", "__rrshift__"),
            BinOp::And => ("__and__", "__rand__"),
            BinOp::Or => ("__or__", "__ror__"),
            BinOp::Xor => ("__xor__", "__rxor__"),
        };
        for (owner, other, name) in [(a, b, forward), (b, a, reflected)] {
            if let Value::Aggregate(object) = owner
                && let Some((_, method)) = object.class.methods.iter().find(|(n, _)| &**n == name)
            {
                let span = self.emit.span;
                let method = method.clone();
                return self.call_values(&method, vec![owner.clone(), other.clone()], span).map(Some);
            }
            if let Value::Object(object) = owner
                && let Some(result) = self.object_method(object, name, std::slice::from_ref(other))?
            {
                return Ok(Some(result));
            }
        }
        Ok(None)
    }

    /// `op a`.
    pub(super) fn unary(&mut self, op: UnaryOp, a: &Value) -> LowerResult<Value> {
        match a {
            Value::Invalid => Err(LowerError::reported()),
            Value::Tensor(_) => semantic::unary::apply(&mut self.emit, op, a),
            _ if op == UnaryOp::Not => Ok(Value::bool(!self.truthy(a)?)),
            _ => match a.as_const() {
                Some(c) => consts::unary(op, c).map(Value::Const).map_err(|message| self.emit.lower_error(message)),
                None => {
                    let message = format!("unary `{}` does not work on {}", op.symbol(), describe(a));
                    Err(self.emit.lower_error(message))
                }
            },
        }
    }

    /// Python's truth value of something known at compile time.
    pub(super) fn truthy(&mut self, value: &Value) -> LowerResult<bool> {
        match value {
            Value::Invalid => Err(LowerError::reported()),
            Value::Const(c) => Ok(c.truthy()),
            Value::Tuple(t) => Ok(!t.items.is_empty()),
            Value::Dict(pairs) => Ok(!pairs.is_empty()),
            Value::Object(object) => {
                for method in ["__bool__", "__len__"] {
                    if let Some(answer) = self.object_method(object, method, &[])? {
                        return Ok(answer.as_const().is_some_and(Const::truthy));
                    }
                }
                Ok(true)
            }
            Value::Member(m) => self.truthy(&m.value),
            Value::Tensor(_) => Err(self
                .emit
                .error("this condition is computed on the device")
                .label(describe(value))
                .help("a condition here must be known at compile time; use `tl.where` to choose between values")
                .into()),
            _ => Ok(true),
        }
    }

    /// `a and b and …`, `a or b or …`: operands known at compile time cut the chain short.
    pub(super) fn bools(&mut self, op: BoolOp, values: &[Expr]) -> LowerResult<Value> {
        let mut dynamic = Vec::new();
        let mut last = Value::NONE;
        for e in values {
            let value = self.expr(e)?;
            if matches!(value, Value::Invalid) {
                return Err(LowerError::reported());
            }
            if let Value::Tensor(t) = &value {
                if !t.is_scalar() && !crate::lanes::is_per_lane(t) {
                    let (word, sign) = if op == BoolOp::And { ("and", '&') } else { ("or", '|') };
                    self.emit.warn(format!("`{word}` between tiles is deprecated"), format!("use `{sign}`"));
                }
                dynamic.push(value.clone());
            } else if self.truthy(&value)? != (op == BoolOp::And) {
                return Ok(value);
            }
            last = value;
        }
        self.join_bools(op, dynamic, last)
    }

    fn join_bools(&mut self, op: BoolOp, dynamic: Vec<Value>, last: Value) -> LowerResult<Value> {
        let logic = match op {
            BoolOp::And => semantic::binary::Logic::And,
            BoolOp::Or => semantic::binary::Logic::Or,
        };
        let mut rest = dynamic.into_iter().rev();
        let Some(mut result) = rest.next() else { return Ok(last) };
        for value in rest {
            result = semantic::binary::logical(&mut self.emit, logic, &value, &result)?;
        }
        Ok(result)
    }

    /// `a < b`, and chains of comparisons in which each middle operand is evaluated once.
    pub(super) fn comparison(&mut self, left: &Expr, rest: &[(CmpOp, Expr)]) -> LowerResult<Value> {
        let mut a = self.expr(left)?;
        let mut dynamic = Vec::new();
        let mut last = Value::bool(true);
        for (op, right) in rest {
            let b = self.expr(right)?;
            let result = self.compare(*op, &a, &b)?;
            match &result {
                Value::Tensor(_) => dynamic.push(result.clone()),
                _ if rest.len() > 1 && !self.truthy(&result)? => return Ok(result),
                _ => {}
            }
            last = result;
            a = b;
        }
        self.join_bools(BoolOp::And, dynamic, last)
    }

    /// `a op b` for one comparison.
    pub(super) fn compare(&mut self, op: CmpOp, a: &Value, b: &Value) -> LowerResult<Value> {
        if matches!(a, Value::Invalid) || matches!(b, Value::Invalid) {
            return Err(LowerError::reported());
        }
        self.value_visited(a)?;
        self.value_visited(b)?;
        match op {
            CmpOp::Is => return Ok(Value::bool(identical(a, b))),
            CmpOp::IsNot => return Ok(Value::bool(!identical(a, b))),
            CmpOp::In | CmpOp::NotIn => return self.contains(op, a, b),
            CmpOp::Eq | CmpOp::Ne | CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => {}
        }
        let device = |v: &Value| matches!(v, Value::Tensor(_));
        if (device(a) || device(b)) && !(a.is_none() || b.is_none()) {
            return semantic::binary::compare(&mut self.emit, op, a, b);
        }
        if let (Some(x), Some(y)) = (a.as_const(), b.as_const()) {
            return consts::compare(op, x, y).map(Value::bool).map_err(|message| self.emit.lower_error(message));
        }
        match op {
            CmpOp::Eq => Ok(Value::bool(equal(a, b))),
            CmpOp::Ne => Ok(Value::bool(!equal(a, b))),
            _ => match (order_method(op), a) {
                (Some(method), Value::Object(object)) => {
                    let answer = self.object_method(object, method, std::slice::from_ref(b))?;
                    answer.ok_or_else(|| self.no_order(op, a, b))
                }
                _ => Err(self.no_order(op, a, b)),
            },
        }
    }

    fn no_order(&self, op: CmpOp, a: &Value, b: &Value) -> LowerError {
        self.emit
            .error(format!("`{}` does not work between these values", op.symbol()))
            .label(format!("{} and {}", describe(a), describe(b)))
            .into()
    }

    fn contains(&mut self, op: CmpOp, a: &Value, b: &Value) -> LowerResult<Value> {
        match (a, b) {
            (_, Value::Dict(pairs)) if !a.is_dynamic() => {
                Ok(Value::bool(pairs.iter().any(|(key, _)| equal(a, key)) == (op == CmpOp::In)))
            }
            (_, Value::Tuple(t)) if !a.is_dynamic() && !b.is_dynamic() => {
                Ok(Value::bool(t.items.iter().any(|item| equal(a, item)) == (op == CmpOp::In)))
            }
            (Value::Const(x), Value::Const(y)) => {
                consts::compare(op, x, y).map(Value::bool).map_err(|message| self.emit.lower_error(message))
            }
            _ => {
                Err(Diagnostic::error(self.emit.span, format!("`{}` needs values known at compile time", op.symbol()))
                    .label(format!("{} and {}", describe(a), describe(b)))
                    .into())
            }
        }
    }
}

/// Python's `==` on compile-time values.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tuple(x), Value::Tuple(y)) => {
            x.items.len() == y.items.len() && x.items.iter().zip(y.items.iter()).all(|(p, q)| equal(p, q))
        }
        (Value::Dtype(x), Value::Dtype(y)) => x == y,
        (Value::Function(x), Value::Function(y)) => x == y,
        (Value::Member(x), Value::Member(y)) => {
            let enumeration = |m: &Member| m.live.as_ref().map(|e| e.object);
            x.class == y.class && x.name == y.name && enumeration(x) == enumeration(y)
        }
        (Value::Object(x), Value::Object(y)) => x.object == y.object,
        (Value::Dict(x), Value::Dict(y)) => {
            let holds = |(k, v): &(Value, Value)| y.iter().any(|(l, w)| equal(k, l) && equal(v, w));
            x.len() == y.len() && x.iter().all(holds)
        }
        (Value::Module(x), Value::Module(y)) => x == y,
        (Value::Builtin(x), Value::Builtin(y)) => x.name == y.name,
        (Value::Class(x), Value::Class(y)) => same_class(x, y),
        (Value::Tensor(x), Value::Tensor(y)) => x.value == y.value,
        _ => match (a.as_const(), b.as_const()) {
            (Some(x), Some(y)) => consts::equal(x, y),
            _ => false,
        },
    }
}

/// The method that orders live objects.
fn order_method(op: CmpOp) -> Option<&'static str> {
    match op {
        CmpOp::Lt => Some("__lt__"),
        CmpOp::Le => Some("__le__"),
        CmpOp::Gt => Some("__gt__"),
        CmpOp::Ge => Some("__ge__"),
        CmpOp::Eq | CmpOp::Ne | CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => None,
    }
}

/// Python's `is`.
fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Const(x), Value::Const(y)) => consts::identical(x, y),
        (Value::Const(_), _) | (_, Value::Const(_)) => false,
        _ => equal(a, b),
    }
}

/// Whether two class values are the same class.
pub(super) fn same_class(a: &Class, b: &Class) -> bool {
    match (a, b) {
        (Class::Known(x), Class::Known(y)) => x == y,
        (Class::NamedTuple(x), Class::NamedTuple(y)) => std::sync::Arc::ptr_eq(x, y),
        (Class::Enum(x), Class::Enum(y)) => std::sync::Arc::ptr_eq(x, y),
        (Class::Aggregate(x), Class::Aggregate(y)) => std::sync::Arc::ptr_eq(x, y),
        _ => false,
    }
}
