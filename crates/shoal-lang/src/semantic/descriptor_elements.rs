//! What descriptors do element by element: rows picked by a tile of offsets, and atomic operations.
//!
//! Copy engines have instructions for some of it on some GPUs; here it is written out on pointers and a mask, which every
//! target has.

use shoal_ir::OpKind;
use shoal_ir::op::{BinaryOp, CmpOp, Evict, LoadAttrs, RmwOp, Scope, Sem, StoreCache};
use shoal_ir::types::{Padding, Scalar, Shape, Type};

use super::atomic::{self, Ordering};
use super::descriptor::{block_type, descriptor, offsets, operands, scalar, stored_value};
use super::operand::{Operand, number_type, to_tensor};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::dtype::scalar_name;
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Access, Descriptor, Tensor, Value};

/// The fewest rows that are picked at once, and what the columns of a row have at least, in units of four bytes: what the
/// copy engines move.
const FEWEST_ROWS: u32 = 8;

/// The elements of a tensor that an operation touches.
struct Elements {
    pointers: Tensor,
    /// True inside the tensor.
    mask: Tensor,
}

/// The elements at the given indices, one tile of `i64` for each dimension with that dimension's extent.
fn elements(e: &mut Emit<'_>, desc: &Descriptor, shape: &[u32], indices: &[shoal_ir::Value]) -> Elements {
    let mut b = e.b();
    let base = b.value(OpKind::DescBase, &[desc.value]);
    let mut pointers = b.splat(base, shape);
    let mut mask = None;
    for (dim, &index) in (0u8..).zip(indices) {
        let mut thin = Shape::from_elem(1, shape.len());
        thin[usize::from(dim)] = shape[usize::from(dim)];
        let index = b.reshape(index, &thin);
        let size = b.value(OpKind::DescSize { dim }, &[desc.value]);
        let size = b.cast(size, Scalar::I64);
        let size = b.splat(size, &thin);
        let zero = b.int(0, Type::tile(Scalar::I64, &thin));
        let (above, below) = (b.cmp(CmpOp::Ge, index, zero), b.cmp(CmpOp::Lt, index, size));
        let inside = b.binary(BinaryOp::And, above, below);
        let inside = b.broadcast(inside, shape);
        mask = Some(match mask {
            Some(mask) => b.binary(BinaryOp::And, mask, inside),
            None => inside,
        });
        let stride = b.value(OpKind::DescStride { dim }, &[desc.value]);
        let stride = b.splat(stride, &thin);
        let distance = b.binary(BinaryOp::Mul, index, stride);
        let distance = b.broadcast(distance, shape);
        pointers = b.value(OpKind::PtrAdd, &[pointers, distance]);
    }
    let mask = mask.expect("a descriptor has dimensions");
    Elements { pointers: Tensor { access: desc.access, ..e.tensor(pointers) }, mask: e.tensor(mask) }
}

/// `start + [0, 1, …]`, as `i64`.
fn counting(e: &mut Emit<'_>, start: shoal_ir::Value, length: u32) -> shoal_ir::Value {
    let mut b = e.b();
    let start = b.cast(start, Scalar::I64);
    let start = b.splat(start, &[length]);
    let steps = b.iota(0, length);
    let steps = b.cast(steps, Scalar::I64);
    b.binary(BinaryOp::Add, start, steps)
}

/// The rows that a tile of offsets names, from a column on.
fn rows(e: &mut Emit<'_>, function: &str, desc: &Descriptor, rows: &Tensor, column: &Operand) -> LowerResult<Elements> {
    let ty = block_type(desc);
    let &[1, columns] = ty.block.as_slice() else {
        return Err(e
            .error(format!(
                "`{function}` needs a descriptor of rows, but its block has shape {:?}",
                ty.block.as_slice()
            ))
            .help("make the descriptor with block_shape=[1, columns]")
            .into());
    };
    let (&[count], Some(Scalar::I16 | Scalar::I32)) = (rows.shape(), number_type(rows)) else {
        return Err(e
            .error(format!("the rows of `{function}` are a one-dimensional tile of int16 or int32"))
            .label(format!("these are `{}`", rows.type_name()))
            .into());
    };
    let fewest_columns = 32 / ty.elem.bits() * 8;
    if count < FEWEST_ROWS || columns < fewest_columns {
        return Err(e
            .error(format!(
                "`{function}` of `{}` moves at least {FEWEST_ROWS} rows of {fewest_columns} elements, not {count} of {columns}",
                scalar_name(ty.elem)
            ))
            .into());
    }
    let column = scalar(e, "offset", column, Scalar::I32)?.value;
    let columns_at = counting(e, column, columns);
    let rows_at = e.b().cast(rows.value, Scalar::I64);
    Ok(elements(e, desc, &[count, columns], &[rows_at, columns_at]))
}

