"""Products of matrices that torch has for CUDA only: those whose outcome is of a wider type than the factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")
_kept: list[torch.library.Library] = []


def install() -> None:
    """Registers them for the CPU where torch has not."""
    library = torch.library.Library("aten", "IMPL", "CPU")
    for name in _PRODUCTS:
        overloads = getattr(torch.ops.aten, name)
        for form in ("dtype", "dtype_out"):
            operator = f"aten::{name}.{form}"
            if form in overloads.overloads() and not torch._C._dispatch_has_kernel_for_dispatch_key(operator, "CPU"):
                library.impl(f"{name}.{form}", _widened(getattr(torch, name)))
    _kept.append(library)  # what is registered goes with it


def _widened(product: Callable[..., Any]) -> Callable[..., Any]:
    def computed(*args: Any, out: Any = None, **scales: Any) -> Any:
        *tensors, dtype = args
        made = product(*(tensor.to(dtype) for tensor in tensors), **scales)
        return made if out is None else out.copy_(made)

    return computed
