"""Operators that a program registers for CUDA: they are called with tensors of the CPU, so they are registered for it.

Where a program registers one for each of the two, CUDA's is the one. Operators of torch's own that a program replaces
for CUDA are replaced for the tensors that count as CUDA's: those that were made for the CPU keep the CPU's.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

import torch
from torch._ops import OpOverload
from torch.library import Library
from torch.utils._pytree import tree_leaves

from shoal.torch.cuda_as_cpu.notes import has_memory, made_for_cuda

# Torch's own: what torch itself registers of them for CUDA, the CPU has.
_TORCHS = ("aten", "fsdp", "symm_mem")


def install() -> None:
    """Replaces the two places that say what an operator is registered for."""
    Library.__init__ = _made(Library.__init__)  # type: ignore[method-assign]
    Library.impl = _registering(Library.impl)  # type: ignore[method-assign]


def _on_cpu(key: str, namespace: str) -> str:
    """A dispatch key (`CUDA`, `AutogradCUDA`), with the CPU in the place of CUDA."""
    return key if namespace in _TORCHS else key.replace("CUDA", "CPU")


def _is_of_a_program(fn: Any) -> bool:
    """Whether a function is neither torch's nor Shoal's."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return (getattr(fn, "__module__", None) or "").partition(".")[0] not in ("torch", "shoal")


def _for_cuda_tensors(operator: str, key: str, fn: Any, with_keyset: bool) -> Any:
    """A function for all tensors of the CPU that leaves to the CPU what was made for it, if it has the operator."""
    if not hasattr(torch.library, "get_kernel"):
        raise RuntimeError(f"replacing `{operator}` for CUDA, where the CPU plays it, needs torch 2.9 or later")
    has_cpu = torch._C._dispatch_has_computed_kernel_for_dispatch_key(operator, key)
    of_cpu = torch.library.get_kernel(operator, key) if has_cpu else None

    @functools.wraps(fn)
    def called(keys: Any, *args: Any, **named: Any) -> Any:
        tensors = [x for x in tree_leaves((args, named)) if isinstance(x, torch.Tensor)]
        if of_cpu is not None and tensors and all(has_memory(x) and made_for_cuda(x) is False for x in tensors):
            return of_cpu.call_boxed(keys, *args, **named)
        return fn(keys, *args, **named) if with_keyset else fn(*args, **named)

    return called


def _made(init: Any) -> Any:
    @functools.wraps(init)
    def made(self: Any, ns: str, kind: str, dispatch_key: str = "") -> None:
        init(self, ns, kind, _on_cpu(dispatch_key, ns))
        self.key_as_given = dispatch_key

    return made


def _registering(impl: Any) -> Any:
    of_cuda: set[tuple[str, str, str]] = set()
    override = {"allow_override": True} if "allow_override" in inspect.signature(impl).parameters else {}

    @functools.wraps(impl)
    def registered(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **named: Any) -> None:
        given = dispatch_key or getattr(self, "key_as_given", self.dispatch_key)
        key = _on_cpu(given, self.ns)
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        name = name.rpartition("::")[2]
        if self.ns in _TORCHS and "CUDA" in given and _is_of_a_program(fn):
            key = given.replace("CUDA", "CPU")
            fn = _for_cuda_tensors(f"{self.ns}::{name}", key, fn, named.pop("with_keyset", False))
            named["with_keyset"] = True
        operator = (self.ns, name, key)
        if key != given:
            of_cuda.add(operator)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the CPU's may have been there before
                impl(self, op_name, fn, key, **{**named, **override})
        elif operator not in of_cuda:
            impl(self, op_name, fn, key, **named)

    return registered
