"""The device that kernels run on, as host code asks about it: the CPU of this machine."""

from __future__ import annotations

import functools
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shoal.backends.compiler import GPUTarget
from shoal.backends.driver import Benchmarker, DriverBase

_CACHE_INFO = "/sys/devices/system/cpu/cpu0/cache"
_DEFAULT_CACHE_BYTES = 32 * 1024 * 1024


class Event:
    """A point in time, as torch's device interfaces have it."""

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Remembers the time. Launches are over when they return, so nothing has to be waited for."""
        self._time = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds until a later event."""
        if self._time is None or end_event._time is None:
            raise RuntimeError("both events must be recorded before the time between them is known")
        return (end_event._time - self._time) * 1000

    def query(self) -> bool:
        """Whether everything before it is over."""
        return True

    def synchronize(self) -> None:
        """Waits until everything before it is over."""

    wait = synchronize


class Stream:
    """The one queue of work that a CPU has."""

    cuda_stream = 0
    priority = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def synchronize(self) -> None:
        """Waits for the work in it, which is over already."""

    def wait_stream(self, stream: Any) -> None:
        """Waits for another stream."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event at this point."""
        event = event if event is not None else Event()
        event.record()
        return event


class DeviceInterface:
    """What torch's device modules (`torch.cuda`, …) offer to code that works on any of them."""

    Event = Event
    Stream = Stream

    def is_available(self) -> bool:
        """Whether there is such a device."""
        return True

    def device_count(self) -> int:
        """How many there are: the whole machine is one."""
        return 1

    def current_device(self) -> int:
        """The number of the current one."""
        return 0

    def set_device(self, device: Any) -> None:
        """Makes one of them the current one."""

    def synchronize(self, device: Any = None) -> None:
        """Waits for all work, which is over already."""

    def current_stream(self, device: Any = None) -> Any:
        """The queue of work."""
        return Stream()

    default_stream = current_stream

    @contextmanager
    def stream(self, stream: Any) -> Iterator[None]:
        """Uses a queue of work."""
        yield

    @contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """Uses a device."""
        yield

    def get_device_name(self, device: Any = None) -> str:
        """What the CPU is called."""
        return _cpu_name()

    def get_device_properties(self, device: Any = None) -> dict[str, Any]:
        """Facts about the CPU."""
        return _properties()

    def empty_cache(self) -> None:
        """Gives memory back, of which none is held."""


class DriverUtils:
    """Questions to the device."""

    def get_device_properties(self, device: int = 0) -> dict[str, Any]:
        """Facts about the CPU in the words of GPUs.

        A core stands for a multiprocessor, its second-level cache for shared memory; a warp is one thread.
        """
        return dict(_properties())

    def set_printf_fifo_size(self, size: int) -> None:
        """Has no meaning here: prints are never dropped."""

    def unload_module(self, module: Any) -> None:
        """Has no meaning here: code is dropped with its kernel."""


class CPUDriver(DriverBase):
    """This machine's CPU."""

    launcher_cls = None
    """Launches go through the compiled kernel itself."""

    def __init__(self) -> None:
        self.utils = DriverUtils()

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cpu", _arch(), 1)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_current_device(self) -> int:
        """The number of the current device."""
        return 0

    def set_current_device(self, device: int) -> None:
        """Makes a device the current one; there is only number 0."""
        if device != 0:
            raise ValueError(f"there is no device {device}: the CPU is device 0")

    def get_current_stream(self, device: int | None = None) -> int:
        """The handle of the current queue of work."""
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """The compute capability of an NVIDIA GPU, which a CPU has not."""
        return (0, 0)

    def get_device_interface(self) -> DeviceInterface:
        """The device as torch's device modules show theirs."""
        return DeviceInterface()

    def get_benchmarker(self) -> Benchmarker:
        from shoal.testing import do_bench

        benchmarker: Any = do_bench
        return benchmarker

    def get_empty_cache_for_benchmark(self) -> Any:
        """Memory larger than the caches: writing it drives everything else out of them."""
        size = 2 * _last_cache_bytes()
        try:
            import torch
        except ImportError:
            return bytearray(size)
        return torch.empty(size // 4, dtype=torch.int, device="cpu")

    def clear_cache(self, cache: Any) -> None:
        """Writes that memory."""
        if isinstance(cache, bytearray):
            cache[:] = bytes(len(cache))
        else:
            cache.zero_()

    def map_python_to_cpp_type(self, ty: str) -> str:
        if ty.startswith("*"):
            return "void*"
        if ty.startswith("fp8"):
            return "uint8_t"
        names = {"i1": "int8_t", "u1": "uint8_t", "fp16": "uint16_t", "bf16": "uint16_t"}
        names |= {f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)}
        names |= {f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)}
        return (names | {"fp32": "float", "f32": "float", "fp64": "double"})[ty]


