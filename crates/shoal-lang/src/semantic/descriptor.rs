//! Tensor descriptors: views of a tensor in memory that are read and written in blocks.

use std::sync::Arc;

use shoal_ir::OpKind;
use shoal_ir::types::{DescType, Elem, Padding, Scalar, Type};

use super::operand::{self, Operand, elem, number_type};
use super::words::counted;
use super::{attribute, block_ptr, cast};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Access, Descriptor, Tensor, Value};

/// The most dimensions a descriptor has.
const MAX_RANK: usize = 5;
/// The least size of a block's rows, and what strides are a multiple of: what the copy engines of GPUs move at once.
const ROW_BYTES: u64 = 16;

/// What a descriptor is made of.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    /// The tensor's first element.
    pub(crate) base: &'a Tensor,
    /// Its sizes.
    pub(crate) shape: Vec<Operand>,
    /// Its strides in elements.
    pub(crate) strides: Vec<Operand>,
    /// The shape of a block.
    pub(crate) block: Vec<u32>,
    /// What lies beyond the edges.
    pub(crate) padding: Padding,
}

/// `make_tensor_descriptor`.
pub(crate) fn make(e: &mut Emit<'_>, parts: &Parts<'_>) -> LowerResult<Descriptor> {
    let ty = check(e, parts)?;
    let mut operands = vec![parts.base.value];
    for size in &parts.shape {
        operands.push(scalar(e, "size", size, Scalar::I32)?.value);
    }
    for stride in &parts.strides {
        operands.push(scalar(e, "stride", stride, Scalar::I64)?.value);
    }
    let value = e.b().value_as(OpKind::MakeDesc, &operands, Type::Desc(ty.clone()));
    Ok(Descriptor { value, ty: Type::Desc(ty), access: parts.base.access })
}

fn check(e: &Emit<'_>, parts: &Parts<'_>) -> LowerResult<DescType> {
    let base = match elem(parts.base) {
        Elem::Ptr(p) if parts.base.is_scalar() => p.element(),
        _ => {
            return Err(e
                .error(format!("a descriptor's base is a pointer, not `{}`", parts.base.type_name()))
                .help("pass the pointer to the tensor's first element")
                .into());
        }
    };
    let Elem::Scalar(elem) = base else {
        return Err(e.lower_error(format!("a descriptor views numbers, not `{}`", cast::name(base))));
    };
    let rank = parts.shape.len();
    if !(1..=MAX_RANK).contains(&rank) {
        return Err(e.lower_error(format!("a descriptor has 1 to {MAX_RANK} dimensions, not {rank}")));
    }
    if parts.strides.len() != rank || parts.block.len() != rank {
        return Err(e
            .error("`shape`, `strides` and `block_shape` must be equally long")
            .label(format!("they have {rank}, {} and {} entries", parts.strides.len(), parts.block.len()))
            .into());
    }
    let bytes = u64::from(elem.bytes());
    let row = u64::from(parts.block[rank - 1]) * bytes;
    if row < ROW_BYTES {
        return Err(e
            .error(format!("a row of the block has {row} bytes, but at least {ROW_BYTES} are needed"))
            .help(format!("make the last dimension of `block_shape` at least {}", ROW_BYTES / bytes))
            .into());
    }
    check_strides(e, &parts.strides, bytes)?;
    if parts.padding == Padding::Nan && elem.is_int() {
        return Err(e
            .error(format!("there is no NaN to pad `{}` with", cast::name(elem.into())))
            .help("use padding_option=\"zero\"")
            .into());
    }
    Ok(DescType { elem, block: parts.block.as_slice().into(), padding: parts.padding })
}

fn check_strides(e: &Emit<'_>, strides: &[Operand], bytes: u64) -> LowerResult<()> {
    let (last, others) = strides.split_last().expect("at least one dimension");
    if !matches!(last, Operand::Number(n) if n.as_int() == Some(1)) {
        return Err(e
            .error(format!("the last stride of a descriptor must be the constant 1, not {}", last.describe()))
            .help("rows must be contiguous; make the stride `tl.constexpr` if it is always 1")
            .into());
    }
    for stride in others {
        if let Operand::Number(n) = stride
            && let Some(i) = n.as_int()
            && i.rem_euclid(i128::from(ROW_BYTES / bytes.min(ROW_BYTES))) != 0
        {
            return Err(e
                .error(format!("a stride of {i} elements is not a multiple of {ROW_BYTES} bytes"))
                .help("pad the rows of the tensor, or use pointers")
                .into());
        }
    }
    Ok(())
}

