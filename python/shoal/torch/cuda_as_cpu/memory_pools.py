"""`torch.cuda.MemPool` and `torch.cuda.use_mem_pool` on the CPU.

Pools whose allocator is that of symmetric memory matter to programs: what is made while one is in use can be brought
together with what other ranks made. Others only promise something about a GPU's memory, and hold nothing here.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from shoal import symm_mem

_numbers = itertools.count(1)


class MemPool:
    """A pool, which stands for its allocator."""

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        self.allocator = allocator
        self.id = (0, next(_numbers))

    def use_count(self) -> int:
        """Who uses it: whoever asks."""
        return 1

    def snapshot(self) -> list[Any]:
        """Its segments: it has none of its own."""
        return []


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """While it lasts, what operators make lies in the pool's memory."""
    with _IntoSymmetricMemory() if pool.allocator is symm_mem.empty else contextlib.nullcontext():
        yield


class _IntoSymmetricMemory(TorchDispatchMode):
    """Moves what an operator made anew into symmetric memory. What it only changed or shows stays where it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = {_place(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)}

        def moved(tensor: torch.Tensor) -> torch.Tensor:
            if not tensor.numel() or tensor.device.type != "cpu" or _place(tensor) in given:
                return tensor
            elements = tensor.untyped_storage().nbytes() // tensor.itemsize
            room = symm_mem.empty((elements,), dtype=tensor.dtype)
            return room.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset()).copy_(tensor)

        return tree_map_only(torch.Tensor, moved, result)


def _place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
