//! Packing run-time arguments in the driver's layout.

use half::{bf16, f16};
use shoal_driver::ArgWriter;
use shoal_ir::numeric::cast;
use shoal_ir::op::Rounding;
use shoal_ir::types::DescPart;

use crate::DType;
use crate::arg::{Arg, Memory};
use crate::specialise::ArgClass;

/// Appends one value; what is compiled in takes no room.
#[inline]
pub(crate) fn write(writer: &mut ArgWriter, leaf: &ArgClass<'_>) {
    write_at(writer, leaf, |memory| memory.address as u64);
}

/// The same for memory that kernels find at another address.
#[inline]
pub(crate) fn write_at(writer: &mut ArgWriter, leaf: &ArgClass<'_>, address: impl Fn(&Memory<'_>) -> u64) {
    match leaf {
        ArgClass::Constant(_) | ArgClass::Tuple(..) => {}
        ArgClass::Number { dtype, bits, .. } => number(writer, *dtype, *bits),
        ArgClass::Pointer { memory, .. } => {
            writer.push_u64(address(memory));
        }
        ArgClass::Descriptor(d) => {
            for part in DescPart::passed(d.shape.len()) {
                match part {
                    DescPart::Base => writer.push_u64(address(&d.base)),
                    DescPart::Size(axis) => writer.push_u32(d.shape[axis] as u32),
                    DescPart::Stride(axis) => writer.push_i64(d.strides[axis]),
                };
            }
        }
    }
}

#[inline]
fn number(writer: &mut ArgWriter, dtype: DType, bits: u64) {
    match dtype.bytes() {
        1 => writer.push_u8(bits as u8),
        2 => writer.push_u16(bits as u16),
        4 => writer.push_u32(bits as u32),
        _ => writer.push_u64(bits),
    };
}

/// The bits of a number at a type. Values that do not fit were refused when the argument was classified.
#[inline]
pub(crate) fn bits(dtype: DType, arg: &Arg<'_>) -> u64 {
    match *arg {
        Arg::Bool(value) if dtype.is_int() => u64::from(value),
        Arg::Int(value) if dtype.is_int() => value as u64,
        Arg::Bool(value) => float_bits(dtype, f64::from(u8::from(value))),
        Arg::Int(value) => float_bits(dtype, value as f64),
        Arg::Float(value) => float_bits(dtype, value),
        Arg::None
        | Arg::Memory(_)
        | Arg::Descriptor(_)
        | Arg::Tuple(_)
        | Arg::NamedTuple(..)
        | Arg::Text(_)
        | Arg::DType(_)
        | Arg::Function(_)
        | Arg::Host(_) => 0,
    }
}

#[inline]
fn float_bits(dtype: DType, value: f64) -> u64 {
    match dtype {
        DType::F32 => (value as f32).to_bits().into(),
        DType::F64 => value.to_bits(),
        DType::F16 => f16::from_f64(value).to_bits().into(),
        DType::BF16 => bf16::from_f64(value).to_bits().into(),
        other => cast(shoal_ir::Const::from_bits(DType::F64, value.to_bits()), other, Rounding::Nearest).bits(),
    }
}