pub(super) fn scalar(e: &mut Emit<'_>, what: &str, value: &Operand, ty: Scalar) -> LowerResult<Tensor> {
    block_ptr::integer(e, what, value, ty)
}

pub(super) fn block_type(desc: &Descriptor) -> &DescType {
    match &desc.ty {
        Type::Desc(d) => d,
        Type::Elem(_) | Type::Tile(_) | Type::Token => unreachable!("a descriptor has a descriptor's type"),
    }
}

/// `desc.shape`: the sizes of the tensor.
pub(crate) fn shape(e: &mut Emit<'_>, desc: &Descriptor) -> Value {
    extents(e, desc, |dim| OpKind::DescSize { dim })
}

/// `desc.strides`: the strides of the tensor in elements.
pub(crate) fn strides(e: &mut Emit<'_>, desc: &Descriptor) -> Value {
    extents(e, desc, |dim| OpKind::DescStride { dim })
}

/// What each dimension answers to a question.
fn extents(e: &mut Emit<'_>, desc: &Descriptor, ask: impl Fn(u8) -> OpKind) -> Value {
    let dims = 0..block_type(desc).block.len() as u8;
    let answers = dims.map(|dim| {
        let value = e.b().value(ask(dim), &[desc.value]);
        Value::Tensor(e.tensor(value))
    });
    Value::tuple(answers.collect())
}

/// Offsets of a block: one `int32` for each dimension.
pub(super) fn offsets(e: &mut Emit<'_>, desc: &Descriptor, given: &[Operand]) -> LowerResult<Vec<shoal_ir::Value>> {
    let rank = block_type(desc).block.len();
    if given.len() != rank {
        return Err(e
            .error(format!("the descriptor has {}, but the offsets are {}", counted(rank, "dimension"), given.len()))
            .help("give one offset for each dimension")
            .into());
    }
    let mut values = Vec::with_capacity(rank);
    for offset in given {
        if let Operand::Tensor(t) = offset
            && number_type(t).is_some_and(|s| s.is_int() && s.bits() == 64)
        {
            return Err(e
                .error(format!("the offsets of a descriptor are 32-bit integers, not `{}`", t.type_name()))
                .help("cast with `.to(tl.int32)`")
                .into());
        }
        values.push(scalar(e, "offset", offset, Scalar::I32)?.value);
    }
    Ok(values)
}

/// `desc.load(offsets)`.
pub(crate) fn load(e: &mut Emit<'_>, desc: &Descriptor, at: &[Operand]) -> LowerResult<Tensor> {
    let mut operands = vec![desc.value];
    operands.extend(offsets(e, desc, at)?);
    let value = e.b().value(OpKind::DescLoad, &operands);
    Ok(e.tensor(value))
}

/// A value for a store through a descriptor: memory may be written, the shape fits, and it is brought to the type.
pub(super) fn stored_value(e: &mut Emit<'_>, desc: &Descriptor, shape: &[u32], value: &Tensor) -> LowerResult<Tensor> {
    if desc.access == Access::ReadOnly {
        return Err(e
            .error("this descriptor is of memory that is `tl.const`")
            .label("a store through it would write there")
            .help("drop the `tl.const` annotation, or make the descriptor from another pointer")
            .into());
    }
    if value.shape() != shape {
        // Blocks with dimensions of size 1 are often stored from tiles without them.
        return Err(e
            .error(format!("the block has shape {shape:?}, but the value is `{}`", value.type_name()))
            .help("bring the value to the block's shape with `tl.reshape` or `tl.broadcast_to`")
            .into());
    }
    cast::to_number(e, value, block_type(desc).elem)
}

/// `desc.store(offsets, value)`.
pub(crate) fn store(e: &mut Emit<'_>, desc: &Descriptor, at: &[Operand], value: &Tensor) -> LowerResult<()> {
    let value = stored_value(e, desc, &block_type(desc).block, value)?;
    let mut operands = vec![desc.value, value.value];
    operands.extend(offsets(e, desc, at)?);
    e.b().inferred(OpKind::DescStore, &operands, &[]);
    Ok(())
}

pub(super) fn operands(e: &Emit<'_>, a: &Args, name: &str) -> LowerResult<Vec<Operand>> {
    a.sequence(name).iter().map(|v| Operand::new(e, v)).collect()
}

fn run_make(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let parts = Parts {
        base: a.tensor("base")?,
        shape: operands(e, a, "shape")?,
        strides: operands(e, a, "strides")?,
        block: a.shape("block_shape")?,
        padding: attribute::padding(e, a.optional_str("padding_option")?)?.unwrap_or(Padding::Zero),
    };
    Ok(Value::Descriptor(Arc::new(make(e, &parts)?)))
}

