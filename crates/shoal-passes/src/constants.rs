//! Reading constants off values.

use shoal_ir::{Const, Func, OpKind, Value};

/// The number a value has everywhere, if an operation says so.
pub fn constant(func: &Func, value: Value) -> Option<Const> {
    let op = func.def_op(value)?;
    let data = func.op(op);
    if let OpKind::Const(c) = data.kind {
        Some(c)
    } else if matches!(data.kind, OpKind::Splat) {
        constant(func, data.operands()[0])
    } else {
        None
    }
}

/// The integer a value has everywhere.
pub fn int_constant(func: &Func, value: Value) -> Option<i128> {
    constant(func, value).and_then(Const::as_int)
}

/// The scalar that a tile repeats, or the scalar itself.
pub fn splatted(func: &Func, value: Value) -> Option<Value> {
    let op = func.def_op(value)?;
    matches!(func.op(op).kind, OpKind::Splat).then(|| func.op(op).operands()[0])
}
