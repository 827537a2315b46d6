"""Ragged descriptors: one descriptor for a tensor that is many slices, each with edges of its own.

The slices `T[start : start + size]` lie one behind the other along one dimension. A block that reaches over the end of
its slice is cut off there, as it is at the end of a tensor.

How one descriptor can know all the ends: the ragged dimension is declared 2^30 long, and a block is asked for at the
place that puts the end of its slice there. Two dimensions in front bring the address back to where the slice is; one of
them has a stride that makes the address wrap around 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import shoal
import shoal.language as tl
from shoal.tools.tensor_descriptor import TensorDescriptor


@dataclass
class RaggedDescriptor(TensorDescriptor):
    """A descriptor whose addresses wrap around: how far it reaches says nothing about the tensor's memory."""

    wraps: bool = True


_END = 2**30
_WRAP = 2**34
_UNBOUNDED = 0x7FFF0000


def create_ragged_descriptor(T: Any, block_shape: Sequence[int], ragged_dim: int = 0) -> RaggedDescriptor:
    """A ragged descriptor of a tensor with two or three dimensions, of which the last one is not ragged."""
    shape, rank = list(T.shape), len(T.shape)
    strides = [T.stride(i) for i in range(rank)] if callable(getattr(T, "stride", None)) else None
    if strides is None:
        strides = [stride // T.itemsize for stride in T.strides]
    ragged_dim = ragged_dim + rank if ragged_dim < 0 else ragged_dim
    if not 0 <= ragged_dim < rank - 1:
        raise AssertionError("last dimension cannot be ragged")
    if rank > 3:
        raise AssertionError("read-write ragged descriptors must have at most 3 dimensions")
    if len(block_shape) != rank:
        raise AssertionError("block shape must have same length as tensor shape")
    if shape[ragged_dim] > _END:
        raise AssertionError("number of rows may not exceed 2**30")
    shape[ragged_dim] = _END
    step = strides[ragged_dim]
    return RaggedDescriptor(T, [_UNBOUNDED, _UNBOUNDED, *shape], [_WRAP - step, step, *strides], [1, 1, *block_shape])


@shoal.jit
def to_ragged_indices(slice_off, slice_size, row):
    """Where a row of a slice is: the two indices in front, and the one along the ragged dimension."""
    end = 0x40000000
    return end, slice_off + slice_size, end - slice_size + row


@shoal.jit
def load_ragged(TMA, slice_off, slice_size, coords, ragged_dim: tl.constexpr = 0):
    """A block of a slice; zeros beyond its edges."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "TMA must be a read-write ragged descriptor")
    c0, c1, c2 = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    data = TMA.load([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1 :])
    return tl.reshape(data, data.shape[2:])


@shoal.jit
def store_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Writes a block of a slice; nothing beyond its edges."""
    c0, c1, c2 = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    data = tl.reshape(data, [1, 1] + data.shape)
    TMA.store([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1 :], data)


@shoal.jit
def atomic_add_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds to a block of a slice; to nothing beyond its edges."""
    c0, c1, c2 = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    data = tl.reshape(data, [1, 1] + data.shape)
    TMA.atomic_add([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1 :], data)