pub(super) fn descriptor(a: &Args) -> LowerResult<&Descriptor> {
    match a.value("desc") {
        Value::Descriptor(d) => Ok(d),
        _ => Err(a.wrong("desc", "a tensor descriptor")),
    }
}

fn run_load(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let at = operands(e, a, "offsets")?;
    load(e, descriptor(a)?, &at).map(Value::from)
}

fn run_store(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let at = operands(e, a, "offsets")?;
    let value = operand::to_tensor(e, a.value("value"))?;
    store(e, descriptor(a)?, &at, &value)?;
    Ok(Value::NONE)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel(
        "make_tensor_descriptor",
        "base, shape, strides, block_shape: const, padding_option: const='zero'",
        run_make,
    ),
    Builtin::kernel("load_tensor_descriptor", "desc, offsets", run_load),
    Builtin::kernel("store_tensor_descriptor", "desc, offsets, value", run_store),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::operand::Number;
    use crate::semantic::testing::{Sandbox, message, type_of};
    use crate::value::Tuple;

    fn int(i: i128) -> Operand {
        Number::Int(i).into()
    }

    #[test]
    fn blocks_are_loaded_and_stored() {
        let mut s = Sandbox::new();
        let base = s.pointer(Scalar::F16, &[]);
        let (m, n) = (s.param(Scalar::I32, &[]), s.param(Scalar::I64, &[]));
        let parts = Parts {
            base: &base,
            shape: vec![m.clone().into(), n.clone().into()],
            strides: vec![n.into(), int(1)],
            block: vec![32, 64],
            padding: Padding::Nan,
        };
        let desc = make(&mut s.emit, &parts).unwrap();
        let (Value::Tuple(sizes), Value::Tuple(steps)) = (shape(&mut s.emit, &desc), strides(&mut s.emit, &desc))
        else {
            panic!("tuples")
        };
        let names = |t: &Tuple| t.items.iter().map(Value::type_name).collect::<Vec<_>>().join(" ");
        assert_eq!((names(&sizes), names(&steps)), ("i32 i32".to_owned(), "i64 i64".to_owned()));
        let x = load(&mut s.emit, &desc, &[m.into(), int(0)]).unwrap();
        assert_eq!(type_of(&x), "fp16[32, 64]");
        let wide = cast::to_number(&mut s.emit, &x, Scalar::F32).unwrap();
        store(&mut s.emit, &desc, &[int(0), int(64)], &wide).unwrap();
        s.verify();
    }

    #[test]
    fn mistakes_are_named() {
        let mut s = Sandbox::new();
        let base = s.pointer(Scalar::I8, &[]);
        let x = s.param(Scalar::F32, &[8]);
        let far = s.param(Scalar::I64, &[]);
        let e = &mut s.emit;
        let good = |base| Parts {
            base,
            shape: vec![int(64), int(64)],
            strides: vec![int(64), int(1)],
            block: vec![8, 16],
            padding: Padding::Zero,
        };
        assert_eq!(message(make(e, &good(&x))), "a descriptor's base is a pointer, not `fp32[8]`");
        let narrow = Parts { block: vec![8, 8], ..good(&base) };
        assert_eq!(message(make(e, &narrow)), "a row of the block has 8 bytes, but at least 16 are needed");
        let strided = Parts { strides: vec![int(64), int(2)], ..good(&base) };
        assert_eq!(
            message(make(e, &strided)),
            "the last stride of a descriptor must be the constant 1, not the integer `2`"
        );
        let odd = Parts { strides: vec![int(65), int(1)], ..good(&base) };
        assert_eq!(message(make(e, &odd)), "a stride of 65 elements is not a multiple of 16 bytes");
        let nan = Parts { padding: Padding::Nan, ..good(&base) };
        assert_eq!(message(make(e, &nan)), "there is no NaN to pad `i8` with");
        let desc = make(e, &good(&base)).unwrap();
        assert_eq!(message(load(e, &desc, &[int(0)])), "the descriptor has 2 dimensions, but the offsets are 1");
        assert_eq!(
            message(load(e, &desc, &[far.into(), int(0)])),
            "the offsets of a descriptor are 32-bit integers, not `i64`"
        );
        assert_eq!(
            message(store(e, &desc, &[int(0), int(0)], &x)),
            "the block has shape [8, 16], but the value is `fp32[8]`"
        );
    }
}
