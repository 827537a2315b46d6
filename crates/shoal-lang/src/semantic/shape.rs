//! Reshaping: new dimensions, permutations, joining, splitting, indexing with `None` and `:`.

use shoal_ir::OpKind;
use shoal_ir::types::{Elem, Shape};

use super::broadcast;
use super::operand::{elem, tensor_like, to_tensor};
use super::words::counted;
use crate::builtin::{Args, Builtin, BuiltinContext, describe, shape_from};
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Const, Tensor, Value};

/// An axis counted from the front; negative ones count from the end.
pub(crate) fn axis(e: &Emit<'_>, axis: i128, rank: usize) -> LowerResult<usize> {
    let rank = rank as i128;
    if (-rank..rank).contains(&axis) {
        return Ok((if axis < 0 { axis + rank } else { axis }) as usize);
    }
    let error = e.error(format!("there is no dimension {axis}"));
    Err(match rank {
        0 => error.label("this is a scalar, which has no dimensions").into(),
        1 => error.label("this has one dimension").help("use 0 or -1").into(),
        _ => error.label(format!("this has {rank} dimensions")).help(format!("use {} to {}", -rank, rank - 1)).into(),
    })
}

/// The same elements, row-major, at another shape; a scalar if the shape is empty.
pub(crate) fn reshape(e: &mut Emit<'_>, t: &Tensor, shape: &[u32]) -> LowerResult<Tensor> {
    if t.shape() == shape {
        return Ok(t.clone());
    }
    let count = |shape: &[u32]| shape.iter().map(|&d| u64::from(d)).product::<u64>();
    if count(t.shape()) != count(shape) {
        let (from, to) = (count(t.shape()), count(shape));
        return Err(e
            .error(format!("cannot reshape {:?} to {shape:?}", t.shape()))
            .label(format!("{from} elements do not fill {to} places"))
            .help(
                "a reshape keeps the number of elements: repeat them with `tl.broadcast_to`, or load only those you need",
            )
            .into());
    }
    if t.is_scalar() {
        return Ok(broadcast::expand(e, t, shape));
    }
    let value = e.b().reshape(t.value, shape);
    Ok(tensor_like(e, value, t))
}

/// The only element of a tensor, as a scalar.
pub(crate) fn unsplat(e: &mut Emit<'_>, t: &Tensor) -> LowerResult<Tensor> {
    if t.ty.as_tile().is_some_and(|tile| tile.len() != 1) {
        return Err(e
            .error(format!("`{}` is not a single element", t.type_name()))
            .help("reduce it first, for example with `tl.sum` or `tl.max`")
            .into());
    }
    reshape(e, t, &[])
}

/// A new dimension of size 1 before dimension `at`.
pub(crate) fn expand_dim(e: &mut Emit<'_>, t: &Tensor, at: usize) -> Tensor {
    let mut shape = Shape::from_slice(t.shape());
    shape.insert(at, 1);
    let mut b = e.b();
    let value = if t.is_scalar() { b.splat(t.value, &shape) } else { b.reshape(t.value, &shape) };
    tensor_like(e, value, t)
}

/// New dimensions of size 1 at these axes of the result.
pub(crate) fn expand_dims(e: &mut Emit<'_>, t: &Tensor, axes: &[i128]) -> LowerResult<Tensor> {
    let rank = t.shape().len() + axes.len();
    let mut places = axes.iter().map(|&a| axis(e, a, rank)).collect::<LowerResult<Vec<_>>>()?;
    places.sort_unstable();
    if let Some(twice) = places.windows(2).find(|w| w[0] == w[1]) {
        return Err(e
            .error(format!("dimension {} is named twice", twice[0]))
            .help("name each new dimension once")
            .into());
    }
    Ok(places.into_iter().fold(t.clone(), |t, at| expand_dim(e, &t, at)))
}

/// One entry of a subscript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    /// `None`: a new dimension of size 1.
    NewAxis,
    /// `:`: a dimension as it is.
    Full,
}

/// `x[None, :]`: `None` and `:` change a tile's shape.
pub(crate) fn index(e: &mut Emit<'_>, t: &Tensor, entries: &[Value]) -> LowerResult<Tensor> {
    let entries = entries.iter().map(|entry| index_entry(e, entry)).collect::<LowerResult<Vec<_>>>()?;
    let used = entries.iter().filter(|i| **i == Index::Full).count();
    if used > t.shape().len() {
        return Err(e
            .error(format!("too many indices for `{}`", t.type_name()))
            .label(format!("{used} dimensions are named, but there are {}", t.shape().len()))
            .help("`None` adds a dimension, `:` keeps one")
            .into());
    }
    let mut result = t.clone();
    for (at, entry) in entries.iter().enumerate() {
        if *entry == Index::NewAxis {
            result = expand_dim(e, &result, at);
        }
    }
    Ok(result)
}

