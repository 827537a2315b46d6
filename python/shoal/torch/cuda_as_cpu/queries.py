"""`torch.cuda` as it answers for the CPU."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from types import FunctionType, SimpleNamespace
from typing import Any

import torch

from shoal.runtime import cpu_facts, stream_work
from shoal.runtime.device_interface import Event, Stream
from shoal.torch.cuda_as_cpu.graphs import CUDAGraph, graph, graph_pool_handle
from shoal.torch.cuda_as_cpu.memory_pools import MemPool, use_mem_pool

# The compute capability that most kernels are written for: descriptors, eight-bit floats.
CAPABILITY = (9, 0)

# Multiprocessors of a GPU of that capability. Programs give some of them to communication, and the rest must be enough
# for the rest; a CPU's cores are not, and any grid makes progress on them.
MULTIPROCESSORS = 132

# Devices where nobody says how many there are: what tests of several ranks usually ask for.
DEVICES = 4


class CudaStream(Stream):
    """A stream that can be the current one."""

    device_type = 1  # CUDA's in torch

    @property
    def device(self) -> torch.device:
        """The device whose work it queues."""
        return torch.device("cuda", _current_device)

    def is_capturing(self) -> bool:
        """Whether its work goes into a graph."""
        return stream_work.is_captured()

    def __enter__(self) -> CudaStream:
        _before.append(_current_stream)
        _set_stream(self)
        return self

    def __exit__(self, *_: object) -> None:
        _set_stream(_before.pop())


# torch's names for streams and events of any device. They are types of their own: torch's compiler would take those of
# `torch.cuda` for streams that it knows.
class AnyStream(CudaStream):
    """`torch.Stream`."""


class AnyEvent(Event):
    """`torch.Event`."""

    def __init__(self, device: Any = None, *, enable_timing: bool = False, **named: Any) -> None:
        super().__init__(enable_timing, **named)


_current_device = 0
_current_stream: Any = CudaStream()
_before: list[Any] = []


def install() -> None:
    """Replaces the questions, and what streams and events are."""
    cuda: Any = torch.cuda
    for name, value in _ANSWERS.items():
        answer = _own(value)
        setattr(cuda, name, answer)
        for part in (cuda.graphs, cuda.memory, cuda.random, cuda.streams):
            if hasattr(part, name):
                setattr(part, name, answer)
    cuda.default_generators = cuda.random.default_generators = (torch.default_generator,) * _device_count()
    for name in dir(cuda):
        if name.endswith("Tensor") and hasattr(torch, name):
            setattr(cuda, name, getattr(torch, name))  # `torch.cuda.FloatTensor`: the class is its constructor
    torch.Stream, torch.Event = AnyStream, AnyEvent  # type: ignore[misc, assignment]
    if hasattr(torch, "accelerator"):
        for name, value in _OF_ACCELERATOR.items():
            setattr(torch.accelerator, name, _own(value))
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        setattr(cuda.nvtx, name, _own(_nothing))
    cuda.nvtx.range = _no_range
    if torch.version.cuda is None:
        torch.version.cuda = "12.8"  # type: ignore[misc]
    _profile_the_cpu()
    torch._C._cuda_getCurrentRawStream = _own(lambda device: _current_stream.cuda_stream)  # type: ignore[attr-defined]
    for name in ("_accelerator_exchangeDevice", "_accelerator_maybeExchangeDevice"):
        setattr(torch._C, name, _own(_exchange_device))
    # A kernel's launch takes tensors of the current stream; nothing of CUDA itself may start.
    cuda._lazy_init = _nothing


def _profile_the_cpu() -> None:
    """What CUDA does is done by the CPU, so that its activities are those to profile."""
    from torch.profiler import ProfilerActivity
    from torch.profiler.profiler import _KinetoProfile

    original = _KinetoProfile.__init__

    @functools.wraps(original)
    def of_cpu(self: Any, *, activities: Any = None, **named: Any) -> None:
        original(self, activities=[ProfilerActivity.CPU], **named)

    _KinetoProfile.__init__ = of_cpu  # type: ignore[method-assign]


def _own(value: Any) -> Any:
    """A function of its own: torch's compiler knows functions by what they are, and wants them to be different."""
    if not isinstance(value, FunctionType):
        return value
    own = FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, value.__closure__)
    own.__kwdefaults__ = value.__kwdefaults__
    own.__dict__.update(value.__dict__)
    return own


def _nothing(*_: Any, **__: Any) -> None:
    """Has no meaning on a CPU."""


@contextlib.contextmanager
def _no_range(*_: Any, **__: Any) -> Iterator[None]:
    yield


def _device_count() -> int:
    """Every rank of this host has a device; where ranks are yet to be started, as many as `SHOAL_CUDA_DEVICES` says."""
    said = os.environ.get("SHOAL_CUDA_DEVICES") or os.environ.get("LOCAL_WORLD_SIZE") or DEVICES
    return max(int(said), 1)


def _number(device: Any) -> int:
    if device is None:
        return _current_device
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return _current_device if index is None else index


def _set_device(device: Any) -> None:
    global _current_device
    number = _number(device)
    if number >= 0:
        _current_device = number


class _Device:
    """`torch.cuda.device`: another device for a while."""

    def __init__(self, device: Any) -> None:
        self.idx = _number(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _current_device
        _set_device(self.idx)

    def __exit__(self, *_: object) -> None:
        _set_device(self.prev_idx)


class _DeviceIndex(_Device):
    """`torch.accelerator.device_index`: torch's compiler knows the two by their types."""


class _DeviceOf(_Device):
    """`torch.cuda.device_of`: the device of a tensor for a while."""

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor.get_device() if tensor.is_cuda else -1)


