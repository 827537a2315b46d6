"""Reductions, scans, sorting and activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.language import _dtype
from shoal.language._host import library, operation
from shoal.language._tiles import (
    cdiv,
    flip,
    interleave,
    next_power_of_2,
    ravel,
    squeeze,
    swizzle2d,
    unsqueeze,
    zeros,
    zeros_like,
)
from shoal.language._values import Value, member, tensor

__all__ = [
    "argmax",
    "argmin",
    "associative_scan",
    "bitonic_merge",
    "cdiv",
    "cumprod",
    "cumsum",
    "flip",
    "histogram",
    "interleave",
    "map_elementwise",
    "max",
    "min",
    "next_power_of_2",
    "ravel",
    "reduce",
    "reduce_or",
    "sigmoid",
    "softmax",
    "sort",
    "squeeze",
    "sum",
    "swizzle2d",
    "topk",
    "unsqueeze",
    "xor_sum",
    "zeros",
    "zeros_like",
]


@member
@operation
def reduce(
    input: tensor | Sequence[tensor], axis: int | None, combine_fn: Callable[..., Any], keep_dims: bool = False
) -> Any:
    """Combines all elements along an axis with a function of the language, which is associative."""


@member
@library
def sum(input: tensor, axis: int | None = None, keep_dims: bool = False, dtype: _dtype.dtype | None = None) -> tensor:
    """The sum along an axis. Integers are added in at least 32 bits."""


@member
@library
def max(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:
    """The greatest element along an axis, and where it is if asked for."""


@member
@library
def min(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:
    """The least element along an axis, and where it is if asked for."""


@member
@library
def argmax(input: tensor, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """Where the greatest element along an axis is."""


@member
@library
def argmin(input: tensor, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """Where the least element along an axis is."""


@member
@library
def xor_sum(input: tensor, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """The exclusive or of integers along an axis."""


@member
@library
def reduce_or(input: tensor, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """The bitwise or of integers along an axis."""


@member
@operation
def associative_scan(
    input: tensor | Sequence[tensor], axis: int, combine_fn: Callable[..., Any], reverse: bool = False
) -> Any:
    """Combines each element along an axis with all before it (after it, if `reverse`)."""


@member
@library
def cumsum(input: tensor, axis: int = 0, reverse: bool = False, dtype: _dtype.dtype | None = None) -> tensor:
    """The sums of all prefixes along an axis."""


@member
@library
def cumprod(input: tensor, axis: int = 0, reverse: bool = False, dtype: _dtype.dtype | None = None) -> tensor:
    """The products of all prefixes along an axis."""


@member
@operation
def histogram(input: tensor, num_bins: int, mask: Value | None = None) -> tensor:
    """How often each of the integers below `num_bins` occurs."""


@operation
def map_elementwise(scalar_fn: Callable[..., Any], *args: tensor, pack: int = 1) -> Any:
    """Runs a function of the language, control flow included, on each element."""


@member
@library
def sort(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """The elements along a dimension in order; the last dimension if none is named."""


@library
def bitonic_merge(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """Sorts elements that rise and then fall along a dimension."""


@member
@library
def topk(x: tensor, k: int, dim: int | None = None, descending: bool = True) -> tensor:
    """The k greatest (or least) elements along a dimension, in order."""


@member
@library
def sigmoid(x: tensor) -> tensor:
    """1 / (1 + exp(-x))"""


@member
@library
def softmax(x: tensor, dim: int | None = None, keep_dims: bool = False, ieee_rounding: bool = False) -> tensor:
    """The softmax along a dimension; the first one if none is named."""
