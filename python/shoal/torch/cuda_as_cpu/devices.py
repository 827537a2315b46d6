"""The device `cuda` as a name of the CPU: wherever torch takes a device.

Moving between the two makes a copy, as it does where they are two: what a kernel writes into `x.cuda()` is not seen in
`x`. What was made for `cuda` is there already, and stays what it is.

Asked by a program where they are, all tensors say `cuda`: many programs take no other answer, or want the same one from
two tensors. Asked by torch, which would go to a GPU with them, they say the truth.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

_CPU = torch.device("cpu")
# Functions that take a device and are no constructors in torch's own list of them.
_OTHERS = (
    "as_tensor",
    "asarray",
    "empty_like",
    "full_like",
    "ones_like",
    "rand_like",
    "randint_like",
    "randn_like",
    "zeros_like",
)
# What tensors of the CPU say where they are: one object for each device, so that it is known again.
_played: dict[int, torch.device] = {}
_METHODS = ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "new_empty_strided")


def on_cpu(device: Any) -> Any:
    """A device, with the CPU in the place of CUDA's; numbers are those of CUDA devices."""
    if isinstance(device, torch.device):
        return _CPU if device.type == "cuda" else device
    if isinstance(device, str):
        return _CPU if device.partition(":")[0] == "cuda" else device
    if isinstance(device, int) and not isinstance(device, bool):
        return _CPU
    return device


def _says_cuda(device: Any) -> bool:
    return device is not None and not isinstance(device, torch.Tensor) and on_cpu(device) is not device


def _is_inside(caller: Any) -> bool:
    """Whether a frame is one of torch or of Shoal, and not of a program that uses them."""
    module = caller.f_globals.get("__name__")
    return isinstance(module, str) and module.partition(".")[0] in ("torch", "shoal")


def _means_host(device: Any, caller: Any) -> bool:
    """Whether a program says `cpu`; torch says so of every tensor here."""
    return isinstance(device, (str, torch.device)) and str(device) == "cpu" and not _is_inside(caller)


def _has_memory(tensor: Any) -> bool:
    """Whether a tensor is one of memory: none of a trace, of `vmap`, of another library's parts."""
    return (
        not torch.compiler.is_compiling()
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout == torch.strided
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )


def _made_for_cuda(tensor: Any) -> Any:
    """Notes where a tensor's memory was asked for: all its views are there, too."""
    if _has_memory(tensor):
        tensor.untyped_storage().made_for_cuda = True
    return tensor


def _copied_to_cuda(tensor: Any, moved: Any) -> Any:
    """What `tensor.to("cuda")` gives, whose outcome on the CPU is `moved`.

    A leaf that gathers gradients stays itself: most were made for `cuda` by functions that note nothing.
    """
    if moved is not tensor or not _has_memory(tensor):
        return moved
    if getattr(tensor.untyped_storage(), "made_for_cuda", False) or (tensor.is_leaf and tensor.requires_grad):
        return tensor
    return _made_for_cuda(tensor.clone())


def _copied_to_cpu(tensor: Any, moved: Any) -> Any:
    return tensor.clone() if moved is tensor and _has_memory(tensor) else moved


def with_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose `device` may be CUDA's."""

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        device = named.get("device")
        if device is not None:
            named["device"] = on_cpu(device)
        if named.get("pin_memory"):
            named["pin_memory"] = False
        made = function(*args, **named)
        return _made_for_cuda(made) if _says_cuda(device) else made

    return called


def install() -> None:
    """Replaces what takes a device."""
    from torch.utils import _device

    constructors = _device._device_constructors()
    for module in (torch, torch.fft):
        for name, value in list(vars(module).items()):
            if (module is torch and name in _OTHERS) or (callable(value) and _is_in(value, constructors)):
                setattr(module, name, with_cpu(value))
    for name in _METHODS:
        setattr(torch.Tensor, name, with_cpu(getattr(torch.Tensor, name)))
    _tensors()
    _modules()
    for taker in (_device.DeviceContext, torch.autocast):
        taker.__init__ = _first_on_cpu(taker.__init__)  # type: ignore[misc]
    torch.set_default_device = _function_on_cpu(torch.set_default_device)
    torch.load = _loading(torch.load)
    torch.compile = _after(_tracing, torch.compile)
    for name in ("nested_tensor", "as_nested_tensor"):
        setattr(torch.nested, name, with_cpu(getattr(torch.nested, name)))
    torch.Generator = type("Generator", (torch.Generator,), {"__new__": _new_generator})  # type: ignore[misc]


