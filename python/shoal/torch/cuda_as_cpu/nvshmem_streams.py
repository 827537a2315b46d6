"""What `nvshmem.core` and `nvshmem.bindings` put into streams: copies to other ranks, signals, and waits for them.

A stream runs at once here, so each is over when its call returns. They are kernels of one program, so that they reach
whatever kernels reach, and a wait ends as waits of kernels do.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import shoal.language as tl
from shoal.language.extra import libshmem_device as shmem
from shoal.runtime.jit import jit
from shoal.symm_mem.groups import acting_rank
from shoal.torch.nvshmem_triton import _bytes_at, _word_at


class SignalOp(enum.IntEnum):
    """How a signal changes."""

    SIGNAL_SET = 9
    SIGNAL_ADD = 10


class ComparisonType(enum.IntEnum):
    """How a signal must compare."""

    CMP_EQ = 0
    CMP_NE = 1
    CMP_GT = 2
    CMP_LE = 3
    CMP_LT = 4
    CMP_GE = 5


@jit
def _put(dest, source, size, pe):
    shmem.putmem_block(_bytes_at(dest), _bytes_at(source), size, pe)


@jit
def _get(dest, source, size, pe):
    shmem.getmem_block(_bytes_at(dest), _bytes_at(source), size, pe)


@jit
def _put_signal(dest, source, size, word, value, op: tl.constexpr, pe):
    shmem.putmem_signal_block(_bytes_at(dest), _bytes_at(source), size, _word_at(word), value, op, pe)


@jit
def _signal(word, value, op: tl.constexpr, pe):
    shmem.signal_op(_word_at(word), value, op, pe)


@jit
def _wait(word, comparison: tl.constexpr, value):
    shmem.signal_wait_until(_word_at(word), comparison, value)


def putmem_on_stream(dest: int, source: int, bytes: int, pe: int, stream: Any = None) -> None:
    """Copies bytes to a rank's counterpart of an address."""
    acting_rank()
    _put[(1,)](dest, source, bytes, pe)


def getmem_on_stream(dest: int, source: int, bytes: int, pe: int, stream: Any = None) -> None:
    """Copies bytes from a rank's counterpart of an address."""
    acting_rank()
    _get[(1,)](dest, source, bytes, pe)


def putmem_signal_on_stream(
    dest: int, source: int, bytes: int, sig_addr: int, signal: int, sig_op: int, pe: int, stream: Any = None
) -> None:
    """Copies bytes to a rank, then changes a signal there."""
    acting_rank()
    _put_signal[(1,)](dest, source, bytes, sig_addr, signal, int(sig_op), pe)


def signal_op_on_stream(sig_addr: int, signal: int, sig_op: int, pe: int, stream: Any = None) -> None:
    """Changes a signal of a rank."""
    acting_rank()
    _signal[(1,)](sig_addr, signal, int(sig_op), pe)


def signal_wait_until_on_stream(sig_addr: int, cmp: int, cmp_val: int, stream: Any = None) -> None:
    """Waits until a signal compares with a number."""
    acting_rank()
    _wait[(1,)](sig_addr, int(cmp), cmp_val)


def put_signal(
    dst: Any, src: Any, signal_var: Any, signal_val: int, signal_op: int, remote_pe: int = -1, stream: Any = None
) -> None:
    """Copies to a rank's counterpart of a symmetric tensor, then changes a signal there."""
    size = src.numel() * src.element_size()
    putmem_signal_on_stream(
        dst.data_ptr(), src.data_ptr(), size, _address(signal_var), signal_val, signal_op, remote_pe
    )


def signal_op(signal_var: Any, signal_val: int, signal_op: int, remote_pe: int = -1, stream: Any = None) -> None:
    """Changes a signal of a rank."""
    signal_op_on_stream(_address(signal_var), signal_val, signal_op, remote_pe)


def signal_wait(signal_var: Any, signal_val: int, signal_op: int = 0, stream: Any = None) -> None:
    """Waits until a signal compares with a number."""
    signal_wait_until_on_stream(_address(signal_var), signal_op, signal_val)


def tensor_get_buffer(tensor: Any) -> tuple[SimpleNamespace, int, str]:
    """Where a tensor's memory is: what stands for its buffer, its size in bytes, and its type."""
    address = tensor.data_ptr()
    size = tensor.numel() * tensor.element_size()
    buffer = SimpleNamespace(handle=address, size=size, _mnff=SimpleNamespace(ptr=address), tensor=tensor)
    return buffer, size, str(tensor.dtype)


def _address(signal: Any) -> int:
    """Where a signal is: an address, a tensor, or the buffer of one."""
    if isinstance(signal, int):
        return signal
    return int(signal.handle) if hasattr(signal, "handle") else int(signal.data_ptr())


OF_CORE: tuple[Callable[..., Any], ...] = (put_signal, signal_op, signal_wait, tensor_get_buffer)
"""The functions of `nvshmem.core`."""

OF_BINDINGS: tuple[Callable[..., Any], ...] = (
    putmem_on_stream,
    getmem_on_stream,
    putmem_signal_on_stream,
    signal_op_on_stream,
    signal_wait_until_on_stream,
)
"""The functions of `nvshmem.bindings`."""