/// Whether an entry of a subscript changes the shape only, as `None` and `:` do.
pub(crate) fn is_shape_index(entry: &Value) -> bool {
    match entry {
        Value::Slice(s) => s.lower.is_none() && s.upper.is_none() && s.step.is_none(),
        Value::Const(Const::None) | Value::Invalid => true,
        _ => false,
    }
}

fn index_entry(e: &Emit<'_>, entry: &Value) -> LowerResult<Index> {
    match entry {
        Value::Const(Const::None) => Ok(Index::NewAxis),
        Value::Slice(s) if s.lower.is_none() && s.upper.is_none() && s.step.is_none() => Ok(Index::Full),
        Value::Invalid => Err(LowerError::reported()),
        Value::Slice(_) => Err(e
            .error("tiles cannot be sliced")
            .help("`:` keeps a dimension, `None` adds one; load the part you need, or use `tl.split`, `tl.gather` or a mask")
            .into()),
        other => Err(e
            .error(format!("a tile cannot be indexed by {}", describe(other)))
            .help(
                "`:` keeps a dimension, `None` adds one, an integer for each dimension takes one element; to pick several use \
                 `tl.gather`, `tl.where` or `tl.load`",
            )
            .into()),
    }
}

/// Dimension `i` of the result is dimension `dims[i]`.
pub(crate) fn permute(e: &mut Emit<'_>, t: &Tensor, dims: &[i128]) -> LowerResult<Tensor> {
    let rank = t.shape().len();
    let mut seen = vec![false; rank];
    let mut perm = Vec::with_capacity(rank);
    for &dim in dims {
        // Triton takes no negative dimensions here, which makes a permutation unique.
        match usize::try_from(dim).ok().filter(|&d| d < rank && !seen[d]) {
            Some(d) => {
                seen[d] = true;
                perm.push(d as u8);
            }
            None => return Err(not_a_permutation(e, t, dims)),
        }
    }
    if perm.len() != rank {
        return Err(not_a_permutation(e, t, dims));
    }
    if perm.iter().enumerate().all(|(i, &p)| i == usize::from(p)) {
        return Ok(t.clone());
    }
    let value = e.b().value(OpKind::Transpose { perm }, &[t.value]);
    Ok(tensor_like(e, value, t))
}

fn not_a_permutation(e: &Emit<'_>, t: &Tensor, dims: &[i128]) -> LowerError {
    let rank = t.shape().len();
    let wanted: Vec<usize> = (0..rank).collect();
    let count = counted(rank, "dimension");
    e.error(format!("{dims:?} is not an order of the {count} of `{}`", t.type_name()))
        .help(format!("name each of {wanted:?} once"))
        .into()
}

/// The last two dimensions swapped.
pub(crate) fn transpose(e: &mut Emit<'_>, t: &Tensor) -> LowerResult<Tensor> {
    let rank = t.shape().len() as i128;
    if rank < 2 {
        return Err(e
            .error(format!("only tiles of two or more dimensions are transposed, not `{}`", t.type_name()))
            .help("add a dimension with `x[:, None]` or `x[None, :]`")
            .into());
    }
    let dims: Vec<i128> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    permute(e, t, &dims)
}

/// Both in a new innermost dimension of size 2.
pub(crate) fn join(e: &mut Emit<'_>, x: &Tensor, y: &Tensor) -> LowerResult<Tensor> {
    let y = match (elem(x), elem(y)) {
        (a, b) if a == b => y.clone(),
        // Integers that differ only in their sign are one type to Triton; the first decides.
        (Elem::Scalar(a), Elem::Scalar(b)) if a.is_int() && b.is_int() && a.bits() == b.bits() => {
            super::cast::by_bits(e, y, a.into())?
        }
        _ => {
            return Err(e
                .error(format!("cannot join `{}` and `{}`", x.type_name(), y.type_name()))
                .help("cast one to the other's type with `.to(dtype)`")
                .into());
        }
    };
    let (x, y) = broadcast::pair(e, x, &y)?;
    let joined = x.shape().iter().copied().chain([2]).collect();
    broadcast::within_limit(e, joined)?;
    let value = e.b().value(OpKind::Join, &[x.value, y.value]);
    let access = super::operand::joint_access(&x, &y);
    Ok(Tensor { access, ..e.tensor(value) })
}

