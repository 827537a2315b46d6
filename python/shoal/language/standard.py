"""Reductions, scans, sorting and activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
from shoal.language._values import Bool, Int, Type, Value, member, tensor

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
    input: tensor | Sequence[tensor], axis: Int | None, combine_fn: Callable[..., Any], keep_dims: Bool = False
) -> Any:
    """Combines all elements along an axis with a function of the language, which is associative."""


@member
@library
def sum(input: tensor, axis: Int | None = None, keep_dims: Bool = False, dtype: Type | None = None) -> tensor:
    """The sum along an axis. Integers are added in at least 32 bits."""


@member
@library
def max(
    input: tensor,
    axis: Int | None = None,
    return_indices: Bool = False,
    return_indices_tie_break_left: Bool = True,
    keep_dims: Bool = False,
) -> Any:
    """The greatest element along an axis, and where it is if asked for."""


@member
@library
def min(
    input: tensor,
    axis: Int | None = None,
    return_indices: Bool = False,
    return_indices_tie_break_left: Bool = True,
    keep_dims: Bool = False,
) -> Any:
    """The least element along an axis, and where it is if asked for."""


@member
@library
def argmax(input: tensor, axis: Int | None, tie_break_left: Bool = True, keep_dims: Bool = False) -> tensor:
    """Where the greatest element along an axis is."""


@member
@library
def argmin(input: tensor, axis: Int | None, tie_break_left: Bool = True, keep_dims: Bool = False) -> tensor:
    """Where the least element along an axis is."""


@member
@library
def xor_sum(input: tensor, axis: Int | None = None, keep_dims: Bool = False) -> tensor:
    """The exclusive or of integers along an axis."""


@member
@library
def reduce_or(input: tensor, axis: Int | None = None, keep_dims: Bool = False) -> tensor:
    """The bitwise or of integers along an axis."""


@member
@operation
def associative_scan(
    input: tensor | Sequence[tensor], axis: Int, combine_fn: Callable[..., Any], reverse: Bool = False
) -> Any:
    """Combines each element along an axis with all before it (after it, if `reverse`)."""


@member
@library
def cumsum(input: tensor, axis: Int = 0, reverse: Bool = False, dtype: Type | None = None) -> tensor:
    """The sums of all prefixes along an axis."""


@member
@library
def cumprod(input: tensor, axis: Int = 0, reverse: Bool = False, dtype: Type | None = None) -> tensor:
    """The products of all prefixes along an axis."""


@member
@operation
def histogram(input: tensor, num_bins: Int, mask: Value | None = None) -> tensor:
    """How often each of the integers below `num_bins` occurs."""


@operation
def map_elementwise(scalar_fn: Callable[..., Any], *args: tensor, pack: Int = 1) -> Any:
    """Runs a function of the language, control flow included, on each element."""


@member
@library
def sort(x: tensor, dim: Int | None = None, descending: Bool = False) -> tensor:
    """The elements along a dimension in order; the last dimension if none is named."""


@library
def bitonic_merge(x: tensor, dim: Int | None = None, descending: Bool = False) -> tensor:
    """Sorts elements that rise and then fall along a dimension."""


@member
@library
def topk(x: tensor, k: Int, dim: Int | None = None, descending: Bool = True) -> tensor:
    """The k greatest (or least) elements along a dimension, in order."""


@member
@library
def sigmoid(x: tensor) -> tensor:
    """1 / (1 + exp(-x))"""


@member
@library
def softmax(x: tensor, dim: Int | None = None, keep_dims: Bool = False, ieee_rounding: Bool = False) -> tensor:
    """The softmax along a dimension; the first one if none is named."""


def _helper(name: str) -> Callable[..., Any]:
    def helper(*args: Any) -> Any:
        """A helper of the functions above: no promise, but kernels of others import it."""

    helper.__name__ = helper.__qualname__ = name
    return library(helper)


_log2 = _helper("_log2")
_is_power_of_two = _helper("_is_power_of_two")
_sum_combine = _helper("_sum_combine")
_prod_combine = _helper("_prod_combine")
_xor_combine = _helper("_xor_combine")
_or_combine = _helper("_or_combine")
_elementwise_max = _helper("_elementwise_max")
_elementwise_min = _helper("_elementwise_min")
_argmax_combine = _helper("_argmax_combine")
_argmin_combine = _helper("_argmin_combine")
_argmax_combine_tie_break_left = _helper("_argmax_combine_tie_break_left")
_argmax_combine_tie_break_fast = _helper("_argmax_combine_tie_break_fast")
_argmin_combine_tie_break_left = _helper("_argmin_combine_tie_break_left")
_argmin_combine_tie_break_fast = _helper("_argmin_combine_tie_break_fast")
_indicator = _helper("_indicator")
_compare_and_swap = _helper("_compare_and_swap")
_bitonic_merge_hypercube = _helper("_bitonic_merge_hypercube")
_bitonic_merge = _helper("_bitonic_merge")
sort_impl = _helper("_sort_impl")
_get_flip_dim = _helper("_get_flip_dim")
_get_int_dtype = _helper("_get_int_dtype")
_pick_sum_dtype = _helper("_pick_sum_dtype")
