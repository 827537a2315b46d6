"""`triton_dist.jit`: kernels that communicate are kernels like all others here."""

from __future__ import annotations

import math
import os
import warnings

from shoal.runtime.jit import JITFunction, jit

TritonDistJITFunction = JITFunction

__all__ = ["JITFunction", "TritonDistJITFunction", "jit"]

_MOST_OF_A_CLUSTER = 16


def _parse_cga_cluster_size() -> tuple[int, int, int] | None:
    """The programs of a cluster along each axis, as `TRITON_DIST_CGA_CLUSTER_SIZE` says; warns if they make none.

    Clusters change nothing here; host programs look at the setting.
    """
    said = os.environ.get("TRITON_DIST_CGA_CLUSTER_SIZE", "")
    if not said:
        return None
    try:
        sides = [int(side) for side in said.split(",")]
    except ValueError:
        sides = []
    if not 1 <= len(sides) <= 3:
        return _no_cluster(said, "it is not of the form x, x,y or x,y,z")
    for side in sides:
        if side < 1 or side & (side - 1):
            return _no_cluster(said, f"{side} is not a power of 2")
    if math.prod(sides) > _MOST_OF_A_CLUSTER:
        return _no_cluster(said, f"{math.prod(sides)} programs exceeds maximum of {_MOST_OF_A_CLUSTER}")
    x, y, z = (*sides, 1, 1)[:3]
    return x, y, z


def _no_cluster(said: str, why: str) -> None:
    warnings.warn(f"TRITON_DIST_CGA_CLUSTER_SIZE={said} is ignored: {why}", stacklevel=3)
