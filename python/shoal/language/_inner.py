"""Small functions that host code takes from Triton's `language.core`: no promise, but libraries import them."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from typing import Any

from shoal.language._compound_types import block_type
from shoal.language._constexpr import unwrap
from shoal.language._dtype import dtype, int8
from shoal.language._values import member

_tensor_member_fn: Callable[..., Any] = member


def get_primitive_bitwidth(name: str) -> int:
    """How many bits a type has."""
    return dtype(name).primitive_bitwidth


def validate_block_shape(shape: Iterable[int]) -> int:
    """The number of elements of a tile of this shape; raises ValueError if there is no such tile."""
    return block_type(int8, builtins.list(shape)).numel


def is_negative_zero(x: float) -> bool:
    """Whether this is the zero with a sign."""
    return x == 0.0 and math.copysign(1.0, x) < 0


def _unwrap_shape(shape: Any) -> list[int]:
    return [unwrap(size) for size in unwrap(shape)]


def _shape_check_impl(shape: Any) -> list[int]:
    sizes = _unwrap_shape(shape)
    validate_block_shape(sizes)
    return sizes


def _unwrap_iterable(x: Any) -> Any:
    if len(x) == 1:
        try:
            iter(x[0])
        except TypeError:
            return x
        return x[0]
    return x
