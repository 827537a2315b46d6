//! `device_print`: the elements that generated code passes, and the lines they become, the same on every device and in
//! the interpreter.
//!
//! One line is printed for each element, the prefix being the user's text as written:
//!
//! ```text
//! pid (0, 0, 0) idx ( 3) prefix: value
//! ```

use crate::float_format::{FloatFormat, decode_float};
use core::fmt::{self, Write};

/// Element types that can be printed, with the numbers generated code uses for them.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrintKind {
    /// Boolean, one byte.
    I1 = 0,
    /// Signed, 8 bits.
    I8 = 1,
    /// Signed, 16 bits.
    I16 = 2,
    /// Signed, 32 bits.
    I32 = 3,
    /// Signed, 64 bits.
    I64 = 4,
    /// Unsigned, 8 bits.
    U8 = 5,
    /// Unsigned, 16 bits.
    U16 = 6,
    /// Unsigned, 32 bits.
    U32 = 7,
    /// Unsigned, 64 bits.
    U64 = 8,
    /// 8-bit float, 4 exponent bits, bias 7, NaN but no infinity.
    F8E4M3 = 9,
    /// 8-bit float, 5 exponent bits, IEEE-like.
    F8E5M2 = 10,
    /// 8-bit float, 4 exponent bits, bias 8, one NaN, no negative zero.
    F8E4M3Fnuz = 11,
    /// 8-bit float, 5 exponent bits, bias 16, one NaN, no negative zero.
    F8E5M2Fnuz = 12,
    /// 8-bit float, 4 exponent bits, bias 15, finite values only.
    F8E4B15 = 13,
    /// IEEE half precision.
    F16 = 14,
    /// bfloat16.
    BF16 = 15,
    /// IEEE single precision.
    F32 = 16,
    /// IEEE double precision.
    F64 = 17,
    /// A pointer, always printed in hexadecimal.
    Ptr = 18,
}

impl PrintKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 19] = [
        Self::I1,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::F8E4M3Fnuz,
        Self::F8E5M2Fnuz,
        Self::F8E4B15,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::Ptr,
    ];

    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Size of one element in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::I1 | Self::I8 | Self::U8 => 1,
            Self::F8E4M3 | Self::F8E5M2 | Self::F8E4M3Fnuz | Self::F8E5M2Fnuz | Self::F8E4B15 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::Ptr => 8,
        }
    }

    /// Its number in generated code.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The number with these bits as it is printed.
    #[must_use]
    pub fn number_text(self, bits: u64) -> String {
        let mut out = String::new();
        // Writing to a `String` cannot fail.
        let _ = self.write_number(&mut out, bits, Radix::Decimal);
        out
    }

    fn write_number(self, out: &mut String, bits: u64, radix: Radix) -> fmt::Result {
        let digits = self.size() * 2;
        match self.value(bits) {
            // Of floats the bits, as of integers.
            Value::Signed(_) | Value::Unsigned(_) | Value::Float(_) if radix == Radix::Hex => {
                write!(out, "0x{bits:0digits$x}")
            }
            Value::Signed(v) => write!(out, "{v}"),
            Value::Unsigned(v) => write!(out, "{v}"),
            Value::Address(v) => write!(out, "0x{v:016x}"),
            Value::Float(v) if v.is_nan() => out.write_str("nan"),
            Value::Float(v) => write!(out, "{v:.6}"),
        }
    }

    /// The element with these bits, as the number it stands for.
    fn value(self, bits: u64) -> Value {
        let size = self.size();
        let signed = (bits << (64 - size * 8)).cast_signed() >> (64 - size * 8);
        match self {
            Self::I1 => Value::Unsigned(bits & 1),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => Value::Signed(signed),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Value::Unsigned(bits),
            Self::F8E4M3 => Value::Float(decode_float(FloatFormat::F8E4M3, bits)),
            Self::F8E5M2 => Value::Float(decode_float(FloatFormat::F8E5M2, bits)),
            Self::F8E4M3Fnuz => Value::Float(decode_float(FloatFormat::F8E4M3_FNUZ, bits)),
            Self::F8E5M2Fnuz => Value::Float(decode_float(FloatFormat::F8E5M2_FNUZ, bits)),
            Self::F8E4B15 => Value::Float(decode_float(FloatFormat::F8E4B15, bits)),
            Self::F16 => Value::Float(decode_float(FloatFormat::F16, bits)),
            Self::BF16 => Value::Float(decode_float(FloatFormat::BF16, bits)),
            Self::F32 => Value::Float(decode_float(FloatFormat::F32, bits)),
            Self::F64 => Value::Float(decode_float(FloatFormat::F64, bits)),
            Self::Ptr => Value::Address(bits),
        }
    }
}

