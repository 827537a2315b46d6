"""Triton's place for allocators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from shoal.runtime import allocator as _current
from shoal.runtime.allocator import NullAllocator, allocator, set_allocator

__all__ = [
    "Allocator",
    "Buffer",
    "NullAllocator",
    "allocator",
    "has_profile_allocator",
    "set_allocator",
    "set_profile_allocator",
]


class Buffer(Protocol):
    """Memory."""

    def data_ptr(self) -> int:
        """Where it is."""
        ...


class Allocator(Protocol):
    """Gives memory."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Buffer: ...


class _Chosen:
    """An allocator as Triton holds it: `get` and `set`."""

    def __init__(self, get: Callable[[], Any], set: Callable[[Any], None]) -> None:
        self.get, self.set = get, set

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        return self.get()(size, alignment, stream)


_NULL_ALLOCATOR = NullAllocator()
_allocator = _Chosen(lambda: _current.allocator(), set_allocator)
_profiling: list[Any] = [_NULL_ALLOCATOR]
_profile_allocator = _Chosen(lambda: _profiling[0], lambda chosen: _profiling.__setitem__(0, chosen))


def set_profile_allocator(allocator: Allocator | None) -> None:
    """Says where profilers of GPUs get memory from, which is no part of Shoal: it is kept, and nobody asks."""
    _profile_allocator.set(_NULL_ALLOCATOR if allocator is None else allocator)


def has_profile_allocator() -> bool:
    """Whether one was set."""
    return not isinstance(_profile_allocator.get(), NullAllocator)
