"""How types are written: in signatures (`i32`, `*fp32`), in annotations and by people (`int32`, `float32`)."""

from __future__ import annotations

import re
from typing import Any

from shoal.language._compound_types import block_type, pointer_type, tensor_descriptor_type, tuple_type
from shoal.language._constexpr import constexpr_type
from shoal.language._dtype import dtype, int1, int32, int64

_NUMBERS = [dtype(name) for name in (*dtype.SINT_TYPES, *dtype.UINT_TYPES, *dtype.FP_TYPES)]

# Every way to write a type of numbers.
DTYPES: dict[str, dtype] = {name: ty for ty in _NUMBERS for name in (ty.codegen_name(), ty.name, ty.mangle())}
DTYPES |= {"bool": int1, "i1": int1, "u1": int1, "uint1": int1}

_POINTERS = re.compile(r"(?:\*k?)*")


def short_name(text: str) -> str | None:
    """What signatures call a type: `i32` for `int32`, `*fp32` for `*float32`. None for what is no such type."""
    pointers = _POINTERS.match(text)[0]  # type: ignore[index]
    found = DTYPES.get(text[len(pointers) :])
    return None if found is None else pointers + found.mangle()


def written(ty: dtype) -> str:
    """How the compiler writes a type of numbers or a pointer: `fp32`, `int32`, `*fp32`, `*kfp32`."""
    if isinstance(ty, pointer_type):
        return ("*k" if ty.const else "*") + written(ty.element_ty)
    return ty.name


def str_to_ty(name: Any, c: Any = None) -> Any:
    """The type that a signature's string names: `*fp32`, `i32`, `tensordesc<fp16[128, 64]>`, `constexpr`."""
    if isinstance(name, tuple):
        return tuple_type([str_to_ty(item, c) for item in name], getattr(name, "_fields", None))
    if name.startswith("*"):
        const = name.startswith("*k")
        return pointer_type(str_to_ty(name[2 if const else 1 :], c), const=const)
    if name.startswith("tensordesc"):
        element, shape = name[name.index("<") + 1 :].rstrip(">").split("[", maxsplit=1)
        extents = [int(extent) for extent in shape.split("]")[0].split(",")]
        tile = block_type(str_to_ty(element), extents)
        return tensor_descriptor_type(tile, tuple_type([int32] * len(extents)), tuple_type([int64] * len(extents)))
    if name.startswith("constexpr"):
        return constexpr_type(c)
    return int1 if name == "B" else DTYPES[name]
