"""Memory that kernels ask for while they run, on devices where the host must provide it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NullAllocator:
    """What is there until another allocator is set: a CPU needs none."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        raise RuntimeError("kernels on a CPU need no memory from the host; use shoal.set_allocator to provide some")


_allocator: Callable[[int, int, int | None], Any] = NullAllocator()


def set_allocator(allocator: Callable[[int, int, int | None], Any] | None) -> None:
    """Says where kernels get memory from; `None` takes it back. Kernels on a CPU have theirs from the process."""
    global _allocator
    if allocator is not None and not callable(allocator):
        raise TypeError("an allocator is a function of size, alignment and stream, or None")
    _allocator = NullAllocator() if allocator is None else allocator


def allocator() -> Callable[[int, int, int | None], Any]:
    """The allocator that was set last."""
    return _allocator
