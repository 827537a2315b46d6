"""Reading and writing memory, with and without other programs doing the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.language._host import operation
from shoal.language._values import Bool, Int, Text, Value, member, tensor, tensor_descriptor


@operation
def load(
    pointer: tensor,
    mask: Value | None = None,
    other: Value | None = None,
    boundary_check: Sequence[Int] = (),
    padding_option: Text = "",
    cache_modifier: Text = "",
    eviction_policy: Text = "",
    volatile: Bool = False,
) -> tensor:
    """The elements that pointers point to.

    Where `mask` is false nothing is read and the result is `other`. `boundary_check` and `padding_option` are for block
    pointers: the dimensions in which the block may reach over the edge, and what is there ("zero" or "nan").
    """


@member
@operation
def store(
    pointer: tensor,
    value: Value,
    mask: Value | None = None,
    boundary_check: Sequence[Int] = (),
    cache_modifier: Text = "",
    eviction_policy: Text = "",
) -> None:
    """Writes values to where pointers point; nothing where `mask` is false. Values are cast to the pointers' type."""


@operation
def make_block_ptr(
    base: tensor,
    shape: Sequence[Value],
    strides: Sequence[Value],
    offsets: Sequence[Value],
    block_shape: Sequence[Any],
    order: Sequence[Int],
) -> tensor:
    """A pointer to a block of a tensor in memory, for `load`, `store` and `advance`."""


@member
@operation
def advance(base: tensor, offsets: Sequence[Value]) -> tensor:
    """A block pointer, moved."""


@operation
def make_tensor_descriptor(
    base: tensor,
    shape: Sequence[Value],
    strides: Sequence[Value],
    block_shape: Sequence[Any],
    padding_option: Text = "zero",
) -> tensor_descriptor:
    """Describes a tensor in memory, to be read and written in tiles of `block_shape`. Its last stride is 1."""


@operation
def load_tensor_descriptor(desc: tensor_descriptor, offsets: Sequence[Value]) -> tensor:
    """The tile of a described tensor at these offsets."""


@operation
def store_tensor_descriptor(desc: tensor_descriptor, offsets: Sequence[Value], value: tensor) -> None:
    """Writes a tile of a described tensor at these offsets."""


@member
@operation
def atomic_add(
    pointer: tensor, val: Value, mask: Value | None = None, sem: Text | None = None, scope: Text | None = None
) -> tensor:
    """Adds to memory and gives what was there before.

    `sem` is the order towards other accesses: "acquire", "release", "acq_rel" (the default) or "relaxed". `scope` says
    who takes part: "cta", "gpu" (the default) or "sys".
    """


@member
@operation
def atomic_max(
    pointer: tensor, val: Value, mask: Value | None = None, sem: Text | None = None, scope: Text | None = None
) -> tensor:
    """Keeps the greater one in memory and gives what was there before. See `atomic_add` for `sem` and `scope`."""


@member
@operation
def atomic_min(
    pointer: tensor, val: Value, mask: Value | None = None, sem: Text | None = None, scope: Text | None = None
) -> tensor:
    """Keeps the lesser one in memory and gives what was there before. See `atomic_add` for `sem` and `scope`."""


@member
@operation
def atomic_and(
    pointer: tensor, val: Value, mask: Value | None = None, sem: Text | None = None, scope: Text | None = None
) -> tensor:
    """Bitwise and with memory; gives what was there before. See `atomic_add` for `sem` and `scope`."""


@member
@operation
def atomic_or(
    pointer: tensor, val: Value, mask: Value | None = None, sem: Text | None = None, scope: Text | None = None
) -> tensor:
    """Bitwise or with memory; gives what was there before. See `atomic_add` for `sem` and `scope`."""


@member
@operation
def atomic_xor(
    pointer: tensor, val: Value, mask: Value | None = None, sem: Text | None = None, scope: Text | None = None
) -> tensor:
    """Bitwise exclusive or with memory; gives what was there before. See `atomic_add` for `sem` and `scope`."""


@member
@operation
def atomic_xchg(
    pointer: tensor, val: Value, mask: Value | None = None, sem: Text | None = None, scope: Text | None = None
) -> tensor:
    """Writes to memory and gives what was there before. See `atomic_add` for `sem` and `scope`."""


@member
@operation
def atomic_cas(pointer: tensor, cmp: Value, val: Value, sem: Text | None = None, scope: Text | None = None) -> tensor:
    """Writes `val` where memory holds `cmp`; gives what was there before. See `atomic_add` for `sem` and `scope`."""


@member
@operation
def atomic_load(
    pointer: tensor, mask: Value | None = None, sem: Text | None = None, scope: Text | None = None
) -> tensor:
    """Reads memory that others write at the same time. See `atomic_add` for `sem` and `scope`."""


@member
@operation
def atomic_store(
    pointer: tensor, val: Value, mask: Value | None = None, sem: Text | None = None, scope: Text | None = None
) -> None:
    """Writes memory that others read at the same time. See `atomic_add` for `sem` and `scope`."""


@member
@operation
def atomic_poll(
    pointer: tensor,
    expected_value: Value,
    sem: Text | None = None,
    scope: Text | None = None,
    timeout_ns: Value | None = None,
) -> tensor:
    """Waits until memory holds a value, for at most `timeout_ns`; gives whether it does, for each pointer of a tile."""
