//! Vectors of single threads: a few numbers that each thread holds in registers.
//!
//! A vector is a list of values while the kernel is compiled, and gone afterwards.

use std::sync::Arc;

use shoal_ir::op::BinaryOp;
use shoal_ir::types::Scalar;

use super::operand::{elem, number_type, to_tensor};
use super::{binary, cast};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::syntax::ast::BinOp;
use crate::value::{Const, Tensor, Tuple, Value};

/// The longest vector.
const MAX_LENGTH: usize = 1024;

/// A vector: its elements have one type.
#[derive(Debug, Clone)]
pub struct Vector(Arc<[Tensor]>);

impl Vector {
    /// A vector of values of one type.
    pub(crate) fn new(items: Vec<Tensor>) -> Vector {
        Vector(items.into())
    }

    /// A vector of values, which take the first one's type.
    pub(crate) fn of(e: &mut Emit<'_>, items: &[Value]) -> LowerResult<Vector> {
        let mut tensors = Vec::with_capacity(items.len());
        for item in items {
            tensors.push(to_tensor(e, item)?);
        }
        if let Some(tile) = tensors.iter().find(|t| !t.is_scalar() && !crate::lanes::is_per_lane(t)) {
            return Err(e
                .error("a vector is made of numbers of single threads")
                .label(format!("this is `{}`", tile.type_name()))
                .into());
        }
        let Some(first) = tensors.first().map(elem) else {
            return Err(e.lower_error("a vector has at least one element"));
        };
        for t in &mut tensors {
            *t = cast::by_value(e, t, first, None)?;
        }
        Ok(Vector::new(tensors))
    }

    /// The elements.
    #[must_use]
    pub fn items(&self) -> &[Tensor] {
        &self.0
    }

    /// The same with other elements.
    pub(crate) fn map(&self, f: impl FnMut(&Tensor) -> Tensor) -> Vector {
        Vector(self.0.iter().map(f).collect())
    }

    /// An element.
    pub(crate) fn get(&self, e: &Emit<'_>, index: &Value) -> LowerResult<usize> {
        let length = self.0.len() as i128;
        let at = index.as_const().and_then(Const::as_int).map(|i| if i < 0 { i + length } else { i });
        match at.and_then(|i| usize::try_from(i).ok()).filter(|&i| i < self.0.len()) {
            Some(i) => Ok(i),
            None if index.as_const().is_none() => Err(e
                .error("the index of a vector must be known at compile time")
                .help("use `tl.static_range` so that the index is a `constexpr`")
                .into()),
            None => Err(e.lower_error(format!("the vector has {length} elements"))),
        }
    }

    /// The same bits as elements of another type: they are packed together or taken apart, the first in the low bits.
    pub(crate) fn recast(&self, e: &mut Emit<'_>, to: Scalar) -> LowerResult<Vector> {
        let Some(from) = self.0.first().and_then(number_type) else {
            return Err(e.lower_error("only vectors of numbers can be recast"));
        };
        if from == Scalar::I1 || to == Scalar::I1 {
            return Err(e.lower_error("truth values cannot be recast"));
        }
        let (had, want) = (from.bits(), to.bits());
        let total = had * self.0.len() as u32;
        if !total.is_multiple_of(want) {
            return Err(e.lower_error(format!("{total} bits are no whole number of elements of {want} bits")));
        }
        let bits = |width: u32| Scalar::int(width, false).expect("a width of a number");
        let mut items = Vec::new();
        if had == want {
            for item in self.items() {
                items.push(cast::by_bits(e, item, to.into())?);
            }
        } else if had < want {
            for group in self.0.chunks((want / had) as usize) {
                let mut whole: Option<Tensor> = None;
                for (i, item) in group.iter().enumerate() {
                    let part = cast::by_bits(e, item, bits(had).into())?;
                    let part = cast::to_number(e, &part, bits(want))?;
                    let by = e.b().int(i64::from(had) * i as i64, part.ty.clone());
                    let placed = e.b().binary(BinaryOp::Shl, part.value, by);
                    let placed = e.tensor(placed);
                    whole = Some(match whole {
                        None => placed,
                        Some(whole) => binary::operator(e, BinOp::Or, &whole.into(), &placed.into())?,
                    });
                }
                let whole = whole.expect("a group has elements");
                items.push(cast::by_bits(e, &whole, to.into())?);
            }
        } else {
            for item in self.items() {
                let whole = cast::by_bits(e, item, bits(had).into())?;
                for i in 0..had / want {
                    let by = e.b().int(i64::from(want * i), whole.ty.clone());
                    let moved = e.b().binary(BinaryOp::Shr, whole.value, by);
                    let part = e.b().cast(moved, bits(want));
                    let part = e.tensor(part);
                    items.push(cast::by_bits(e, &part, to.into())?);
                }
            }
        }
        Ok(Vector::new(items))
    }
}

