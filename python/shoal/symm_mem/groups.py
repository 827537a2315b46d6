"""What a group is: a team of Shoal's, a process group of torch or its name, or `None` for all ranks."""

from __future__ import annotations

import os
import secrets
import sys
from typing import Any

from shoal.world import World, current_rank
from shoal.world.current import find_rank
from shoal.world.ranks import Rank
from shoal.world.teams import Team

_BOOTSTRAP = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SHOAL_TOKEN")


class Group:
    """Ranks that share symmetric memory, in an order of their own."""

    def __init__(self, key: Any, members: list[int], exchange: Any) -> None:
        self.key = key
        """What tells it from other groups."""
        self.members = members
        """The members, as ranks of the world."""
        self.all_gather = exchange
        """Gives what all members pass, in their order."""

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self.members)


def acting_rank() -> Rank:
    """The rank that this thread acts as; a process that is one joins its world when this is first asked."""
    found = find_rank()
    if found is not None:
        found._native.check_process()
        return found
    distributed = _distributed()
    if distributed is not None and distributed.is_initialized():
        return _join_with(distributed)
    if (os.environ.get("RANK") and os.environ.get("WORLD_SIZE")) or os.environ.get("OMPI_COMM_WORLD_RANK"):
        return World.from_env().rank
    return current_rank()


def resolve(group: Any, rank: Rank) -> Group:
    """The group that somebody names."""
    if isinstance(group, Team):
        return Group(("team", group.name, tuple(group.members)), group.members, group.all_gather)
    distributed = _distributed()
    is_initialized = distributed is not None and distributed.is_initialized()
    if is_initialized and rank.engine not in ("threads", "cuda"):
        return _of_torch(distributed, group)
    if group is None or group in ("0", "world", "WORLD"):
        world = rank.world
        return Group("world", world.members, world.all_gather)
    if isinstance(group, str):
        raise ValueError(f"there is no group `{group}`; pass a `shoal.Team`, or `None` for all ranks")
    raise TypeError(f"rendezvous: unsupported group type: {type(group)}")


def _of_torch(distributed: Any, group: Any) -> Group:
    if group is None:
        group = distributed.group.WORLD
    if isinstance(group, str):
        group = distributed.distributed_c10d._resolve_process_group(group)
    if not isinstance(group, distributed.ProcessGroup):
        raise TypeError(f"rendezvous: unsupported group type: {type(group)}")

    def exchange(value: Any) -> list[Any]:
        values: list[Any] = [None] * group.size()
        distributed.all_gather_object(values, value, group=group)
        return values

    return Group(group.group_name, list(distributed.get_process_group_ranks(group)), exchange)


def _distributed() -> Any:
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    return distributed if distributed is not None and distributed.is_available() else None


def _join_with(distributed: Any) -> Rank:
    """Joins the world whose ranks are those of torch's default group, however that was made."""
    meeting: list[Any] = [(secrets.token_hex(16), str(1024 + secrets.randbelow(60000)))]
    distributed.broadcast_object_list(meeting, src=0)
    token, port = meeting[0]
    rank, size = str(distributed.get_rank()), str(distributed.get_world_size())
    said = dict(zip(_BOOTSTRAP, (rank, size, rank, size, "127.0.0.1", port, token)))
    before = {name: os.environ.get(name) for name in said}
    os.environ.update(said)
    try:
        return World.from_env().rank
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
