"""A drop-in for Triton: a program that says `import triton` runs on a CPU, unchanged.

    python -m shoal.triton program.py arguments…

or, in a program, before anything imports `triton`:

    import shoal.triton
    shoal.triton.install()

Importing this module alone changes nothing; an installed Triton stays what `import triton` means until `install`.
"""

from shoal import backends, compiler, knobs, language, testing, tools
from shoal.compiler import CompilationError, compile
from shoal.compiler.asynchronous import AsyncCompileMode, FutureKernel
from shoal.errors import InterpreterError, OutOfResources
from shoal.errors import ShoalError as TritonError
from shoal.host import cdiv, next_power_of_2
from shoal.language.core import must_use_result
from shoal.runtime.aggregate import aggregate
from shoal.runtime.allocator import set_allocator
from shoal.runtime.autotuner import Config, autotune, heuristics
from shoal.runtime.jit import (
    JITFunction,
    KernelInterface,
    MockTensor,
    TensorWrapper,
    constexpr_function,
    jit,
    reinterpret,
)
from shoal.triton import _C, errors, runtime
from shoal.triton._install import VERSION, install, is_installed, uninstall

__version__ = VERSION
"""The version of Triton whose names and behaviour these are."""

__all__ = [
    "AsyncCompileMode",
    "CompilationError",
    "Config",
    "FutureKernel",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "TritonError",
    "aggregate",
    "autotune",
    "cdiv",
    "compile",
    "constexpr_function",
    "heuristics",
    "install",
    "is_installed",
    "jit",
    "language",
    "must_use_result",
    "next_power_of_2",
    "reinterpret",
    "runtime",
    "set_allocator",
    "testing",
    "tools",
    "uninstall",
]
