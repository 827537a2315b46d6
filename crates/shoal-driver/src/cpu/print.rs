//! `device_print`: how values look, and where the lines go.
//!
//! The hook's C type is
//!
//! ```c
//! void shoal_print_value(Context *ctx, const Site *site, const char *prefix, uint64_t prefix_len,
//!                        uint32_t kind, uint32_t flags, const void *data, uint32_t rank, const uint32_t *shape);
//! ```
//!
//! `kind` is a [`PrintKind`]; `data` holds the elements contiguously in row-major order; a scalar has rank 0. Bit 0
//! of `flags` asks for hexadecimal integers; bits 8 to 15 hold the operand's number plus one when the `device_print`
//! has several operands, else 0. `prefix` is the user's text as written. One line is printed for each element:
//!
//! ```text
//! pid (0, 0, 0) idx ( 3) prefix: value
//! ```

use super::error::coordinates;
use core::fmt::{self, Write};
use half::{bf16, f16};
use std::{io, sync::Arc};

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
    F8E4B8 = 11,
    /// 8-bit float, 5 exponent bits, bias 16, one NaN, no negative zero.
    F8E5B16 = 12,
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
        Self::F8E4B8,
        Self::F8E5B16,
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
            Self::F8E4M3 | Self::F8E5M2 | Self::F8E4B8 | Self::F8E5B16 | Self::F8E4B15 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::Ptr => 8,
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
            Self::F8E4M3 => Value::Float(Minifloat { exponent: 4, bias: 7, top: Top::NanOnly }.decode(bits)),
            Self::F8E5M2 => Value::Float(Minifloat { exponent: 5, bias: 15, top: Top::Ieee }.decode(bits)),
            Self::F8E4B8 => Value::Float(Minifloat { exponent: 4, bias: 8, top: Top::NegativeZeroNan }.decode(bits)),
            Self::F8E5B16 => Value::Float(Minifloat { exponent: 5, bias: 16, top: Top::NegativeZeroNan }.decode(bits)),
            Self::F8E4B15 => Value::Float(Minifloat { exponent: 4, bias: 15, top: Top::Finite }.decode(bits)),
            Self::F16 => Value::Float(f16::from_bits(bits as u16).to_f64()),
            Self::BF16 => Value::Float(bf16::from_bits(bits as u16).to_f64()),
            Self::F32 => Value::Float(f64::from(f32::from_bits(bits as u32))),
            Self::F64 => Value::Float(f64::from_bits(bits)),
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

/// What the largest exponent of an 8-bit float stands for.
#[derive(Clone, Copy, PartialEq)]
enum Top {
    /// Infinity and NaN, as in IEEE formats.
    Ieee,
    /// Numbers, except that all ones is NaN.
    NanOnly,
    /// Numbers; the pattern of negative zero is the only NaN.
    NegativeZeroNan,
    /// Numbers only.
    Finite,
}

/// An 8-bit float format: sign, `exponent` bits, the rest mantissa.
struct Minifloat {
    exponent: u32,
    bias: i32,
    top: Top,
}

impl Minifloat {
    fn decode(&self, bits: u64) -> f64 {
        let mantissa_bits = 7 - self.exponent;
        let mantissa = (bits & ((1 << mantissa_bits) - 1)) as u32;
        let exponent = (bits >> mantissa_bits & ((1 << self.exponent) - 1)) as i32;
        let all_ones = (1 << self.exponent) - 1;
        let sign = if bits & 0x80 != 0 { -1.0 } else { 1.0 };
        match self.top {
            Top::Ieee if exponent == all_ones && mantissa == 0 => return sign * f64::INFINITY,
            Top::Ieee if exponent == all_ones => return f64::NAN,
            Top::NanOnly if bits & 0x7f == 0x7f => return f64::NAN,
            Top::NegativeZeroNan if bits & 0xff == 0x80 => return f64::NAN,
            Top::Ieee | Top::NanOnly | Top::NegativeZeroNan | Top::Finite => {}
        }
        let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
        let magnitude = match exponent {
            0 => libm::ldexp(fraction, 1 - self.bias),
            _ => libm::ldexp(1.0 + fraction, exponent - self.bias),
        };
        sign * magnitude
    }
}

/// Where the lines of `device_print` go. One call of the sink gets the whole text of one `device_print` operand, so
/// lines of different programs never mix inside it.
#[derive(Clone, Default)]
pub enum PrintSink {
    /// The process's standard output.
    #[default]
    Stdout,
    /// A function; it is called from worker threads, from several at the same time.
    Call(Arc<dyn Fn(&str) + Send + Sync>),
}

impl PrintSink {
    /// A sink that calls `f`.
    pub fn new(f: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Call(Arc::new(f))
    }

    pub(crate) fn write(&self, text: &str) {
        match self {
            Self::Stdout => {
                use io::Write;
                let mut out = io::stdout().lock();
                // A closed standard output is no reason to fail a kernel.
                let _ = out.write_all(text.as_bytes());
                let _ = out.flush();
            }
            Self::Call(f) => f(text),
        }
    }
}