/// `desc.gather(x_offsets, y_offset)`: rows beyond the edges are padding.
pub(crate) fn gather(e: &mut Emit<'_>, desc: &Descriptor, at: &Tensor, column: &Operand) -> LowerResult<Tensor> {
    let found = rows(e, "gather", desc, at, column)?;
    let ty = block_type(desc);
    let mut operands = vec![found.pointers.value, found.mask.value];
    match ty.padding {
        // Masked-out elements are zero by themselves.
        Padding::Zero => {}
        Padding::Nan => {
            let shape = found.pointers.shape().to_vec();
            operands.push(e.b().float(f64::NAN, Type::tile(ty.elem, &shape)));
        }
    }
    let value = e.b().value(OpKind::Load(LoadAttrs::default()), &operands);
    Ok(e.tensor(value))
}

/// `desc.scatter(value, x_offsets, y_offset)`: rows beyond the edges are dropped.
pub(crate) fn scatter(
    e: &mut Emit<'_>,
    desc: &Descriptor,
    value: &Tensor,
    at: &Tensor,
    column: &Operand,
) -> LowerResult<()> {
    let found = rows(e, "scatter", desc, at, column)?;
    let value = stored_value(e, desc, found.pointers.shape(), value)?;
    let kind = OpKind::Store { cache: StoreCache::Default, evict: Evict::Normal };
    e.b().inferred(kind, &[found.pointers.value, value.value, found.mask.value], &[]);
    Ok(())
}

/// `desc.atomic_add(offsets, value)` and its like: elements beyond the edges are dropped, nothing is given back.
pub(crate) fn reduce(
    e: &mut Emit<'_>,
    op: RmwOp,
    desc: &Descriptor,
    at: &[Operand],
    value: &Tensor,
) -> LowerResult<()> {
    let shape = block_type(desc).block.clone();
    let value = stored_value(e, desc, &shape, value)?;
    let starts = offsets(e, desc, at)?;
    let indices: Vec<_> = starts.iter().zip(&shape).map(|(&start, &length)| counting(e, start, length)).collect();
    let Elements { pointers, mask } = elements(e, desc, &shape, &indices);
    let pointers = Tensor { access: Access::ReadWrite, ..pointers };
    let ordering = Ordering { sem: Sem::Relaxed, scope: Scope::Gpu };
    // Copy engines do this, so that descriptors have it and pointers have not.
    if half_extreme(op, &value) {
        atomic::emit_rmw(e, op, &pointers, &value, Some(&mask), ordering);
    } else {
        atomic::rmw(e, op, &pointers, &value.into(), Some(&mask.into()), ordering)?;
    }
    Ok(())
}

/// Whether this is the lesser or the greater of 16-bit floats.
fn half_extreme(op: RmwOp, value: &Tensor) -> bool {
    matches!(op, RmwOp::Min | RmwOp::Max) && matches!(number_type(value), Some(Scalar::F16 | Scalar::BF16))
}

fn run_gather(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let column = Operand::new(e, a.value("y_offset"))?;
    gather(e, descriptor(a)?, a.tensor("x_offsets")?, &column).map(Value::from)
}

fn run_scatter(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let value = to_tensor(e, a.value("value"))?;
    let column = Operand::new(e, a.value("y_offset"))?;
    scatter(e, descriptor(a)?, &value, a.tensor("x_offsets")?, &column)?;
    Ok(Value::NONE)
}

fn run_atomic(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let op = a.function_name().strip_prefix("atomic_").and_then(RmwOp::from_name).expect("named after its operation");
    let at = operands(e, a, "offsets")?;
    let value = to_tensor(e, a.value("value"))?;
    reduce(e, op, descriptor(a)?, &at, &value)?;
    Ok(Value::NONE)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("descriptor.gather", "desc, x_offsets, y_offset", run_gather),
    Builtin::kernel("descriptor.scatter", "desc, value, x_offsets, y_offset", run_scatter),
    Builtin::kernel("descriptor.atomic_add", "desc, offsets, value", run_atomic),
    Builtin::kernel("descriptor.atomic_min", "desc, offsets, value", run_atomic),
    Builtin::kernel("descriptor.atomic_max", "desc, offsets, value", run_atomic),
    Builtin::kernel("descriptor.atomic_and", "desc, offsets, value", run_atomic),
    Builtin::kernel("descriptor.atomic_or", "desc, offsets, value", run_atomic),
    Builtin::kernel("descriptor.atomic_xor", "desc, offsets, value", run_atomic),
];
