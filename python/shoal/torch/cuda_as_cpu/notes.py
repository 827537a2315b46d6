"""Which device tensors were made for, noted at their memory, so that all views of a tensor say the same.

What computes makes tensors that nothing is noted of: they count as CUDA's, where programs that say "cuda" compute.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

_memory_device = torch.Tensor.device.__get__  # type: ignore[attr-defined]


def has_memory(tensor: Any) -> bool:
    """Whether a tensor is one of memory: none of a trace, of `vmap`, of another library's parts."""
    return (
        not torch.compiler.is_compiling()
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout is torch.strided
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )


def note(tensor: Any, *, cuda: bool) -> Any:
    """Notes which device a tensor's memory was asked for."""
    if has_memory(tensor):
        tensor.untyped_storage().made_for_cuda = cuda
    return tensor


def made_for_cuda(tensor: Any) -> bool | None:
    """What was noted."""
    return getattr(tensor.untyped_storage(), "made_for_cuda", None)


def install() -> None:
    """Makes tensors say "cuda" to programs. torch and Shoal themselves see where the memory is."""
    Tensor: Any = torch.Tensor
    Tensor.device = property(_device)
    Tensor.is_cuda = property(lambda self: _memory_device(self).type == "cuda" or _is_played(self))
    torch.compile = _compiling(torch.compile)


def _compiling(compile: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(compile)
    def compiled(*args: Any, **named: Any) -> Any:
        _say_cuda_in_traces()  # not before: torch's compiler takes long to import
        return compile(*args, **named)

    return compiled


@functools.cache
def _say_cuda_in_traces() -> None:
    """torch's compiler answers for the tensors that it traces: `is_cuda` says the same of those of the CPU."""
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.tensor import TensorVariable

    traced = TensorVariable.method_attr_is_cuda

    def is_cuda(self: Any, tx: Any) -> Any:
        on_cpu = self.device is not None and self.device.type == "cpu"
        return VariableTracker.build(tx, True) if on_cpu else traced(self, tx)

    TensorVariable.method_attr_is_cuda = is_cuda  # type: ignore[method-assign, assignment]


def a_program_calls() -> bool:
    """Whether who called the caller is neither torch nor Shoal."""
    if torch.compiler.is_compiling():
        return False
    return sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] not in ("torch", "shoal")


def _device(tensor: Any) -> torch.device:
    if a_program_calls() and _is_played(tensor):
        return torch.device("cuda", torch.cuda.current_device())
    return _memory_device(tensor)


def _is_played(tensor: Any) -> bool:
    """Whether a tensor of the CPU is one of the device that is played."""
    if _memory_device(tensor).type != "cpu" or torch.compiler.is_compiling():
        return False
    return not has_memory(tensor) or made_for_cuda(tensor) is not False
