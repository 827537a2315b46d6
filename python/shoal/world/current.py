"""The rank that a thread acts as."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.world.ranks import Rank


class _Acting(threading.local):
    """The ranks that this thread acts as, the innermost last."""

    def __init__(self) -> None:
        self.ranks: list[Rank] = []


_acting = _Acting()
_of_process: Rank | None = None


def current_rank() -> Rank:
    """The rank that this thread acts as: that of `World.run`, or the one that this process is."""
    found = find_rank()
    if found is None:
        raise RuntimeError(
            "this thread acts as no rank; call this in a function that `shoal.World.threads(n).run` runs, in a "
            "program that `shoal launch -n N`, `torchrun` or `oshrun` started and that called "
            "`shoal.World.from_env()`, or in `with rank:`"
        )
    return found


def find_rank() -> Rank | None:
    """The rank that this thread acts as, if it does."""
    return _acting.ranks[-1] if _acting.ranks else _of_process


def push(rank: Rank) -> None:
    """This thread acts as a rank."""
    _acting.ranks.append(rank)


def pop() -> None:
    """This thread acts as it did before."""
    _acting.ranks.pop()


def set_of_process(rank: Rank | None) -> None:
    """This process is a rank, or none any more."""
    global _of_process
    _of_process = rank
