//! Histograms.

use shoal_ir::OpKind;
use shoal_ir::types::{Scalar, Type};

use super::operand::{Operand, number_type, to_tensor};
use super::{broadcast, memory};
use crate::builtin::{Args, Builtin, BuiltinContext, not_a_power_of_two};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Tensor, Value};

/// How often each of `0..bins` occurs among the (unmasked) elements.
pub(crate) fn histogram(e: &mut Emit<'_>, x: &Tensor, bins: u32, mask: Option<&Operand>) -> LowerResult<Tensor> {
    if x.shape().len() != 1 {
        return Err(e
            .error(format!("`histogram` takes a tile of one dimension, not `{}`", x.type_name()))
            .help("flatten it with `tl.ravel`")
            .into());
    }
    if !matches!(number_type(x), Some(Scalar::I32 | Scalar::U32)) {
        return Err(e
            .error(format!("`histogram` takes 32-bit integers, not `{}`", x.type_name()))
            .help("cast with `.to(tl.int32)`")
            .into());
    }
    let mut operands = vec![x.value];
    if let Some(mask) = mask {
        let mask = memory::mask_of(e, mask)?;
        operands.push(broadcast::to_shape(e, &mask, x.shape())?.value);
    }
    let value = e.b().value_as(OpKind::Histogram, &operands, Type::tile(Scalar::I32, &[bins]));
    Ok(e.tensor(value))
}

fn run_histogram(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let x = to_tensor(e, a.value("input"))?;
    let bins = a.int("num_bins")?;
    let most = shoal_ir::types::MAX_TILE_ELEMENTS;
    let Some(bins) = u32::try_from(bins).ok().filter(|b| b.is_power_of_two() && u64::from(*b) <= most) else {
        return Err(not_a_power_of_two(a.span_of("num_bins"), "the number of bins", bins));
    };
    let mask = a.optional("mask").map(|v| Operand::new(e, v)).transpose()?;
    histogram(e, &x, bins, mask.as_ref()).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] =
    &[Builtin::kernel("histogram", "input, num_bins: const, mask=None", run_histogram)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, type_of};

    #[test]
    fn bins_are_counted_in_int32() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::U32, &[64]);
        let mask = Operand::from(s.param(Scalar::I1, &[64]));
        assert_eq!(type_of(&histogram(&mut s.emit, &x, 16, Some(&mask)).unwrap()), "i32[16]");
        let flat = s.param(Scalar::I8, &[64]);
        let square = s.param(Scalar::I32, &[8, 8]);
        let e = &mut s.emit;
        assert_eq!(message(histogram(e, &flat, 16, None)), "`histogram` takes 32-bit integers, not `i8[64]`");
        assert_eq!(
            message(histogram(e, &square, 16, None)),
            "`histogram` takes a tile of one dimension, not `i32[8, 8]`"
        );
        s.verify();
    }
}
