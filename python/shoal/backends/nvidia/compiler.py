"""Compiling for NVIDIA GPUs: what Triton's `triton.backends.nvidia.compiler` is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal import knobs
from shoal.backends.compiler import CUDABackend, CUDAOptions

__all__ = ["CUDABackend", "CUDAOptions", "get_ptxas", "min_dot_size", "sm_arch_from_capability"]


def get_ptxas(arch: int) -> Any:
    """The assembler for GPUs of this capability: its `path` and `version`."""
    return knobs.nvidia.ptxas_blackwell if arch >= 100 else knobs.nvidia.ptxas


def min_dot_size(target: Any) -> Callable[[Any, Any], tuple[int, int, int]]:
    """A function of two element types: the smallest rows, columns and depth of their product."""

    def of_types(lhs_type: Any, rhs_type: Any) -> tuple[int, int, int]:
        bits = lhs_type.scalar.primitive_bitwidth
        assert bits == rhs_type.scalar.primitive_bitwidth, "lhs and rhs bitwidth must be the same"
        return (1, 1, 32 if bits == 8 else 16)

    return of_types


def sm_arch_from_capability(capability: int) -> str:
    """What assemblers call a capability: `sm_80`, `sm_90a`."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"
