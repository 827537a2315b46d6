"""Compiling a kernel without launching it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from shoal import _native
from shoal.backends import backends
from shoal.backends.compiler import BaseBackend, GPUTarget
from shoal.compiler.lazy import LazyDict
from shoal.compiler.source import ASTSource, IRSource
from shoal.language._signature import written
from shoal.language.core import constexpr, dtype
from shoal.runtime.cache import get_cache_key, triton_key
from shoal.runtime.default_device import device
from shoal.runtime.driver import driver
from shoal.runtime.kernel import CompiledKernel
from shoal.runtime.kernel import Forms as AsmDict
from shoal.runtime.machinery import compiling_for

__all__ = [
    "ASTSource",
    "AsmDict",
    "CompiledKernel",
    "IRSource",
    "LazyDict",
    "compile",
    "get_cache_key",
    "make_backend",
    "max_shared_mem",
    "triton_key",
]


def compile(
    src: ASTSource,
    target: GPUTarget | None = None,
    options: Mapping[str, Any] | None = None,
    _env_vars: Mapping[str, str] | None = None,
) -> CompiledKernel:
    """Compiles a kernel for the types and values that a source names."""
    if not isinstance(src, ASTSource):
        IRSource(src)
    if target is None or target == driver.active.get_current_target():
        target = driver.active.compiled_target()
    make_backend(target)
    given = {**src.parse_options(), **(options or {})}
    if target.backend == "cuda" and not _is_here(target):
        arch = f"sm_{target.arch}a" if int(target.arch) >= 90 else f"sm_{target.arch}"
        with compiling_for(target.backend):
            return CompiledKernel(src.fn, src.fn._compile_foreign(_signature(src), given, arch), given)
    if target.backend == device.current().split(":")[0] or (target.backend == "cpu" and device.current() == "interp"):
        return src.fn._compile_signature(_signature(src), given)
    with device(target.backend):
        return src.fn._compile_signature(_signature(src), given)


def _is_here(target: GPUTarget) -> bool:
    """Whether there is such a GPU."""
    try:
        major, minor = _native.cuda_properties(0)["capability"]
    except RuntimeError:
        return False
    return int(target.arch) == 10 * major + minor


def make_backend(target: GPUTarget) -> BaseBackend:
    """The compiler for a target."""
    able = [backend.compiler for backend in backends.values() if backend.compiler.supports_target(target)]
    if len(able) != 1:
        raise RuntimeError(
            f"{len(able)} compatible backends for target ({target.backend}); there are {', '.join(backends)}"
        )
    return able[0](target)


@functools.cache
def max_shared_mem(device: int) -> int:
    """The fast memory that a program may use, in bytes."""
    return driver.active.utils.get_device_properties(device)["max_shared_mem"]


def _signature(src: ASTSource) -> str:
    """The source's types and values in the compiler's words: `x=*fp32:16, n=i32, BLOCK=64`."""
    parts = []
    for index, name in enumerate(src.fn.arg_names):
        if (index,) in src.constants or src.signature.get(name) == "constexpr":
            # Other parameters than those that are declared so are constexpr because they are `None`.
            if (index,) not in src.constants and src.fn.params[index].is_constexpr:
                raise ValueError(f"`{name}` is a constexpr, but the source has no value for it")
            parts.append(f"{name}={_constant(name, src.constants.get((index,)))}")
        elif name in src.signature:
            parts.append(f"{name}={_typed(src, src.signature[name], (index,))}")
        else:
            raise ValueError(f"the signature has no type for `{name}`")
    return ", ".join(parts)


def _typed(src: ASTSource, ty: Any, path: tuple[int, ...]) -> str:
    if path in src.constants:
        return _constant(src.fn.arg_names[path[0]], src.constants[path])
    if isinstance(ty, (tuple, list)):
        return "(" + ", ".join(_typed(src, item, (*path, at)) for at, item in enumerate(ty)) + ")"
    divisible = next((number for what, number in src.attrs.get(path, ()) if what == "tt.divisibility"), None)
    return ty if divisible is None else f"{ty}:{divisible}"


def _constant(name: str, value: Any) -> str:
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, dtype):
        return written(value)
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(_constant(name, item) for item in value) + ")"
    if isinstance(value, float) and not math.isfinite(value):
        # In signatures, numbers begin with a digit or a sign: words are functions.
        return "-nan" if math.isnan(value) else f"{'-' if value < 0 else ''}1e999"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    raise ValueError(
        f"the value of `{name}` is of type {type(value).__name__}, which cannot be written into a signature; compile "
        "with `kernel.warmup(...)`, which takes values of any type"
    )
