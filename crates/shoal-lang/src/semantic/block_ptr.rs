//! Block pointers: a tensor's base, shape and strides, and where a block of it begins.
//!
//! They exist only in the front end. Each load or store writes out the block's pointers and, for the dimensions that
//! are checked, the mask of what lies inside the tensor.

use std::sync::Arc;

use shoal_ir::op::{BinaryOp, CmpOp, Evict, LoadAttrs, StoreCache};
use shoal_ir::types::{Padding, Scalar, Type};

use super::operand::{self, Number, Operand, elem, number_type};
use super::words::counted;
use super::{cast, memory, shape};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::LowerResult;
use crate::value::{BlockPtr, Tensor, Value};

/// The pointers of a block, and the mask of what lies inside the tensor along the checked dimensions.
fn materialize(e: &mut Emit<'_>, p: &BlockPtr, checked: &[usize]) -> LowerResult<(Tensor, Option<Tensor>)> {
    let rank = p.block_shape.len();
    let mut pointers: Operand = p.base.clone().into();
    let mut mask: Option<Tensor> = None;
    for dim in 0..rank {
        let place = places(e, p, dim)?;
        let stride = along(e, &p.strides[dim], &place);
        let step = e.b().binary(BinaryOp::Mul, place.value, stride.value);
        let step = e.tensor(step);
        pointers = super::binary::add(e, &pointers, &step.into(), super::binary::Overflow::Wraps)?.into();
        if checked.contains(&dim) {
            let inside = inside(e, &place, &p.shape[dim]);
            mask = Some(match mask {
                Some(before) => {
                    let (x, y) = super::broadcast::pair(e, &before, &inside)?;
                    let both = e.b().binary(BinaryOp::And, x.value, y.value);
                    e.tensor(both)
                }
                None => inside,
            });
        }
    }
    let pointers = operand::materialize(e, &pointers)?;
    let pointers = super::broadcast::expand(e, &pointers, &p.block_shape);
    Ok((pointers, mask))
}

/// Where the block's elements lie along a dimension: `int64`, with size 1 in all other dimensions.
fn places(e: &mut Emit<'_>, p: &BlockPtr, dim: usize) -> LowerResult<Tensor> {
    let size = p.block_shape[dim];
    let mut b = e.b();
    let steps = b.iota(0, size);
    let steps = b.cast(steps, Scalar::I64);
    let offset = b.cast(p.offsets[dim].value, Scalar::I64);
    let offset = b.splat(offset, &[size]);
    let place = b.binary(BinaryOp::Add, offset, steps);
    let place = e.tensor(place);
    let mut at = vec![1; p.block_shape.len()];
    at[dim] = size;
    shape::reshape(e, &place, &at)
}

fn along(e: &mut Emit<'_>, scalar: &Tensor, like: &Tensor) -> Tensor {
    super::broadcast::expand(e, scalar, like.shape())
}

fn inside(e: &mut Emit<'_>, place: &Tensor, size: &Tensor) -> Tensor {
    let size = along(e, size, place);
    let mut b = e.b();
    let zero = b.int(0, Type::tile(Scalar::I64, place.shape()));
    let above = b.cmp(CmpOp::Ge, place.value, zero);
    let below = b.cmp(CmpOp::Lt, place.value, size.value);
    let both = b.binary(BinaryOp::And, above, below);
    e.tensor(both)
}

/// The block as a tile.
pub(crate) fn load(
    e: &mut Emit<'_>,
    p: &BlockPtr,
    checked: &[usize],
    padding: Option<Padding>,
    attrs: LoadAttrs,
) -> LowerResult<Tensor> {
    let pointee = memory::pointer(e, "load", &p.base)?.element();
    let is_float = pointee.scalar().is_some_and(Scalar::is_float);
    if padding == Some(Padding::Nan) && !is_float {
        return Err(e
            .error(format!("there is no NaN to pad `{}` with", cast::name(pointee)))
            .help("use padding_option=\"zero\"")
            .into());
    }
    let (pointers, mask) = materialize(e, p, checked)?;
    let fill = match padding {
        Some(Padding::Nan) => Number::Float(f64::NAN),
        Some(Padding::Zero) | None => Number::Int(0),
    };
    // Without a padding the elements outside are unspecified; zero is what a masked load gives anyway.
    let other = (mask.is_some() && padding.is_some()).then(|| Operand::from(fill));
    memory::load(e, &pointers, mask.map(Operand::from).as_ref(), other.as_ref(), attrs)
}

