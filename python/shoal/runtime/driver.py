"""The device that kernels run on, as host code asks about it: the CPU of this machine, or a GPU."""

from __future__ import annotations

from typing import Any

from shoal import knobs
from shoal.backends.compiler import GPUTarget
from shoal.backends.driver import Benchmarker, DriverBase
from shoal.runtime import cpu_facts
from shoal.runtime.cuda_driver import cuda_is_current
from shoal.runtime.device_interface import DeviceInterface


class DriverUtils:
    """Questions to the device."""

    def get_device_properties(self, device: int = 0) -> dict[str, Any]:
        """Facts about the CPU in the words of GPUs.

        A core stands for a multiprocessor, its second-level cache for shared memory; a warp is one thread.
        """
        return dict(cpu_facts.properties())

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
        return GPUTarget("cpu", cpu_facts.arch(), 1)

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
        size = 2 * cpu_facts.last_cache_bytes()
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
        self._selected = ""
        self._active: DriverBase | None = None

    @property
    def default(self) -> Any:
        """The driver that `TRITON_DEFAULT_BACKEND` names; else the GPU's, if kernels run there; else the CPU's."""
        selected = knobs.getenv("TRITON_DEFAULT_BACKEND", "") or ("nvidia" if cuda_is_current() else "cpu")
        if self._default is None or self._selected != selected:
            self._default, self._selected = _create_driver(selected), selected
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


def _create_driver(selected: str) -> DriverBase:
    from shoal.backends import backends

    if selected not in backends:
        raise RuntimeError(f"Unknown backend device '{selected}'. Available backends: {list(backends)}")
    return backends[selected].driver()


driver = DriverConfig()
