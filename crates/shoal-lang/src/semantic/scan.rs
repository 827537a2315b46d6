//! Inclusive prefixes with a user's combine function.

use shoal_ir::{OpKind, Region};

use super::reduce::{Inputs, combine_region};
use super::{in_halves, shape};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Tensor, Value};

/// Where a scan begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// At the first element.
    First,
    /// At the last element.
    Last,
}

/// The prefixes along an axis.
pub(crate) fn along(e: &mut Emit<'_>, inputs: &[Tensor], axis: usize, begin: Begin, region: Region) -> Vec<Tensor> {
    let operands: Vec<_> = inputs.iter().map(|t| t.value).collect();
    let kind = OpKind::Scan { axis: axis as u8, reverse: begin == Begin::Last };
    let op = e.b().inferred(kind, &operands, &[region]);
    let results = e.func.op(op).results().to_vec();
    results.into_iter().map(|v| e.tensor(v)).collect()
}

fn run_scan(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let inputs = Inputs::new(l.emit(), "associative_scan", a.value("input"))?;
    let f = a.function("combine_fn")?.clone();
    let axis = shape::axis(l.emit(), a.int("axis")?, inputs.tensors[0].shape().len())?;
    let begin = if a.bool("reverse")? { Begin::Last } else { Begin::First };
    let region = combine_region(l, &f, &inputs.tensors, a.span)?;
    let results = match in_halves::are_needed(l.emit(), region) {
        true => in_halves::scan(l, &f, &inputs.tensors, axis, begin, a.span)?,
        false => along(l.emit(), &inputs.tensors, axis, begin, region),
    };
    Ok(inputs.results(results))
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] =
    &[Builtin::kernel("associative_scan", "input, axis: const, combine_fn: const, reverse: const=False", run_scan)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::reduce::open;
    use crate::semantic::testing::{Sandbox, type_of};
    use shoal_ir::types::{Scalar, Type};

    #[test]
    fn shapes_stay() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[4, 8]);
        let i = s.param(Scalar::I32, &[4, 8]);
        let types = [Type::scalar(Scalar::F32), Type::scalar(Scalar::I32)];
        let (region, params) = open(&mut s.emit, types.iter().chain(&types));
        let outer = std::mem::replace(&mut s.emit.region, region);
        s.emit.b().yield_(&[params[2].value, params[1].value]);
        s.emit.region = outer;
        let results = along(&mut s.emit, &[x, i], 1, Begin::Last, region);
        assert_eq!(results.iter().map(type_of).collect::<Vec<_>>(), ["fp32[4, 8]", "i32[4, 8]"]);
        s.verify();
    }
}
