//! Code from elsewhere, applied to every element: target assembly and functions of user bitcode.

use shoal_ir::OpKind;
use shoal_ir::op::{ExternFn, InlineAsm};
use shoal_ir::types::{Elem, Type};

use super::operand::{elem, to_tensor};
use super::{broadcast, libshmem, ptx};
use crate::builtin::{Args, Builtin, BuiltinContext};
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::{Const, Dtype, Tensor, Value};

/// Target assembly on tiles of one shape; one result for each type.
pub(crate) fn assembly(
    e: &mut Emit<'_>,
    code: InlineAsm,
    args: &[Tensor],
    results: &[Elem],
) -> LowerResult<Vec<Tensor>> {
    if ptx::is_ptx(&code.asm) {
        if e.options.target.nvptx().is_none() {
            return ptx::lower(e, &code, args, results);
        }
        // What has no effects stays what its author wrote.
        let is_kept = code.pure && !args.is_empty();
        if !is_kept && let Some(results) = ptx::lower_whole(e, &code, args, results) {
            return Ok(results);
        }
    }
    let args = broadcast::all(e, args)?;
    let shape = args.first().map_or(&[][..], |t| t.shape()).to_vec();
    let count: u64 = shape.iter().map(|&d| u64::from(d)).product();
    if !count.is_multiple_of(u64::from(code.pack)) {
        return Err(e
            .error(format!("{} elements cannot be taken {} at a time", count, code.pack))
            .help("`pack` must divide the number of elements")
            .into());
    }
    let operands: Vec<_> = args.iter().map(|t| t.value).collect();
    let types: Vec<Type> = results.iter().map(|&elem| Type::tile(elem, &shape)).collect();
    let op = e.b().op(OpKind::InlineAsm(Box::new(code)), operands, types, []);
    let results = e.func.op(op).results().to_vec();
    Ok(results.into_iter().map(|v| e.tensor(v)).collect())
}

/// One of the functions a name stands for, chosen by the argument types.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Overload {
    /// The types it takes.
    pub(crate) params: Vec<Elem>,
    /// Its symbol.
    pub(crate) symbol: String,
    /// The type it returns.
    pub(crate) result: Elem,
}

/// A function of user bitcode on tiles of one shape.
pub(crate) fn external(
    e: &mut Emit<'_>,
    library: &str,
    args: &[Tensor],
    overloads: &[Overload],
    purity: Purity,
) -> LowerResult<Tensor> {
    let types: Vec<Elem> = args.iter().map(elem).collect();
    let Some(chosen) = overloads.iter().find(|o| o.params == types) else {
        return Err(no_overload(e, args, overloads));
    };
    let args = broadcast::all(e, args)?;
    let shape = args.first().map_or(&[][..], |t| t.shape()).to_vec();
    let operands: Vec<_> = args.iter().map(|t| t.value).collect();
    let function =
        ExternFn { symbol: chosen.symbol.clone(), library: library.to_owned(), pure: purity == Purity::Pure };
    let value = e.b().value_as(OpKind::Extern(Box::new(function)), &operands, Type::tile(chosen.result, &shape));
    Ok(e.tensor(value))
}

/// Whether foreign code has effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purity {
    /// It may be moved, merged and removed.
    Pure,
    /// It stays where it is.
    Effects,
}

fn no_overload(e: &Emit<'_>, args: &[Tensor], overloads: &[Overload]) -> LowerError {
    let given: Vec<String> = args.iter().map(Tensor::type_name).collect();
    let known: Vec<String> = overloads
        .iter()
        .map(|o| format!("({})", o.params.iter().map(|&p| super::cast::name(p)).collect::<Vec<_>>().join(", ")))
        .collect();
    e.error(format!("no function takes ({})", given.join(", ")))
        .help(format!("cast the arguments to one of: {}", known.join(", ")))
        .into()
}

fn purity(a: &Args) -> LowerResult<Purity> {
    Ok(if a.bool("is_pure")? { Purity::Pure } else { Purity::Effects })
}

fn tensors(e: &mut Emit<'_>, a: &Args) -> LowerResult<Vec<Tensor>> {
    a.sequence("args").iter().map(|v| to_tensor(e, v)).collect()
}

fn elem_of(a: &Args, name: &str, value: &Value) -> LowerResult<Elem> {
    match value {
        Value::Dtype(Dtype { ty: Type::Elem(elem), .. }) => Ok(*elem),
        _ => Err(a.wrong(name, "a dtype such as `tl.float32`, or a tuple of them")),
    }
}

