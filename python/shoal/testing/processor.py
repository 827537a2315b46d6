"""What this machine's CPU could do at best: the bandwidth of its memory, and its arithmetic."""

from __future__ import annotations

import ctypes
import functools
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Operations that a core ends in a cycle: a fused multiply-add counts two, and cores have two units for it.
PER_LANE = 4
# A tile multiplication of AMX: 16×16 sums of 64 bytes each, every 16 cycles.
AMX_BYTES_PER_CYCLE = 16 * 64

FLOAT_BYTES = {"float64": 8, "fp64": 8, "float32": 4, "fp32": 4, "float16": 2, "fp16": 2, "bfloat16": 2, "bf16": 2}
INTEGER_BYTES = {"int8": 1, "int16": 2, "int32": 4}


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
    lanes = _vector_bytes() // _lane_bytes(_name(dtype))
    return _cores() * lanes * PER_LANE * clock_rate * 1e-9


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: Any = None) -> float:
    """Peak of the matrix units (AMX) of all cores in TFLOP/s, at a clock rate in kHz.

    Without such units for this type, products are made by the vector units, and their peak is the answer.
    """
    name = _name(dtype)
    unit = {"bfloat16": "amx_bf16", "bf16": "amx_bf16", "float16": "amx_fp16", "fp16": "amx_fp16", "int8": "amx_int8"}
    if unit.get(name) in _flags():
        size = {**FLOAT_BYTES, **INTEGER_BYTES}[name]
        return _cores() * 2 * AMX_BYTES_PER_CYCLE // size * clock_rate * 1e-9
    return get_max_simd_tflops(dtype, clock_rate, device)


def _name(dtype: Any) -> str:
    """The name of a type of torch, NumPy or Shoal."""
    name = getattr(dtype, "__name__", None) or str(dtype).split(".")[-1]
    if name not in FLOAT_BYTES and name not in INTEGER_BYTES:
        raise RuntimeError(
            f"no peak is known for {name}; there is one for {', '.join({**FLOAT_BYTES, **INTEGER_BYTES})}"
        )
    return name


def _lane_bytes(name: str) -> int:
    """Small floats are computed as 32-bit ones where the vector units have none."""
    if name in INTEGER_BYTES:
        return INTEGER_BYTES[name]
    if FLOAT_BYTES[name] == 2 and not (name in ("float16", "fp16") and "avx512_fp16" in _flags()):
        return 4
    return FLOAT_BYTES[name]


def _vector_bytes() -> int:
    flags = _flags()
    return 64 if "avx512f" in flags else 32 if "avx2" in flags else 16


@functools.cache
def _flags() -> frozenset[str]:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return frozenset(next((line.split(":")[1] for line in file if line.startswith("flags")), "").split())


@functools.cache
def _cores() -> int:
    """Cores that this process may use; two threads of one core share its units."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="utf-8") as file:
                cores.add(file.read())
        except OSError:
            cores.add(str(cpu))
    return len(cores)
