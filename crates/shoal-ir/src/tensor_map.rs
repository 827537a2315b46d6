//! Descriptors that a GPU's copy engine can take over: how a block lies in shared memory, which copies move it, and what
//! whoever launches the kernel must tell the engine.
//!
//! A descriptor can be taken over if its address, sizes and strides follow from the kernel's arguments: then the map is
//! made before the kernel starts, and the kernel only names it.

use shoal_abi::{LaunchStep, LaunchValue, MapElement, MapOutside, TensorMapNeeds};
use shoal_layout::{LinearLayout, Major, Swizzle, TmaSwizzle};

use crate::func::{Func, OpId, Value, ValueDef};
use crate::op::{BinaryOp, OpKind};
use crate::types::{DescType, Elem, Padding, Scalar, Type};

/// The most elements of a copy along one dimension.
const LONGEST: u32 = 256;
/// A copy's rows are multiples of so many bytes.
const PIECE: u32 = 16;
/// The most dimensions that copy engines know.
const MAX_RANK: usize = 5;
/// Longer computations are left to the kernel.
const MAX_STEPS: usize = 24;

/// How blocks of a descriptor go through shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockBuffer {
    /// Which element is at which offset.
    pub memory: LinearLayout,
    /// The swizzle that the engine applies.
    pub swizzle: TmaSwizzle,
    /// The elements that one copy moves, outermost dimension first.
    pub copy: Vec<u32>,
    /// The block's shape.
    shape: Vec<u32>,
    /// The bytes of an element.
    element: u32,
}

/// One copy of a block: where in the block it begins, and at which byte of the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCopy {
    /// Along each dimension.
    pub first: Vec<u32>,
    /// In bytes.
    pub offset: u32,
}

impl BlockBuffer {
    /// The buffer for blocks of a descriptor; `None` if copy engines cannot move such blocks.
    pub fn of(desc: &DescType) -> Option<BlockBuffer> {
        let (shape, element) = (desc.block.to_vec(), Elem::Scalar(desc.elem).bytes());
        let rank = shape.len();
        let row = *shape.last()?;
        if rank > MAX_RANK || row * element < PIECE {
            return None;
        }
        let swizzles = [TmaSwizzle::B128, TmaSwizzle::B64, TmaSwizzle::B32];
        let swizzled = |&swizzle: &TmaSwizzle| {
            let memory = LinearLayout::nvmma_shared(&shape, element * 8, swizzle, Major::Row).ok()?;
            Some((memory, swizzle, swizzle.chunk_bytes() / element))
        };
        let found = if rank > 1 { swizzles.iter().find_map(swizzled) } else { None };
        let (memory, swizzle, wide) = match found {
            Some(found) => found,
            None => {
                let order: Vec<usize> = (0..rank).rev().collect();
                let memory = LinearLayout::swizzled_shared(&shape, &order, Swizzle::NONE).ok()?;
                (memory, TmaSwizzle::None, row.min(LONGEST))
            }
        };
        let mut copy: Vec<u32> = shape.iter().map(|&size| size.min(LONGEST)).collect();
        copy[rank - 1] = wide;
        // Parts of rows that follow each other without a swizzle are copied one by one; and what is cut along one dimension
        // is not contiguous across those around it.
        let whole_rows = swizzle != TmaSwizzle::None || wide == row;
        for dim in (0..rank - 1).rev() {
            let inner_whole = whole_rows && (dim + 1..rank - 1).all(|inner| copy[inner] == shape[inner]);
            if !inner_whole {
                copy[dim] = 1;
            }
        }
        Some(BlockBuffer { memory, swizzle, copy, shape, element })
    }

    /// The bytes of a buffer.
    pub fn bytes(&self) -> u32 {
        self.shape.iter().product::<u32>() * self.element
    }

    /// The copies that move a block.
    pub fn copies(&self) -> Vec<BlockCopy> {
        let rank = self.shape.len();
        let rows: u32 = self.shape[..rank - 1].iter().product();
        let (row, wide) = (self.shape[rank - 1], self.copy[rank - 1]);
        let mut copies = vec![BlockCopy { first: vec![0; rank], offset: 0 }];
        for dim in 0..rank {
            let starts = (0..self.shape[dim]).step_by(self.copy[dim] as usize);
            copies = starts
                .flat_map(|start| copies.iter().map(move |copy| (start, copy)))
                .map(|(start, copy)| {
                    let mut first = copy.first.clone();
                    first[dim] = start;
                    BlockCopy { first, offset: 0 }
                })
                .collect();
        }
        for copy in &mut copies {
            let at_row =
                copy.first[..rank - 1].iter().zip(&self.shape).fold(0, |at, (&first, &size)| at * size + first);
            let column = copy.first[rank - 1];
            let element = if self.swizzle == TmaSwizzle::None {
                at_row * row + column
            } else {
                // A chunk with all its rows comes after the other.
                column / wide * rows * wide + at_row * wide
            };
            copy.offset = element * self.element;
        }
        copies
    }
}

