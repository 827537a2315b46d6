"""Memory that kernels ask for while they run, on devices where the host must provide it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NullAllocator:
    """What is there until another allocator is set: a CPU needs none."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        raise RuntimeError("kernels on a CPU need no memory from the host; use shoal.set_allocator to provide some")


_allocator: Callable[[int, int, int | None], Any] = NullAllocator()


def set_allocator(allocator: Callable[[int, int, int | None], Any]) -> None:
    """Says where kernels get memory from. Kernels on a CPU take theirs from the process and never ask."""
    global _allocator
    if not callable(allocator):
        raise TypeError("an allocator is a function of size, alignment and stream")
    _allocator = allocator


def allocator() -> Callable[[int, int, int | None], Any]:
    """The allocator that was set last."""
    return _allocator