def _exchange_device(number: int) -> int:
    before = _current_device
    _set_device(number)
    return before


@contextlib.contextmanager
def _stream(stream: Any) -> Iterator[None]:
    before = _current_stream
    _set_stream(stream if stream is not None else before)
    try:
        yield
    finally:
        _set_stream(before)


def _set_stream(stream: Any) -> None:
    global _current_stream
    _current_stream = stream


def _properties(device: Any = None) -> SimpleNamespace:
    facts = cpu_facts.properties()
    shared = facts.get("max_shared_mem", 0)
    return SimpleNamespace(
        name=cpu_facts.name(),
        major=CAPABILITY[0],
        minor=CAPABILITY[1],
        total_memory=_memory("MemTotal"),
        multi_processor_count=MULTIPROCESSORS,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=shared,
        shared_memory_per_block_optin=shared,
        shared_memory_per_multiprocessor=shared,
        L2_cache_size=cpu_facts.last_cache_bytes(),
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName="",
    )


def _memory(what: str) -> int:
    with open("/proc/meminfo", encoding="utf-8") as lines:
        for line in lines:
            name, _, size = line.partition(":")
            if name == what:
                return int(size.split()[0]) * 1024
    return 0


def _seed(seed: int) -> None:
    """Not `torch.manual_seed`, which seeds CUDA, too."""
    torch.default_generator.manual_seed(int(seed))


@stream_work.in_stream
def _sleep(cycles: int) -> None:
    time.sleep(cycles / 2e9)


def _refused(what: str, instead: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{what} has no counterpart where CUDA is played by the CPU; {instead}")

    return refuse


_ANSWERS: dict[str, Any] = {
    "Event": Event,
    "ExternalStream": CudaStream,
    "MemPool": MemPool,
    "Stream": CudaStream,
    "CUDAGraph": CUDAGraph,
    "graph": graph,
    "graph_pool_handle": graph_pool_handle,
    "cudart": _refused("torch.cuda.cudart()", "ask torch.cuda itself"),
    "_record_memory_history": _nothing,
    "_sleep": _sleep,
    "can_device_access_peer": lambda device, peer: True,
    "clock_rate": lambda device=None: 2000,
    "current_device": lambda: _current_device,
    "current_stream": lambda device=None: _current_stream,
    "default_stream": lambda device=None: CudaStream(),
    "device": _Device,
    "device_count": _device_count,
    "device_of": _DeviceOf,
    "_exchange_device": _exchange_device,
    "_maybe_exchange_device": _exchange_device,
    "empty_cache": _nothing,
    "get_arch_list": lambda: [f"sm_{CAPABILITY[0]}{CAPABILITY[1]}"],
    "get_device_capability": lambda device=None: CAPABILITY,
    "get_device_name": lambda device=None: cpu_facts.name(),
    "get_device_properties": _properties,
    "get_rng_state": lambda device=None: torch.get_rng_state(),
    "init": _nothing,
    "initial_seed": torch.initial_seed,
    "ipc_collect": _nothing,
    "is_available": lambda: True,
    "is_bf16_supported": lambda *_, **__: True,
    "is_current_stream_capturing": stream_work.is_captured,
    "is_initialized": lambda: True,
    "manual_seed": _seed,
    "manual_seed_all": _seed,
    "max_memory_allocated": lambda device=None: 0,
    "max_memory_reserved": lambda device=None: 0,
    "mem_get_info": lambda device=None: (_memory("MemAvailable"), _memory("MemTotal")),
    "memory_allocated": lambda device=None: 0,
    "memory_reserved": lambda device=None: 0,
    "memory_stats": lambda device=None: defaultdict(int),
    "memory_summary": lambda device=None, abbreviated=False: "CUDA is played by the CPU, whose memory is not counted.",
    "reset_accumulated_memory_stats": _nothing,
    "reset_max_memory_allocated": _nothing,
    "reset_peak_memory_stats": _nothing,
    "seed": _nothing,
    "seed_all": _nothing,
    "set_device": _set_device,
    "set_per_process_memory_fraction": _nothing,
    "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
    "set_stream": _set_stream,
    "stream": _stream,
    "synchronize": _nothing,
    "use_mem_pool": use_mem_pool,
    "utilization": lambda device=None: 0,
}


def _accelerator_is_available() -> bool:
    """Programs find CUDA here. torch's compiler must not: it traces the CPU's tensors, which have no streams."""
    return not sys._getframe(1).f_globals.get("__name__", "").startswith(("torch._dynamo", "torch._inductor"))


_OF_ACCELERATOR: dict[str, Any] = {
    "current_accelerator": lambda check_available=False: torch.device("cuda"),
    "current_device_idx": lambda: _current_device,
    "current_device_index": lambda: _current_device,
    "current_stream": lambda device=None: _current_stream,
    "device_count": _device_count,
    "device_index": _DeviceIndex,
    "empty_cache": _nothing,
    "get_memory_info": _ANSWERS["mem_get_info"],
    "is_available": _accelerator_is_available,
    "max_memory_allocated": lambda device=None: 0,
    "max_memory_reserved": lambda device=None: 0,
    "memory_allocated": lambda device=None: 0,
    "memory_reserved": lambda device=None: 0,
    "reset_peak_memory_stats": _nothing,
    "set_device_idx": _set_device,
    "set_device_index": _set_device,
    "set_stream": _set_stream,
    "synchronize": _nothing,
}
