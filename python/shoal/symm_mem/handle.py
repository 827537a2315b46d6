"""Handles: how one rank sees the memory that the ranks of a group have brought together."""

from __future__ import annotations

import ctypes
import math
import sys
import weakref
from collections.abc import Sequence
from typing import Any

from shoal import _native
from shoal.runtime.stream_work import do, in_stream
from shoal.symm_mem.allocation import Allocation, get_signal_pad_size
from shoal.symm_mem.groups import Group
from shoal.world import arrays
from shoal.world.current import find_rank
from shoal.world.ranks import Rank


class Misuse(ValueError, RuntimeError):
    """What does not fit a handle. Programs for torch's expect a RuntimeError."""


class _PadSize:
    """Bytes of a handle's signal pads; of the class: of those that are allocated from now on, as torch has it."""

    def __get__(self, handle: SymmetricMemory | None, _: Any = None) -> int:
        return get_signal_pad_size() if handle is None else handle._own.pad_bytes


class Meeting:
    """What the ranks of a group have told each other of a piece of memory: where each has its own.

    The piece keeps it, so that kernels may be given the addresses of its tables as long as the array is there; handles
    keep both. Nobody takes back its own part before all have dropped theirs.
    """

    def __init__(self, own: Allocation, group: Group) -> None:
        mine = (own.holders, own.pad, own.data, own.pad_bytes, own.nbytes)
        self.places = group.all_gather(mine)
        self.members = group.members
        for what, at in (("signal pads", 3), ("buffers", 4)):
            first, *others = zip(group.members, (place[at] for place in self.places))
            other = next((other for other in others if other[1] != first[1]), None)
            if other is not None:
                sizes = ", ".join(f"rank {rank}: {size}" for rank, size in (first, other))
                raise Misuse(f"Symmetric window mismatch: the {what} have different sizes ({sizes} bytes)")
        holds = [(member, place[0] + own.rank.rank) for member, place in zip(group.members, self.places)]
        for member, offset in holds:
            own.rank._native.write(member, offset, b"\1")
        weakref.finalize(self, _let_go, holds, own.rank).atexit = False
        bases = [own.rank._native.base(member) for member in group.members]
        self.signal_pad_ptrs = [base + place[1] for base, place in zip(bases, self.places)]
        self.buffer_ptrs = [base + place[2] for base, place in zip(bases, self.places)]
        self.tables = [_table(pointers, own.rank.device) for pointers in (self.buffer_ptrs, self.signal_pad_ptrs)]
        self._handle: weakref.ref[SymmetricMemory] | None = None
        # Nobody may drop a piece before all have said that they hold it.
        group.all_gather(None)

    def handle(self, own: Allocation, offset: int) -> SymmetricMemory:
        """The handle to the piece; the same one as long as somebody has it."""
        known = self._handle and self._handle()
        if known is None:
            known = SymmetricMemory(own, offset, self)
            self._handle = weakref.ref(known)
        return known


