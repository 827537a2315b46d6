//! Common shapes: right-aligned, dimensions of size 1 repeat, scalars go everywhere.

use shoal_ir::types::{MAX_TILE_ELEMENTS, Shape};

use super::operand::{self, tensor_like};
use crate::builtin::{Args, Builtin, BuiltinContext, shape_from};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Tensor, Value};

/// Two tensors at their common shape.
pub(crate) fn pair(e: &mut Emit<'_>, a: &Tensor, b: &Tensor) -> LowerResult<(Tensor, Tensor)> {
    let both = all(e, &[a.clone(), b.clone()])?;
    Ok((both[0].clone(), both[1].clone()))
}

/// All tensors at their common shape.
pub(crate) fn all(e: &mut Emit<'_>, tensors: &[Tensor]) -> LowerResult<Vec<Tensor>> {
    let tensors = &lanes::beside_tiles(e, tensors);
    if tensors.iter().any(lanes::is_per_lane) {
        return tensors.iter().map(|t| lanes::of_each(e, t)).collect();
    }
    let mut shape = Shape::new();
    for t in tensors {
        shape = common_shape(e, &shape, t.shape())?;
    }
    Ok(tensors.iter().map(|t| expand(e, t, &shape)).collect())
}

/// The shape both can be broadcast to.
pub(crate) fn common_shape(e: &Emit<'_>, a: &[u32], b: &[u32]) -> LowerResult<Shape> {
    if let Some((at, sizes)) = mismatch(a, b) {
        return Err(incompatible(e, a, b, at, sizes));
    }
    let rank = a.len().max(b.len());
    within_limit(e, (0..rank).map(|i| aligned(a, rank, i).max(aligned(b, rank, i))).collect())
}

/// A dimension of a shape aligned at the right with one of another rank: missing dimensions count as 1.
fn aligned(shape: &[u32], rank: usize, i: usize) -> u32 {
    (i + shape.len()).checked_sub(rank).map_or(1, |j| shape[j])
}

/// The first dimension in which two shapes cannot be broadcast together, and its two sizes.
pub(crate) fn mismatch(a: &[u32], b: &[u32]) -> Option<(usize, [u32; 2])> {
    let rank = a.len().max(b.len());
    let sizes = |i| [aligned(a, rank, i), aligned(b, rank, i)];
    (0..rank).map(|i| (i, sizes(i))).find(|(_, [m, n])| m != n && *m != 1 && *n != 1)
}

/// A shape that an operation makes out of others, if a tile may have so many elements.
pub(crate) fn within_limit(e: &Emit<'_>, shape: Shape) -> LowerResult<Shape> {
    let elements = shape.iter().fold(1u64, |all, &size| all.saturating_mul(size.into()));
    if elements <= MAX_TILE_ELEMENTS {
        return Ok(shape);
    }
    Err(e
        .error(format!("a tile of {elements} elements is too large"))
        .label(format!("this has shape {:?}", shape.as_slice()))
        .help(format!("a tile has at most {MAX_TILE_ELEMENTS} elements: loop over smaller tiles"))
        .into())
}

fn incompatible(e: &Emit<'_>, a: &[u32], b: &[u32], at: usize, [m, n]: [u32; 2]) -> LowerError {
    let error = e
        .error(format!("shapes {a:?} and {b:?} do not match"))
        .label(format!("dimension {at} is {m} on the left and {n} on the right"));
    if a.len() == b.len() {
        error.help("dimensions must be equal, or one of them 1").into()
    } else {
        error.help("shapes are aligned at the right; insert dimensions with `x[:, None]` or `x[None, :]`").into()
    }
}

/// A tensor at a shape that is known to be reachable: leading dimensions are added, size 1 repeats.
pub(crate) fn expand(e: &mut Emit<'_>, t: &Tensor, shape: &[u32]) -> Tensor {
    if t.shape() == shape {
        return t.clone();
    }
    let mut b = e.b();
    let value = if t.is_scalar() {
        b.splat(t.value, shape)
    } else {
        let mut aligned: Shape = std::iter::repeat_n(1, shape.len() - t.shape().len()).collect();
        aligned.extend_from_slice(t.shape());
        let reshaped = b.reshape(t.value, &aligned);
        b.broadcast(reshaped, shape)
    };
    tensor_like(e, value, t)
}

/// `broadcast_to`: the rank must agree, and only dimensions of size 1 grow.
pub(crate) fn to_shape(e: &mut Emit<'_>, t: &Tensor, shape: &[u32]) -> LowerResult<Tensor> {
    let from = t.shape();
    if !t.is_scalar() {
        if from.len() != shape.len() {
            return Err(e
                .error(format!("cannot broadcast shape {from:?} to {shape:?}: the ranks differ"))
                .help("insert dimensions of size 1 first: `x[:, None]`, `x[None, :]` or `tl.expand_dims`")
                .into());
        }
        if let Some(i) = (0..shape.len()).find(|&i| from[i] != shape[i] && from[i] != 1) {
            return Err(e
                .error(format!("cannot broadcast shape {from:?} to {shape:?}"))
                .label(format!("dimension {i} is {}, not 1 or {}", from[i], shape[i]))
                .help("only dimensions of size 1 repeat")
                .into());
        }
    }
    Ok(expand(e, t, shape))
}

fn run_broadcast(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = operand::to_tensor(e, a.value("input"))?;
    let y = operand::to_tensor(e, a.value("other"))?;
    let (x, y) = pair(e, &x, &y)?;
    Ok(Value::tuple(vec![x.into(), y.into()]))
}

fn run_broadcast_to(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = operand::to_tensor(e, a.value("input"))?;
    let shape = shape_from(&a.rest_flat(), a.span)?;
    to_shape(e, &x, &shape).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("broadcast", "input, other", run_broadcast),
    Builtin::kernel("broadcast_to", "input, *shape: const", run_broadcast_to),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message};
    use shoal_ir::Scalar;

    #[test]
    fn shapes_align_at_the_right() {
        let mut s = Sandbox::new();
        let a = s.param(Scalar::F32, &[4, 1]);
        let b = s.param(Scalar::I32, &[8]);
        let (a, b) = pair(&mut s.emit, &a, &b).unwrap();
        assert_eq!((a.shape(), b.shape()), (&[4, 8][..], &[4, 8][..]));
        let scalar = s.param(Scalar::F32, &[]);
        let all = all(&mut s.emit, &[scalar, a]).unwrap();
        assert!(all.iter().all(|t| t.shape() == [4, 8]));
        s.verify();
    }

    #[test]
    fn mismatches_name_the_dimension() {
        let mut s = Sandbox::new();
        let a = s.param(Scalar::F32, &[4, 16]);
        let b = s.param(Scalar::F32, &[8]);
        assert_eq!(message(pair(&mut s.emit, &a, &b)), "shapes [4, 16] and [8] do not match");
        assert_eq!(
            message(to_shape(&mut s.emit, &a, &[16])),
            "cannot broadcast shape [4, 16] to [16]: the ranks differ"
        );
        assert_eq!(message(to_shape(&mut s.emit, &a, &[8, 16])), "cannot broadcast shape [4, 16] to [8, 16]");
    }
}
