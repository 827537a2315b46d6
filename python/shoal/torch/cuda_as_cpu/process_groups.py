"""Process groups that want NCCL get gloo."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

# Its functions have the default group as default values. Imported after that was made, as `torch._dynamo` does, they
# would keep it beyond `destroy_process_group`: its threads would go on while Python ends, and one that drops a tensor
# then ends the process by `std::terminate`.
import torch.distributed.nn
from torch._C import DispatchKey, DispatchKeySet
from torch.distributed import distributed_c10d

from shoal.runtime import stream_work

# What moves numbers and does not look at them.
_MOVING = (
    "all_gather",
    "all_gather_into_tensor",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "irecv",
    "isend",
    "recv",
    "scatter",
    "send",
)

# The operators among torch's functional collectives that do so.
_MOVING_OPERATORS = ("all_gather_into_tensor", "all_gather_into_tensor_out", "all_to_all_single", "broadcast")

# What a stream does of a group, further to those.
_OTHER_WORK = ("all_reduce", "barrier", "reduce", "reduce_scatter", "reduce_scatter_tensor")
# What is always asynchronous: two ranks that send to each other must not wait before they receive.
_BETWEEN_TWO = ("irecv", "isend")


def install() -> None:
    """Replaces what makes groups, and what gloo does otherwise than NCCL."""
    _replace("init_process_group", _grouping)
    _replace("new_group", _grouping)
    _replace("split_group", _refusing)
    _replace("barrier", _without_devices)
    _replace("all_reduce", _averaging)
    for name in _MOVING:
        _replace(name, _moving_bytes)
    for name in (*_MOVING, *_OTHER_WORK):
        _replace(name, _in_stream)
    for name in _MOVING_OPERATORS:
        _move_bytes_by_operator(name)
    _replace("is_nccl_available", lambda original: lambda: True)
    dist.init_device_mesh = _mesh(dist.init_device_mesh)
    dist.device_mesh.init_device_mesh = dist.init_device_mesh


def _replace(name: str, by: Callable[[Any], Any]) -> None:
    original = getattr(distributed_c10d, name, None)
    if original is None:
        return
    replaced = by(original)
    for owner in (distributed_c10d, dist):
        setattr(owner, name, replaced)


def _gloo(backend: Any) -> Any:
    return "gloo" if backend is None or "nccl" in str(backend).lower() else backend


def _grouping(original: Any) -> Any:
    # Of the function itself: torch wraps it, and the wrapper's own parameters have no names.
    signature = inspect.signature(original)

    @functools.wraps(original)
    def made(*args: Any, **named: Any) -> Any:
        named = dict(signature.bind(*args, **named).arguments)
        named["backend"] = _gloo(named.get("backend"))
        # Which GPU a rank has, and how NCCL is to be set up.
        named.pop("device_id", None)
        named.pop("pg_options", None)
        return original(**named)

    return made


def _refusing(original: Any) -> Any:
    @functools.wraps(original)
    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{original.__name__} needs NCCL, which gloo stands for here; use new_group")

    return refuse


def _without_devices(original: Any) -> Any:
    @functools.wraps(original)
    def barrier(*args: Any, **named: Any) -> Any:
        named.pop("device_ids", None)
        return original(*args[:2], **named)

    return barrier


def _averaging(original: Any) -> Any:
    @functools.wraps(original)
    def all_reduce(tensor: Any, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
        if op != dist.ReduceOp.AVG:
            return original(tensor, op, group, async_op)
        if async_op:
            raise RuntimeError("an all_reduce with AVG is not asynchronous on gloo; sum and divide instead")
        done = original(tensor, dist.ReduceOp.SUM, group, False)
        tensor.div_(dist.get_world_size(group))
        return done

    return all_reduce


def _moving_bytes(original: Any) -> Any:
    """NCCL moves floats of 8 bits as bytes; gloo does not know them."""

    @functools.wraps(original)
    def moved(*args: Any, **named: Any) -> Any:
        return original(*map(_as_bytes, args), **{name: _as_bytes(value) for name, value in named.items()})

    return moved


def _as_bytes(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_bytes(part) for part in value]
    if isinstance(value, torch.Tensor) and value.dtype.is_floating_point and value.element_size() == 1:
        return value.view(torch.uint8)
    return value


_operators = torch.library.Library("_c10d_functional", "IMPL")


def _move_bytes_by_operator(name: str) -> None:
    overload = getattr(torch.ops._c10d_functional, name).default
    # The operator is the same for all devices: where it is replaced for CPUs, another device has the original.
    original = functools.partial(overload.redispatch, DispatchKeySet(DispatchKey.PrivateUse1))

    def moved(tensor: Any, *args: Any, **named: Any) -> Any:
        plain = {key: _as_bytes(value) for key, value in named.items()}
        return original(_as_bytes(tensor), *args, **plain).view(tensor.dtype)

    _operators.impl(name, moved, "CPU")


class _Captured:
    """What asynchronous calls give while a graph is captured: where it is waited for, replays end what they began."""

    def __init__(self) -> None:
        self._work: Any = None

    def begin(self, call: Callable[..., Any], **named: Any) -> None:
        self._work = call(**named)

    def _end(self) -> None:
        if self._work is not None:
            self._work.wait()

    def wait(self, timeout: Any = None) -> bool:
        stream_work.do(self._end)
        return True

    def is_completed(self) -> bool:
        return True


def _in_stream(original: Any) -> Any:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def put(*args: Any, **named: Any) -> Any:
        if not stream_work.is_captured():
            return original(*args, **named)
        named = dict(signature.bind(*args, **named).arguments)
        work = _Captured()
        if original.__name__ in _BETWEEN_TWO:
            stream_work.do(work.begin, original, **named)
            return work
        asynchronous = named.pop("async_op", False)
        stream_work.do(original, **named)
        return work if asynchronous else None

    return put


def _mesh(original: Any) -> Any:
    @functools.wraps(original)
    def init_device_mesh(device_type: str, *args: Any, **named: Any) -> Any:
        return original("cpu" if device_type == "cuda" else device_type, *args, **named)

    return init_device_mesh
