"""The device of launches whose arrays are the host's, or that have none."""

from __future__ import annotations

from types import TracebackType

from .. import _native


class device:
    """Launches of arrays of the host, and launches without arrays, go to this device from now on: `cpu`, `interp` (the
    interpreter, which checks every access), `cuda` or `cuda:1`. Arrays that are in a GPU's memory are always worked on
    there. As a context manager, the device before is used again at the end.

        shoal.device("cuda")                  # as SHOAL_DEVICE=cuda
        with shoal.device("interp"):
            kernel[grid](x, n)

    Arrays of the host are copied to the GPU for a launch there, and back when it is done.
    """

    def __init__(self, name: str) -> None:
        self._before = _native.set_default_device(name)

    @staticmethod
    def current() -> str:
        """The name of the device in use."""
        return _native.default_device_name()

    def __enter__(self) -> device:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _native.set_default_device(self._before)