class SymmetricMemory:
    """The memory of a group's ranks, as `torch.distributed._symmetric_memory` shows it.

    Signals go through the pads as those of kernels do: who sends writes 1 where 0 is, who waits writes 0 where 1 is.
    The slot of a channel and a source is `world_size * channel + source`.
    """

    signal_pad_size = _PadSize()
    """Bytes of each rank's signal pad."""

    def __init__(self, own: Allocation, offset: int, meeting: Meeting) -> None:
        members = meeting.members
        self._own = own
        self._meeting = meeting
        self._rank = own.rank
        self._members = members
        self.rank = members.index(own.rank.rank)
        """This rank's place in the group."""
        self.world_size = len(members)
        """The number of ranks in the group."""
        self.buffer_size = own.nbytes
        """Bytes of each rank's data."""
        self.offset = offset
        """Where the tensor that was passed lies in this rank's data, in bytes."""
        self.signal_pad_ptrs: list[int] = list(meeting.signal_pad_ptrs)
        """Where each rank's signal pad is in this process."""
        self.buffer_ptrs: list[int] = list(meeting.buffer_ptrs)
        """Where each rank's data is in this process."""
        everybody = sorted(members) == list(range(own.rank.num_ranks))
        alike = len({place[2] for place in meeting.places}) == 1
        self.multicast_ptr: int = self.buffer_ptrs[self.rank] if everybody and alike and own.rank.device is None else 0
        """The address by which `multimem` reaches the data of all ranks: that of this rank's own, which names the same
        place in everybody's. 0 if the group is not all ranks, its ranks have allocated in different orders, or the
        memory is a GPU's."""

    @property
    def buffer_ptrs_dev(self) -> int:
        """The address of a table of `buffer_ptrs`, for kernels."""
        return self._meeting.tables[0][0]

    @property
    def signal_pad_ptrs_dev(self) -> int:
        """The address of a table of `signal_pad_ptrs`, for kernels."""
        return self._meeting.tables[1][0]

    @property
    def device(self) -> Any:
        """The device of the memory."""
        if self._rank.device is not None:
            return self._rank.device
        torch = sys.modules.get("torch")
        return torch.device("cpu") if torch is not None else "cpu"

    def get_buffer(self, rank: int, sizes: Sequence[int], dtype: Any, storage_offset: int = 0) -> Any:
        """A rank's data as a tensor (or a NumPy array, by `dtype`), from an offset in elements on."""
        return self._data(rank, sizes, dtype, storage_offset * self._element_type(dtype).itemsize)

    def get_remote_tensor(self, peer: int, sizes: Sequence[int], dtype: Any) -> Any:
        """A rank's counterpart of the tensor that was passed to `rendezvous`."""
        return self._data(peer, sizes, dtype, self.offset)

    def _data(self, rank: int, sizes: Sequence[int], dtype: Any, start: int) -> Any:
        self._check_rank(rank)
        return self._part((self.buffer_ptrs[rank], self.buffer_size), sizes, dtype, start, "buffer")

    def get_signal_pad(self, rank: int, sizes: Sequence[int] = (), dtype: Any = None, storage_offset: int = 0) -> Any:
        """A rank's signal pad, or a part of it, from an offset in elements on; of 32-bit words unless told."""
        self._check_rank(rank)
        torch = sys.modules.get("torch")
        dtype = self._element_type(dtype or (torch.uint32 if torch is not None else "uint32"))
        if not sizes:
            sizes = [self.signal_pad_size // dtype.itemsize - storage_offset]
        start = storage_offset * dtype.itemsize
        return self._part((self.signal_pad_ptrs[rank], self.signal_pad_size), sizes, dtype, start, "signal pad")

    @in_stream
    def barrier(self, channel: int = 0, timeout_ms: int = 0) -> None:
        """Waits for all ranks of the group; what they wrote before is seen after. A timeout of 0 is the world's.

        On a GPU this is a kernel in the current stream, which waits there as long as kernels do; so are signals.
        """
        self._check_channel(channel, "barrier()")
        if self._rank.device is not None:
            from shoal.symm_mem import gpu_signals

            gpu_signals.meet(self, channel)
            return
        others = [rank for rank in range(self.world_size) if rank != self.rank]
        send = [self._slot(rank, channel, self.rank) for rank in others]
        take = [self._slot(self.rank, channel, rank) for rank in others]
        self._rank._native.meet(send, take, _seconds(timeout_ms))

    @in_stream
    def put_signal(self, dst_rank: int, channel: int = 0, timeout_ms: int = 0) -> None:
        """Signals a rank, once it has taken the signal before; what was written before is seen by who takes it."""
        self._check_channel(channel, "put_signal()")
        self._check_rank(dst_rank)
        if self._rank.device is not None:
            from shoal.symm_mem import gpu_signals

            gpu_signals.send(self, dst_rank, channel)
            return
        self._rank._native.put_signal(self._slot(dst_rank, channel, self.rank), _seconds(timeout_ms))

    @in_stream
    def wait_signal(self, src_rank: int, channel: int = 0, timeout_ms: int = 0) -> None:
        """Takes the signal of a rank, once it is there."""
        self._check_channel(channel, "wait_signal()")
        self._check_rank(src_rank)
        if self._rank.device is not None:
            from shoal.symm_mem import gpu_signals

            gpu_signals.take(self, src_rank, channel)
            return
        self._rank._native.wait_signal(self._slot(self.rank, channel, src_rank), _seconds(timeout_ms))

    @staticmethod
    @in_stream
    def stream_write_value32(tensor: Any, offset: int, val: int | None = None) -> None:
        """Writes one 32-bit word of a dense tensor, after all that was written before, for all ranks to see.

        Also `(address, val)`, as programs for older versions of torch write it.
        """
        if val is None:
            _native.store_word(_host_address(tensor), _word(offset), 4)
            return
        address = _words(tensor, offset, 1, "stream_write_value32")
        if _is_gpu(tensor):
            from shoal.symm_mem import gpu_signals

            gpu_signals.write_word(tensor, offset, _word(val))
            return
        _native.store_word(address, _word(val), 4)

    @staticmethod
    def memset32(tensor: Any, offset: int, val: int, count: int = 1) -> Any:
        """Writes 32-bit words of a dense tensor."""
        start = _words(tensor, offset, count, "memset32")
        if _is_gpu(tensor):
            words = tensor.view(-1).view(arrays.gpu_torch().int32)
            words[offset : offset + count] = _word(val) - (1 << 32 if val >= 1 << 31 else 0)
            return tensor
        for at in range(count):
            do(_native.store_word, start + 4 * at, _word(val), 4)
        return tensor

    @staticmethod
    def has_multicast_support(device_type: Any = None, device_idx: int = 0) -> bool:
        """Whether kernels may reach all ranks at once: `multimem` goes from rank to rank here.

        Torch asks for a type of devices; those of its CPU have no such memory, those that the CPU plays have.
        """
        return getattr(device_type, "name", "") != "CPU"

    @staticmethod
    def rendezvous(tensor: Any, group_name: Any = None) -> SymmetricMemory | None:
        """Brings the arrays of a group's ranks together; see `shoal.symm_mem.rendezvous`."""
        from shoal.symm_mem import module

        return module.rendezvous(tensor, group_name)

    @staticmethod
    def empty_strided_p2p(
        size: Sequence[int],
        stride: Sequence[int],
        dtype: Any,
        device: Any = None,
        group_name: Any = None,
        alloc_id: int | None = None,
    ) -> Any:
        """A dense array; see `shoal.symm_mem.empty`. `rendezvous` without a group is that of `group_name`.

        Arrays with the same `alloc_id` have the same memory, one after the other.
        """
        from shoal.symm_mem import module

        tensor = module.empty_for(tuple(size), dtype, device, group_name, alloc_id)
        found = arrays.layout(tensor)
        if [at * found.itemsize for at in stride] != list(found.strides) and found.nbytes:
            raise NotImplementedError(f"symmetric memory is dense here; the strides {tuple(stride)} are not")
        return tensor

    @staticmethod
    def get_mempool_allocator(device: Any = None) -> Any:
        """What a memory pool takes its memory from."""
        from shoal.symm_mem import module

        return module.empty

    @staticmethod
    def is_symm_mem_tensor(tensor: Any) -> bool:
        """Whether an array is symmetric memory."""
        from shoal.symm_mem import module

        return module.is_symm_mem_tensor(tensor)

    @staticmethod
    def set_backend(name: str) -> None:
        """Chooses how ranks reach each other; see `shoal.symm_mem.set_backend`."""
        from shoal.symm_mem import module

        module.set_backend(name)

    @staticmethod
    def get_backend(device: Any = None) -> str:
        """How ranks reach each other; see `shoal.symm_mem.get_backend`."""
        from shoal.symm_mem import module

        return module.get_backend(device)

    @staticmethod
    def set_group_info(group_name: str, rank: int, world_size: int, store: Any) -> None:
        """Tells torch of a group. Groups are asked for when they are needed here, so there is nothing to remember."""

    def _element_type(self, dtype: Any) -> Any:
        return (arrays.element_type if self._rank.device is None else arrays.gpu_type)(dtype)

    def _part(self, memory: tuple[int, int], sizes: Sequence[int], dtype: Any, start: int, what: str) -> Any:
        """A part of memory at an address, of so many bytes."""
        base, room = memory
        dtype = self._element_type(dtype)
        shape = arrays.shape_of(sizes)
        end = start + math.prod(shape) * dtype.itemsize
        if start < 0 or end > room:
            raise Misuse(f"{what}: the requested size ({end} bytes) exceeds the allocated size ({room} bytes)")
        return arrays.view(base + start, shape, dtype, self, device=self._rank.device)

    def _slot(self, on: int, channel: int, source: int) -> int:
        return self.signal_pad_ptrs[on] + 4 * (self.world_size * channel + source)

    def _check_rank(self, rank: int) -> None:
        if not 0 <= rank < self.world_size:
            raise Misuse(f"rank must be in [0, {self.world_size}) (got {rank})")

    def _check_channel(self, channel: int, who: str) -> None:
        if channel < 0:
            raise Misuse(f"The channel for {who} must be non-negative (got {channel})")
        channels = self.signal_pad_size // (4 * self.world_size)
        if channel >= channels:
            raise Misuse(
                f"The maximum supported channel for barrier(), put_signal() and wait_signal() is {channels - 1} "
                f"(got {channel})"
            )

    def __repr__(self) -> str:
        return f"SymmetricMemory(rank {self.rank} of {self.world_size}, {self.buffer_size} bytes)"


def _table(pointers: list[int], device: Any) -> tuple[int, Any]:
    """The address of a table of pointers where kernels read it, and what keeps it."""
    if device is None:
        table = (ctypes.c_uint64 * len(pointers))(*pointers)
        return ctypes.addressof(table), table
    torch = arrays.gpu_torch()
    tensor = torch.tensor(pointers, dtype=torch.int64, device=device)
    torch.cuda.current_stream(device).synchronize()
    return tensor.data_ptr(), tensor


def _let_go(holds: list[tuple[int, int]], rank: Rank) -> None:
    """This rank holds the pieces no more. `rank` keeps their memory mapped until then."""
    if not rank._native.is_here:
        return
    for member, offset in holds:
        rank._native.write(member, offset, b"\0")


def _host_address(address: Any) -> int:
    """An address in the memory of this process; whoever gives it answers for what is there."""
    if not isinstance(address, int) or address <= 0 or address % 4:
        raise TypeError(
            f"stream_write_value32 takes a tensor, an offset and a value, or an address and a value: {address!r}"
        )
    rank = find_rank()
    if rank is not None and rank.device is not None:
        raise TypeError("stream_write_value32 takes a tensor on GPUs, not an address")
    return address


def _is_gpu(tensor: Any) -> bool:
    return arrays.is_tensor(tensor) and tensor.device.type == "cuda"


def _words(tensor: Any, offset: int, count: int, who: str) -> int:
    found = arrays.layout(tensor)
    is_word = str(tensor.dtype).rpartition(".")[2] in ("uint32", "int32")
    if not is_word or len(tensor.shape) != 1 or not found.is_dense:
        raise RuntimeError(f"{who}: input must be a flat, contiguous uint32 tensor.")
    if offset < 0:
        raise RuntimeError(f"{who}: offset must be greater than or equal to 0 (got {offset})")
    if count < 1:
        raise RuntimeError(f"{who}: count must be a positive integer (got {count})")
    if 4 * (offset + count) > found.nbytes:
        raise RuntimeError(
            f"{who}: offset + count ({offset + count}) exceeded the numel of the input ({found.nbytes // 4})"
        )
    return found.address + 4 * offset


def _word(value: int) -> int:
    if not 0 <= value < 1 << 32:
        raise RuntimeError(f"val must be in the range of [0, 4294967295] (uint32_t), not {value}")
    return value


def _seconds(timeout_ms: int) -> float | None:
    if timeout_ms < 0:
        raise Misuse(f"timeout_ms must be non-negative (got {timeout_ms})")
    return timeout_ms / 1000 if timeout_ms else None