impl fmt::Debug for PrintSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdout => "Stdout",
            Self::Call(_) => "Call(..)",
        })
    }
}

/// One operand of a `device_print`.
pub(crate) struct Printed<'a> {
    pub(crate) program: u64,
    pub(crate) grid: [u32; 3],
    pub(crate) prefix: &'a str,
    pub(crate) kind: PrintKind,
    pub(crate) flags: u32,
    pub(crate) data: &'a [u8],
    pub(crate) shape: &'a [u32],
}

impl Printed<'_> {
    /// The lines to print.
    pub(crate) fn render(&self) -> String {
        let mut out = String::new();
        let label = self.label();
        let mut index = vec![0u32; self.shape.len()];
        for element in self.data.chunks_exact(self.kind.size()) {
            let mut bytes = [0; 8];
            bytes[..element.len()].copy_from_slice(element);
            // Writing to a `String` cannot fail.
            let _ = self.line(&mut out, &label, &index, u64::from_le_bytes(bytes));
            advance(&mut index, self.shape);
        }
        out
    }

    /// ` prefix: `, with the operand's number when there are several.
    fn label(&self) -> String {
        let prefix = self.prefix.trim().trim_end_matches(':');
        let mut label = if prefix.is_empty() { " ".to_owned() } else { format!(" {prefix}: ") };
        match self.flags >> 8 & 0xff {
            0 => {}
            operand => label += &format!("(operand {}) ", operand - 1),
        }
        label
    }

    fn line(&self, out: &mut String, label: &str, index: &[u32], bits: u64) -> fmt::Result {
        write_pid(out, self.program, self.grid)?;
        out.write_str(" idx (")?;
        for (dim, (&i, &extent)) in index.iter().zip(self.shape).enumerate() {
            let width = extent.saturating_sub(1).checked_ilog10().unwrap_or(0) as usize + 1;
            let comma = if dim > 0 { ", " } else { "" };
            write!(out, "{comma}{i:width$}")?;
        }
        write!(out, "){label}")?;
        let digits = self.kind.size() * 2;
        match self.kind.value(bits) {
            Value::Signed(_) | Value::Unsigned(_) if self.flags & 1 != 0 => write!(out, "0x{bits:0digits$x}")?,
            Value::Signed(v) => write!(out, "{v}")?,
            Value::Unsigned(v) => write!(out, "{v}")?,
            Value::Address(v) => write!(out, "0x{v:016x}")?,
            Value::Float(v) if v.is_nan() => out.write_str("nan")?,
            Value::Float(v) => write!(out, "{v:.6}")?,
        }
        out.write_char('\n')
    }
}

/// The line of a `device_print` without operands.
pub(crate) fn render_text(program: u64, grid: [u32; 3], text: &str) -> String {
    let mut out = String::new();
    let _ = write_pid(&mut out, program, grid);
    out.push(' ');
    out.push_str(text.trim());
    out.push('\n');
    out
}

fn write_pid(out: &mut String, program: u64, grid: [u32; 3]) -> fmt::Result {
    let [x, y, z] = coordinates(program, grid);
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

    fn render(kind: PrintKind, flags: u32, data: &[u8], shape: &[u32]) -> String {
        Printed { program: 5, grid: [2, 2, 2], prefix: "x", kind, flags, data, shape }.render()
    }

    #[test]
    fn scalars_have_an_empty_index() {
        assert_eq!(render(PrintKind::I32, 0, &(-7i32).to_le_bytes(), &[]), "pid (1, 0, 1) idx () x: -7\n");
        assert_eq!(render(PrintKind::I16, 1, &(-1i16).to_le_bytes(), &[]), "pid (1, 0, 1) idx () x: 0xffff\n");
        assert_eq!(
            render(PrintKind::F32, 0x200, &1.5f32.to_le_bytes(), &[]),
            "pid (1, 0, 1) idx () x: (operand 1) 1.500000\n"
        );
        assert_eq!(
            render(PrintKind::Ptr, 0, &4096u64.to_le_bytes(), &[]),
            "pid (1, 0, 1) idx () x: 0x0000000000001000\n"
        );
    }

    #[test]
    fn tiles_print_one_line_per_element() {
        let data: Vec<u8> = (0..12).collect();
        let text = render(PrintKind::U8, 0, &data, &[1, 12]);
        assert_eq!(text.lines().count(), 12);
        assert_eq!(text.lines().next(), Some("pid (1, 0, 1) idx (0,  0) x: 0"));
        assert_eq!(text.lines().last(), Some("pid (1, 0, 1) idx (0, 11) x: 11"));
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
        assert_eq!(value(PrintKind::F8E4B8, 0x40), 1.0);
        assert!(value(PrintKind::F8E4B8, 0x80).is_nan());
        assert_eq!(value(PrintKind::F8E5B16, 0x40), 1.0);
        assert_eq!(value(PrintKind::F8E4B15, 0x78), 1.0);
    }

    #[test]
    fn numbers_and_kinds_agree() {
        for (number, kind) in PrintKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(PrintKind::from_number(number as u32), Some(kind));
        }
        assert_eq!(PrintKind::from_number(19), None);
    }
}
