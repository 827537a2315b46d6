"""Triton's place for allocators."""

from shoal.runtime.allocator import NullAllocator, allocator, set_allocator

__all__ = ["NullAllocator", "allocator", "set_allocator"]