/// `a op b`, element by element; a number goes with every element.
pub(crate) fn operator(e: &mut Emit<'_>, op: BinOp, a: &Value, b: &Value) -> LowerResult<Value> {
    let length = [a, b].into_iter().find_map(|v| match v {
        Value::Vector(v) => Some(v.items().len()),
        _ => None,
    });
    let length = length.unwrap_or(0);
    let item = |v: &Value, i: usize| match v {
        Value::Vector(v) => v.items().get(i).cloned().map(Value::from),
        other => Some(other.clone()),
    };
    if [a, b].into_iter().any(|v| matches!(v, Value::Vector(v) if v.items().len() != length)) {
        return Err(e.lower_error("vectors of different lengths cannot be combined"));
    }
    let mut items = Vec::with_capacity(length);
    for i in 0..length {
        let (Some(x), Some(y)) = (item(a, i), item(b, i)) else { continue };
        match binary::apply(e, op, &x, &y)? {
            Value::Tensor(t) => items.push(t),
            _ => return Err(e.lower_error("the elements of a vector are numbers")),
        }
    }
    Ok(Value::Vector(Vector::new(items)))
}

/// The length of a vector: a power of two.
pub(crate) fn length(a: &Args, name: &str) -> LowerResult<usize> {
    match usize::try_from(a.int(name)?) {
        Ok(n) if n.is_power_of_two() && n <= MAX_LENGTH => Ok(n),
        _ => Err(a.wrong(name, "a power of two up to 1024")),
    }
}

fn run_make(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let items = match a.value("args") {
        Value::Tuple(Tuple { items, .. }) => items.to_vec(),
        Value::Vector(v) => return Ok(Value::Vector(v.clone())),
        _ => return Err(a.wrong("args", "a tuple or a list of numbers")),
    };
    if !items.len().is_power_of_two() || items.len() > MAX_LENGTH {
        return Err(a.wrong("args", "a power of two of numbers"));
    }
    Vector::of(l.emit(), &items).map(Value::Vector)
}

fn run_zeros(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let length = length(a, "vec_size")?;
    let Some(ty) = a.dtype("dtype")?.number() else { return Err(a.wrong("dtype", "a type of numbers")) };
    let e = l.emit();
    let zero = e.b().constant(shoal_ir::Const::zero(ty), shoal_ir::Type::scalar(ty));
    let zero = e.tensor(zero);
    Ok(Value::Vector(Vector::new(vec![zero; length])))
}

fn vector(a: &Args) -> LowerResult<&Vector> {
    match a.value("self") {
        Value::Vector(v) => Ok(v),
        _ => Err(a.wrong("self", "a vector")),
    }
}

fn run_recast(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let Some(ty) = a.dtype("new_elem_dtype")?.number() else {
        return Err(a.wrong("new_elem_dtype", "a type of numbers"));
    };
    vector(a)?.recast(l.emit(), ty).map(Value::Vector)
}

fn run_to(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let mut items = Vec::new();
    for item in vector(a)?.items() {
        let options = ["dtype", "fp_downcast_rounding", "bitcast"].map(|name| a.value(name).clone());
        let args = std::iter::once(Value::from(item.clone())).chain(options).collect();
        match l.builtin_call("cast", args)? {
            Value::Tensor(t) => items.push(t),
            _ => return Err(a.wrong("dtype", "a type of numbers")),
        }
    }
    Ok(Value::Vector(Vector::new(items)))
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("vector", "args", run_make),
    Builtin::kernel("make_vector", "args", run_make),
    Builtin::kernel("zeros_vector", "vec_size: const, dtype: const", run_zeros),
    Builtin::kernel("vector.recast", "self, new_elem_dtype: const", run_recast),
    Builtin::kernel("vector.to", "self, dtype: const, fp_downcast_rounding: const=None, bitcast: const=False", run_to),
];
