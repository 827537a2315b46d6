//! A block of a tensor as a tile of pointers and a mask.
//!
//! What is the same for the whole block is computed on scalars: the address of its first element, and along each
//! dimension the first and the last index inside the tensor, counted from the block's first. The first is not asked
//! for where the block is known not to start before the tensor.

use shoal_ir::nonnegative::is_non_negative;
use shoal_ir::op::{BinaryOp, CmpOp, Evict, LoadAttrs, StoreCache, UnaryOp};
use shoal_ir::types::Padding;
use shoal_ir::{Builder, Const, OpId, OpKind, Scalar, Shape, Type, Value};

use super::{Parts, as_desc};

struct Block {
    pointers: Value,
    /// True inside the tensor.
    mask: Value,
}

/// Loads the block that a `desc_load` asks for.
pub(super) fn load(b: &mut Builder<'_>, op: OpId, parts: &Parts) -> Value {
    let operands = b.func.op(op).operands().to_vec();
    let desc = as_desc(b.func, operands[0]).expect("a block of a descriptor").clone();
    let block = block(b, parts, &desc.block, &operands[1..]);
    let mut operands = vec![block.pointers, block.mask];
    match desc.padding {
        // Masked-out elements are zero by themselves.
        Padding::Zero => {}
        Padding::Nan => {
            let nan = Const::from_f64(desc.elem, f64::NAN);
            operands.push(b.constant(nan, Type::tile(desc.elem, &desc.block)));
        }
    }
    b.value(OpKind::Load(LoadAttrs::default()), &operands)
}

/// Stores the block that a `desc_store` gives.
pub(super) fn store(b: &mut Builder<'_>, op: OpId, parts: &Parts) {
    let operands = b.func.op(op).operands().to_vec();
    let shape = Shape::from_slice(b.func.ty(operands[1]).shape());
    let block = block(b, parts, &shape, &operands[2..]);
    let kind = OpKind::Store { cache: StoreCache::Default, evict: Evict::Normal };
    b.op(kind, [block.pointers, operands[1], block.mask], [], []);
}

fn block(b: &mut Builder<'_>, parts: &Parts, shape: &[u32], offsets: &[Value]) -> Block {
    let from_zero_on: Vec<bool> = offsets.iter().map(|&offset| is_non_negative(b.func, offset)).collect();
    let mut base = parts.base;
    let mut distances = None;
    let mut mask = None;
    for (dim, &offset) in offsets.iter().enumerate() {
        let offset = b.cast(offset, Scalar::I64);
        let start = b.binary(BinaryOp::Mul, offset, parts.strides[dim]);
        base = b.value(OpKind::PtrAdd, &[base, start]);
        let index = b.iota(0, shape[dim]);
        let index = along(b, index, shape, dim);
        let end = b.binary(BinaryOp::Sub, parts.sizes[dim], offset);
        let mut inside = compared(b, index, CmpOp::Lt, end, shape[dim]);
        if !from_zero_on[dim] {
            let first = b.unary(UnaryOp::Neg, offset);
            let after_first = compared(b, index, CmpOp::Ge, first, shape[dim]);
            inside = b.binary(BinaryOp::And, after_first, inside);
        }
        let inside = b.broadcast(inside, shape);
        mask = Some(joined(b, BinaryOp::And, mask, inside));
        let index = b.cast(index, Scalar::I64);
        let stride = Shape::from_slice(b.func.ty(index).shape());
        let stride = b.splat(parts.strides[dim], &stride);
        let distance = b.binary(BinaryOp::Mul, index, stride);
        let distance = b.broadcast(distance, shape);
        distances = Some(joined(b, BinaryOp::Add, distances, distance));
    }
    let (distances, mask) = (distances.expect("a block has dimensions"), mask.expect("a block has dimensions"));
    let pointers = b.splat(base, shape);
    Block { pointers: b.value(OpKind::PtrAdd, &[pointers, distances]), mask }
}

fn joined(b: &mut Builder<'_>, op: BinaryOp, sum: Option<Value>, term: Value) -> Value {
    match sum {
        Some(sum) => b.binary(op, sum, term),
        None => term,
    }
}

/// A row of indices put along a dimension of a block; all other dimensions have size 1.
fn along(b: &mut Builder<'_>, row: Value, shape: &[u32], dim: usize) -> Value {
    let mut thin = Shape::from_elem(1, shape.len());
    thin[dim] = shape[dim];
    b.reshape(row, &thin)
}

/// Compares indices of a block with a limit, which is brought into the block's own range first: an `i32` holds that.
fn compared(b: &mut Builder<'_>, index: Value, op: CmpOp, limit: Value, length: u32) -> Value {
    let (zero, most) = (b.int(0, Scalar::I64), b.int(i64::from(length), Scalar::I64));
    let limit = b.binary(BinaryOp::Max, limit, zero);
    let limit = b.binary(BinaryOp::Min, limit, most);
    let limit = b.cast(limit, Scalar::I32);
    let shape = Shape::from_slice(b.func.ty(index).shape());
    let limit = b.splat(limit, &shape);
    b.cmp(op, index, limit)
}
