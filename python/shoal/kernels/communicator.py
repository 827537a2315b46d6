"""What a rank launches the library's distributed kernels with: the native part, and symmetric memory to work in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shoal import _native
from shoal.symm_mem.groups import acting_rank
from shoal.world import arrays
from shoal.world.arrays import Layout
from shoal.world.ranks import Rank

# An array for the native part: its address, and its number of elements.
Array = tuple[int, int]


class Communicator:
    """A rank's kernels and workspaces. All ranks make theirs together, when they first use the library."""

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        self.native = _native.Communicator(rank._native)
        self.function = ""
        """The function that was called last, for errors."""
        self._workspaces: dict[str, Any] = {}

    def workspace(self, name: str, shape: Sequence[int], dtype: Any) -> Any:
        """Symmetric memory to work in, kept under a name. Collective when it has to grow."""
        wanted = math.prod(shape) * dtype.itemsize
        known = self._workspaces.get(name)
        if known is None or arrays.layout(known).nbytes < wanted:
            # Others may have room, and be about to wait in a kernel.
            self.native.agree(f"{self.function}(bytes)", type_name(dtype), [wanted])
            known = self._workspaces[name] = self.rank.symm_empty(max(wanted, 1), arrays.named_type("uint8"))
        return arrays.view(arrays.layout(known).address, tuple(shape), dtype, known)

    def shared(self, array: Any, name: str) -> Any:
        """An array if it is symmetric, else a copy of it in a workspace."""
        if self.is_shared(array):
            return array
        found = arrays.dense(array, name)
        copy = self.workspace(name, found.shape, found.dtype)
        copy[...] = array
        return copy

    def is_shared(self, array: Any) -> bool:
        """Whether an array lies in symmetric memory of this rank. The native part compares its place with others'."""
        address = arrays.layout(array).address
        place = self.rank._native.locate(address)
        return place is not None and place[0] == self.rank.rank and self.rank._block_at(place[1]) is not None


def communicator(function: str) -> Communicator:
    """The one of the rank that this thread acts as, for a function that all ranks call."""
    rank = acting_rank()
    found: Communicator | None = rank.__dict__.get("_communicator")
    if found is None:
        found = rank.__dict__["_communicator"] = Communicator(rank)
    found.function = function
    return found


def called(name: str, x: Any) -> tuple[Communicator, Layout]:
    """The one of the rank that this thread acts as, for a function that all ranks call with `x` of the same shape."""
    comm, like = communicator(name), checked(x, "x")
    if len(like.shape) != 1:
        # The native part compares the number of elements.
        first = max(len(like.shape) - 4, 0)
        sizes = [math.prod(like.shape[:first]), *like.shape[first:]] if first else list(like.shape)
        names = ", ".join(f"shape[{first + at}]" for at in range(len(sizes)))
        comm.native.agree(f"{name}({names})", type_name(like.dtype), sizes)
    return comm, like


def checked(array: Any, name: str, like: Layout | None = None) -> Layout:
    """Where an array's elements are; they must follow each other, and be of the same type as those of the first."""
    found = arrays.dense(array, f"`{name}`")
    if like is not None and found.dtype != like.dtype:
        raise TypeError(f"`{name}` is of {type_name(found.dtype)}, but the first array of {type_name(like.dtype)}")
    return found


def given(array: Any) -> Array:
    """An array for the native part."""
    found = arrays.layout(array)
    return (found.address, math.prod(found.shape))


def optional(array: Any) -> Array | None:
    """An array for the native part, or nothing."""
    return None if array is None else given(array)


def type_name(dtype: Any) -> str:
    """The name of an element type."""
    return str(dtype).rpartition(".")[2]


def result(out: Any, shape: Sequence[int], like: Layout) -> Any:
    """Where a result goes: what was passed, which must fit and may be written, or a new array."""
    if out is None:
        return fresh(shape, like.dtype)
    found = checked(out, "out", like)
    if math.prod(found.shape) != math.prod(shape):
        raise ValueError(f"`out` has the shape {found.shape}, but the result {tuple(shape)}")
    arrays.writable(out, "`out`")
    return out


def fresh(shape: Sequence[int], dtype: Any) -> Any:
    """A new array, of torch if the element type is torch's."""
    if arrays.is_torch_dtype(dtype):
        import torch

        return torch.empty(tuple(shape), dtype=dtype)
    import numpy

    return numpy.empty(tuple(shape), dtype)


def pieces(splits: Any) -> int:
    """In how many pieces the elements of a rank are gathered."""
    return arrays.number(splits, "splits", 1 << 31, 1)


def apart(out: Any, *others: Any) -> None:
    """Refuses a result that overlaps what is read."""
    first = arrays.layout(out)
    for other in others:
        if other is None:
            continue
        second = arrays.layout(other)
        if first.address < second.address + second.nbytes and second.address < first.address + first.nbytes:
            raise ValueError("`out` overlaps an array that the kernel reads; pass another")