/// The descriptor that an operation makes.
pub fn made_desc(func: &Func, op: OpId) -> Option<&DescType> {
    let data = func.op(op);
    match data.results().first().map(|&result| func.ty(result)) {
        Some(Type::Desc(desc)) if matches!(data.kind, OpKind::MakeDesc) => Some(desc),
        Some(Type::Desc(_) | Type::Elem(_) | Type::Tile(_) | Type::Token) | None => None,
    }
}

/// What a copy engine must be told of the descriptor that an operation makes; `None` if it cannot be told before the
/// kernel starts, or does not know such tensors.
pub fn tensor_map(func: &Func, op: OpId) -> Option<TensorMapNeeds> {
    let desc = made_desc(func, op)?;
    let buffer = BlockBuffer::of(desc)?;
    let operands = func.op(op).operands();
    let rank = desc.block.len();
    let known = |values: &[Value]| -> Option<Vec<LaunchValue>> {
        values.iter().map(|&value| launch_value(func, value).filter(|found| found.steps() <= MAX_STEPS)).collect()
    };
    let (element, outside) = (map_element(desc)?, desc.padding);
    let strides = &operands[1 + rank..];
    let last_is_one = strides.last().and_then(|&stride| constant(func, stride)) == Some(1);
    last_is_one.then_some(())?;
    Some(TensorMapNeeds {
        element,
        base: known(&operands[..1])?.remove(0),
        sizes: known(&operands[1..=rank])?,
        strides: known(&strides[..rank - 1])?,
        block: buffer.copy,
        swizzle: if buffer.swizzle == TmaSwizzle::None { 0 } else { buffer.swizzle.chunk_bytes() },
        outside: match outside {
            Padding::Zero => MapOutside::Zero,
            Padding::Nan => MapOutside::Nan,
        },
    })
}

/// What the engine takes a descriptor's elements for: floats only where it must know what NaN is.
fn map_element(desc: &DescType) -> Option<MapElement> {
    match (desc.padding, desc.elem) {
        (Padding::Zero, elem) => match Elem::Scalar(elem).bytes() {
            1 => Some(MapElement::Bits8),
            2 => Some(MapElement::Bits16),
            4 => Some(MapElement::Bits32),
            8 => Some(MapElement::Bits64),
            _ => None,
        },
        (Padding::Nan, Scalar::F16) => Some(MapElement::F16),
        (Padding::Nan, Scalar::BF16) => Some(MapElement::Bf16),
        (Padding::Nan, Scalar::F32) => Some(MapElement::F32),
        (Padding::Nan, Scalar::F64) => Some(MapElement::F64),
        (Padding::Nan, _) => None,
    }
}

fn constant(func: &Func, value: Value) -> Option<i64> {
    match func.def_kind(value) {
        Some(OpKind::Const(c)) => c.as_int().and_then(|number| i64::try_from(number).ok()),
        _ => None,
    }
}