/// The two halves of an innermost dimension of size 2.
pub(crate) fn split(e: &mut Emit<'_>, t: &Tensor) -> LowerResult<(Tensor, Tensor)> {
    if t.shape().last() != Some(&2) {
        return Err(e
            .error(format!("`split` takes a last dimension of size 2, but this is `{}`", t.type_name()))
            .help("bring the dimension to the end with `tl.permute` and to size 2 with `tl.reshape`")
            .into());
    }
    let op = e.b().inferred(OpKind::Split, &[t.value], &[]);
    let results = e.func.op(op).results().to_vec();
    Ok((tensor_like(e, results[0], t), tensor_like(e, results[1], t)))
}

/// One after the other along a dimension.
pub(crate) fn concatenate(e: &mut Emit<'_>, x: &Tensor, y: &Tensor, dim: i128) -> LowerResult<Tensor> {
    if x.shape() != y.shape() || x.is_scalar() {
        let help = if x.is_scalar() && y.is_scalar() {
            "to put two scalars side by side use `tl.join`"
        } else {
            "tile sizes are powers of two, so only equal parts can be put together"
        };
        return Err(e
            .error(format!("`cat` takes two tiles of one shape, not `{}` and `{}`", x.type_name(), y.type_name()))
            .help(help)
            .into());
    }
    let rank = x.shape().len();
    let dim = axis(e, dim, rank)?;
    let joined = join(e, x, y)?;
    // The new dimension goes before the one that grows, and both become one.
    let mut order: Vec<i128> = (0..rank as i128).collect();
    order.insert(dim, rank as i128);
    let moved = permute(e, &joined, &order)?;
    let mut shape = Shape::from_slice(x.shape());
    shape[dim] *= 2;
    too_many_elements(e, &shape)?;
    reshape(e, &moved, &shape)
}

fn too_many_elements(e: &Emit<'_>, shape: &[u32]) -> LowerResult<()> {
    let dims: Vec<Value> = shape.iter().map(|&d| Value::int(d)).collect();
    shape_from(&dims, e.span).map(|_| ())
}

fn run_reshape(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("input"))?;
    let shape = shape_from(&a.rest_flat(), a.span)?;
    if shape.is_empty() { unsplat(e, &x) } else { reshape(e, &x, &shape) }.map(Value::from)
}

fn run_view(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    l.emit().warn("`view` is deprecated", "use `tl.reshape`");
    run_reshape(l, a)
}

fn run_expand_dims(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("input"))?;
    expand_dims(e, &x, &a.ints("axis")?).map(Value::from)
}

fn run_unsqueeze(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("x"))?;
    expand_dims(e, &x, &[a.int("dim")?]).map(Value::from)
}

fn run_squeeze(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("x"))?;
    let at = axis(e, a.int("dim")?, x.shape().len())?;
    let mut shape = Shape::from_slice(x.shape());
    if shape.remove(at) != 1 {
        return Err(e
            .error(format!("dimension {at} of `{}` is {}, not 1", x.type_name(), x.shape()[at]))
            .help("only dimensions of size 1 can be dropped")
            .into());
    }
    reshape(e, &x, &shape).map(Value::from)
}

fn run_item(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("input"))?;
    unsplat(e, &x).map(Value::from)
}

fn dims(e: &Emit<'_>, a: &Args) -> LowerResult<Vec<i128>> {
    a.rest_flat().iter().map(|v| v.as_const().and_then(Const::as_int).ok_or_else(|| not_a_dim(e, v))).collect()
}

fn not_a_dim(e: &Emit<'_>, v: &Value) -> LowerError {
    e.error(format!("dimensions are compile-time integers, not {}", describe(v))).into()
}

fn run_trans(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("input"))?;
    let dims = dims(e, a)?;
    if dims.is_empty() { transpose(e, &x) } else { permute(e, &x, &dims) }.map(Value::from)
}

fn run_permute(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("input"))?;
    let dims = dims(e, a)?;
    permute(e, &x, &dims).map(Value::from)
}

fn run_cat(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("input"))?;
    let y = to_tensor(e, a.value("other"))?;
    concatenate(e, &x, &y, a.int("dim")?).map(Value::from)
}

fn run_join(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("a"))?;
    let y = to_tensor(e, a.value("b"))?;
    join(e, &x, &y).map(Value::from)
}

