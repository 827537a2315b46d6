"""Tile kernels in Triton's Python syntax, compiled to native code.

    import numpy as np, shoal, shoal.language as sl

    @shoal.jit
    def double(x, n, BLOCK: sl.constexpr):
        at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
        sl.store(x + at, sl.load(x + at, mask=at < n) * 2, mask=at < n)

    x = np.ones(1000, np.float32)
    double[(shoal.cdiv(1000, 256),)](x, 1000, BLOCK=256)

Arguments are numbers, NumPy arrays, torch tensors, and whatever else speaks DLPack or `__cuda_array_interface__`;
nothing is copied. A kernel runs where its arrays are: on the CPU, or on the NVIDIA GPU that holds them, in the current
stream there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    from ._native import __version__
except ModuleNotFoundError as error:
    raise ImportError(
        "the native part of shoal is not built; in a checkout of its source, `make python` builds it"
    ) from error

from ._lazy import lazily
from .errors import (
    AutotunerError,
    CompilationError,
    CompileTimeAssertionFailure,
    DeadlockError,
    InterpreterError,
    KernelFault,
    OutOfResources,
    ShoalError,
    UnsupportedLanguageConstruct,
    WorldError,
)
from .harness_mark import harness
from .host import cdiv, next_power_of_2
from .runtime.default_device import device

if TYPE_CHECKING:
    from . import compiler, kernels, knobs, language, runtime, symm_mem, testing, tools, world
    from .compiler import AsyncCompileMode, FutureKernel, compile
    from .language.core import must_use_result
    from .runtime.aggregate import aggregate
    from .runtime.allocator import set_allocator
    from .runtime.autotuner import Config, autotune, heuristics
    from .runtime.jit import (
        JITFunction,
        KernelInterface,
        MockTensor,
        TensorWrapper,
        constexpr_function,
        jit,
        reinterpret,
    )
    from .world import Mesh, Rank, Stream, Team, World, current_rank

# Where each name is that is imported when it is asked for.
_HOMES = {
    "AsyncCompileMode": "shoal.compiler",
    "Config": "shoal.runtime.autotuner",
    "FutureKernel": "shoal.compiler",
    "JITFunction": "shoal.runtime.jit",
    "KernelInterface": "shoal.runtime.jit",
    "Mesh": "shoal.world",
    "MockTensor": "shoal.runtime.jit",
    "Rank": "shoal.world",
    "Stream": "shoal.world",
    "Team": "shoal.world",
    "TensorWrapper": "shoal.runtime.jit",
    "World": "shoal.world",
    "aggregate": "shoal.runtime.aggregate",
    "autotune": "shoal.runtime.autotuner",
    "compile": "shoal.compiler",
    "constexpr_function": "shoal.runtime.jit",
    "current_rank": "shoal.world",
    "heuristics": "shoal.runtime.autotuner",
    "jit": "shoal.runtime.jit",
    "must_use_result": "shoal.language.core",
    "reinterpret": "shoal.runtime.jit",
    "set_allocator": "shoal.runtime.allocator",
}
_MODULES = (
    "backends",
    "compiler",
    "kernels",
    "knobs",
    "language",
    "runtime",
    "symm_mem",
    "testing",
    "tools",
    "torch",
    "triton",
    "world",
)

__all__ = [
    "AsyncCompileMode",
    "AutotunerError",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "Config",
    "DeadlockError",
    "FutureKernel",
    "InterpreterError",
    "JITFunction",
    "KernelFault",
    "KernelInterface",
    "Mesh",
    "MockTensor",
    "OutOfResources",
    "Rank",
    "ShoalError",
    "Stream",
    "Team",
    "TensorWrapper",
    "UnsupportedLanguageConstruct",
    "World",
    "WorldError",
    "__version__",
    "aggregate",
    "autotune",
    "cdiv",
    "compile",
    "constexpr_function",
    "current_rank",
    "device",
    "harness",
    "heuristics",
    "jit",
    "kernels",
    "knobs",
    "language",
    "must_use_result",
    "next_power_of_2",
    "reinterpret",
    "runtime",
    "set_allocator",
    "symm_mem",
    "testing",
    "tools",
    "world",
]


__getattr__ = lazily(globals(), _HOMES, _MODULES)


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "errors"})
