"""`cuda.core`: devices and streams as host programs make them to hand them to NVSHMEM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

from shoal.torch.cuda_as_cpu.modules import made_module


class ComputeCapability(NamedTuple):
    """What a GPU can do, as a version."""

    major: int
    minor: int


class Stream:
    """A stream, which holds nothing back; around one of torch's, or around whatever says its own number."""

    def __init__(self, made_of: Any) -> None:
        self._made_of = made_of

    @property
    def handle(self) -> int:
        """The stream's number."""
        return self.__cuda_stream__()[1]

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of this protocol, and the stream's number."""
        if hasattr(self._made_of, "__cuda_stream__"):
            _, number = self._made_of.__cuda_stream__()
            return 0, int(number)
        return 0, int(self._made_of.cuda_stream)

    def sync(self) -> None:
        """Waits for the stream: nothing is left in it."""

    def wait(self, event_or_stream: Any) -> None:
        """What follows comes after something else: it always does."""

    def close(self) -> None:
        """Gives the stream back."""


class Device:
    """A device that the CPU plays: the current one, or the one with a number."""

    def __init__(self, device_id: int | None = None) -> None:
        import torch

        number = torch.cuda.current_device() if device_id is None else int(device_id)
        if not 0 <= number < torch.cuda.device_count():
            raise ValueError(f"device_id must be >= 0 and < {torch.cuda.device_count()}, got {number}")
        self.device_id = number

    def set_current(self) -> None:
        """Makes it the current device."""
        import torch

        torch.cuda.set_device(self.device_id)

    def create_stream(self, obj: Any = None, options: Any = None) -> Stream:
        """A stream of its own, or around another library's."""
        import torch

        return Stream(torch.cuda.Stream(self.device_id) if obj is None else obj)

    @property
    def default_stream(self) -> Stream:
        """The stream that work goes to if nobody says another."""
        import torch

        return Stream(torch.cuda.default_stream(self.device_id))

    def sync(self) -> None:
        """Waits for all streams: nothing is left in them."""

    @property
    def name(self) -> str:
        """What it is called."""
        import torch

        return torch.cuda.get_device_name(self.device_id)

    @property
    def compute_capability(self) -> ComputeCapability:
        """What it can do."""
        import torch

        return ComputeCapability(*torch.cuda.get_device_capability(self.device_id))

    @property
    def arch(self) -> str:
        """What it can do, as one number."""
        return "{}{}".format(*self.compute_capability)

    def __int__(self) -> int:
        return self.device_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.device_id == self.device_id

    def __hash__(self) -> int:
        return hash(self.device_id)

    def __repr__(self) -> str:
        return f"<Device {self.device_id} ({self.name})>"


class _System(SimpleNamespace):
    """What the machine has."""

    @property
    def num_devices(self) -> int:
        import torch

        return torch.cuda.device_count()

    @property
    def devices(self) -> tuple[Device, ...]:
        return tuple(Device(number) for number in range(self.num_devices))


def install() -> None:
    """Makes the modules: the library itself could not start without a GPU."""
    for name in ("cuda.core", "cuda.core.experimental"):
        module: Any = made_module(name)
        module.Device, module.Stream, module.system = Device, Stream, _System()