class DriverConfig:
    """Which driver is used."""

    def __init__(self) -> None:
        self._default: DriverBase | None = None
        self._active: DriverBase | None = None

    @property
    def default(self) -> Any:
        """The driver that `TRITON_DEFAULT_BACKEND` names, or the only one there is."""
        if self._default is None:
            self._default = _create_driver()
        return self._default

    @property
    def active(self) -> Any:
        """The driver in use."""
        return self._active if self._active is not None else self.default

    def set_active(self, driver: DriverBase) -> None:
        """Uses another driver."""
        self._active = driver

    def set_active_to_cpu(self) -> None:
        """Uses the CPU."""
        self._active = CPUDriver()

    def reset_active(self) -> None:
        """Uses the default driver again."""
        self._active = None


def _create_driver() -> DriverBase:
    from shoal.backends import backends

    selected = os.environ.get("TRITON_DEFAULT_BACKEND") or "cpu"
    if selected not in backends:
        raise RuntimeError(f"Unknown backend device '{selected}'. Available backends: {list(backends)}")
    return backends[selected].driver()


@functools.cache
def _arch() -> str:
    from shoal import _native

    return _native.cpu_name() if hasattr(_native, "cpu_name") else platform.machine()


@functools.cache
def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@functools.cache
def _cache_sizes() -> tuple[int, ...]:
    """Bytes of the first core's data caches, level by level."""
    sizes = {}
    try:
        for entry in os.listdir(_CACHE_INFO):
            if not entry.startswith("index"):
                continue
            facts = {}
            for fact in ("level", "type", "size"):
                with open(os.path.join(_CACHE_INFO, entry, fact)) as file:
                    facts[fact] = file.read().strip()
            if facts["type"] != "Instruction":
                sizes[int(facts["level"])] = _bytes(facts["size"])
    except (OSError, ValueError):
        return ()
    return tuple(sizes[level] for level in sorted(sizes))


def _bytes(text: str) -> int:
    unit = {"K": 1024, "M": 1024**2, "G": 1024**3}.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * unit


def _last_cache_bytes() -> int:
    sizes = _cache_sizes()
    return sizes[-1] if sizes else _DEFAULT_CACHE_BYTES


@functools.cache
def _properties() -> dict[str, Any]:
    sizes = _cache_sizes()
    frequency = _clock_khz()
    return {
        "name": _cpu_name(),
        "arch": _arch(),
        "max_shared_mem": sizes[1] if len(sizes) > 1 else 1024 * 1024,
        "max_num_regs": 65536,
        "multiprocessor_count": len(os.sched_getaffinity(0)),
        "warpSize": 1,
        "max_threads_per_sm": 1024,
        "max_threads_per_block": 1024,
        "sm_clock_rate": frequency,
        "mem_clock_rate": frequency,
        "mem_bus_width": 128,
        "cooperativeLaunch": 1,
        "l2_cache_size": _last_cache_bytes(),
    }


def _clock_khz() -> int:
    try:
        with open("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 2_000_000


driver = DriverConfig()
