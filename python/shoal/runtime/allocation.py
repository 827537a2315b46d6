"""Memory that a kernel asks for while it runs. On a CPU no kernel does; the allocator is kept for code that sets it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

Allocator = Callable[[int, int, "int | None"], Any]


class NullAllocator:
    """The allocator before one is set."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        raise RuntimeError(
            "Kernel requires a runtime memory allocation, but no allocator was set. "
            "Use triton.set_allocator to specify an allocator."
        )


_NONE = NullAllocator()
_allocator: ContextVar[Allocator] = ContextVar("shoal_allocator", default=_NONE)
_profile_allocator: ContextVar[Allocator] = ContextVar("shoal_profile_allocator", default=_NONE)


def set_allocator(allocator: Allocator | None) -> None:
    """Sets what gives memory to kernels that ask for it: a function of size, alignment and stream."""
    _allocator.set(allocator if allocator is not None else _NONE)


def set_profile_allocator(allocator: Allocator | None) -> None:
    """The same for kernels that are profiled."""
    _profile_allocator.set(allocator if allocator is not None else _NONE)


def has_profile_allocator() -> bool:
    """Whether one is set for kernels that are profiled."""
    return _profile_allocator.get() is not _NONE
