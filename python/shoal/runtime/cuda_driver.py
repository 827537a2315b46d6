"""NVIDIA GPUs as host code asks about them."""

from __future__ import annotations

import sys
from typing import Any

from shoal import _native
from shoal.backends.compiler import GPUTarget
from shoal.backends.driver import Benchmarker, DriverBase

_FLUSH_BYTES = 256 * 1024 * 1024
"""More than any GPU's cache."""


class CUDAUtils:
    """Questions to a GPU."""

    def get_device_properties(self, device: int = 0) -> dict[str, Any]:
        """Facts about a GPU."""
        return _native.cuda_properties(device)

    def set_printf_fifo_size(self, size: int) -> None:
        """Has no meaning here: the driver's default is used."""

    def unload_module(self, module: Any) -> None:
        """Has no meaning here: code is dropped with its kernel."""


class CUDADriver(DriverBase):
    """NVIDIA GPUs, through the driver's own library."""

    launcher_cls = None
    """Launches go through the compiled kernel itself."""

    def __init__(self) -> None:
        self.utils = CUDAUtils()

    @classmethod
    def is_active(cls) -> bool:
        return cuda_is_current()

    def get_current_target(self) -> GPUTarget:
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", self.get_current_device())

    def get_current_device(self) -> int:
        """The number of the current GPU: torch's, or the one that `SHOAL_DEVICE` names."""
        torch = _torch()
        if torch is not None:
            return int(torch.cuda.current_device())
        name = _native.default_device_name()
        return int(name.split(":")[1]) if name.startswith("cuda:") else 0

    def set_current_device(self, device: int) -> None:
        """Makes a GPU the current one."""
        torch = _torch()
        if torch is not None:
            torch.cuda.set_device(device)
        else:
            _native.set_default_device(f"cuda:{device}")

    def get_current_stream(self, device: int | None = None) -> int:
        """The handle of the current queue of work."""
        torch = _torch()
        return int(torch.cuda.current_stream(device).cuda_stream) if torch is not None else 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """The compute capability."""
        at = self.get_current_device() if device is None else device
        major, minor = _native.cuda_properties(at)["capability"]
        return (major, minor)

    def get_device_interface(self) -> Any:
        """torch's module of such devices."""
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Benchmarker:
        from shoal.testing import do_bench

        benchmarker: Any = do_bench
        return benchmarker

    def get_empty_cache_for_benchmark(self) -> Any:
        """Memory larger than the cache: writing it drives everything else out of it."""
        import torch

        return torch.empty(_FLUSH_BYTES // 4, dtype=torch.int, device="cuda")

    def clear_cache(self, cache: Any) -> None:
        """Writes that memory."""
        cache.zero_()

    def map_python_to_cpp_type(self, ty: str) -> str:
        from .driver import CPUDriver

        return "CUdeviceptr" if ty.startswith("*") else CPUDriver().map_python_to_cpp_type(ty)


def _torch() -> Any:
    """torch, if the program has imported it and it works with GPUs."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return None
    played = sys.modules.get("shoal.torch.cuda_as_cpu")
    if played is not None and played.is_cuda_as_cpu():
        return None  # what torch says of CUDA is said of the CPU
    return torch if torch.cuda.is_available() else None


def current_ordinal() -> int | None:
    """The number of the GPU that kernels run on when nothing else is said; `None` if they run on the CPU."""
    return CUDADriver().get_current_device() if cuda_is_current() else None


def cuda_is_current() -> bool:
    """Whether kernels run on a GPU when nothing else is said: if `SHOAL_DEVICE` or `shoal.device` says so, or if it
    says nothing and the program uses torch with a GPU.
    """
    from shoal import knobs

    if _native.default_device_name().startswith("cuda"):
        return True
    if knobs.getenv("SHOAL_DEVICE", ""):
        return False
    return _native.cuda_device_count() > 0 and _torch() is not None
