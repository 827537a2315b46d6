//! `map_elementwise`: a scalar function, with control flow of its own, on every element.

use shoal_ir::OpKind;
use shoal_ir::types::{Elem, Type};

use super::broadcast;
use super::operand::{elem, to_tensor};
use super::reduce::{enter, leave, open};
use super::words::counted;
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Tensor, Value};

/// The element types of the results, from the scalars the function returned: `pack` for each result.
fn result_elems(e: &Emit<'_>, function: &str, returned: &[Tensor], pack: usize) -> LowerResult<Vec<Elem>> {
    if returned.is_empty() || !returned.len().is_multiple_of(pack) {
        return Err(e
            .error(format!(
                "`{function}` returns {} for {}",
                counted(returned.len(), "value"),
                counted(pack, "element")
            ))
            .help(format!("with pack={pack} it returns {pack} values for each result"))
            .into());
    }
    if let Some(tile) = returned.iter().find(|t| !t.is_scalar()) {
        return Err(e.lower_error(format!("`{function}` must return scalars, not `{}`", tile.type_name())));
    }
    returned
        .chunks(pack)
        .map(|group| match group.iter().find(|t| elem(t) != elem(&group[0])) {
            None => Ok(elem(&group[0])),
            Some(other) => Err(e
                .error(format!(
                    "`{function}` returns `{}` and `{}` for one result",
                    group[0].type_name(),
                    other.type_name()
                ))
                .help("all elements of a result have one type")
                .into()),
        })
        .collect()
}

fn returned_tensors(e: &mut Emit<'_>, result: &Value) -> LowerResult<Vec<Tensor>> {
    match result {
        Value::Invalid => Err(LowerError::reported()),
        Value::Tuple(t) => t.items.iter().map(|v| to_tensor(e, v)).collect(),
        one => Ok(vec![to_tensor(e, one)?]),
    }
}

fn pack_of(a: &Args, count: u64) -> LowerResult<u32> {
    match u32::try_from(a.int("pack")?) {
        Ok(pack) if pack > 0 && count.is_multiple_of(u64::from(pack)) => Ok(pack),
        _ => Err(a.wrong("pack", &format!("a positive number that divides the {count} elements"))),
    }
}

fn run_map(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let f = a.function("scalar_fn")?.clone();
    let mut inputs = Vec::new();
    for (value, _) in a.rest() {
        inputs.push(to_tensor(l.emit(), value)?);
    }
    if inputs.is_empty() {
        return Err(l.emit().lower_error("`map_elementwise` needs at least one tile"));
    }
    let inputs = broadcast::all(l.emit(), &inputs)?;
    let pack = pack_of(a, inputs[0].ty.as_tile().map_or(1, |t| t.len()))?;
    if inputs[0].is_scalar() {
        return l.inline_call(&f, inputs.into_iter().map(Value::from).collect(), a.span);
    }
    let types: Vec<Type> = inputs.iter().map(|t| Type::Elem(elem(t))).collect();
    let packed = types.iter().flat_map(|ty| std::iter::repeat_n(ty, pack as usize));
    let (region, params) = open(l.emit(), packed);
    let before = enter(l.emit(), region);
    let here = l.emit().span;
    let result = l.inline_call(&f, params.into_iter().map(Value::from).collect(), a.span);
    l.emit().span = here;
    let ended = result.and_then(|result| {
        let returned = returned_tensors(l.emit(), &result)?;
        let elems = result_elems(l.emit(), f.name(), &returned, pack as usize)?;
        let values: Vec<_> = returned.iter().map(|t| t.value).collect();
        l.emit().b().yield_(&values);
        Ok((elems, matches!(result, Value::Tuple(_))))
    });
    leave(l.emit(), before);
    let (elems, tuple) = ended?;
    let e = l.emit();
    let operands: Vec<_> = inputs.iter().map(|t| t.value).collect();
    let results: Vec<Type> = elems.into_iter().map(|elem| Type::tile(elem, inputs[0].shape())).collect();
    let op = e.b().op(OpKind::MapElementwise { pack }, operands, results, [region]);
    let mut results: Vec<Value> = e.func.op(op).results().to_vec().into_iter().map(|v| e.tensor(v).into()).collect();
    if results.len() == 1 && !tuple { Ok(results.remove(0)) } else { Ok(Value::tuple(results)) }
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] =
    &[Builtin::kernel("map_elementwise", "scalar_fn: const, *args, pack: const=1", run_map)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message};
    use shoal_ir::Scalar;

    #[test]
    fn results_come_in_packs() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[]);
        let i = s.param(Scalar::I32, &[]);
        let e = &s.emit;
        let elems = result_elems(e, "f", &[x.clone(), x.clone(), i.clone(), i.clone()], 2).unwrap();
        assert_eq!(elems, [Elem::Scalar(Scalar::F32), Elem::Scalar(Scalar::I32)]);
        assert_eq!(message(result_elems(e, "f", std::slice::from_ref(&x), 2)), "`f` returns 1 value for 2 elements");
        assert_eq!(message(result_elems(e, "f", &[x, i], 2)), "`f` returns `fp32` and `i32` for one result");
    }
}
