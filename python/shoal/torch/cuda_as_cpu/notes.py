"""Which device tensors were made for, noted at their memory, so that all views of a tensor say the same.

What nothing is noted of counts as CUDA's, where programs that say "cuda" compute.
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
    from torch._subclasses.fake_tensor import FakeTensor

    Tensor: Any = torch.Tensor
    FakeTensor.device = _of_fakes(FakeTensor.device)  # type: ignore[method-assign, assignment]
    Tensor.device = property(_device)
    Tensor.is_cuda = property(lambda self: is_played(self) or _memory_device(self).type == "cuda")
    torch.compile = _compiling(torch.compile)


def _compiling(compile: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(compile)
    def compiled(*args: Any, **named: Any) -> Any:
        _say_cuda_in_traces()  # not before: torch's compiler takes long to import
        return compile(*args, **named)

    return compiled


@functools.cache
def _say_cuda_in_traces() -> None:
    """torch's compiler answers for the tensors that it traces: programs hear the same of those of the CPU."""
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.tensor import TensorVariable

    def answering(traced: Callable[..., Any], answer: Callable[[], Any]) -> Callable[..., Any]:
        def asked(self: Any, tx: Any) -> Any:
            of_cpu = self.device is not None and self.device.type == "cpu" and _is_of_a_program(tx)
            return VariableTracker.build(tx, answer()) if of_cpu else traced(self, tx)

        return asked

    Traced: Any = TensorVariable
    Traced.method_attr_is_cuda = answering(Traced.method_attr_is_cuda, lambda: True)
    Traced.method_attr_device = answering(Traced.method_attr_device, played_device)


_WRITTEN = "torch._inductor.runtime.compile_tasks."
"""Where torch puts modules that compilers write, also those of others (Helion)."""


def _is_of_a_program(frame: Any) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.startswith(_WRITTEN) or name.partition(".")[0] not in ("torch", "shoal")


def a_program_calls() -> bool:
    """Whether who called the caller is neither torch nor Shoal."""
    return not torch.compiler.is_compiling() and _is_of_a_program(sys._getframe(2))


def played_device() -> torch.device:
    """The device of this rank that the CPU plays."""
    return torch.device("cuda", torch.cuda.current_device())


def _device(tensor: Any) -> torch.device:
    return played_device() if a_program_calls() and is_played(tensor) else _memory_device(tensor)


def _of_fakes(memory_device: Any) -> property:
    def device(tensor: Any) -> torch.device:
        where: torch.device = memory_device.__get__(tensor)
        return played_device() if where.type == "cpu" and a_program_calls() else where

    return property(device)


def is_played(tensor: Any) -> bool:
    """Whether a tensor of the CPU is one of the device that is played."""
    if torch.compiler.is_compiling():
        return False
    with torch._C.DisableTorchFunction():  # no call of a program's
        if _memory_device(tensor).type != "cpu":
            return False
        return not has_memory(tensor) or made_for_cuda(tensor) is not False
