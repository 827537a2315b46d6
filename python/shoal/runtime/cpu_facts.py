"""Facts about this machine's CPU."""

from __future__ import annotations

import functools
import os
import platform
from typing import Any

_CACHE_INFO = "/sys/devices/system/cpu/cpu0/cache"
_DEFAULT_CACHE_BYTES = 32 * 1024 * 1024


@functools.cache
def arch() -> str:
    """LLVM's name of it."""
    from shoal import _native

    return _native.cpu_name()


def _cpuinfo(field: str) -> str:
    """What the system says of the first core; empty if it says nothing."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            return next((line.split(":", 1)[1].strip() for line in info if line.startswith(field)), "")
    except OSError:
        return ""


@functools.cache
def name() -> str:
    """What its maker calls it."""
    return _cpuinfo("model name") or platform.processor() or platform.machine()


@functools.cache
def flags() -> frozenset[str]:
    """What it can do, in the words of the system: `avx2`, `amx_bf16`."""
    return frozenset(_cpuinfo("flags").split())


@functools.cache
def cores() -> int:
    """Cores that this process may use; two threads of one core share its units."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="utf-8") as file:
                cores.add(file.read())
        except OSError:
            cores.add(str(cpu))
    return len(cores)


@functools.cache
def _cache_sizes() -> tuple[int, ...]:
    """Bytes of the first core's data caches, level by level."""
    sizes = {}
    try:
        for entry in os.listdir(_CACHE_INFO):
            if not entry.startswith("index"):
                continue
            facts = {}
            for fact in ("level", "type", "size"):
                with open(os.path.join(_CACHE_INFO, entry, fact)) as file:
                    facts[fact] = file.read().strip()
            if facts["type"] != "Instruction":
                sizes[int(facts["level"])] = _bytes(facts["size"])
    except (OSError, ValueError):
        return ()
    return tuple(sizes[level] for level in sorted(sizes))


def _bytes(text: str) -> int:
    unit = {"K": 1024, "M": 1024**2, "G": 1024**3}.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * unit


def last_cache_bytes() -> int:
    """The size of its largest cache."""
    sizes = _cache_sizes()
    return sizes[-1] if sizes else _DEFAULT_CACHE_BYTES


@functools.cache
def properties() -> dict[str, Any]:
    """What drivers of GPUs say about theirs."""
    sizes = _cache_sizes()
    frequency = _clock_khz()
    return {
        "name": name(),
        "arch": arch(),
        "max_shared_mem": sizes[1] if len(sizes) > 1 else 1024 * 1024,
        "max_num_regs": 65536,
        "multiprocessor_count": len(os.sched_getaffinity(0)),
        "warpSize": 1,
        "max_threads_per_sm": 1024,
        "max_threads_per_block": 1024,
        "sm_clock_rate": frequency,
        "mem_clock_rate": frequency,
        "mem_bus_width": 128,
        "cooperativeLaunch": 1,
        "l2_cache_size": last_cache_bytes(),
    }


def _clock_khz() -> int:
    try:
        with open("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 2_000_000
