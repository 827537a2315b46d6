"""Ranks: members of a world, and their symmetric memory as arrays."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal import errors
from shoal.world import arrays, current
from shoal.world.streams import Stream
from shoal.world.teams import Mesh, Team

if TYPE_CHECKING:
    from shoal import _native

# Vector loads and cache lines: what people expect of memory for kernels.
_ALIGNMENT = 256


class _Entered(threading.local):
    """What a thread has entered by `with rank:`, the innermost last."""

    def __init__(self) -> None:
        self.streams: list[contextlib.AbstractContextManager[Any]] = []


class Rank:
    """One member of a world.

    Allocation, `free`, `barrier`, `broadcast` and `all_gather` are collective: all ranks call them, in the same order.
    `with rank:` lets another thread act as the rank.
    """

    def __init__(self, native: _native.Rank) -> None:
        self._native = native
        self._blocks: weakref.WeakValueDictionary[int, _native.SymmBlock] = weakref.WeakValueDictionary()
        self._world: Team | None = None
        self._entered = _Entered()
        self.arena: _native.SymmBlock | None = None
        """Memory that this rank alone gives out, for `shoal.symm_mem`; reserved when the world is made."""

    @property
    def rank(self) -> int:
        """Its number, from 0."""
        return self._native.rank

    @property
    def num_ranks(self) -> int:
        """The number of ranks."""
        return self._native.size

    @property
    def engine(self) -> str:
        """How the ranks reach each other: `threads`, `cuda`, `processes`, `openshmem` or `nvshmem`."""
        return self._native.engine

    @property
    def device(self) -> Any:
        """The device of torch that symmetric memory is on, if it is a GPU; else `None`."""
        ordinal = self._native.gpu
        return None if ordinal is None else arrays.gpu_torch().device("cuda", ordinal)

    @property
    def cuda_stream(self) -> Any:
        """The stream of torch that this rank's work goes to, where symmetric memory is a GPU's; else `None`.

        It is torch's current stream in functions that `World.run` calls, and in `with rank:`.
        """
        handle = self._native.gpu_stream
        return None if handle is None else arrays.gpu_torch().cuda.ExternalStream(handle, device=self.device)

    def in_stream(self) -> contextlib.AbstractContextManager[Any]:
        """Makes the rank's stream the current one of torch, where symmetric memory is a GPU's."""
        if self._native.gpu is None or importlib.util.find_spec("torch") is None:
            return contextlib.nullcontext()
        return arrays.gpu_torch().cuda.stream(self.cuda_stream)

    @property
    def world(self) -> Team:
        """The team of all ranks."""
        if self._world is None:
            self._world = Team(self._native.world())
        return self._world

    @property
    def node(self) -> Team:
        """The team of the ranks on this host."""
        return Team(self._native.node())

    @property
    def free_bytes(self) -> int:
        """Bytes of the symmetric heap that are free."""
        return self._native.free_bytes

    def symm_empty(self, shape: int | Sequence[int], dtype: Any = None) -> Any:
        """An array at the same place of every rank's heap; what lies in it is not known. Collective.

        It is a tensor of torch if `dtype` is one of torch's or the memory is a GPU's, else a NumPy array. The memory
        goes back when all ranks have dropped theirs, or at once with `free`.
        """
        known = arrays.element_type if self.device is None else arrays.gpu_type
        return self._allocated(arrays.shape_of(shape), known(dtype))

    def clear(self, offset: int, nbytes: int) -> None:
        """Makes bytes of this rank's segment zero; they are when this returns."""
        if self._native.gpu is None:
            ctypes.memset(self._native.base(self.rank) + offset, 0, nbytes)
        else:
            self._native.write(self.rank, offset, bytes(nbytes))

    def symm_zeros(self, shape: int | Sequence[int], dtype: Any = None) -> Any:
        """An array of zeros at the same place of every rank's heap; they are there on all ranks when this returns."""
        array = self.symm_empty(shape, dtype)
        found = arrays.layout(array)
        if found.nbytes and found.device is not None:
            array.zero_()
            arrays.gpu_torch().cuda.current_stream(found.device).synchronize()
        elif found.nbytes:
            ctypes.memset(found.address, 0, found.nbytes)
        self.barrier()
        return array

    def _allocated(self, shape: tuple[int, ...], dtype: Any) -> Any:
        nbytes = dtype.itemsize
        for size in shape:
            nbytes *= size
        if nbytes >= 1 << 63:
            text = f"the symmetric heap has no room for {nbytes} bytes, which an array of the shape {shape} takes"
            raise errors.from_native("OutOfResources", f"{text}: {self.free_bytes} bytes are free on each rank")
        block = self._native.allocate(nbytes, _ALIGNMENT)
        self._blocks[block.offset] = block
        return arrays.view(block.address, shape, dtype, block, device=self.device)

    def free(self, array: Any) -> None:
        """Gives an array's memory back on all ranks. Collective. Nobody may use the array afterwards.

        The array is all of what was allocated, in whatever shape: a part is refused.
        """
        block, found = self._block(array), arrays.layout(array)
        if (found.address, found.nbytes) != (block.address, block.nbytes):
            raise ValueError(
                f"the array has {found.nbytes} bytes from byte {found.address - block.address} on of an allocation of "
                f"{block.nbytes}: `free` gives back the whole, and takes the array that was allocated"
            )
        block.free()

    def _block(self, array: Any) -> _native.SymmBlock:
        """The block that an array is a part of."""
        place = self._native.locate(arrays.layout(array).address)
        block = None if place is None else self._block_at(place[1])
        if block is not None:
            return block
        if place is not None and self._blocks_at(place[1]):
            raise ValueError("the array's symmetric memory has been freed already: nobody may use the array any more")
        raise ValueError(
            f"the array does not lie in symmetric memory that rank {self.rank} allocated: `symm_empty` and "
            "`symm_zeros` give such arrays; for those of `symm_mem.empty` ask what `symm_mem.rendezvous` gives"
        )

    def _block_at(self, offset: int) -> _native.SymmBlock | None:
        """The block that this rank has at an offset of its segment and has not given back."""
        return next((block for block in self._blocks_at(offset) if not block.freed), None)

    def _blocks_at(self, offset: int) -> list[_native.SymmBlock]:
        """The blocks that this rank has, or had while there are arrays of them, at an offset of its segment."""
        blocks = list(self._blocks.items())
        return [block for start, block in blocks if start <= offset < start + max(block.nbytes, 1)]

    def is_symmetric(self, array: Any) -> bool:
        """Whether an array lies in some rank's symmetric memory."""
        return self._native.locate(arrays.layout(array).address) is not None

    def peer(self, array: Any, rank: int) -> Any:
        """The same elements in another rank's memory: an array like this one, whose reads and writes go there."""
        found = arrays.layout(array)
        if found.nbytes == 0:
            return array
        block = self._block(array)
        place = self._native.locate(found.address)
        assert place is not None  # it lies in a block
        address = self._native.base(arrays.number(rank, "rank", self.num_ranks)) + place[1]
        return arrays.view(address, found.shape, found.dtype, block, found.strides, self.device)

    def peers(self, array: Any) -> list[Any]:
        """The same elements in every rank's memory, in the order of ranks; this rank's own is the array itself."""
        return [array if rank == self.rank else self.peer(array, rank) for rank in range(self.num_ranks)]

    def signal_pad(self, rank: int | None = None) -> Any:
        """A rank's signal pad as an array of 32-bit words: zero, while no kernel runs."""
        base = self._native.base(self.rank if rank is None else arrays.number(rank, "rank", self.num_ranks))
        shape, dtype = (self._native.pad_slots,), arrays.named_type("uint32")
        return arrays.view(base, shape, dtype, self._native, device=self.device)

    def check_pad(self, programs: int, ranks: int | None = None) -> None:
        """Raises if programs that signal their likes on so many ranks need more slots than the pad has."""
        ranks = self.num_ranks if ranks is None else arrays.number(ranks, "ranks", self.num_ranks + 1)
        self._native.check_pad(arrays.number(programs, "programs", 1 << 63), ranks)

    def barrier(self) -> None:
        """Waits for all ranks."""
        self.world.barrier()

    def broadcast(self, value: Any = None, root: int = 0) -> Any:
        """What one rank passes, for all; see `Team.broadcast`."""
        return self.world.broadcast(value, root)

    def all_gather(self, value: Any) -> list[Any]:
        """What all ranks pass, in their order; see `Team.all_gather`."""
        return self.world.all_gather(value)

    def mesh(self, axes: Mapping[str, int]) -> Mesh:
        """All ranks on a grid with named axes, the last of which runs fastest."""
        return self.world.mesh(axes)

    def set_mesh(self, mesh: Mesh | None) -> None:
        """Gives kernels that this rank launches a mesh, for `rank(axis)` and `num_ranks(axis)`, or takes it away."""
        if mesh is None:
            self._native.unset_mesh()
        else:
            mesh._native.set_for_kernels()

    def stream(self) -> Stream:
        """A new stream."""
        return Stream(self)

    def check(self) -> None:
        """Raises what ended the world, if something did. For code that runs long without waiting for others."""
        self._native.check()

    def fail(self, reason: str) -> None:
        """Ends the world with a reason that all ranks report."""
        self._native.fail(_encodable(reason))

    def _blame(self, rank: int, reason: str) -> None:
        """Ends the world because another rank does not do what all others do."""
        self._native.blame(rank, _encodable(reason))

    def __enter__(self) -> Rank:
        self._native.act()
        current.push(self)
        self._entered.streams.append(self.in_stream())
        self._entered.streams[-1].__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._entered.streams:
            raise RuntimeError(f"this thread has not entered `with rank:` of rank {self.rank}, or has left it already")
        self._entered.streams.pop().__exit__(None, None, None)
        current.pop()
        self._native.release()

    def __repr__(self) -> str:
        return f"Rank({self.rank} of {self.num_ranks}, {self.engine})"


def _encodable(text: str) -> str:
    """A text that all ranks can read, also if it has halves of surrogate pairs, as names of files may have."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
