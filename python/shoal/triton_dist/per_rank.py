"""What each rank keeps for itself. Ranks that are threads of one process keep as much as they would as processes."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from shoal.world.current import find_rank
from shoal.world.ranks import Rank

_Kept = TypeVar("_Kept")


def rank_of_thread() -> Rank | None:
    """The rank that this thread acts as, where all ranks are threads of this process."""
    rank = find_rank()
    return rank if rank is not None and rank.engine in ("threads", "cuda") else None


class PerRank(Generic[_Kept]):
    """One thing for each rank that is a thread, as long as the rank is there; else one for the process."""

    def __init__(self, make: Callable[[], _Kept]) -> None:
        self._make = make
        self._of_process = make()
        self._of_ranks: weakref.WeakKeyDictionary[Rank, _Kept] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def here(self) -> _Kept:
        """What the rank has that this thread acts as."""
        rank = rank_of_thread()
        if rank is None:
            return self._of_process
        with self._lock:
            if rank not in self._of_ranks:
                self._of_ranks[rank] = self._make()
            return self._of_ranks[rank]