/// Writes a tile to the block.
pub(crate) fn store(
    e: &mut Emit<'_>,
    p: &BlockPtr,
    value: &Operand,
    checked: &[usize],
    attrs: (StoreCache, Evict),
) -> LowerResult<()> {
    if let Operand::Tensor(t) = value
        && !t.is_scalar()
        && t.shape() != p.block_shape
    {
        return Err(e
            .error(format!("the block has shape {:?}, but the value is `{}`", p.block_shape, t.type_name()))
            .help("a block is written as a whole")
            .into());
    }
    let (pointers, mask) = materialize(e, p, checked)?;
    memory::store(e, &pointers, value, mask.map(Operand::from).as_ref(), attrs)
}

/// The block pointer moved by an offset in each dimension.
pub(crate) fn advance(e: &mut Emit<'_>, p: &BlockPtr, by: &[Operand]) -> LowerResult<BlockPtr> {
    if by.len() != p.block_shape.len() {
        return Err(e
            .error(format!(
                "the block has {}, but the offsets are {}",
                counted(p.block_shape.len(), "dimension"),
                by.len()
            ))
            .help("give one offset for each dimension; 0 stays")
            .into());
    }
    let mut moved = p.clone();
    for (offset, by) in moved.offsets.iter_mut().zip(by) {
        let by = integer(e, "offset", by, number_type(offset).expect("offsets are integers"))?;
        let value = e.b().binary(BinaryOp::Add, offset.value, by.value);
        *offset = e.tensor(value);
    }
    Ok(moved)
}

/// A scalar integer of a given type.
pub(crate) fn integer(e: &mut Emit<'_>, what: &str, x: &Operand, ty: Scalar) -> LowerResult<Tensor> {
    match x {
        Operand::Number(n) => match n.as_int() {
            Some(i) if crate::dtype::int_range(ty).is_some_and(|(low, high)| (low..=high).contains(&i)) => {
                Ok(operand::constant(e, *n, ty))
            }
            _ => Err(e.lower_error(format!(
                "{} is no {what}: it must be an integer of type `{}`",
                x.describe(),
                cast::name(ty.into())
            ))),
        },
        Operand::Tensor(t) => {
            let t = &lanes::agreed(e, t);
            let one = t.ty.as_tile().is_none_or(|tile| tile.len() == 1);
            if !one || !number_type(t).is_some_and(Scalar::is_int) {
                return Err(e
                    .error(format!("`{}` is no {what}", t.type_name()))
                    .help("give one integer for each dimension")
                    .into());
            }
            let t = shape::unsplat(e, t)?;
            cast::to_number(e, &t, ty)
        }
    }
}

fn integers(e: &mut Emit<'_>, a: &Args, name: &str, what: &str, ty: Scalar) -> LowerResult<Vec<Tensor>> {
    let mut tensors = Vec::new();
    for value in a.sequence(name) {
        let operand = Operand::new(e, &value)?;
        tensors.push(integer(e, what, &operand, ty)?);
    }
    Ok(tensors)
}

/// The dimensions a load or store checks.
pub(crate) fn checked_dims(e: &Emit<'_>, a: &Args, p: &BlockPtr) -> LowerResult<Vec<usize>> {
    if a.value("boundary_check").is_none() {
        return Ok(Vec::new());
    }
    a.ints("boundary_check")?.into_iter().map(|dim| shape::axis(e, dim, p.block_shape.len())).collect()
}

/// Refuses the words of block pointers at plain pointers.
pub(crate) fn only_for_block_pointers(e: &Emit<'_>, a: &Args) -> LowerResult<()> {
    for name in ["boundary_check", "padding_option"] {
        if a.given(name) && a.optional(name).is_some() && a.sequence(name).iter().any(|v| !is_empty_text(v)) {
            return Err(e
                .error(format!("`{name}` is for block pointers"))
                .help("with plain pointers use `mask` and `other`")
                .into());
        }
    }
    Ok(())
}

fn is_empty_text(value: &Value) -> bool {
    matches!(value, Value::Const(crate::value::Const::Str(s)) if s.is_empty())
}

/// Refuses masks at block pointers.
pub(crate) fn no_mask(e: &Emit<'_>, given: bool) -> LowerResult<()> {
    if given {
        return Err(e
            .error("a block pointer takes no `mask` and no `other`")
            .help("use `boundary_check=(…)` and `padding_option=\"zero\"`")
            .into());
    }
    Ok(())
}

