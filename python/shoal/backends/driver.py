"""What a device's driver looks like to host code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from shoal.backends.compiler import GPUTarget


class Benchmarker(Protocol):
    """Measures a call; gives the quantiles of its times in milliseconds."""

    def __call__(self, kernel_call: Callable[[], Any], *, quantiles: list[float], **kwargs: Any) -> Sequence[float]: ...


class DriverBase(ABC):
    """A kind of device."""

    @classmethod
    @abstractmethod
    def is_active(cls) -> bool:
        """Whether there is such a device."""

    @abstractmethod
    def get_current_target(self) -> GPUTarget:
        """What code is made for."""

    def compiled_target(self) -> GPUTarget:
        """The same, also where the device plays another."""
        return self.get_current_target()

    @abstractmethod
    def get_active_torch_device(self) -> Any:
        """The device as torch names it."""

    @abstractmethod
    def get_benchmarker(self) -> Benchmarker:
        """How calls are measured on this device."""

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The C type of a signature's type."""
        raise NotImplementedError(f"{type(self).__name__} has no C types")


class GPUDriver(DriverBase):
    """A GPU. There is none here yet: only CPUs run kernels."""
