"""The decorator of functions that say how a kernel is launched, for `shoal check`."""

from __future__ import annotations

from typing import TypeVar

Function = TypeVar("Function")


def harness(function: Function) -> Function:
    """Marks a function that says what the host of each rank does, for `shoal check` and `shoal.testing.check`.

    The function is read, not called: its text is evaluated by Shoal, once for each rank (docs/checking.md).
    """
    return function
