"""Small functions of Triton's inner modules that host code calls."""

from __future__ import annotations

import builtins
import contextlib
import functools
import gc
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from shoal.backends.compiler import BaseBackend
from shoal.compiler import CompilationError
from shoal.language.core import base_value, constexpr, constexpr_type, dtype, pointer_type, tensor, tuple_type
from shoal.language.core import tuple as kernel_tuple
from shoal.runtime.callable import JITCallable
from shoal.testing import timing
from shoal.triton._specialize import native_specialize_impl
from shoal.triton._utils import type_canonicalisation_dict

TRITON_MODULE = "triton.language"
GLUON_MODULE = "triton.experimental.gluon.language"


TensorTy = TypeVar("TensorTy")

# What hooks of `knobs` are, for annotations.
Hook = Callable[..., Any]
AutotuneListener = BuildImpl = CompilationListener = InitHandleHook = JITHook = LaunchHook = PipelineStagesHook = Hook
JITHookCompileInfo = dict[str, Any]
KernelAttr = builtins.tuple[builtins.tuple[int, ...], list[Any]]


class IncompatibleTypeErrorImpl(Exception):
    """Two types that no operation takes together."""

    def __init__(self, type_a: Any, type_b: Any) -> None:
        self.type_a, self.type_b = type_a, type_b
        self.message = f"invalid operands of type {type_a} and {type_b}"
        super().__init__(self.message)


def mangle_type(arg: Any, specialize: bool = False) -> Any:
    """The type of an argument, as in signatures."""
    return native_specialize_impl(BaseBackend, arg, False, specialize, True)[0]


def _normalize_ty(ty: Any) -> str:
    """An annotation as in signatures: `*fp32` for `tl.pointer_type(tl.float32)`, itself for what is no type."""
    if isinstance(ty, pointer_type):
        return "*" + _normalize_ty(ty.element_ty)
    if isinstance(ty, dtype):
        ty = ty.name
    elif not isinstance(ty, str):
        ty = getattr(ty, "__name__", str(ty))
    name = ty.strip().removeprefix("const ")
    stars, element = "*" * name.count("*"), name.replace("*", "").strip().removeprefix("tl.")
    short = type_canonicalisation_dict.get(element.removesuffix("_t"), element)
    return f"*k{stars[1:]}{short}" if ty.strip().startswith("const ") else stars + short


def _quantile(a: Sequence[float], q: Sequence[float]) -> list[float]:
    """Between two measurements, a straight line."""
    return [timing.quantile(sorted(a), part) for part in q]


@contextlib.contextmanager
def cuda_graph_without_gc(*args: Any, **kwargs: Any) -> Iterator[Any]:
    """`torch.cuda.graph` with Python's collector off."""
    import torch

    collecting = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(*args, **kwargs) as graph:
            yield graph
    finally:
        if collecting:
            gc.enable()


def get_full_name(fn: Any) -> str:
    """The module and the name of a function."""
    return f"{fn.__module__}.{fn.__qualname__}"


def convert_to_tuple_if_list(item: Any) -> Any:
    """Lists as tuples, also those inside."""
    return builtins.tuple(map(convert_to_tuple_if_list, item)) if isinstance(item, list) else item


def compute_cache_key(kernel_key_cache: dict[Any, str], specialization: Sequence[Any], options: Any) -> str:
    """One text for what a kernel is compiled for; it is remembered in a dictionary of the caller's."""
    key = (builtins.tuple(specialization), str(options))
    if key not in kernel_key_cache:
        kernel_key_cache[key] = str(_without_functions(specialization)) + str(options)
    return kernel_key_cache[key]


def _without_functions(item: Any) -> Any:
    if isinstance(item, JITCallable):
        return item.cache_key
    if isinstance(item, (list, builtins.tuple)):
        return type(item)(map(_without_functions, item)) if not hasattr(item, "_fields") else type(item)(*item)
    return item


def is_iterable(x: Any) -> bool:
    """Whether this is a list or a tuple of the host's or of kernels, or the type of one."""
    return isinstance(x, (list, builtins.tuple, kernel_tuple, tuple_type))


def apply_with_path(value: Any, fn: Callable[[Any, Any], Any], _path: Any = ()) -> None:
    """Calls a function with the place and the value of everything inside tuples."""
    if not is_iterable(value):
        fn(_path, value)
        return
    for at, item in enumerate(value):
        apply_with_path(item, fn, (*_path, at))


def find_paths_if(iterable: Any, pred: Callable[[Any, Any], bool]) -> list[Any]:
    """The places inside tuples of which something is true."""
    found: list[Any] = []
    apply_with_path(iterable, lambda path, item: found.append(path) if pred(path, item) else None)
    return found


def get_iterable_path(iterable: Any, path: Sequence[int]) -> Any:
    """What is at a place inside tuples."""
    return functools.reduce(lambda inside, at: inside[at], path, iterable)


def set_iterable_path(iterable: Any, path: Sequence[int], val: Any) -> None:
    """Puts something in a place inside tuples of kernels."""
    assert len(path) != 0
    get_iterable_path(iterable, path[:-1]).values[path[-1]] = val


def check_identifier_legality(name: str, type: str) -> str:
    """A name, if code may have it."""
    if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name):
        raise CompilationError(f"invalid {type} identifier: {name}", None)
    return name


def _is_constexpr(o: Any) -> bool:
    return o is None or isinstance(o, (constexpr, dtype, JITCallable))


def _is_triton_value(o: Any) -> bool:
    return isinstance(o, base_value)


def _is_triton_tensor(o: Any) -> bool:
    return isinstance(o, tensor)


def _is_non_scalar_tensor(o: Any) -> bool:
    return isinstance(o, tensor) and o.type.is_block()


def _is_list_like(o: Any) -> bool:
    return isinstance(o, (list, builtins.tuple))


def _normalize_tuple(t: Any) -> Any:
    value = t.value if isinstance(t, constexpr) else t
    return kernel_tuple(map(_normalize_tuple, value)) if _is_list_like(value) else value


def _type_for_tuple_values(values: Any, fields: Any = None) -> tuple_type:
    plain = (int, float, dtype)
    return tuple_type([constexpr_type(item) if isinstance(item, plain) else item.type for item in values], fields)


def _wrap_axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"invalid axis {axis}. Expected {-ndim} <= axis < {ndim}")
    return axis % ndim


def check_bit_width(value: Any, shift_value: Any) -> None:
    """Warns of shifts that leave nothing."""
    if isinstance(value, tensor) and isinstance(shift_value, constexpr):
        width = value.type.scalar.primitive_bitwidth
        if shift_value.value >= width:
            warnings.warn(f"Value {shift_value.value} exceeds the maximum bitwidth ({width})", stacklevel=2)
