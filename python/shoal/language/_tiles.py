"""Making tiles, changing their shape and their type."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from shoal.language._host import library, operation
from shoal.language._values import Bool, Int, Text, Type, Value, member, tensor

Shape = Sequence[Any]


@operation
def program_id(axis: Int) -> tensor:
    """Which program of the grid this one is, along an axis (0, 1 or 2)."""


@operation
def num_programs(axis: Int) -> tensor:
    """How many programs the grid has along an axis (0, 1 or 2)."""


@operation
def arange(start: Int, end: Int) -> tensor:
    """The integers from `start` up to, not including, `end`; their number is a power of two."""


@operation
def full(shape: Shape, value: Value, dtype: Type) -> tensor:
    """A tile with the same value everywhere."""


@library
def zeros(shape: Shape, dtype: Type) -> tensor:
    """A tile of zeros."""


@library
def zeros_like(input: tensor) -> tensor:
    """A tile of zeros with the shape and type of another one."""


@operation
def to_tensor(x: Value) -> tensor:
    """A number as a value of the kernel, with the type its value needs."""


@member
@operation
def cast(input: Value, dtype: Type, fp_downcast_rounding: Text | None = None, bitcast: Bool = False) -> tensor:
    """The elements at another type.

    `fp_downcast_rounding` says how a float is rounded to a narrower one: "rtne" (to nearest, the default) or "rtz"
    (towards zero). With `bitcast` the bits stay as they are.
    """


@operation
def broadcast(input: tensor, other: tensor) -> builtins.tuple[tensor, tensor]:
    """Both tiles, spread to a common shape."""


@member
@operation
def broadcast_to(input: tensor, *shape: Any) -> tensor:
    """The tile, spread to a shape: dimensions of one element are repeated."""


@member
@operation
def expand_dims(input: tensor, axis: Int | Sequence[Int]) -> tensor:
    """The tile with new dimensions of one element at these places."""


@member
@operation
def squeeze(x: tensor, dim: Int) -> tensor:
    """The tile without a dimension, which has one element."""


@member
@operation
def unsqueeze(x: tensor, dim: Int) -> tensor:
    """The tile with a new dimension of one element."""


@member
@operation
def reshape(input: tensor, *shape: Any, can_reorder: Bool = False) -> tensor:
    """The same elements in another shape, in row-major order; in any order with `can_reorder`."""


@member
@operation
def view(input: tensor, *shape: Any) -> tensor:
    """The same elements in another shape, in any order. Better: `reshape`."""


@member
@library
def ravel(x: tensor, can_reorder: Bool = False) -> tensor:
    """All elements in one dimension."""


@member
@operation
def trans(input: tensor, *dims: Any) -> tensor:
    """The dimensions in another order; without one, the last two are exchanged."""


@member
@operation
def permute(input: tensor, *dims: Any) -> tensor:
    """The dimensions in another order."""


@operation
def cat(input: tensor, other: tensor, can_reorder: Bool = False, dim: Int = 0) -> tensor:
    """Two tiles of the same shape, one after the other along a dimension."""


@member
@operation
def join(a: tensor, b: tensor) -> tensor:
    """Two tiles side by side along a new last dimension."""


@member
@operation
def split(a: tensor) -> builtins.tuple[tensor, tensor]:
    """The two tiles along a last dimension of two elements; the inverse of `join`."""


@library
def interleave(a: tensor, b: tensor) -> tensor:
    """The elements of two tiles in turn, along the last dimension."""


@member
@library
def flip(x: tensor, dim: Int | None = None) -> tensor:
    """The elements along a dimension in reverse order."""


@member
@operation
def item(input: tensor) -> tensor:
    """The only element of a tile."""


@member
@operation
def gather(src: tensor, index: tensor, axis: Int) -> tensor:
    """The elements at these places along an axis."""


@library
def swizzle2d(i: Value, j: Value, size_i: Value, size_j: Value, size_g: Value) -> builtins.tuple[tensor, tensor]:
    """Renumbers a row-major matrix so that each group of `size_g` rows is walked column by column."""


@member
@library
def cdiv(x: Value, div: Value) -> tensor:
    """The quotient of integers, rounded up."""


@library
def next_power_of_2(n: Int) -> int:
    """The least power of two that is not below n."""
