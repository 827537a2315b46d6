"""Streams: work of a rank that runs in order, beside what else the rank does."""

from __future__ import annotations

import atexit
import functools
import os
import signal
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shoal.errors import WorldError
from shoal.world import arrays, current, forked

if TYPE_CHECKING:
    from shoal import _native
    from shoal.world.ranks import Rank


class Event:
    """A point in a stream."""

    def __init__(self, native: _native.Event) -> None:
        self._native = native

    def query(self) -> bool:
        """Whether the stream has come here, or ended before."""
        return self._native.has_happened

    def wait(self) -> None:
        """Waits until the stream has come here; raises what ended the stream before, if something did."""
        self._native.wait()


class Stream:
    """A queue of a rank's work with a thread of its own.

    The first operation that fails ends the stream: those after it do not run, and `synchronize` raises its error. A
    stream that is dropped is waited for; what ended it is then raised by `World.run`, unless it has been raised before.
    Streams that are there when Python ends are waited for, too; what ends them then is printed. A function that has not
    returned when the world's timeout is over, or a second after the world has failed, is left behind.
    """

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        self._native: _native.Stream = rank._native.stream()
        _live.add(self)

    def copy(self, to: Any, source: Any) -> None:
        """Copies an array to another of the same size; either may be a part of any rank's symmetric memory."""
        there, here = arrays.writable(to, "what is copied to"), arrays.dense(source, "what is copied")
        if there.nbytes != here.nbytes:
            raise ValueError(f"a copy of {here.nbytes} bytes to an array of {there.nbytes}")
        if here.nbytes:
            self._native.copy(there.address, to, here.address, source, here.nbytes)

    def write_value(self, array: Any, value: int, index: int = 0) -> None:
        """Writes one word of 32 or 64 bits, after all that is in the stream before it, for all ranks to see."""
        arrays.writable(array, "the array of a word")
        address, size = _word(array, index)
        self._native.write_value(address, array, _bits(value, size), size)

    def wait_value(self, array: Any, value: int, index: int = 0, *, at_least: bool = False) -> None:
        """Holds the stream until a word equals a value, or is at least that; counters may wrap around."""
        address, size = _word(array, index)
        self._native.wait_value(address, array, _bits(value, size), size, at_least)

    def call(self, function: Callable[..., Any], *args: Any, **named: Any) -> None:
        """Calls a function in the stream's order, on its thread; kernels that it launches run as the stream's rank."""
        # Not the stream itself, which would then be dropped on its own thread.
        rank = self.rank

        def called() -> None:
            current.push(rank)
            try:
                forked.run(functools.partial(function, *args, **named))
            finally:
                current.pop()

        self._native.call(called)

    def record(self) -> Event:
        """An event that happens when all that is in the stream now is done."""
        return Event(self._native.record())

    def wait(self, event: Event) -> None:
        """Holds the stream until an event of this or another stream has happened."""
        self._native.wait(event._native)

    def synchronize(self) -> None:
        """Waits until all that is in the stream is done; raises what ended it, if something did."""
        self._native.synchronize()

    def query(self) -> bool:
        """Whether all that was put in is done."""
        return self._native.is_idle


_live: weakref.WeakSet[Stream] = weakref.WeakSet()
# A forked child has none of them.
os.register_at_fork(after_in_child=_live.clear)


def finish() -> bool:
    """Waits for all streams before Python ends: functions that they call cannot go on after it.

    Gives whether Ctrl-C has ended the wait.
    """
    for stream in [stream for stream in _live if not stream._native.is_heard]:
        rank = stream.rank
        try:
            rank.check()
        except WorldError:
            # Whoever was to hear of that has.
            rank = None
        try:
            stream.synchronize()
        except BaseException as error:
            if rank is not None:
                rank.fail(f"{type(error).__name__}: {error}")
                print(f"shoal: a stream of rank {rank.rank} ended after all else: {error!r}", file=sys.stderr)
            if isinstance(error, KeyboardInterrupt):
                return True
    return False


def end_by_interrupt() -> None:
    """Ends the process as Ctrl-C does; an exception would mean nothing so late."""
    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


@atexit.register
def _at_exit() -> None:
    if finish():
        end_by_interrupt()


def _word(array: Any, index: int) -> tuple[int, int]:
    """The address and the size of one element."""
    found = arrays.dense(array, "an array of words")
    count = found.nbytes // found.itemsize
    if not 0 <= index < count:
        raise IndexError(f"word {index} of an array of {count}")
    if found.itemsize not in (4, 8):
        raise TypeError(f"words have 32 or 64 bits; the array's elements have {8 * found.itemsize}")
    if "int" not in str(found.dtype):
        raise TypeError(f"words are integers; the array's elements are of {found.dtype}")
    return found.address + index * found.itemsize, found.itemsize


def _bits(value: int, size: int) -> int:
    """A number with or without a sign as the bits of a word."""
    bits = 8 * size
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise ValueError(f"{value} does not fit into a word of {bits} bits")
    return value & (1 << bits) - 1
