//! Reductions with a user's combine function.

use shoal_ir::types::{Scalar, Type};
use shoal_ir::{OpKind, Region, combine};
use shoal_source::Span;

use super::operand::{elem, to_tensor};
use super::words::counted;
use super::{in_halves, shape};
use crate::builtin::{Args, Builtin, BuiltinContext, describe};
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::Function;
use crate::value::{Tensor, Value};

/// The tensors of a reduction or scan, which share one shape.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// The tensors.
    pub(crate) tensors: Vec<Tensor>,
    form: Form,
}

/// Whether one tensor or a tuple was given; the result takes the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    One,
    Tuple,
}

impl Inputs {
    /// A tensor or a tuple of tensors.
    pub(crate) fn new(e: &mut Emit<'_>, function: &str, value: &Value) -> LowerResult<Inputs> {
        let (values, form) = match value {
            Value::Tuple(t) => (t.items.to_vec(), Form::Tuple),
            one => (vec![one.clone()], Form::One),
        };
        let mut tensors = Vec::with_capacity(values.len());
        for value in &values {
            tensors.push(to_tensor(e, value)?);
        }
        let Some(first) = tensors.first() else {
            return Err(e.lower_error(format!("`{function}` needs at least one tile")));
        };
        if first.is_scalar() {
            return Err(e
                .error(format!("`{function}` works on tiles, but this is the scalar `{}`", first.type_name()))
                .help("a scalar has no dimension to combine")
                .into());
        }
        if let Some(other) = tensors.iter().find(|t| t.shape() != first.shape()) {
            return Err(e
                .error(format!("`{function}` takes tiles of one shape"))
                .label(format!("{:?} and {:?}", first.shape(), other.shape()))
                .help("bring them to one shape with `tl.broadcast_to`")
                .into());
        }
        Ok(Inputs { tensors, form })
    }

    /// Results in the form of the inputs.
    pub(crate) fn results(&self, results: Vec<Tensor>) -> Value {
        match self.form {
            Form::One => results.into_iter().next().map_or(Value::Invalid, Value::from),
            Form::Tuple => Value::tuple(results.into_iter().map(Value::from).collect()),
        }
    }
}

/// The region that combines two groups of scalars: it calls the user's function.
pub(crate) fn combine_region(
    l: &mut dyn BuiltinContext<'_>,
    f: &Function,
    inputs: &[Tensor],
    span: Span,
) -> LowerResult<Region> {
    let types: Vec<Type> = inputs.iter().map(|t| Type::Elem(elem(t))).collect();
    let (region, params) = open(l.emit(), types.iter().chain(&types));
    let before = enter(l.emit(), region);
    let here = l.emit().span;
    let arguments = params.into_iter().map(Value::from).collect();
    let outcome = l.inline_call(f, arguments, span).and_then(|result| {
        l.emit().span = here;
        close(l.emit(), f.name(), &types, &result)
    });
    l.emit().span = here;
    leave(l.emit(), before);
    outcome.map(|()| region)
}

/// A fresh region with parameters of these types.
pub(crate) fn open<'t>(e: &mut Emit<'_>, types: impl Iterator<Item = &'t Type>) -> (Region, Vec<Tensor>) {
    let region = e.func.new_region();
    let params = types
        .map(|ty| {
            let value = e.func.add_param(region, ty.clone());
            e.tensor(value)
        })
        .collect();
    (region, params)
}

/// Goes on in a region that is applied to elements; gives where to go back to.
pub(crate) fn enter(e: &mut Emit<'_>, region: Region) -> (Region, bool) {
    (std::mem::replace(&mut e.region, region), std::mem::replace(&mut e.elementwise, true))
}

/// Goes back to where `enter` was called.
pub(crate) fn leave(e: &mut Emit<'_>, (region, elementwise): (Region, bool)) {
    e.region = region;
    e.elementwise = elementwise;
}

/// Ends the current region with what the combine function gave, which must have the types it was given.
fn close(e: &mut Emit<'_>, function: &str, types: &[Type], result: &Value) -> LowerResult<()> {
    let results: Vec<_> = of_types(e, function, types, result)?.into_iter().map(|t| t.value).collect();
    e.b().yield_(&results);
    Ok(())
}

/// What the combine function made of tiles like these: as many, of their types.
pub(crate) fn combined(e: &mut Emit<'_>, function: &str, like: &[Tensor], result: &Value) -> LowerResult<Vec<Tensor>> {
    let types: Vec<Type> = like.iter().map(|t| t.ty.clone()).collect();
    of_types(e, function, &types, result)
}

fn of_types(e: &mut Emit<'_>, function: &str, types: &[Type], result: &Value) -> LowerResult<Vec<Tensor>> {
    let values = match result {
        Value::Tuple(t) => t.items.to_vec(),
        Value::Invalid => return Err(LowerError::reported()),
        one => vec![one.clone()],
    };
    if values.len() != types.len() {
        return Err(e
            .error(format!(
                "`{function}` returns {}, but {} combined",
                counted(values.len(), "value"),
                if types.len() == 1 { "one tile is".to_owned() } else { format!("{} tiles are", types.len()) }
            ))
            .help("a combine function takes two groups of scalars and returns one")
            .into());
    }
    let mut results = Vec::with_capacity(values.len());
    for (value, ty) in values.iter().zip(types) {
        if value.is_none() {
            return Err(e.error(format!("`{function}` returns nothing")).help("return the combined value").into());
        }
        let t = to_tensor(e, value)?;
        // A constant is the same for all elements.
        let t = if t.is_scalar() { super::broadcast::expand(e, &t, ty.shape()) } else { t };
        if t.ty != *ty {
            let wanted = crate::dtype::display(ty, t.access);
            return Err(e
                .error(format!("`{function}` returns `{}` where `{wanted}` is combined", t.type_name()))
                .label(format!("returned {}", describe(value)))
                .help("cast the input first, or the result in the combine function, so that the type stays")
                .into());
        }
        results.push(t);
    }
    Ok(results)
}

