"""What of an argument is compiled in, by Triton's rules and in its words: a type, and what is known of the value."""

from __future__ import annotations

from typing import Any

from shoal.language.core import constexpr, dtype
from shoal.runtime.callable import JITCallable
from shoal.tools.tensor_descriptor import TensorDescriptor
from shoal.triton._utils import canonicalize_dtype, canonicalize_ptr_dtype

_CONSTANT = "constexpr"


def _integer(backend: Any, arg: int, specialize: bool, align: bool) -> tuple[str, Any]:
    if specialize and arg == 1:
        return _CONSTANT, 1
    if not -(2**63) <= arg < 2**64:
        raise OverflowError(f"the integer {arg} does not fit in 64 bits")
    ty = "i32" if -(2**31) <= arg < 2**31 else "i64" if arg < 2**63 else "u64"
    return ty, backend.get_int_specialization(arg, align=align) if specialize else None


def native_specialize_impl(
    backend: Any, arg: Any, is_const: bool, specialize_value: bool, align: bool
) -> tuple[Any, Any]:
    """The type of an argument and what is known of its value."""
    if arg is None:
        return _CONSTANT, None
    if isinstance(arg, bool):
        return "u1", None
    if isinstance(arg, int):
        return _integer(backend, arg, specialize_value, align)
    if isinstance(arg, float):
        return "fp32", None
    if isinstance(arg, JITCallable):
        return _CONSTANT, arg.cache_key
    if isinstance(arg, (constexpr, dtype)):
        return _CONSTANT, arg
    if isinstance(arg, TensorDescriptor):
        return f"tensordesc<{canonicalize_dtype(arg.base.dtype)}{list(arg.block_shape)}>", None
    if hasattr(arg, "data_ptr"):
        key = backend.get_tensor_specialization(arg, align=align) if specialize_value else None
        return canonicalize_ptr_dtype(arg.dtype, is_const), key
    if isinstance(arg, tuple):
        parts = [native_specialize_impl(backend, item, is_const, specialize_value, align) for item in arg]
        types, keys = [part[0] for part in parts], [part[1] for part in parts]
        make = type(arg)._make if hasattr(arg, "_fields") else tuple
        return make(types), make(keys)
    raise TypeError(f"failed to specialize argument of type: {type(arg).__name__}")