fn run_make(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let base = a.tensor("base")?.clone();
    if elem(&base).ptr().is_none() || !base.is_scalar() {
        return Err(a.wrong("base", "a scalar pointer"));
    }
    let block_shape = a.shape("block_shape")?;
    let rank = block_shape.len();
    let block = BlockPtr {
        base,
        shape: integers(e, a, "shape", "size", Scalar::I64)?,
        strides: integers(e, a, "strides", "stride", Scalar::I64)?,
        offsets: integers(e, a, "offsets", "offset", Scalar::I64)?,
        order: order(a, rank)?,
        block_shape,
    };
    if [block.shape.len(), block.strides.len(), block.offsets.len()] != [rank; 3] {
        return Err(e
            .error("`shape`, `strides`, `offsets` and `block_shape` must be equally long")
            .label(format!(
                "they have {}, {}, {} and {rank} entries",
                block.shape.len(),
                block.strides.len(),
                block.offsets.len()
            ))
            .into());
    }
    Ok(Value::BlockPtr(Arc::new(block)))
}

fn order(a: &Args, rank: usize) -> LowerResult<Vec<u32>> {
    let mut order = a.ints("order")?;
    let given = order.clone();
    order.sort_unstable();
    if order != (0..rank as i128).collect::<Vec<_>>() {
        return Err(a.wrong("order", &format!("an order of the dimensions 0 to {}", rank.saturating_sub(1))));
    }
    Ok(given.into_iter().map(|d| d as u32).collect())
}

fn run_advance(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let Value::BlockPtr(p) = a.value("base") else {
        return Err(a.wrong("base", "a block pointer made by `tl.make_block_ptr`"));
    };
    let by = a.sequence("offsets").iter().map(|v| Operand::new(e, v)).collect::<LowerResult<Vec<_>>>()?;
    Ok(Value::BlockPtr(Arc::new(advance(e, p, &by)?)))
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("make_block_ptr", "base, shape, strides, offsets, block_shape: const, order: const", run_make),
    Builtin::kernel("advance", "base, offsets", run_advance),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, type_of};

    fn block(s: &mut Sandbox) -> BlockPtr {
        BlockPtr {
            base: s.pointer(Scalar::F32, &[]),
            shape: vec![s.param(Scalar::I64, &[]), s.param(Scalar::I64, &[])],
            strides: vec![s.param(Scalar::I64, &[]), s.param(Scalar::I64, &[])],
            offsets: vec![s.param(Scalar::I32, &[]), s.param(Scalar::I32, &[])],
            block_shape: vec![16, 8],
            order: vec![1, 0],
        }
    }

    #[test]
    fn a_block_becomes_pointers_and_a_mask() {
        let mut s = Sandbox::new();
        let p = block(&mut s);
        let attrs = LoadAttrs::default();
        let x = load(&mut s.emit, &p, &[0, 1], Some(Padding::Nan), attrs).unwrap();
        assert_eq!(type_of(&x), "fp32[16, 8]");
        let p = advance(&mut s.emit, &p, &[Number::Int(0).into(), Number::Int(8).into()]).unwrap();
        store(&mut s.emit, &p, &x.into(), &[], (StoreCache::Default, Evict::Normal)).unwrap();
        let text = s.verify();
        assert_eq!(text.matches("cmp").count(), 4, "two checked dimensions have two ends each:\n{text}");
    }

    #[test]
    fn mistakes_are_named() {
        let mut s = Sandbox::new();
        let p = block(&mut s);
        let x = s.param(Scalar::F32, &[8, 16]);
        let e = &mut s.emit;
        assert_eq!(
            message(store(e, &p, &x.into(), &[], (StoreCache::Default, Evict::Normal))),
            "the block has shape [16, 8], but the value is `fp32[8, 16]`"
        );
        assert_eq!(
            message(advance(e, &p, &[Number::Int(1).into()])),
            "the block has 2 dimensions, but the offsets are 1"
        );
        assert_eq!(
            message(advance(e, &p, &[Number::Float(1.0).into(), Number::Int(1).into()])),
            "the float `1.0` is no offset: it must be an integer of type `i32`"
        );
        assert_eq!(message(no_mask(e, true)), "a block pointer takes no `mask` and no `other`");
        let ints = BlockPtr { base: s.pointer(Scalar::I32, &[]), ..p };
        assert_eq!(
            message(load(&mut s.emit, &ints, &[], Some(Padding::Nan), LoadAttrs::default())),
            "there is no NaN to pad `i32` with"
        );
    }
}
