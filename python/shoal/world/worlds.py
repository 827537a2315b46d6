"""Worlds: where they come from, and running a function on their ranks."""

from __future__ import annotations

import atexit
import contextvars
import ctypes
import functools
import operator
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from shoal import _native, _standard_streams
from shoal.errors import WorldError
from shoal.world import current, forked, streams
from shoal.world.ranks import Rank

_DEFAULT_HEAP_BYTES = 1 << 30
_MOST_HEAP_BYTES = 1 << 62
_MOST_RANKS = (1 << 32) - 1
_MOST_PAD_SLOTS = 1 << 28
_PAGE = 4096
# How long threads of ranks may take to end after Ctrl-C, or by themselves when the world has failed.
_GRACE = 5.0
# How often whoever runs a world looks whether it has failed.
_LOOK = 0.25


class World:
    """Ranks that reach each other's memory.

    Settings that are not passed come from the environment: `SHOAL_HEAP_BYTES` (also as `512M` or `2G`),
    `SHOAL_PAD_SLOTS`, `SHOAL_TIMEOUT`. All ranks must have the same.
    """

    _joined: World | None = None
    _joining = threading.Lock()

    def __init__(self, native: _native.World, heap_bytes: int) -> None:
        self._native = native
        self._heap_bytes = heap_bytes
        self._process = os.getpid()
        self._started_as: dict[str, str] = {}
        self._running = threading.Lock()
        self.ranks = [Rank(rank) for rank in native.local_ranks()]
        """The ranks that this process runs: all of them, or one."""

    @classmethod
    def threads(
        cls,
        n: int,
        *,
        heap_bytes: int | str | None = None,
        pad_slots: int | None = None,
        timeout: float | None = None,
    ) -> World:
        """A world of `n` ranks that are threads of this process."""
        heap_bytes = _heap_bytes(heap_bytes)
        world = cls(
            _native.World.threads(_number_of_ranks(n), 2 * heap_bytes, _pad_slots(pad_slots), timeout), heap_bytes
        )
        world._native.run(lambda number: world._reserve(world.ranks[number]))
        return world

    @classmethod
    def cuda(
        cls,
        n: int,
        device: int = 0,
        *,
        heap_bytes: int | str | None = None,
        pad_slots: int | None = None,
        timeout: float | None = None,
    ) -> World:
        """A world of `n` ranks that are threads of this process and share a GPU, by its number.

        Symmetric memory is the GPU's, and arrays are tensors of torch there. Each rank has a stream, which is torch's
        current one in what `run` calls; launches and torch's own work go there. With more than 8 ranks, or ranks with
        streams of their own, the program is started with `CUDA_DEVICE_MAX_CONNECTIONS=32`.
        """
        heap_bytes = _heap_bytes(heap_bytes)
        world = cls(
            _native.World.cuda(_number_of_ranks(n), device, 2 * heap_bytes, _pad_slots(pad_slots), timeout), heap_bytes
        )
        world._native.run(lambda number: world._reserve(world.ranks[number]))
        return world

    @classmethod
    def from_env(
        cls,
        *,
        heap_bytes: int | str | None = None,
        pad_slots: int | None = None,
        timeout: float | None = None,
        device: str | None = None,
    ) -> World:
        """The world that `shoal launch`, `torchrun` or `oshrun` started this process for; it is one rank of it.

        `device` says where symmetric memory is and kernels run: `"cpu"`, `"cuda"` (ranks have the GPUs of the host in
        turns), `"cuda:1"`; by default what `SHOAL_DEVICE` says. Arrays of a GPU are tensors of torch. With
        `SHOAL_ENGINE=nvshmem` the memory is NVSHMEM's.

        Returns when all ranks have come. A process joins once: later calls give the same world. A forked child cannot
        join the world of its parent.
        """
        with cls._joining:
            joined, started_as = World._joined, _started_as()
            if joined is not None and joined._is_here:
                return joined
            if joined is not None and joined._started_as == started_as:
                joined.rank._native.check_process()
            _standard_streams.keep_open()
            heap_bytes = _heap_bytes(heap_bytes)
            world = cls(_native.World.from_env(2 * heap_bytes, _pad_slots(pad_slots), timeout, device), heap_bytes)
            (rank,) = world.ranks
            world._reserve(rank)
            rank._native.act_as_process()
            current.set_of_process(rank)
            world._started_as = started_as
            World._joined = world
            atexit.register(_leave, rank, os.getpid())
            _report_exceptions(rank, os.getpid())
            return world

    @staticmethod
    def is_launched() -> bool:
        """Whether `shoal launch`, `torchrun`, `mpirun` or `oshrun` started this process as a rank of a world."""
        return any(os.environ.get(name) for name in ("RANK", "OMPI_COMM_WORLD_RANK"))

    def _reserve(self, rank: Rank) -> None:
        rank.arena = rank._native.allocate(self._heap_bytes, 4096)

    @property
    def num_ranks(self) -> int:
        """The number of ranks."""
        return self._native.size

    @property
    def engine(self) -> str:
        """How the ranks reach each other: `threads`, `cuda`, `processes`, `openshmem` or `nvshmem`."""
        return self._native.engine

    @property
    def _is_here(self) -> bool:
        """Whether this is the process that made the world, and no forked child of it."""
        return self._process == os.getpid()

    @property
    def _runs_all(self) -> bool:
        """Whether all ranks are threads of this process."""
        return self.engine in ("threads", "cuda")

    @property
    def rank(self) -> Rank:
        """The rank that this process is, where ranks are processes."""
        if self._runs_all:
            raise RuntimeError("this process runs all ranks; `run` passes each to a function")
        return self.ranks[0]

    def run(self, function: Callable[..., Any], *args: Any, **named: Any) -> list[Any]:
        """Calls `function(rank, *args, **named)` for each rank of this process, and gives the results in their order.

        Where ranks are processes (`from_env`), that is a list of one.

        Ranks that are threads run at the same time. When one raises, the others get a `WorldError` that names it from
        whatever they wait for, and `run` raises what that rank raised. A world that has failed stays so. A rank that
        calls `sys.exit(0)` has ended well, as if it had returned, and `run` exits when all have.
        """
        if not self._is_here:
            raise RuntimeError("a forked child has none of the world's ranks; make a world in it")
        if not self._runs_all:
            return [self._run_here(function, args, named)]
        if not self._running.acquire(blocking=False):
            raise RuntimeError("the world runs a function already")
        try:
            return self._run_threads(function, args, named)
        finally:
            self._running.release()

    def _run_here(self, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        rank = self.rank
        rank.check()
        result, exit = None, None
        try:
            with rank:
                try:
                    result = function(rank, *args, **named)
                except SystemExit as error:
                    if not _ends_well(error):
                        raise
                    exit = error
                if self._is_here:
                    rank._native.check_streams()
        except BaseException as error:
            if self._is_here:
                _fail(rank, error)
            raise
        if exit is not None:
            raise exit
        return result

    def _run_threads(self, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        contexts = [contextvars.copy_context() for _ in self.ranks]
        threads: dict[int, int] = {}
        done = threading.Event()
        outcome: dict[str, Any] = {}
        exits: dict[int, SystemExit] = {}

        def on_rank(number: int) -> Any:
            rank = self.ranks[number]
            threads[number] = threading.get_ident()
            threading.current_thread().name = f"rank {number}"
            current.push(rank)
            try:
                with rank.in_stream():
                    work = functools.partial(function, rank, *args, **named)
                    return forked.run(functools.partial(contexts[number].run, work))
            except SystemExit as exit:
                if not _ends_well(exit):
                    raise
                exits[number] = exit
                return None
            finally:
                current.pop()
                threads.pop(number, None)

        def drive() -> None:
            try:
                outcome["results"] = self._native.run(on_rank)
            except BaseException as error:
                outcome["error"] = error
            finally:
                done.set()

        # Only this thread hears of signals, so it waits where Python can interrupt it.
        driver = threading.Thread(target=drive, name="shoal world", daemon=True)
        driver.start()
        try:
            failed = self._wait_for_end(done)
        except BaseException as interruption:
            self.ranks[0].fail(f"the program was interrupted ({_told(interruption)})")
            _raise_in(threads, KeyboardInterrupt)
            driver.join(_GRACE)
            # Where this thread waited is nobody's concern.
            raise interruption.with_traceback(None) from None
        if failed is not None:
            # Ranks that wait have ended; those that run Python are told, where they are.
            _raise_in(threads, _as_class(failed))
            if not done.wait(_GRACE):
                running = [f"rank {number} does not end: its thread was left behind" for number in sorted(threads)]
                raise _as_class(failed)(*running) from None
        driver.join()
        error = outcome.pop("error", None)
        if error is not None:
            raise error
        if exits:
            raise exits[min(exits)]
        results: list[Any] = outcome["results"]
        return results

    def _wait_for_end(self, done: threading.Event) -> WorldError | None:
        """Waits for the end of all ranks. When the world fails and they do not end soon: why."""
        while not done.wait(_LOOK):
            rank = self.ranks[0]
            if not rank._native.has_failed() or done.wait(_GRACE):
                continue
            try:
                rank.check()
            except WorldError as error:
                return error
        return None

    def __repr__(self) -> str:
        return f"World({self.num_ranks} ranks, {self.engine})"


def _number_of_ranks(n: int) -> int:
    n = operator.index(n)
    if n < 1:
        raise WorldError(f"a world of {n} ranks; it needs at least one")
    if n > _MOST_RANKS:
        raise WorldError(f"a world of {n} ranks; it has {_MOST_RANKS} at most")
    return n


def _pad_slots(given: int | None) -> int | None:
    if given is None:
        return None
    slots = operator.index(given)
    if not 1 <= slots <= _MOST_PAD_SLOTS:
        raise WorldError(f"a signal pad has from 1 to {_MOST_PAD_SLOTS} slots, not {slots}")
    return slots


def _heap_bytes(given: int | str | None) -> int:
    name, said = "heap_bytes", given
    if given is None:
        name, said = "SHOAL_HEAP_BYTES", os.environ.get("SHOAL_HEAP_BYTES") or _DEFAULT_HEAP_BYTES
    heap_bytes = _native.parse_bytes(str(said)) or 0
    if not 0 < heap_bytes <= _MOST_HEAP_BYTES:
        text = f"{name}={said} cannot be used: it must be a number of bytes from 1 to 2^62, such as 1073741824 or 1G"
        raise ValueError(text)
    # Arrays begin at pages of it.
    return -(-heap_bytes // _PAGE) * _PAGE


def _started_as() -> dict[str, str]:
    """What the environment says of the rank that a process was started as."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SHOAL_TOKEN", "OMPI_COMM_WORLD_RANK")
    return {name: os.environ[name] for name in names if name in os.environ}


def _raise_in(threads: dict[int, int], error: type[BaseException]) -> None:
    for ident in list(threads.values()):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(error))


def _as_class(error: WorldError) -> type[WorldError]:
    """A class of exceptions with what this one says: another thread can be made to raise classes only."""
    kind = type(error)

    def say(made: WorldError, *more: str) -> None:
        kind.__init__(made, "\n".join([str(error), *more]))
        made.rank, made.waits = error.rank, error.waits

    return type(kind.__name__, (kind,), {"__init__": say, "__module__": kind.__module__})


def _ends_well(error: BaseException) -> bool:
    """Whether a program that ends by this has done what it was to do."""
    return isinstance(error, SystemExit) and error.code in (None, 0)


def _told(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _fail(rank: Rank, error: BaseException) -> None:
    """Ends the world; where ranks did not do the same, the fault is not of the one that raises."""
    if isinstance(error, WorldError) and error.differs and error.rank is not None:
        rank._blame(error.rank, str(error))
    else:
        rank.fail(_told(error))


def _report_exceptions(rank: Rank, process: int) -> None:
    """The others hear of what ends the main thread at once: the process ends after all its other threads."""
    show = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if os.getpid() == process:
            _fail(rank, error)
        show(kind, error, trace)

    sys.excepthook = hook


def _leave(rank: Rank, process: int) -> None:
    """The end of a process that is a rank: the others hear of it, and why, if it ends with an error."""
    if os.getpid() != process:
        return
    error = getattr(sys, "last_value", None)
    if error is not None:
        _fail(rank, error)
    was_interrupted = streams.finish()
    current.set_of_process(None)
    rank._native.release_process()
    rank._native.leave()
    if was_interrupted:
        streams.end_by_interrupt()
