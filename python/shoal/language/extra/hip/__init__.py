"""What belongs to AMD GPUs. Other targets refuse it when a kernel is compiled."""

from __future__ import annotations

from shoal.language._host import operation
from shoal.language._values import tensor
from shoal.language.extra import libdevice

__all__ = ["libdevice", "memrealtime", "num_threads", "num_warps", "smid"]

_function = operation(module="shoal.language.extra.hip")


@_function
def memrealtime() -> tensor:
    """The time in ticks."""


@_function
def smid() -> tensor:
    """The number of the compute unit."""


@_function
def num_threads() -> tensor:
    """The number of threads of a program."""


@_function
def num_warps() -> tensor:
    """The number of warps of a program."""