/// A scalar as whoever launches the kernel computes it; `None` if it depends on more than the arguments.
fn launch_value(func: &Func, value: Value) -> Option<LaunchValue> {
    let number = func.ty(value).elem().filter(|_| !func.ty(value).is_tile())?;
    let op = match func.value(value).def() {
        ValueDef::Param(region, index) if region == func.body() => {
            let unsigned = number.scalar().is_none_or(Scalar::is_unsigned_int);
            let step = if unsigned { LaunchStep::UnsignedArgument(index) } else { LaunchStep::Argument(index) };
            return is_integer_or_pointer(number).then(|| LaunchValue::of(step));
        }
        ValueDef::Param(..) => return None,
        ValueDef::Result(op, _) => op,
    };
    let data = func.op(op);
    if let Some(number) = constant(func, value) {
        return Some(LaunchValue::of(LaunchStep::Number(number)));
    }
    let operand = |index: usize| launch_value(func, data.operands()[index]);
    if let OpKind::PtrAdd = data.kind {
        let bytes = number.ptr()?.element().bytes();
        let offset = operand(1)?.combined(LaunchValue::of(LaunchStep::Number(bytes.into())), LaunchStep::Mul);
        return Some(operand(0)?.combined(offset, LaunchStep::Add));
    }
    // Numbers of other types wrap elsewhere.
    let wrapped = |value: LaunchValue| match number.scalar() {
        Some(Scalar::I32) => Some(value.then(LaunchStep::ToI32)),
        Some(Scalar::I64) => Some(value),
        _ => None,
    };
    if let OpKind::Cast(_) = data.kind {
        let from = func.ty(data.operands()[0]).number().filter(|from| from.is_int())?;
        let narrows = from.bits() > number.scalar()?.bits();
        return if narrows {
            wrapped(operand(0)?)
        } else {
            operand(0).filter(|_| number.scalar() == Some(Scalar::I64))
        };
    }
    let OpKind::Binary(kind) = data.kind else { return None };
    let step = match kind {
        BinaryOp::Add => LaunchStep::Add,
        BinaryOp::Sub => LaunchStep::Sub,
        BinaryOp::Mul => LaunchStep::Mul,
        BinaryOp::Min => LaunchStep::Min,
        BinaryOp::Max => LaunchStep::Max,
        BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::MulHi
        | BinaryOp::DivRn
        | BinaryOp::MinNan
        | BinaryOp::MaxNan => return None,
    };
    wrapped(operand(0)?.combined(operand(1)?, step))
}

fn is_integer_or_pointer(elem: Elem) -> bool {
    elem.ptr().is_some() || elem.scalar().is_some_and(Scalar::is_int)
}

#[cfg(test)]
mod tests {
    use shoal_layout::InDim;

    use super::*;

    fn desc(elem: Scalar, block: &[u32]) -> DescType {
        DescType { elem, block: block.into(), padding: Padding::Zero }
    }

    /// Where the copies put each element, by the engine's own rule, is where the buffer's layout says it is.
    #[test]
    fn copies_put_elements_where_the_layout_says() {
        for (elem, block) in [
            (Scalar::F16, &[128, 64][..]),
            (Scalar::F16, &[64, 256]),
            (Scalar::F32, &[512, 32]),
            (Scalar::F16, &[128, 16]),
            (Scalar::I8, &[64, 64]),
            (Scalar::F16, &[64, 8]),
            (Scalar::F32, &[4, 512]),
            (Scalar::F32, &[1024]),
            (Scalar::F16, &[2, 64, 64]),
            (Scalar::F16, &[4, 512, 64]),
            (Scalar::F64, &[2, 2, 4, 4]),
        ] {
            let buffer = BlockBuffer::of(&desc(elem, block)).unwrap();
            let bytes = Elem::Scalar(elem).bytes();
            let mut found = vec![None; (buffer.bytes() / bytes) as usize];
            for copy in buffer.copies() {
                let rank = block.len();
                for at in 0..buffer.copy.iter().product::<u32>() {
                    let mut rest = at;
                    let mut place = vec![0; rank];
                    for dim in (0..rank).rev() {
                        place[dim] = copy.first[dim] + rest % buffer.copy[dim];
                        rest /= buffer.copy[dim];
                    }
                    let plain = copy.offset + at * bytes;
                    let pieces = match buffer.swizzle {
                        TmaSwizzle::None => 0,
                        TmaSwizzle::B32 => 1,
                        TmaSwizzle::B64 => 3,
                        TmaSwizzle::B128 => 7,
                    };
                    let address = plain ^ (((plain >> 7) & pieces) << 4);
                    let slot = &mut found[(address / bytes) as usize];
                    assert_eq!(slot.replace(place), None, "{elem} {block:?}: each place is written once");
                }
            }
            assert!(buffer.copy.iter().all(|&size| size <= LONGEST));
            for (offset, place) in found.into_iter().enumerate() {
                let expected = (0..buffer.memory.in_size(InDim::Offset).ilog2())
                    .filter(|bit| offset >> bit & 1 == 1)
                    .fold(vec![0; block.len()], |sum: Vec<u32>, bit| {
                        let basis = buffer.memory.bases(InDim::Offset).nth(bit as usize).unwrap();
                        sum.iter().zip(basis).map(|(a, b)| a ^ b).collect()
                    });
                assert_eq!(place, Some(expected), "{elem} {block:?} at {offset}");
            }
        }
        assert_eq!(BlockBuffer::of(&desc(Scalar::F16, &[64, 4])), None);
    }
}
