"""Compiling for NVIDIA GPUs: what Triton's `triton.backends.nvidia.compiler` is asked for."""

from __future__ import annotations

from typing import Any

from shoal import knobs
from shoal.backends.compiler import CUDABackend, CUDAOptions

__all__ = ["CUDABackend", "CUDAOptions", "get_ptxas", "sm_arch_from_capability"]


def get_ptxas(arch: int) -> Any:
    """The assembler for GPUs of this capability: its `path` and `version`."""
    return knobs.nvidia.ptxas_blackwell if arch >= 100 else knobs.nvidia.ptxas


def sm_arch_from_capability(capability: int) -> str:
    """What assemblers call a capability: `sm_80`, `sm_90a`."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"