fn run_split(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("a"))?;
    let (x, y) = split(e, &x)?;
    Ok(Value::tuple(vec![x.into(), y.into()]))
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("reshape", "input, *shape: const, can_reorder: const=False", run_reshape),
    Builtin::kernel("view", "input, *shape: const", run_view),
    Builtin::kernel("expand_dims", "input, axis: const", run_expand_dims),
    Builtin::kernel("squeeze", "x, dim: const", run_squeeze),
    Builtin::kernel("unsqueeze", "x, dim: const", run_unsqueeze),
    Builtin::kernel("item", "input", run_item),
    Builtin::kernel("trans", "input, *dims: const", run_trans),
    Builtin::kernel("permute", "input, *dims: const", run_permute),
    Builtin::kernel("cat", "input, other, can_reorder: const=False, dim: const=0", run_cat),
    Builtin::kernel("join", "a, b", run_join),
    Builtin::kernel("split", "a", run_split),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, type_of};
    use shoal_ir::Scalar;

    fn full() -> Value {
        let slice = crate::value::Slice { lower: Value::NONE, upper: Value::NONE, step: Value::NONE };
        Value::Slice(std::sync::Arc::new(slice))
    }

    #[test]
    fn shapes_follow() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[4, 8]);
        let scalar = s.param(Scalar::I32, &[]);
        let e = &mut s.emit;
        assert_eq!(type_of(&reshape(e, &x, &[32]).unwrap()), "fp32[32]");
        assert_eq!(type_of(&transpose(e, &x).unwrap()), "fp32[8, 4]");
        assert_eq!(type_of(&expand_dims(e, &x, &[0, -1]).unwrap()), "fp32[1, 4, 8, 1]");
        assert_eq!(type_of(&expand_dims(e, &scalar, &[0]).unwrap()), "i32[1]");
        assert_eq!(type_of(&index(e, &x, &[Value::NONE, full(), Value::NONE]).unwrap()), "fp32[1, 4, 1, 8]");
        let joined = join(e, &x, &x).unwrap();
        assert_eq!(type_of(&joined), "fp32[4, 8, 2]");
        let (a, _) = split(e, &joined).unwrap();
        assert_eq!(type_of(&a), "fp32[4, 8]");
        assert_eq!(type_of(&concatenate(e, &x, &x, 0).unwrap()), "fp32[8, 8]");
        assert_eq!(type_of(&concatenate(e, &x, &x, -1).unwrap()), "fp32[4, 16]");
        let two = join(e, &scalar, &scalar).unwrap();
        assert_eq!(type_of(&two), "i32[2]");
        let unsigned = super::super::cast::to_number(e, &scalar, Scalar::U32).unwrap();
        assert_eq!(type_of(&join(e, &scalar, &unsigned).unwrap()), "i32[2]");
        let (first, _) = split(e, &two).unwrap();
        assert_eq!(type_of(&first), "i32");
        let one = expand_dims(e, &scalar, &[0, 1]).unwrap();
        assert_eq!(type_of(&unsplat(e, &one).unwrap()), "i32");
        s.verify();
    }

    #[test]
    fn concatenation_moves_the_new_dimension_before_the_one_that_grows() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[4, 8]);
        concatenate(&mut s.emit, &x, &x, 1).unwrap();
        assert_eq!(s.mnemonics(), ["join", "transpose", "reshape"]);
        assert!(s.verify().contains("perm = [0, 2, 1]"));
    }

    #[test]
    fn mistakes_are_named() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[4, 8]);
        let y = s.param(Scalar::F32, &[4]);
        let e = &mut s.emit;
        assert_eq!(message(reshape(e, &x, &[16])), "cannot reshape [4, 8] to [16]");
        assert_eq!(message(axis(e, 2, 2)), "there is no dimension 2");
        assert_eq!(message(expand_dims(e, &x, &[0, 0])), "dimension 0 is named twice");
        assert_eq!(message(permute(e, &x, &[0, 0])), "[0, 0] is not an order of the 2 dimensions of `fp32[4, 8]`");
        assert_eq!(message(transpose(e, &y)), "only tiles of two or more dimensions are transposed, not `fp32[4]`");
        assert_eq!(message(split(e, &y)), "`split` takes a last dimension of size 2, but this is `fp32[4]`");
        assert_eq!(
            message(concatenate(e, &x, &y, 0)),
            "`cat` takes two tiles of one shape, not `fp32[4, 8]` and `fp32[4]`"
        );
        assert_eq!(message(unsplat(e, &y)), "`fp32[4]` is not a single element");
        assert_eq!(message(index(e, &y, &[full(), full()])), "too many indices for `fp32[4]`");
        assert_eq!(message(index(e, &y, &[Value::int(3)])), "a tile cannot be indexed by `3`");
    }
}
