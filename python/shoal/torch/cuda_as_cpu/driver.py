"""The few calls of CUDA's driver and runtime that host programs make themselves: words that streams write and wait
for, copies, waiting.

`cuda.bindings.driver` and `cuda.bindings.runtime` get these in the place of their own, or are made of them where they
are not installed; `cuda.cuda` and `cuda.cudart` are their older names. A stream runs at once here, so a wait is over
when its call returns; it is bounded, and ends when the world fails.
"""

from __future__ import annotations

import ctypes
import enum
import importlib
import sys
import time
from typing import Any

from shoal import _native
from shoal.errors import WorldError
from shoal.runtime.stream_work import do
from shoal.torch.cuda_as_cpu.modules import made_module
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


class cudaError_t(enum.IntEnum):
    """What a call of the runtime says of itself."""

    cudaSuccess = 0
    cudaErrorInvalidValue = 1


class cudaMemcpyKind(enum.IntEnum):
    """Between which memories a copy is: all of them are one here."""

    cudaMemcpyHostToHost = 0
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDeviceToDevice = 3
    cudaMemcpyDefault = 4


def install() -> None:
    """Replaces the calls, and makes the modules where there are none."""
    driver = _module("cuda.bindings.driver", "cuda.cuda", (CUresult, CUstreamWaitValue_flags, CUstreamWriteValue_flags))
    done = driver.CUresult.CUDA_SUCCESS
    for bits in (32, 64):
        setattr(driver, f"cuStreamWaitValue{bits}", _waiting(bits, done))
        setattr(driver, f"cuStreamWriteValue{bits}", _writing(bits, done))
    driver.cuMemcpyAsync = _copying(done)
    driver.cuStreamSynchronize = driver.cuCtxSynchronize = _returning(done)
    driver.cuGetErrorName = driver.cuGetErrorString = lambda error: (done, str(error).encode())
    runtime = _module("cuda.bindings.runtime", "cuda.cudart", (cudaError_t, cudaMemcpyKind))
    done = runtime.cudaError_t.cudaSuccess
    runtime.cudaMemcpyAsync = runtime.cudaMemcpy = _copying(done)
    runtime.cudaMemsetAsync = runtime.cudaMemset = _filling(done)
    runtime.cudaStreamSynchronize = runtime.cudaDeviceSynchronize = _returning(done)
    runtime.cudaGetErrorName = runtime.cudaGetErrorString = lambda error: (done, str(error).encode())


def _module(name: str, older: str, kinds: tuple[type, ...]) -> Any:
    """The module under both its names; made of these kinds where it is not installed."""
    try:
        module: Any = importlib.import_module(name)
    except ImportError:
        module = made_module(name)
        for kind in kinds:
            setattr(module, kind.__name__, kind)
    above, _, last = older.partition(".")
    sys.modules[older] = module
    setattr(sys.modules[above], last, module)
    return module


def _returning(success: Any) -> Any:
    def nothing_is_left(*_: Any) -> tuple[Any]:
        return (success,)

    return nothing_is_left


def _copying(success: Any) -> Any:
    def copy(dst: Any, src: Any, count: Any, *_: Any) -> tuple[Any]:
        do(ctypes.memmove, int(dst), int(src), int(count))
        return (success,)

    return copy


def _filling(success: Any) -> Any:
    def fill(dst: Any, value: Any, count: Any, *_: Any) -> tuple[Any]:
        do(ctypes.memset, int(dst), int(value), int(count))
        return (success,)

    return fill


def _writing(bits: int, success: Any) -> Any:
    def write(stream: Any, addr: Any, value: Any, flags: Any = 0) -> tuple[Any]:
        do(_native.store_word, int(addr), int(value) & (1 << bits) - 1, bits // 8)
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

    def until(addr: int, value: int, how: int) -> None:
        there = word.from_address(addr)
        rank = find_rank()
        deadline, pause = time.monotonic() + (rank._native.timeout if rank is not None else _TIMEOUT), _FIRST_SLEEP
        while not holds(there.value, value, how):
            if rank is not None and rank._native.has_failed():
                rank._native.check(f"{value} at {addr:#x}, where {there.value} is")
            if time.monotonic() > deadline:
                raise WorldError(
                    f"a stream waited in vain for {value} at {addr:#x}, where {there.value} is; streams run at once "
                    "here, so this program itself writes it too late if it does so behind the wait"
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_SLEEP)

    def wait(stream: Any, addr: Any, value: Any, flags: Any = 0) -> tuple[Any]:
        do(until, int(addr), int(value) & (1 << bits) - 1, int(getattr(flags, "value", flags)) & 3)
        return (success,)

    return wait
