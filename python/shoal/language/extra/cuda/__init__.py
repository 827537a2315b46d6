"""What belongs to NVIDIA GPUs. On other targets the hints do nothing; the rest is refused by the compiler."""

from __future__ import annotations

from typing import Any

from shoal.language._host import operation
from shoal.language._values import tensor
from shoal.language.extra import libdevice

__all__ = [
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "gdc_launch_dependents",
    "gdc_wait",
    "globaltimer",
    "libdevice",
    "num_threads",
    "num_warps",
    "smid",
]

_function = operation(module="shoal.language.extra.cuda")


@_function
def gdc_wait() -> None:
    """Waits until the launch ahead has ended: a launch with `launch_pdl=True` may begin before."""


@_function
def gdc_launch_dependents() -> None:
    """Lets the launch behind begin, if it is one with `launch_pdl=True`, once all programs have come here."""


@_function
def globaltimer() -> tensor:
    """The time in nanoseconds."""


@_function
def smid() -> tensor:
    """The number of the multiprocessor."""


@_function
def num_threads() -> tensor:
    """The number of threads of a program."""


@_function
def num_warps() -> tensor:
    """The number of warps of a program."""


@_function
def convert_custom_float8_sm70(*args: Any) -> tensor:
    """Conversion of 8-bit floats on old GPUs. Use `cast`."""


@_function
def convert_custom_float8_sm80(*args: Any) -> tensor:
    """Conversion of 8-bit floats on old GPUs. Use `cast`."""