enum Value {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Address(u64),
}

/// How integers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Radix {
    /// As people do.
    Decimal,
    /// All digits of the bytes they take.
    Hex,
}

/// How an operand is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrintFlags {
    /// How integers are written.
    pub radix: Radix,
    /// Which operand it is, where a `device_print` has several.
    pub operand: Option<u32>,
}

impl PrintFlags {
    /// The hook's `flags`: bit 0 asks for hexadecimal integers, the bits from 8 on hold the operand's number plus one.
    #[must_use]
    pub fn bits(self) -> u32 {
        u32::from(self.radix == Radix::Hex) | self.operand.map_or(0, |number| number + 1) << 8
    }

    /// What `flags` of the hook say.
    #[must_use]
    pub fn from_bits(bits: u32) -> Self {
        let radix = if bits & 1 == 1 { Radix::Hex } else { Radix::Decimal };
        Self { radix, operand: (bits >> 8).checked_sub(1) }
    }
}

/// One operand of a `device_print`.
#[derive(Clone, Copy, Debug)]
pub struct Printed<'a> {
    /// The coordinates of the program that prints.
    pub program: [u32; 3],
    /// The user's text.
    pub prefix: &'a str,
    /// What the elements are.
    pub kind: PrintKind,
    /// How they are written.
    pub flags: PrintFlags,
    /// The extents; none for a scalar.
    pub shape: &'a [u32],
}

impl Printed<'_> {
    /// The lines to print for the bits of each element in row-major order, each with its end.
    #[must_use]
    pub fn render(&self, elements: impl IntoIterator<Item = u64>) -> String {
        let mut out = String::new();
        let label = self.label();
        let mut index = vec![0u32; self.shape.len()];
        for bits in elements {
            // Writing to a `String` cannot fail.
            let _ = self.line(&mut out, &label, &index, bits);
            advance(&mut index, self.shape);
        }
        out
    }

    /// ` prefix: `, with the operand's number when there are several.
    fn label(&self) -> String {
        let prefix = self.prefix.trim().trim_end_matches(':');
        let mut label = if prefix.is_empty() { ": ".to_owned() } else { format!(" {prefix}: ") };
        if let Some(operand) = self.flags.operand {
            label += &format!("(operand {operand}) ");
        }
        label
    }

    fn line(&self, out: &mut String, label: &str, index: &[u32], bits: u64) -> fmt::Result {
        write_pid(out, self.program)?;
        out.write_str(" idx (")?;
        for (dim, (&i, &extent)) in index.iter().zip(self.shape).enumerate() {
            // As wide as the last one along its dimension, so that lines stand below each other.
            let width = extent.saturating_sub(1).checked_ilog10().unwrap_or(0) as usize + 1;
            let comma = if dim > 0 { ", " } else { "" };
            write!(out, "{comma}{i:width$}")?;
        }
        write!(out, "){label}")?;
        self.kind.write_number(out, bits, self.flags.radix)?;
        out.write_char('\n')
    }
}

/// The line of a `device_print` without operands, with its end.
#[must_use]
pub fn render_text(program: [u32; 3], text: &str) -> String {
    let mut out = String::new();
    let _ = write_pid(&mut out, program);
    out.push(' ');
    out.push_str(text.trim());
    out.push('\n');
    out
}

