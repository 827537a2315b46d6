"""What this machine's CPU could do at best: the bandwidth of its memory, and its arithmetic."""

from __future__ import annotations

import ctypes
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..language import core as tl
from ..language._signature import DTYPES
from ..runtime import cpu_facts

# Operations that a core ends in a cycle: a fused multiply-add counts two, and cores have two units for it.
PER_LANE = 4
# A tile multiplication of AMX: 16×16 sums of 64 bytes each, every 16 cycles.
AMX_BYTES_PER_CYCLE = 16 * 64

# The types with a peak, and the flags of CPUs whose matrix units multiply some of them.
PEAKS = ("fp64", "fp32", "fp16", "bf16", "int8", "int16", "int32")
MATRIX_UNITS = {"bf16": "amx_bf16", "fp16": "amx_fp16", "int8": "amx_int8"}


def get_dram_gbps(device: Any = None) -> float:
    """Bandwidth of the memory in GB/s: read and written by a copy on all cores, the best of five."""
    threads = len(os.sched_getaffinity(0))
    size = 1 << 26
    blocks = [(ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)) for _ in range(threads)]
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(6):
            start = time.perf_counter()
            list(pool.map(lambda block: ctypes.memmove(block[0], block[1], size), blocks))
            best = min(best, time.perf_counter() - start)
    return 2 * size * threads / best / 1e9


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: Any = None) -> float:
    """Peak of the vector units of all cores in TFLOP/s, at a clock rate in kHz; two fused multiply-adds a cycle."""
    lanes = _vector_bytes() // _lane_bytes(_with_peak(dtype))
    return cpu_facts.cores() * lanes * PER_LANE * clock_rate * 1e-9


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: Any = None) -> float:
    """Peak of the matrix units (AMX) of all cores in TFLOP/s, at a clock rate in kHz.

    Without such units for this type, products are made by the vector units, and their peak is the answer.
    """
    element = _with_peak(dtype)
    if MATRIX_UNITS.get(element.name) in cpu_facts.flags():
        return cpu_facts.cores() * 2 * AMX_BYTES_PER_CYCLE // element.itemsize * clock_rate * 1e-9
    return get_max_simd_tflops(dtype, clock_rate, device)


def _with_peak(dtype: Any) -> tl.dtype:
    """A type of torch, NumPy or Shoal as one of ours."""
    name = getattr(dtype, "__name__", None) or str(dtype).split(".")[-1]
    found = DTYPES.get(name)
    if found is None or found.name not in PEAKS:
        raise RuntimeError(f"no peak is known for {name}; there is one for {', '.join(PEAKS)}")
    return found


def _lane_bytes(element: tl.dtype) -> int:
    """Small floats are computed as 32-bit ones where the vector units have none."""
    if element.is_bf16() or element.is_fp16() and "avx512_fp16" not in cpu_facts.flags():
        return 4
    return element.itemsize


def _vector_bytes() -> int:
    flags = cpu_facts.flags()
    return 64 if "avx512f" in flags else 32 if "avx2" in flags else 16
