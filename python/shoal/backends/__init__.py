"""The kinds of devices that kernels run on."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.backends.compiler import BaseBackend, CPUBackend, CUDABackend
from shoal.backends.driver import DriverBase

__all__ = ["Backend", "BaseBackend", "DriverBase", "backends"]


@dataclass(frozen=True)
class Backend:
    """A compiler and a driver that belong together."""

    compiler: type[BaseBackend]
    driver: type[DriverBase]


backends: dict[str, Backend]


def _known() -> dict[str, Backend]:
    from shoal.runtime.cuda_driver import CUDADriver
    from shoal.runtime.driver import CPUDriver

    return {"cpu": Backend(CPUBackend, CPUDriver), "nvidia": Backend(CUDABackend, CUDADriver)}


def __getattr__(name: str) -> object:
    if name == "backends":
        globals()["backends"] = _known()
        return globals()["backends"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