fn write_pid(out: &mut String, [x, y, z]: [u32; 3]) -> fmt::Result {
    write!(out, "pid ({x}, {y}, {z})")
}

/// Steps a row-major index.
fn advance(index: &mut [u32], shape: &[u32]) {
    for (i, &extent) in index.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < extent {
            return;
        }
        *i = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: PrintFlags = PrintFlags { radix: Radix::Decimal, operand: None };

    fn render(kind: PrintKind, flags: PrintFlags, elements: &[u64], shape: &[u32]) -> String {
        Printed { program: [1, 0, 1], prefix: "x", kind, flags, shape }.render(elements.iter().copied())
    }

    #[test]
    fn scalars_have_an_empty_index() {
        let (hex, second) = (PrintFlags { radix: Radix::Hex, ..PLAIN }, PrintFlags { operand: Some(1), ..PLAIN });
        let int = u64::from((-7i32).cast_unsigned());
        assert_eq!(render(PrintKind::I32, PLAIN, &[int], &[]), "pid (1, 0, 1) idx () x: -7\n");
        assert_eq!(render(PrintKind::I16, hex, &[0xffff], &[]), "pid (1, 0, 1) idx () x: 0xffff\n");
        let float = u64::from(1.5f32.to_bits());
        assert_eq!(render(PrintKind::F32, second, &[float], &[]), "pid (1, 0, 1) idx () x: (operand 1) 1.500000\n");
        assert_eq!(render(PrintKind::Ptr, PLAIN, &[4096], &[]), "pid (1, 0, 1) idx () x: 0x0000000000001000\n");
    }

    #[test]
    fn tiles_print_one_line_per_element() {
        let data: Vec<u64> = (0..12).collect();
        let text = render(PrintKind::U8, PLAIN, &data, &[1, 12]);
        assert_eq!(text.lines().count(), 12);
        assert_eq!(text.lines().next(), Some("pid (1, 0, 1) idx (0,  0) x: 0"));
        assert_eq!(text.lines().last(), Some("pid (1, 0, 1) idx (0, 11) x: 11"));
    }

    #[test]
    fn flags_survive_the_hook() {
        for radix in [Radix::Decimal, Radix::Hex] {
            for operand in [None, Some(0), Some(7), Some(300)] {
                let flags = PrintFlags { radix, operand };
                assert_eq!(PrintFlags::from_bits(flags.bits()), flags);
            }
        }
    }

    #[test]
    fn eight_bit_floats_decode() {
        let value = |kind: PrintKind, bits| match kind.value(bits) {
            Value::Float(v) => v,
            _ => unreachable!(),
        };
        assert_eq!(value(PrintKind::F8E4M3, 0x38), 1.0);
        assert_eq!(value(PrintKind::F8E4M3, 0x7e), 448.0);
        assert_eq!(value(PrintKind::F8E4M3, 0x01), 2f64.powi(-9));
        assert!(value(PrintKind::F8E4M3, 0xff).is_nan());
        assert_eq!(value(PrintKind::F8E5M2, 0x3c), 1.0);
        assert_eq!(value(PrintKind::F8E5M2, 0xfc), f64::NEG_INFINITY);
        assert_eq!(value(PrintKind::F8E4M3Fnuz, 0x40), 1.0);
        assert!(value(PrintKind::F8E4M3Fnuz, 0x80).is_nan());
        assert_eq!(value(PrintKind::F8E5M2Fnuz, 0x40), 1.0);
        assert_eq!(value(PrintKind::F8E4B15, 0x78), 1.0);
    }

    #[test]
    fn numbers_and_kinds_agree() {
        for (number, kind) in PrintKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.number() as usize, number);
            assert_eq!(PrintKind::from_number(number as u32), Some(kind));
        }
        assert_eq!(PrintKind::from_number(19), None);
    }
}