fn run_inline_asm(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let pack = match u32::try_from(a.int("pack")?) {
        Ok(pack) if pack > 0 => pack,
        _ => return Err(a.wrong("pack", "a positive number of elements")),
    };
    let results = a.sequence("dtype").iter().map(|v| elem_of(a, "dtype", v)).collect::<LowerResult<Vec<_>>>()?;
    if results.is_empty() {
        return Err(a.wrong("dtype", "the type of at least one result"));
    }
    let code = InlineAsm {
        asm: a.str("asm")?.to_owned(),
        constraints: a.str("constraints")?.to_owned(),
        pack,
        pure: purity(a)? == Purity::Pure,
    };
    let args = tensors(e, a)?;
    let mut results = assembly(e, code, &args, &results)?;
    match a.value("dtype") {
        Value::Tuple(_) => Ok(Value::tuple(results.into_iter().map(Value::from).collect())),
        _ => Ok(results.remove(0).into()),
    }
}

/// The overloads in a dictionary from argument types to symbol and result type.
fn overloads(a: &Args) -> LowerResult<Vec<Overload>> {
    let name = "arg_type_symbol_dict";
    let wrong = || a.wrong(name, "a dictionary such as `{(tl.float32,): (\"symbol\", tl.float32)}`");
    let pair = |v: &Value| match v {
        Value::Tuple(t) if t.items.len() == 2 => Ok((t.items[0].clone(), t.items[1].clone())),
        _ => Err(wrong()),
    };
    let Value::Dict(entries) = a.value(name) else { return Err(wrong()) };
    entries
        .iter()
        .map(|(params, target)| {
            let params = match params {
                Value::Tuple(t) => t.items.iter().map(|v| elem_of(a, name, v)).collect::<LowerResult<Vec<_>>>()?,
                one => vec![elem_of(a, name, one)?],
            };
            let (symbol, result) = pair(target)?;
            let Value::Const(Const::Str(symbol)) = symbol else { return Err(wrong()) };
            Ok(Overload { params, symbol: symbol.to_string(), result: elem_of(a, name, &result)? })
        })
        .collect()
}

fn run_extern(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let overloads = overloads(a)?;
    let args = tensors(e, a)?;
    let types: Vec<Elem> = args.iter().map(elem).collect();
    // NVSHMEM's functions have a meaning wherever there is no device library to link.
    if e.options.target.nvptx().is_none()
        && let Some(chosen) = overloads.iter().find(|o| o.params == types)
        && let Some(function) = libshmem::of_symbol(&chosen.symbol)
    {
        let result = chosen.result;
        return libshmem::call_symbol(l, function, &a.sequence("args"), result);
    }
    external(e, a.str("lib_path")?, &args, &overloads, purity(a)?).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel(
        "inline_asm_elementwise",
        "asm: const, constraints: const, args, dtype: const, is_pure: const, pack: const",
        run_inline_asm,
    ),
    Builtin::kernel(
        "extern_elementwise",
        "lib_name: const, lib_path: const, args, arg_type_symbol_dict: const, is_pure: const",
        run_extern,
    ),
    Builtin::kernel(
        "extern_call",
        "lib_name: const, lib_path: const, args, arg_type_symbol_dict: const, is_pure: const",
        run_extern,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, type_of};
    use shoal_ir::Scalar;

    #[test]
    fn assembly_takes_tiles_of_one_shape() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::I32, &[8]);
        let y = s.param(Scalar::I32, &[]);
        let code = |pack| InlineAsm { asm: "nop".into(), constraints: "=r,r,r".into(), pack, pure: true };
        let e = &mut s.emit;
        let results = assembly(e, code(4), &[x.clone(), y], &[Scalar::F32.into(), Scalar::I8.into()]).unwrap();
        assert_eq!(results.iter().map(type_of).collect::<Vec<_>>(), ["fp32[8]", "i8[8]"]);
        assert_eq!(
            message(assembly(e, code(3), &[x], &[Scalar::F32.into()])),
            "8 elements cannot be taken 3 at a time"
        );
        s.verify();
    }

    #[test]
    fn overloads_are_chosen_by_type() {
        let mut s = Sandbox::new();
        let x = s.param(Scalar::F32, &[8]);
        let h = s.param(Scalar::F16, &[8]);
        let known = [Overload { params: vec![Scalar::F32.into()], symbol: "f".into(), result: Scalar::I32.into() }];
        let e = &mut s.emit;
        assert_eq!(type_of(&external(e, "f.bc", &[x], &known, Purity::Pure).unwrap()), "i32[8]");
        assert_eq!(message(external(e, "f.bc", &[h], &known, Purity::Pure)), "no function takes (fp16[8])");
        s.verify();
    }
}
