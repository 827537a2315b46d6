//! What kernels print: one line for each element, with the program's place and the element's. Devices print the same
//! lines, so a test may compare them.

use shoal_ir::Elem;
use shoal_ir::numeric::Const;

use crate::program::{Program, Site, World};
use crate::shape::index_of;

/// How integers are written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Radix {
    Decimal,
    /// All digits of the bytes they take.
    Hex,
}

pub(crate) fn print<'p>(program: &Program<'p>, world: &mut World<'p, '_>, site: Site<'p>, prefix: &str, radix: Radix) {
    let [x, y, z] = program.id;
    let pid = format!("pid ({x}, {y}, {z})");
    if site.operand_count() == 0 {
        world.host.print(format!("{pid} {}", prefix.trim()));
    }
    let label = label(prefix);
    for (number, &operand) in site.op.operands().iter().enumerate() {
        let ty = site.ty(number);
        let Some(elem) = ty.elem() else { continue };
        // Several operands share a prefix, so each says which it is.
        let which = if site.operand_count() > 1 { format!("(operand {number}) ") } else { String::new() };
        for (flat, &bits) in program.val(operand).bits().iter().enumerate() {
            let index = index_text(flat, ty.shape());
            world.host.print(format!("{pid} idx ({index}) {label}{which}{}", number_text(elem, bits, radix)));
        }
    }
}

/// Each place as wide as the last one along its dimension, so that lines stand below each other.
fn index_text(flat: usize, shape: &[u32]) -> String {
    let place = |(i, &size): (u32, &u32)| {
        let width = (size - 1).checked_ilog10().unwrap_or(0) as usize + 1;
        format!("{i:width$}")
    };
    index_of(flat, shape).into_iter().zip(shape).map(place).collect::<Vec<_>>().join(", ")
}

/// The prefix, with one colon after it unless it is empty.
fn label(prefix: &str) -> String {
    match prefix.trim().trim_end_matches(':') {
        "" => String::new(),
        prefix => format!("{prefix}: "),
    }
}

/// Integers in decimal or hexadecimal, floats with six decimals, addresses in hexadecimal.
fn number_text(elem: Elem, bits: u64, radix: Radix) -> String {
    let hex = |bits: u64, bytes: u32| format!("0x{bits:0digits$x}", digits = 2 * bytes as usize);
    let Elem::Scalar(ty) = elem else { return hex(bits, 8) };
    let value = Const::from_bits(ty, bits);
    match value.as_int() {
        Some(_) if radix == Radix::Hex => hex(bits, ty.bytes()),
        Some(int) => int.to_string(),
        None if value.as_f64().is_nan() => "nan".into(),
        None => format!("{:.6}", value.as_f64()),
    }
}
