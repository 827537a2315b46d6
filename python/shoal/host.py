"""Arithmetic for grids and block sizes, on the host and in kernels alike."""

from __future__ import annotations

from typing import Any


def cdiv(x: Any, y: Any) -> Any:
    """`x` divided by `y`, rounded up: how many blocks of `y` cover `x`."""
    return -(-x // y)


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least `n`."""
    n = int(n)
    return 1 if n <= 1 else 1 << (n - 1).bit_length()


# How the compiler knows them.
cdiv.__shoal_path__ = "shoal.cdiv"  # type: ignore[attr-defined]
next_power_of_2.__shoal_path__ = "shoal.next_power_of_2"  # type: ignore[attr-defined]
