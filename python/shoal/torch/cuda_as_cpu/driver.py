"""The few calls of CUDA's driver that host programs make themselves: words that streams write and wait for.

`cuda.bindings.driver` gets these in the place of its own, or is made of them where it is not installed. A stream runs
at once here, so a wait is over when its call returns; it is bounded, and ends when the world fails.
"""

from __future__ import annotations

import ctypes
import enum
import importlib
import importlib.machinery
import sys
import time
from types import ModuleType
from typing import Any

from shoal import _native
from shoal.errors import WorldError
from shoal.world.current import find_rank

_FIRST_SLEEP, _LONGEST_SLEEP = 1e-5, 1e-3
_TIMEOUT = 300.0


class CUresult(enum.IntEnum):
    """What a call says of itself."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1


class CUstreamWaitValue_flags(enum.IntEnum):
    """How a word must compare."""

    CU_STREAM_WAIT_VALUE_GEQ = 0
    CU_STREAM_WAIT_VALUE_EQ = 1
    CU_STREAM_WAIT_VALUE_AND = 2
    CU_STREAM_WAIT_VALUE_NOR = 3
    CU_STREAM_WAIT_VALUE_FLUSH = 1 << 30


class CUstreamWriteValue_flags(enum.IntEnum):
    """How a word is written."""

    CU_STREAM_WRITE_VALUE_DEFAULT = 0
    CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1


def install() -> None:
    """Replaces the calls, and makes the module where there is none."""
    try:
        driver: Any = importlib.import_module("cuda.bindings.driver")
    except ImportError:
        driver = _made("cuda.bindings.driver")
        for kind in (CUresult, CUstreamWaitValue_flags, CUstreamWriteValue_flags):
            setattr(driver, kind.__name__, kind)
    success = driver.CUresult.CUDA_SUCCESS
    for bits in (32, 64):
        setattr(driver, f"cuStreamWaitValue{bits}", _waiting(bits, success))
        setattr(driver, f"cuStreamWriteValue{bits}", _writing(bits, success))


def _made(name: str) -> ModuleType:
    """A module and the packages that it is in, of which those that exist stay."""
    above, _, last = name.rpartition(".")
    if name in sys.modules:
        return sys.modules[name]
    parent = _made(above) if above else None
    module = ModuleType(name, "Stands for CUDA's, where CUDA is played by the CPU.")
    module.__path__ = []
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    sys.modules[name] = module
    if parent is not None:
        setattr(parent, last, module)
    return module


def _writing(bits: int, success: Any) -> Any:
    def write(stream: Any, addr: Any, value: Any, flags: Any = 0) -> tuple[Any]:
        _native.store_word(int(addr), int(value) & (1 << bits) - 1, bits // 8)
        return (success,)

    return write


def _waiting(bits: int, success: Any) -> Any:
    word = ctypes.c_uint32 if bits == 32 else ctypes.c_uint64

    def holds(now: int, value: int, how: int) -> bool:
        if how == CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ:
            return now == value
        if how == CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_AND:
            return now & value != 0
        if how == CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_NOR:
            return ~(now | value) & (1 << bits) - 1 != 0
        return (now - value) & 1 << bits - 1 == 0  # counters may wrap around

    def wait(stream: Any, addr: Any, value: Any, flags: Any = 0) -> tuple[Any]:
        there, value = word.from_address(int(addr)), int(value) & (1 << bits) - 1
        how = int(getattr(flags, "value", flags)) & 3
        rank = find_rank()
        deadline, pause = time.monotonic() + (rank._native.timeout if rank is not None else _TIMEOUT), _FIRST_SLEEP
        while not holds(there.value, value, how):
            if rank is not None:
                rank.check()
            if time.monotonic() > deadline:
                raise WorldError(f"a stream waited in vain for {value} at {int(addr):#x}, where {there.value} is")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_SLEEP)
        return (success,)

    return wait
