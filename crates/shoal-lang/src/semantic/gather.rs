//! Picking elements along a dimension.

use shoal_ir::OpKind;
use shoal_ir::types::Scalar;

use super::operand::{number_type, tensor_like, to_tensor};
use super::{cast, shape};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Tensor, Value};

/// `src[…, index[…, i, …], …]` along an axis, at the index's shape.
pub(crate) fn gather(e: &mut Emit<'_>, src: &Tensor, index: &Tensor, axis: i128) -> LowerResult<Tensor> {
    let index = &match number_type(index) {
        // Truth values pick element 0 or 1.
        Some(Scalar::I1) => cast::to_number(e, index, Scalar::I32)?,
        Some(ty) if ty.is_int() => index.clone(),
        _ => {
            return Err(e
                .error(format!("the index of `gather` is made of integers, not `{}`", index.type_name()))
                .help("cast it with `.to(tl.int32)`")
                .into());
        }
    };
    let (from, to) = (src.shape(), index.shape());
    if from.len() != to.len() || from.is_empty() {
        return Err(e
            .error("the source and the index of `gather` are tiles of the same rank")
            .label(format!("`{}` and `{}`", src.type_name(), index.type_name()))
            .help("add dimensions with `x[:, None]` or `x[None, :]`")
            .into());
    }
    let axis = shape::axis(e, axis, from.len())?;
    if let Some(dim) = (0..from.len()).find(|&d| d != axis && from[d] != to[d]) {
        return Err(e
            .error(format!("dimension {dim} of the index is {}, but the source has {}", to[dim], from[dim]))
            .help(format!("all dimensions but the indexed one ({axis}) must agree; use `tl.broadcast_to`"))
            .into());
    }
    let value = e.b().value(OpKind::Gather { axis: axis as u8 }, &[src.value, index.value]);
    Ok(tensor_like(e, value, src))
}

fn run_gather(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let src = to_tensor(e, a.value("src"))?;
    let index = to_tensor(e, a.value("index"))?;
    gather(e, &src, &index, a.int("axis")?).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[Builtin::kernel("gather", "src, index, axis: const", run_gather)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, type_of};

    #[test]
    fn the_result_has_the_shape_of_the_index() {
        let mut s = Sandbox::new();
        let src = s.param(Scalar::F16, &[4, 8]);
        let index = s.param(Scalar::I32, &[4, 2]);
        let wrong = s.param(Scalar::I32, &[2, 8]);
        let flat = s.param(Scalar::I32, &[8]);
        let e = &mut s.emit;
        assert_eq!(type_of(&gather(e, &src, &index, -1).unwrap()), "fp16[4, 2]");
        assert_eq!(message(gather(e, &src, &wrong, 1)), "dimension 0 of the index is 2, but the source has 4");
        assert_eq!(
            message(gather(e, &src, &flat, 0)),
            "the source and the index of `gather` are tiles of the same rank"
        );
        assert_eq!(message(gather(e, &src, &src, 0)), "the index of `gather` is made of integers, not `fp16[4, 8]`");
        s.verify();
    }
}
