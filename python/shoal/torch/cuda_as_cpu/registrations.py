"""Operators that a program registers for CUDA: they are called with tensors of the CPU, so they are registered for it.

Where a program registers one for each of the two, CUDA's is the one.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

from torch._ops import OpOverload
from torch.library import Library

# Torch's own: what the CPU has of them is there.
_TORCHS = ("aten", "fsdp", "symm_mem")


def install() -> None:
    """Replaces the two places that say what an operator is registered for."""
    Library.__init__ = _made(Library.__init__)  # type: ignore[method-assign]
    Library.impl = _registering(Library.impl)  # type: ignore[method-assign]


def _on_cpu(key: str, namespace: str) -> str:
    """A dispatch key (`CUDA`, `AutogradCUDA`), with the CPU in the place of CUDA."""
    return key if namespace in _TORCHS else key.replace("CUDA", "CPU")


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
        operator = (self.ns, name.rpartition("::")[2], key)
        if key != given:
            of_cuda.add(operator)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the CPU's may have been there before
                impl(self, op_name, fn, key, **{**named, **override})
        elif operator not in of_cuda:
            impl(self, op_name, fn, key, **named)

    return registered