def _is_in(value: Any, constructors: Any) -> bool:
    try:
        return value in constructors
    except TypeError:  # what cannot be hashed is no function of torch's
        return False


def _played_device() -> torch.device:
    number = torch.cuda.current_device()
    return _played.setdefault(number, torch.device("cuda", number))


def _played_for_programs(true_device: Any) -> property:
    @functools.wraps(true_device)
    def device(self: Any) -> torch.device:
        where = true_device.__get__(self)
        return _played_device() if where == _CPU and not _is_inside(sys._getframe(1)) else where

    return property(device)


def _tensors() -> None:
    from torch._subclasses.fake_tensor import FakeTensor

    Tensor: Any = torch.Tensor
    to, cpu = Tensor.to, Tensor.cpu

    @functools.wraps(to)
    def moved(self: Any, *args: Any, **named: Any) -> Any:
        device = args[0] if args else named.get("device")
        if args:
            first = on_cpu(args[0]) if not isinstance(args[0], torch.Tensor) else args[0]
            args = (first, *args[1:])
        if "device" in named:
            named["device"] = on_cpu(named["device"])
        outcome = to(self, *args, **named)
        if torch.compiler.is_compiling() or any(device is played for played in _played.values()):
            return outcome  # where another tensor is, this one is as well
        if _says_cuda(device):
            return _copied_to_cuda(self, outcome)
        return _copied_to_cpu(self, outcome) if _means_host(device, sys._getframe(1)) else outcome

    for kind in (Tensor, FakeTensor):
        kind.device = _played_for_programs(kind.device)
    Tensor.to = moved
    Tensor.cuda = lambda self, device=None, non_blocking=False, memory_format=None: _copied_to_cuda(self, self)
    Tensor.cpu = functools.wraps(cpu)(lambda self, *args, **named: _copied_to_cpu(self, cpu(self, *args, **named)))
    Tensor.is_cuda = property(lambda self: self.device.type in ("cpu", "cuda"))
    Tensor.pin_memory = lambda self, device=None: self
    Tensor.is_pinned = lambda self, device=None: True
    Tensor.record_stream = lambda self, stream: None
    Tensor.get_device = lambda self: torch.cuda.current_device()


def _after(first: Callable[[], None], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        first()
        return function(*args, **named)

    return called


@functools.cache
def _tracing() -> None:
    """Programs that are traced ask torch's compiler where tensors are. It is loaded for those who compile only."""
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.tensor import TensorVariable

    def played(original: Callable[..., Any], answer: Callable[[], Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def asked(self: Any, tx: Any) -> Any:
            is_played = self.device == _CPU and not _is_inside(tx)
            return VariableTracker.build(tx, answer()) if is_played else original(self, tx)

        return asked

    Variable: Any = TensorVariable
    Variable.method_attr_device = played(Variable.method_attr_device, _played_device)
    Variable.method_attr_is_cuda = played(Variable.method_attr_is_cuda, lambda: True)


def _modules() -> None:
    Module: Any = torch.nn.Module
    to = Module.to

    @functools.wraps(to)
    def moved(self: Any, *args: Any, **named: Any) -> Any:
        args = tuple(on_cpu(arg) if isinstance(arg, (str, int, torch.device)) else arg for arg in args)
        if "device" in named:
            named["device"] = on_cpu(named["device"])
        return to(self, *args, **named)

    Module.to = moved
    Module.cuda = lambda self, device=None: self


def _first_on_cpu(init: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(init)
    def made(self: Any, device: Any = None, *args: Any, **named: Any) -> Any:
        for name in ("device", "device_type"):
            if name in named:
                named[name] = _as_given(named[name])
        return init(self, *(() if device is None else (_as_given(device),)), *args, **named)

    return made


def _as_given(device: Any) -> Any:
    """Names stay names: `autocast` takes nothing else."""
    moved = on_cpu(device)
    return str(moved) if isinstance(device, str) else moved


def _function_on_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(function)(lambda device: function(on_cpu(device)))


def _loading(load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def loaded(f: Any, map_location: Any = None, *args: Any, **named: Any) -> Any:
        # What was saved on a GPU comes to the CPU, too.
        where = "cpu" if map_location is None else map_location
        return load(f, on_cpu(where) if not callable(where) else where, *args, **named)

    return loaded


def _new_generator(cls: Any, device: Any = "cpu") -> Any:
    return super(torch.Generator, cls).__new__(cls, device=on_cpu(device))