/// One tile or several, flat, if no axis is given.
pub(crate) fn flatten(e: &mut Emit<'_>, inputs: &[Tensor]) -> LowerResult<Vec<Tensor>> {
    let count: u32 = inputs[0].shape().iter().product();
    inputs.iter().map(|t| shape::reshape(e, t, &[count])).collect()
}

/// Combines along an axis, which vanishes.
pub(crate) fn along(e: &mut Emit<'_>, inputs: &[Tensor], axis: usize, region: Region) -> Vec<Tensor> {
    let operands: Vec<_> = inputs.iter().map(|t| t.value).collect();
    let kind = OpKind::Reduce { axis: axis as u8, in_order: !combine::commutes(&e.func, region) };
    let op = e.b().inferred(kind, &operands, &[region]);
    let results = e.func.op(op).results().to_vec();
    results.into_iter().map(|v| e.tensor(v)).collect()
}

fn run_reduce(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let inputs = Inputs::new(l.emit(), "reduce", a.value("input"))?;
    let f = a.function("combine_fn")?.clone();
    let rank = inputs.tensors[0].shape().len();
    let keep = a.bool("keep_dims")?;
    let axis = match a.optional_int("axis")? {
        Some(given) => Some(shape::axis(l.emit(), given, rank)?),
        None => None,
    };
    let tensors = match axis {
        Some(_) => inputs.tensors.clone(),
        None => flatten(l.emit(), &inputs.tensors)?,
    };
    let region = combine_region(l, &f, &tensors, a.span)?;
    let mut results = match in_halves::are_needed(l.emit(), region) {
        true => in_halves::reduce(l, &f, &tensors, axis.unwrap_or(0), a.span)?,
        false => along(l.emit(), &tensors, axis.unwrap_or(0), region),
    };
    let e = l.emit();
    if keep {
        for t in &mut results {
            *t = match axis {
                Some(axis) => shape::expand_dim(e, t, axis),
                None => super::broadcast::expand(e, t, &vec![1; rank]),
            };
        }
    }
    Ok(inputs.results(results))
}

/// The places along an axis, at the shape of a tile: what `max` and `min` return as indices.
fn run_axis_indices(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let shape = a.shape("shape")?;
    let axis = shape::axis(e, a.int("axis")?, shape.len())?;
    let value = e.b().iota(0, shape[axis]);
    let line = e.tensor(value);
    let mut at = vec![1; shape.len()];
    at[axis] = shape[axis];
    let line = shape::reshape(e, &line, &at)?;
    debug_assert_eq!(line.ty.number(), Some(Scalar::I32));
    Ok(super::broadcast::expand(e, &line, &shape).into())
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("reduce", "input, axis: const, combine_fn: const, keep_dims: const=False", run_reduce),
    Builtin::kernel("_axis_indices", "shape: const, axis: const", run_axis_indices),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, type_of};
    use shoal_ir::op::BinaryOp;

    fn sum_region(s: &mut Sandbox, ty: Scalar) -> Region {
        let types = [Type::scalar(ty), Type::scalar(ty)];
        let (region, params) = open(&mut s.emit, types.iter());
        let outer = std::mem::replace(&mut s.emit.region, region);
        let sum = s.emit.b().binary(BinaryOp::Add, params[0].value, params[1].value);
        let sum = s.emit.tensor(sum);
        close(&mut s.emit, "add", &types[..1], &sum.into()).unwrap();
        s.emit.region = outer;
        region
    }

    #[test]
    fn the_axis_vanishes() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[4, 8]);
        let region = sum_region(&mut s, Scalar::F32);
        assert_eq!(type_of(&along(&mut s.emit, std::slice::from_ref(&x), 1, region)[0]), "fp32[4]");
        let flat = flatten(&mut s.emit, &[x]).unwrap();
        let region = sum_region(&mut s, Scalar::F32);
        assert_eq!(type_of(&along(&mut s.emit, &flat, 0, region)[0]), "fp32");
        s.verify();
    }

    #[test]
    fn combine_functions_keep_the_type() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[]);
        let e = &mut s.emit;
        let half = [Type::scalar(Scalar::F16)];
        assert_eq!(message(close(e, "f", &half, &x.clone().into())), "`f` returns `fp32` where `fp16` is combined");
        let two = Value::tuple(vec![x.clone().into(), x.into()]);
        assert_eq!(message(close(e, "f", &half, &two)), "`f` returns 2 values, but one tile is combined");
        assert_eq!(message(close(e, "f", &half, &Value::NONE)), "`f` returns nothing");
    }

    #[test]
    fn inputs_share_a_shape() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[4, 8]);
        let y = s.param(Scalar::I32, &[8]);
        let z = s.param(Scalar::I32, &[]);
        let e = &mut s.emit;
        let both = Value::tuple(vec![x.into(), y.into()]);
        assert_eq!(message(Inputs::new(e, "reduce", &both)), "`reduce` takes tiles of one shape");
        assert_eq!(
            message(Inputs::new(e, "reduce", &z.into())),
            "`reduce` works on tiles, but this is the scalar `i32`"
        );
    }
}
