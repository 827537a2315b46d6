"""Triton's place for allocators."""

from shoal.runtime.allocation import (
    NullAllocator,
    _allocator,
    _profile_allocator,
    has_profile_allocator,
    set_allocator,
    set_profile_allocator,
)

__all__ = [
    "NullAllocator",
    "_allocator",
    "_profile_allocator",
    "has_profile_allocator",
    "set_allocator",
    "set_profile_allocator",
]
