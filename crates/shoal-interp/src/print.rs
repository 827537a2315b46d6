//! What kernels print: one line for each element, with the program's place and the element's.

use shoal_ir::Elem;
use shoal_ir::numeric::Const;

use crate::program::{Program, Site, World};
use crate::shape::index_of;

/// How numbers are written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Radix {
    Decimal,
    /// All digits of the type's width.
    Hex,
}

pub(crate) fn print<'p>(program: &Program<'p>, world: &mut World<'p, '_>, site: Site<'p>, prefix: &str, radix: Radix) {
    let pid = list(&program.id);
    let prefix = label(prefix);
    if site.operand_count() == 0 {
        (world.print)(format!("pid {pid} idx () {prefix}").trim_end().to_string());
    }
    for (number, &operand) in site.op.operands().iter().enumerate() {
        let ty = site.ty(number);
        let Some(elem) = ty.elem() else { continue };
        // Several operands share a prefix, so each says which it is.
        let which = if site.operand_count() > 1 { format!("(operand {number}) ") } else { String::new() };
        for (flat, &bits) in program.val(operand).bits().iter().enumerate() {
            let idx = list(&index_of(flat, ty.shape()));
            (world.print)(format!("pid {pid} idx {idx} {prefix}{which}{}", number_text(elem, bits, radix)));
        }
    }
}

fn list(numbers: &[u32]) -> String {
    format!("({})", numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

/// The prefix, with one colon after it unless it is empty.
fn label(prefix: &str) -> String {
    match prefix.trim().trim_end_matches(':') {
        "" => String::new(),
        prefix => format!("{prefix}: "),
    }
}

/// An element: integers in decimal, floats with six decimals, addresses in hexadecimal.
fn number_text(elem: Elem, bits: u64, radix: Radix) -> String {
    let hex = |bits: u64, width: u32| format!("0x{bits:0digits$x}", digits = width.div_ceil(4) as usize);
    match (elem, radix) {
        (Elem::Ptr(_), _) => hex(bits, 64),
        (Elem::Scalar(ty), Radix::Hex) => hex(bits, ty.bits()),
        (Elem::Scalar(ty), Radix::Decimal) => {
            let value = Const::from_bits(ty, bits);
            match value.as_int() {
                Some(int) => int.to_string(),
                None if value.as_f64().is_nan() => "nan".into(),
                None => format!("{:.6}", value.as_f64()),
            }
        }
    }
}
