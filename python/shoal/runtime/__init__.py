"""What runs kernels: `jit`, the autotuner, the driver, the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazily

if TYPE_CHECKING:
    from ..errors import InterpreterError, OutOfResources
    from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
    from .driver import driver
    from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret

# Where each name is that is imported when it is asked for.
_HOMES = {
    "Autotuner": "shoal.runtime.autotuner",
    "Config": "shoal.runtime.autotuner",
    "Heuristics": "shoal.runtime.autotuner",
    "InterpreterError": "shoal.errors",
    "JITFunction": "shoal.runtime.jit",
    "KernelInterface": "shoal.runtime.jit",
    "MockTensor": "shoal.runtime.jit",
    "OutOfResources": "shoal.errors",
    "TensorWrapper": "shoal.runtime.jit",
    "autotune": "shoal.runtime.autotuner",
    "driver": "shoal.runtime.driver",
    "heuristics": "shoal.runtime.autotuner",
    "reinterpret": "shoal.runtime.jit",
}

__all__ = list(_HOMES)  # noqa: PLE0605


__getattr__ = lazily(globals(), _HOMES, ("allocator", "autotuner", "cache", "jit", "kernel"))
