"""What is compiled of a kernel, as host code looks it up and clears it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .kernel import CompiledKernel

if TYPE_CHECKING:
    from .jit import JITFunction


class CompiledKernels(dict[str, CompiledKernel]):
    """What is compiled of a kernel for one device."""

    def __init__(self, kernel: JITFunction[Any]) -> None:
        self._kernel = kernel
        super().__init__({made.hash: made for made in kernel._compiled_kernels()})

    def clear(self) -> None:
        """Forgets what is compiled."""
        self._kernel._reset()
        super().clear()


class DeviceCaches(dict[int, tuple[Any, ...]]):
    """What is compiled of a kernel, for each device."""

    def __init__(self, kernel: JITFunction[Any]) -> None:
        self._kernel = kernel
        super().__init__({0: (CompiledKernels(kernel), {}, None, None, None)})

    def __missing__(self, device: int) -> tuple[Any, ...]:
        """The CPU is one device under every number."""
        return self[0]

    def clear(self) -> None:
        """Forgets what is compiled."""
        self._kernel._reset()
        super().clear()
