//! NVSHMEM's device functions by their symbols, as kernels call them that bring declarations of their own
//! (`extern_elementwise` with `"nvshmemx_putmem_block"`). Addresses are 64-bit integers there.

use shoal_ir::types::{Elem, Ptr, Scalar, Type};

use crate::builtin::{self, Builtin, BuiltinContext};
use crate::lower_error::LowerResult;
use crate::semantic::operand;
use crate::value::{Access, Dtype, Value};

/// The function that a symbol stands for, if it is one of these.
pub(crate) fn of_symbol(symbol: &str) -> Option<&'static Builtin> {
    let name = symbol.strip_prefix("nvshmemx_").or_else(|| symbol.strip_prefix("nvshmem_"))?;
    let name = match name {
        "ptr" => "remote_ptr",
        "mc_ptr" => "remote_mc_ptr",
        other => other,
    };
    builtin::find(&format!("libshmem_device.{name}"))
}

/// Calls it with addresses as pointers; what gives nothing gives 0.
pub(crate) fn call_symbol(
    l: &mut dyn BuiltinContext<'_>,
    function: &Builtin,
    args: &[Value],
    result: Elem,
) -> LowerResult<Value> {
    let mut given = Vec::with_capacity(args.len());
    for (at, value) in args.iter().enumerate() {
        given.push(match pointee(function.name, at) {
            Some(element) => {
                let pointer = Dtype { ty: Type::Elem(Elem::Ptr(Ptr::global(element))), access: Access::ReadWrite };
                l.builtin_call("cast", vec![value.clone(), Value::Dtype(pointer), Value::NONE, Value::bool(true)])?
            }
            None => value.clone(),
        });
    }
    match l.builtin_call(function.name, given)? {
        Value::Tensor(found) => {
            let ty = Dtype { ty: Type::Elem(result), access: Access::ReadWrite };
            l.builtin_call("cast", vec![Value::Tensor(found), Value::Dtype(ty)])
        }
        _ => {
            let e = l.emit();
            let ty = result.scalar().unwrap_or(Scalar::I32);
            Ok(operand::constant(e, operand::Number::Int(0), ty).into())
        }
    }
}

/// What an argument points to, if it is an address.
fn pointee(function: &str, argument: usize) -> Option<Scalar> {
    let name = function.rsplit('.').next().unwrap_or(function);
    match (name, argument) {
        ("signal_op" | "signal_wait_until", 0) => Some(Scalar::U64),
        ("int_p", 0) => Some(Scalar::I32),
        ("remote_ptr", 0) | ("remote_mc_ptr", 1) => Some(Scalar::I8),
        (name, 3) if name.starts_with("putmem_signal") => Some(Scalar::U64),
        (name, 0 | 1) if name.starts_with("putmem") || name.starts_with("getmem") => Some(Scalar::I8),
        (name, 1 | 2) if name.starts_with("broadcastmem") || name.starts_with("fcollectmem") => Some(Scalar::I8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_stand_for_functions() {
        let name = |symbol| of_symbol(symbol).map(|function| function.name);
        assert_eq!(name("nvshmemx_putmem_nbi_block"), Some("libshmem_device.putmem_nbi_block"));
        assert_eq!(name("nvshmem_my_pe"), Some("libshmem_device.my_pe"));
        assert_eq!(name("nvshmem_ptr"), Some("libshmem_device.remote_ptr"));
        assert_eq!(name("nvshmem_magic"), None);
        assert_eq!(name("my_pe"), None);
    }
}
