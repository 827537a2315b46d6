"""Signals of symmetric memory on a GPU: small kernels in the current stream, by the protocol of the pads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import shoal
import shoal.language as tl
from shoal.world import arrays

if TYPE_CHECKING:
    from shoal.symm_mem.handle import SymmetricMemory


@shoal.jit
def send_signal(slot):
    """Writes 1 where 0 is."""
    while tl.atomic_cas(slot, 0, 1, sem="release", scope="sys") != 0:
        pass


@shoal.jit
def take_signal(slot):
    """Writes 0 where 1 is."""
    while tl.atomic_cas(slot, 1, 0, sem="acquire", scope="sys") != 1:
        pass


@shoal.jit
def meet_others(pads, first, rank, world):
    """Signals all others, then takes the signals of all."""
    for step in range(1, world):
        there = tl.load(pads + (rank + step) % world).to(tl.pointer_type(tl.int32))
        send_signal(there + first + rank)
    mine = tl.load(pads + rank).to(tl.pointer_type(tl.int32))
    for step in range(1, world):
        take_signal(mine + first + (rank + step) % world)


@shoal.jit
def store_word(word, value):
    """Writes a word after all that is in the stream before."""
    tl.atomic_xchg(word, value, sem="release", scope="sys")


def meet(handle: SymmetricMemory, channel: int) -> None:
    """A barrier of the ranks of a handle."""
    if handle.world_size > 1:
        table = handle._meeting.tables[1][1]
        meet_others[(1,)](table, channel * handle.world_size, handle.rank, handle.world_size, num_warps=1)


def send(handle: SymmetricMemory, to: int, channel: int) -> None:
    """Signals a rank."""
    send_signal[(1,)](_slot(handle, to, channel, handle.rank), num_warps=1)


def take(handle: SymmetricMemory, source: int, channel: int) -> None:
    """Takes a rank's signal."""
    take_signal[(1,)](_slot(handle, handle.rank, channel, source), num_warps=1)


def write_word(tensor: Any, offset: int, value: int) -> None:
    """Writes one 32-bit word."""
    words = tensor.view(-1).view(arrays.gpu_torch().int32)
    store_word[(1,)](words[offset:], value - (1 << 32 if value >= 1 << 31 else 0), num_warps=1)


def _slot(handle: SymmetricMemory, on: int, channel: int, source: int) -> Any:
    torch = arrays.gpu_torch()
    return handle.get_signal_pad(on, (1,), torch.int32, handle.world_size * channel + source)
