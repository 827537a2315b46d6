"""Memory that one rank gives out of its part of the symmetric heap, each piece with a signal pad of its own.

A piece is a table of who holds it, a signal pad, and the data. Its owner takes it back when the owner has dropped it
and, according to the table, no peer holds a handle to it any more: until then a peer's kernel may still read it.
"""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

from shoal import errors
from shoal.world.ranks import Rank

_PAGE = 4096
_DEFAULT_PAD_BYTES = 1 << 16
_pad_bytes = _DEFAULT_PAD_BYTES


def get_signal_pad_size() -> int:
    """Bytes of the signal pad of what is allocated from now on."""
    return _pad_bytes


def set_signal_pad_size(size: int) -> None:
    """Sets the bytes of the signal pad of what is allocated from now on. All ranks must set the same."""
    global _pad_bytes
    if size <= 0 or size % 4:
        raise ValueError(f"a signal pad has a positive number of words of 4 bytes, not {size} bytes")
    _pad_bytes = size


class Allocation:
    """A piece of a rank's memory: whoever holds it, or an array over it, keeps it."""

    def __init__(self, arena: Arena, start: int, pad_bytes: int, nbytes: int) -> None:
        self.rank = arena.rank
        self.pad_bytes = pad_bytes
        self.nbytes = nbytes
        self.holders = start
        """Offset in the segment of one byte for each rank, 1 while it holds a handle."""
        self.pad = start + _rounded(arena.rank.num_ranks, 128)
        """Offset of the signal pad."""
        self.data = self.pad + _rounded(pad_bytes, 256)
        """Offset of the data."""
        self.base = arena.rank._native.base(arena.rank.rank)
        self.meetings: dict[Any, Any] = {}
        """What groups of ranks have told each other of it, by group and place."""
        self.group: Any = None
        """The group that it was allocated for, if one was named."""
        arena.rank.clear(start, self.data - start)

    @property
    def address(self) -> int:
        """Where the data begins."""
        return self.base + self.data


class Use:
    """One use of a piece that outlives it: what an array over such a piece holds."""

    def __init__(self, piece: Allocation) -> None:
        self.piece = piece


class Arena:
    """The memory that a rank gives out, in pages.

    New pieces lie behind the last one, and first fit only once there is no room left. So ranks that allocate alike have
    alike places, whenever each of them gets to drop what it no longer needs, and multicast addresses reach them all.
    """

    def __init__(self, rank: Rank) -> None:
        block = rank.arena
        assert block is not None  # reserved when the world was made
        self.rank = rank
        self.size = block.nbytes
        self._free = [(block.offset, block.nbytes)]
        self._live: weakref.WeakValueDictionary[int, Allocation] = weakref.WeakValueDictionary()
        self._dropped: list[tuple[int, int]] = []
        self._lock = threading.RLock()
        self._next = block.offset
        self._lasting: dict[int, tuple[Allocation, weakref.ref[Use]]] = {}

    def allocate_lasting(self, number: int, nbytes: int) -> Use:
        """A piece that is kept under a number and used by one array at a time."""
        with self._lock:
            piece, last = self._lasting.get(number, (None, None))
            if last is not None and last() is not None:
                raise RuntimeError(f"the allocation with the alloc_id {number} is still in use")
            if piece is not None and piece.nbytes != nbytes:
                raise RuntimeError(f"the allocation with the alloc_id {number} has {piece.nbytes} bytes, not {nbytes}")
            use = Use(piece or self.allocate(nbytes))
            self._lasting[number] = (use.piece, weakref.ref(use))
            return use

    def allocate(self, nbytes: int) -> Allocation:
        """A new piece with a signal pad that is zero; what lies in the data is not known."""
        head = _rounded(self.rank.num_ranks, 128) + _rounded(_pad_bytes, 256)
        size = _rounded(head + nbytes, _PAGE)
        with self._lock:
            start = self._place(size)
            if start is None:
                # Programs may have cycles around their arrays.
                gc.collect()
                start = self._place(size)
            if start is None:
                text = f"the symmetric memory of rank {self.rank.rank} has no room for {size} bytes in one piece"
                text = f"{text}: {self._room()} of its {self.size} are free. SHOAL_HEAP_BYTES makes it larger"
                raise errors.from_native("OutOfResources", text)
            made = Allocation(self, start, _pad_bytes, nbytes)
            self._live[start] = made
            weakref.finalize(made, self._drop, start, size).atexit = False
            return made

    def _place(self, size: int) -> int | None:
        self._take_back()
        fitting = [at for at, (_, room) in enumerate(self._free) if room >= size]
        if not fitting:
            return None
        at = next((at for at in fitting if self._free[at][0] >= self._next), fitting[0])
        for at_rest in fitting:
            start, room = self._free[at_rest]
            if start < self._next <= start + room - size:
                # The rest of a block that was merged with what was dropped before it.
                self._free[at_rest : at_rest + 1] = [
                    (start, self._next - start),
                    (self._next, start + room - self._next),
                ]
                at = at_rest + 1
                break
        start, room = self._free[at]
        self._free[at : at + 1] = [(start + size, room - size)] if room > size else []
        self._next = start + size
        return start

    def find(self, address: int) -> Allocation | None:
        """The piece whose data an address of this rank's memory lies in."""
        with self._lock:
            live = list(self._live.values())
        for piece in live:
            if piece.address <= address < piece.address + max(piece.nbytes, 1):
                return piece
        return None

    def _drop(self, start: int, size: int) -> None:
        if not self.rank._native.is_here:
            return
        with self._lock:
            self._dropped.append((start, size))

    def _take_back(self) -> None:
        """Frees the dropped pieces that no rank holds a handle to."""
        kept = []
        for start, size in self._dropped:
            if any(self.rank._native.read(self.rank.rank, start, self.rank.num_ranks)):
                kept.append((start, size))
            else:
                self._free.append((start, size))
        self._dropped = kept
        merged: list[tuple[int, int]] = []
        for start, size in sorted(self._free):
            if merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + size)
            else:
                merged.append((start, size))
        self._free = merged

    def _room(self) -> int:
        return sum(size for _, size in self._free)


_making = threading.Lock()


def arena_of(rank: Rank) -> Arena:
    """The memory that a rank gives out."""
    with _making:
        found = getattr(rank, "_arena_allocator", None)
        if found is None:
            found = rank._arena_allocator = Arena(rank)  # type: ignore[attr-defined]
        return found


def _rounded(size: int, to: int) -> int:
    return -(-size // to) * to
