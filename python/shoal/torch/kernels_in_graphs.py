"""Kernels that a program launches in what `torch.compile` compiles, where Triton is Shoal.

Inductor has them compiled by worker processes, which have the installed Triton: here this process does it. Inductor
asks for assertions in each of them, which is not to check every access as well. And torch looks into Triton's IR for
the tensors that a kernel writes: here it asks Shoal.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from shoal.torch._registration import when_imported
from shoal.torch._tuned_on_copies import tune_on_copies
from shoal.torch._written_parameters import written_parameters

_registered = False

# The configurations of kernels: Inductor asks once about all of them, and again about the function with the first.
_configs: WeakKeyDictionary[Any, list[Mapping[str, Any]]] = WeakKeyDictionary()


def register() -> None:
    """Has torch ask Shoal about its kernels, as soon as it compiles some. Doing so again changes nothing."""
    global _registered
    if _registered:
        return
    _registered = True
    when_imported("torch._higher_order_ops.triton_kernel_wrap", _tell_accesses)
    when_imported("torch._inductor.async_compile", _compile_here)
    when_imported("torch._inductor.runtime.triton_heuristics", _check_what_users_ask_for)
    when_imported("torch._inductor.runtime.triton_heuristics", tune_on_copies)
    when_imported("torch._inductor.compile_fx", _pack_kernels)


def _compile_here(module: ModuleType) -> None:
    from shoal.triton import _install

    theirs = module.AsyncCompile.triton

    @functools.wraps(theirs)
    def triton(self: Any, *args: Any, **named: Any) -> Any:
        if not _install.is_installed():
            return theirs(self, *args, **named)
        from torch._inductor import config

        with config.patch(compile_threads=1):
            return theirs(self, *args, **named)

    module.AsyncCompile.triton = triton


def _pack_kernels(module: ModuleType) -> None:
    """AOTInductor packs kernels that it ran, which it does by itself only where there is a GPU."""
    from shoal.triton import _install

    theirs = getattr(module, "get_cpp_wrapper_config", None)
    if theirs is None:  # an older torch
        return

    @functools.wraps(theirs)
    def get_cpp_wrapper_config(*args: Any, **named: Any) -> dict[str, Any]:
        from torch._inductor import config
        from torch._inductor.virtualized import V

        chosen: dict[str, Any] = theirs(*args, **named)
        undecided = config.triton.autotune_at_compile_time is None
        if undecided and V.aot_compilation and _install.is_installed():
            chosen["triton.autotune_at_compile_time"] = True
        return chosen

    module.get_cpp_wrapper_config = get_cpp_wrapper_config


def _check_what_users_ask_for(module: ModuleType) -> None:
    from shoal.torch._cpu_blocks import add_options, checks
    from shoal.triton import _install

    add_options(module, lambda: checks() if _install.is_installed() else {})


def _tell_accesses(module: ModuleType) -> None:
    from shoal.runtime.jit import JITFunction

    theirs = getattr(module, "identify_accessed_tensors", None)
    if theirs is None:  # an older torch
        return

    @functools.wraps(theirs)
    def identify_accessed_tensors(kernel: Any, kwargs: Mapping[str, Any], descriptors: Mapping[str, Any]) -> Any:
        function = kernel
        while not isinstance(function, JITFunction) and hasattr(function, "fn"):
            function = function.fn
        if not isinstance(function, JITFunction):
            return theirs(kernel, kwargs, descriptors)
        from torch._inductor.dependencies import ReadWrites, StarDep
        from torch.utils._ordered_set import OrderedSet

        tensors = [name for name in function.arg_names if _is_tensor(kwargs.get(name))]
        configs = _configs.setdefault(function, [])
        configs.extend(config.kwargs for config in getattr(kernel, "configs", ()) if config.kwargs not in configs)
        written = frozenset(descriptors) | _written_by(function, kwargs, configs or [{}], descriptors)
        return module.TensorAccesses(
            ReadWrites(
                reads=OrderedSet(StarDep(name) for name in tensors),
                writes=OrderedSet(StarDep(name) for name in tensors if name in written),
                index_exprs=OrderedSet(),
            ),
            can_fuse_epilogue=False,
        )

    module.identify_accessed_tensors = identify_accessed_tensors


def _is_tensor(value: Any) -> bool:
    import torch
    from torch._inductor.ir import TensorBox

    return isinstance(value, (torch.Tensor, TensorBox))


def _written_by(
    function: Any, values: Mapping[str, Any], configs: Sequence[Mapping[str, Any]], descriptors: Mapping[str, Any]
) -> frozenset[str]:
    """The parameters that a kernel writes through, those that are descriptors aside."""
    from shoal.backends import BaseBackend
    from shoal.triton._specialize import native_specialize_impl

    given = {name: _stand_in(values.get(name), descriptors.get(name)) for name in function.arg_names}
    types = {
        param.name: "constexpr"
        if param.is_constexpr
        else native_specialize_impl(BaseBackend, given[param.name], False, False, False)[0]
        for param in function.params
    }

    def constants(config: Mapping[str, Any]) -> dict[Any, Any]:
        chosen = {**given, **config}
        return {(i,): chosen[param.name] for i, param in enumerate(function.params) if param.is_constexpr}

    return written_parameters(function, types, [constants(config) for config in configs])


def _stand_in(value: Any, descriptor: Any) -> Any:
    """A value with the type of one that is traced."""
    import sympy
    import torch
    from torch._higher_order_ops.triton_kernel_wrap import maybe_unpack_tma_stable_metadata

    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool, sympy.Expr)):
        return 2
    if not _is_tensor(value):
        return value
    with torch._C._DisableTorchDispatch():
        block = maybe_unpack_tma_stable_metadata(descriptor) if descriptor is not None else None
        if block is None:
            return torch.empty(2, dtype=value.dtype)
        from shoal.tools.tensor_descriptor import TensorDescriptor

        base = torch.empty([max(1, 16 // value.dtype.itemsize)] * len(block[0]), dtype=value.dtype)
        return TensorDescriptor.from_tensor(base, block[0])
