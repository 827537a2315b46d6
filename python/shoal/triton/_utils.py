"""Small functions that host code imports from here."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from shoal.language._signature import DTYPES
from shoal.language.core import TRITON_MAX_TENSOR_NUMEL, dtype

__all__ = [
    "BITWIDTH_DICT",
    "TRITON_MAX_TENSOR_NUMEL",
    "canonicalize_dtype",
    "canonicalize_ptr_dtype",
    "get_primitive_bitwidth",
    "is_namedtuple",
    "is_power_of_two",
    "type_canonicalisation_dict",
    "validate_block_shape",
    "warn_once",
]

# The names that NumPy, torch and Triton have for types: what signatures call them.
type_canonicalisation_dict: dict[str, str] = {
    **{name: ty.mangle() for name, ty in DTYPES.items()},
    **{name: "u1" for name in ("bool", "int1", "uint1", "i1", "u1")},
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
    "half": "fp16",
    "float": "fp32",
    "double": "fp64",
    "int": "i32",
    "void": "void",
}

BITWIDTH_DICT: dict[str, int] = {f"{sign}{bits}": bits for sign in "iu" for bits in (1, 8, 16, 32, 64)}
BITWIDTH_DICT |= {name: dtype(name).primitive_bitwidth for name in [*dtype.FP_TYPES, "void"]}
BITWIDTH_DICT |= {name: BITWIDTH_DICT[short] for name, short in type_canonicalisation_dict.items()}


def canonicalize_dtype(dtype: Any) -> str:
    """The name of a type in signatures."""
    return type_canonicalisation_dict[str(dtype).split(".")[-1]]


def canonicalize_ptr_dtype(dtype: Any, is_const: bool) -> str:
    """The name of a pointer to a type in signatures."""
    return ("*k" if is_const else "*") + canonicalize_dtype(dtype)


def get_primitive_bitwidth(dtype: str) -> int:
    """How many bits a type has."""
    return BITWIDTH_DICT[dtype]


def is_power_of_two(x: int) -> bool:
    """Whether a number is a power of two."""
    return x > 0 and x & (x - 1) == 0


def validate_block_shape(shape: Any) -> int:
    """The number of elements of a tile of this shape; raises ValueError if there is no such tile."""
    from shoal.language.core import block_type, int8

    return block_type(int8, shape).numel


def is_namedtuple(val: object) -> bool:
    """Whether this is a class of named tuples."""
    return isinstance(val, type) and issubclass(val, tuple) and hasattr(val, "_fields")


@functools.cache
def warn_once(message: str) -> None:
    """Warns, the first time."""
    warnings.warn(message, UserWarning, stacklevel=2)
