"""The device `cuda` as a name of the CPU: wherever torch takes a device.

Moving between the two makes a copy, as it does where they are two: what a kernel writes into `x.cuda()` is not seen in
`x`. What was made for `cuda` is there already, and stays what it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils import _device

from shoal.torch.cuda_as_cpu.notes import a_program_calls, has_memory, is_played, made_for_cuda, note, played_device
from shoal.torch.cuda_as_cpu.results import follow

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


def _copied_to_cuda(tensor: Any, moved: Any) -> Any:
    """What `tensor.to("cuda")` gives, whose outcome on the CPU is `moved`.

    A leaf that gathers gradients stays itself where nothing is noted: most were made for `cuda` by functions that note
    nothing.
    """
    if moved is not tensor or not has_memory(tensor):
        return note(moved, cuda=True)
    noted = made_for_cuda(tensor)
    if noted or (noted is None and tensor.is_leaf and tensor.requires_grad):
        return tensor
    return note(tensor.clone(), cuda=True)


def _copied_to_cpu(tensor: Any, moved: Any) -> Any:
    return _of_host(tensor.clone() if moved is tensor and has_memory(tensor) else moved)


def _copied_like(tensor: Any, moved: Any, like: Any) -> Any:
    """What `tensor.to(like)` gives: a copy where the two lie on different devices."""
    if not (has_memory(tensor) and has_memory(like)) or is_played(tensor) == is_played(like):
        return moved
    return _copied_to_cuda(tensor, moved) if is_played(like) else _copied_to_cpu(tensor, moved)


def _of_host(tensor: Any) -> Any:
    """A tensor that a program has asked for on the host: so is what it computes from it."""
    follow()
    return note(tensor, cuda=False)


def with_cpu(function: Callable[..., Any], *, makes_new: bool = False) -> Callable[..., Any]:
    """A function whose `device` may be CUDA's.

    If it makes new tensors, they are the CPU's where no device is said, none is the default, and no tensor is passed.
    """

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        device = named.get("device")
        if device is not None:
            named["device"] = on_cpu(device)
        if named.get("pin_memory"):
            named["pin_memory"] = False
        made = function(*args, **named)
        if _says_cuda(device):
            return note(made, cuda=True)
        if device is not None:
            return _of_host(made) if a_program_calls() else made
        if not makes_new or any(isinstance(arg, torch.Tensor) for arg in (*args, *named.values())):
            return made
        if not has_memory(made):
            return made
        if _cuda_is_default() or not a_program_calls():
            return note(made, cuda=_cuda_is_default())
        return _of_host(made)

    return called


def install() -> None:
    """Replaces what takes a device."""
    constructors = _device._device_constructors()
    for module in (torch, torch.fft):
        for name, value in list(vars(module).items()):
            if module is torch and name in _OTHERS:
                setattr(module, name, with_cpu(value))
            elif callable(value) and _is_in(value, constructors):
                setattr(module, name, with_cpu(value, makes_new=True))
    for name in ("nested_tensor", "as_nested_tensor"):
        setattr(torch.nested, name, with_cpu(getattr(torch.nested, name)))
    for name in ("from_numpy", "frombuffer", "normal"):  # torch's own list does not have them
        setattr(torch, name, with_cpu(getattr(torch, name), makes_new=True))
    for name in _METHODS:
        setattr(torch.Tensor, name, with_cpu(getattr(torch.Tensor, name)))
    # Classes of tensors around others: `device=inner.device`.
    wrapper: Any = with_cpu(torch.Tensor._make_wrapper_subclass)
    torch.Tensor._make_wrapper_subclass = staticmethod(wrapper)  # type: ignore[method-assign]
    _tensors()
    _modules()
    for taker in (_device.DeviceContext, torch.autocast):
        taker.__init__ = _first_on_cpu(taker.__init__)  # type: ignore[misc]
    torch.get_default_device = _default_device(torch.get_default_device)
    torch.load = _loading(torch.load)
    guards: Any = torch._C._dynamo.guards
    # Compiled programs allocate by these. They are newer than some torch that works.
    if hasattr(guards, "_empty_strided_cpu_pinned"):
        guards._empty_strided_cpu_pinned = guards._empty_strided_cpu
    if hasattr(guards, "_empty_strided_cuda"):
        guards._empty_strided_cuda = lambda *layout: note(guards._empty_strided_cpu(*layout), cuda=True)
    torch.Generator = type("Generator", (torch.Generator,), {"__new__": _new_generator})  # type: ignore[misc]


def _is_in(value: Any, constructors: Any) -> bool:
    try:
        return value in constructors
    except TypeError:  # what cannot be hashed is no function of torch's
        return False


def _tensors() -> None:
    Tensor: Any = torch.Tensor
    to, cpu, type = Tensor.to, Tensor.cpu, Tensor.type

    @functools.wraps(to)
    def moved(self: Any, *args: Any, **named: Any) -> Any:
        device = args[0] if args else named.get("device")
        if args:
            first = on_cpu(args[0]) if not isinstance(args[0], torch.Tensor) else args[0]
            args = (first, *args[1:])
        if "device" in named:
            named["device"] = on_cpu(named["device"])
        outcome = to(self, *args, **named)
        like = device if isinstance(device, torch.Tensor) else named.get("other")
        if _says_cuda(device):
            return _copied_to_cuda(self, outcome)
        if like is not None:
            return _copied_like(self, outcome, like)
        # To torch, tensors say that they are the CPU's wherever they are: only a program's own word means the host.
        says_cpu = isinstance(device, (str, torch.device)) and torch.device(device).type == "cpu"
        return _copied_to_cpu(self, outcome) if says_cpu and a_program_calls() else outcome

    @functools.wraps(type)
    def typed(self: Any, dtype: Any = None, *args: Any, **named: Any) -> Any:
        if dtype is None:
            name: str = type(self)
            return name.replace("torch.", "torch.cuda.") if a_program_calls() and is_played(self) else name
        if isinstance(dtype, str):
            cast = type(self, dtype.replace("torch.cuda.", "torch."), *args, **named)
            return (_copied_to_cuda if dtype.startswith("torch.cuda.") else _copied_to_cpu)(self, cast)
        cast = type(self, dtype, *args, **named)
        # `torch.cuda.FloatTensor` is `torch.FloatTensor`, too; programs that say "cuda" rather mean the first.
        return cast if isinstance(dtype, torch.dtype) else _copied_to_cuda(self, cast)

    Tensor.to = moved
    Tensor.type = typed
    Tensor.type_as = functools.wraps(Tensor.type_as)(lambda self, other: moved(self, other))
    Tensor.cuda = lambda self, device=None, non_blocking=False, memory_format=None: _copied_to_cuda(self, self)
    Tensor.cpu = functools.wraps(cpu)(lambda self, *args, **named: _copied_to_cpu(self, cpu(self, *args, **named)))
    Tensor.pin_memory = lambda self, device=None: self
    Tensor.is_pinned = lambda self, device=None: True
    Tensor.record_stream = lambda self, stream: None
    Tensor.get_device = lambda self: torch.cuda.current_device() if is_played(self) else -1


def _modules() -> None:
    Module: Any = torch.nn.Module
    to = Module.to

    @functools.wraps(to)
    def moved(self: Any, *args: Any, **named: Any) -> Any:
        device = args[0] if args else named.get("device")
        if isinstance(device, (str, int, torch.device)):
            _note_all(self, cuda=_says_cuda(device))
        args = tuple(on_cpu(arg) if isinstance(arg, (str, int, torch.device)) else arg for arg in args)
        if "device" in named:
            named["device"] = on_cpu(named["device"])
        return to(self, *args, **named)

    Module.to = moved
    Module.cuda = lambda self, device=None: _note_all(self, cuda=True)
    Module.cpu = lambda self: _note_all(self, cuda=False)


def _note_all(module: Any, *, cuda: bool) -> Any:
    """A module moves as it is: its parameters stay the same objects."""
    for tensor in (*module.parameters(), *module.buffers()):
        note(tensor, cuda=cuda)
    return module


def _first_on_cpu(init: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(init)
    def made(self: Any, device: Any = None, *args: Any, **named: Any) -> Any:
        device = named.pop("device_type", device)
        self.says_cuda = _says_cuda(device)
        return init(self, *(() if device is None else (_as_given(device),)), *args, **named)

    return made


def _as_given(device: Any) -> Any:
    """Names stay names: `autocast` takes nothing else."""
    moved = on_cpu(device)
    return str(moved) if isinstance(device, str) else moved


def _cuda_is_default() -> bool:
    """Whether tensors are made for CUDA where no device is said."""
    stack = _get_current_function_mode_stack()
    return any(getattr(mode, "says_cuda", False) for mode in stack if isinstance(mode, _device.DeviceContext))


def _default_device(default: Callable[[], Any]) -> Callable[[], Any]:
    @functools.wraps(default)
    def asked() -> Any:
        return played_device() if a_program_calls() and _cuda_is_default() else default()

    return asked


def _loading(load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def loaded(f: Any, map_location: Any = None, *args: Any, **named: Any) -> Any:
        # What was saved on a GPU comes to the CPU, too.
        where = "cpu" if map_location is None else map_location
        return load(f, on_cpu(where) if not callable(where) else where, *args, **named)

    return loaded


def _new_generator(cls: Any, device: Any = "cpu") -> Any:
    return super(torch.Generator, cls).__new__(cls, device=on_cpu(device))
