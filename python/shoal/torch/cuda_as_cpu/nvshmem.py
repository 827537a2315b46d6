"""`nvshmem.core` and `nvshmem.bindings.nvshmem`, by which host programs reach NVSHMEM, over the ranks of this world.

They are made where CUDA is played by the CPU. Tensors are symmetric tensors of the world, teams its teams, and streams
hold nothing back.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from shoal.runtime.stream_work import in_stream
from shoal.symm_mem.groups import acting_rank
from shoal.torch.cuda_as_cpu import nvshmem_streams
from shoal.torch.cuda_as_cpu.modules import made_module
from shoal.world.teams import Team

_teams: dict[int, Team] = {}


class Teams(enum.IntEnum):
    """The teams that are always there."""

    TEAM_INVALID = -1
    TEAM_WORLD = 0
    TEAM_SHARED = 1
    TEAM_NODE = 2
    TEAM_SAME_MYPE_NODE = 3


def install() -> None:
    """Makes the modules, whatever is installed: the library itself could not start without a GPU."""
    core = made_module("nvshmem.core")
    for function in (*_EVERYWHERE, init, get_unique_id, tensor, free_tensor, get_peer_tensor, get_multicast_tensor):
        setattr(core, function.__name__, function)
    for function in (finalize, barrier, sync, put, get, team_get_config, team_split_strided, team_split_2d):
        setattr(core, function.__name__, function)
    for function in nvshmem_streams.OF_CORE:
        setattr(core, function.__name__, function)
    for kind in (Teams, nvshmem_streams.SignalOp, nvshmem_streams.ComparisonType):
        setattr(core, kind.__name__, kind)
    made_module("nvshmem.core.utils")._get_device = lambda: (None, None)  # type: ignore[attr-defined]
    bindings = made_module("nvshmem.bindings")
    functions = made_module("nvshmem.bindings.nvshmem")
    for owner in (bindings, functions):
        for function in (*_EVERYWHERE, *nvshmem_streams.OF_BINDINGS):
            setattr(owner, function.__name__, function)


def _team(handle: Any) -> Team:
    number = int(handle)
    if number == Teams.TEAM_WORLD:
        return acting_rank().world
    if number in (Teams.TEAM_NODE, Teams.TEAM_SHARED):
        return acting_rank().node
    if number in _teams:
        return _teams[number]
    raise ValueError(f"there is no team with the handle {number}")


def _kept(team: Team | None) -> int:
    if team is None:
        return int(Teams.TEAM_INVALID)
    _teams[team.handle] = team
    return team.handle


def init(*_: Any, **__: Any) -> None:
    """Brings the ranks together; whoever started them has said who they are."""
    acting_rank()


def finalize() -> None:
    """Waits for all ranks. The memory stays until the process ends."""
    acting_rank().barrier()


def get_unique_id(empty: bool = False) -> SimpleNamespace:
    """What ranks would recognise each other by; they know each other already."""
    return SimpleNamespace(version=1)


def my_pe() -> int:
    """This rank."""
    return acting_rank().rank


def n_pes() -> int:
    """The number of ranks."""
    return acting_rank().num_ranks


def team_my_pe(team: Any) -> int:
    """This rank's place in a team, or -1."""
    return -1 if int(team) == Teams.TEAM_INVALID else _team(team).rank


def team_n_pes(team: Any) -> int:
    """The number of a team's members, or -1."""
    return -1 if int(team) == Teams.TEAM_INVALID else _team(team).size


def team_translate_pe(src_team: Any, src_pe: int, dest_team: Any) -> int:
    """A member's place in another team, or -1."""
    place = _team(src_team).translate(src_pe, _team(dest_team))
    return -1 if place is None else place


@in_stream
def barrier_all(stream: Any = None) -> None:
    """Waits for all ranks."""
    acting_rank().barrier()


@in_stream
def barrier_all_on_stream(stream: Any = None) -> None:
    """Waits for all ranks."""
    acting_rank().barrier()


def quiet(stream: Any = None) -> None:
    """What was put is there: it always is when the call that put it returns."""


@in_stream
def barrier(team: Any = Teams.TEAM_WORLD, stream: Any = None) -> None:
    """Waits for a team's ranks."""
    _team(team).barrier()


@in_stream
def sync(team: Any = Teams.TEAM_WORLD, stream: Any = None) -> None:
    """Waits for a team's ranks."""
    _team(team).barrier()


def tensor(shape: Any, dtype: Any = None, release: bool = False) -> Any:
    """A symmetric tensor. Collective over all ranks."""
    import torch

    return acting_rank().symm_zeros(tuple(shape), torch.float32 if dtype is None else dtype)


def free_tensor(tensor: Any) -> None:
    """Gives a symmetric tensor back. Collective over all ranks."""
    acting_rank().free(tensor)


def get_peer_tensor(tensor: Any, peer_pe: int) -> Any:
    """A symmetric tensor's counterpart at another rank."""
    return acting_rank().peer(tensor, peer_pe)


def get_multicast_tensor(team: Any, tensor: Any) -> Any:
    """The tensor by whose addresses `multimem` reaches all ranks: itself. The team must be that of all ranks."""
    if _team(team).size != acting_rank().num_ranks:
        raise RuntimeError("multicast reaches all ranks; reach those of a smaller team with get_peer_tensor")
    return tensor


def put(dst: Any, src: Any, remote_pe: int, stream: Any = None) -> None:
    """Copies to another rank's counterpart of a symmetric tensor."""
    acting_rank().peer(dst, remote_pe).copy_(src)


def get(dst: Any, src: Any, remote_pe: int, stream: Any = None) -> None:
    """Copies from another rank's counterpart of a symmetric tensor."""
    dst.copy_(acting_rank().peer(src, remote_pe))


def team_get_config(team: Any) -> SimpleNamespace:
    """A team's settings: there are none to change."""
    _team(team)
    return SimpleNamespace(num_contexts=0)


def team_split_strided(
    parent: Any, start: int, stride: int, size: int, config: Any = None, config_mask: int = 0, *_: Any, **__: Any
) -> int:
    """A team of some of a team's members; the invalid team for the others. Collective over the parent."""
    whole = _team(parent)
    members = [start + i * stride for i in range(size)]
    if any(not 0 <= member < whole.size for member in members):
        raise ValueError(f"members {members} are not all in a team of {whole.size}")
    inside = whole.rank in members
    return _kept(whole.split(0 if inside else None, members.index(whole.rank) if inside else 0))


def team_split_2d(parent: Any, xrange: int, *_: Any, **__: Any) -> tuple[int, int]:
    """The rows and columns of a team laid out in rows of `xrange`. Collective over the parent."""
    whole = _team(parent)
    if xrange < 1:
        raise ValueError(f"rows have at least one member, not {xrange}")
    row, column = divmod(whole.rank, xrange)
    return _kept(whole.split(row, column)), _kept(whole.split(column, row))


_EVERYWHERE: tuple[Callable[..., Any], ...] = (
    my_pe,
    n_pes,
    team_my_pe,
    team_n_pes,
    team_translate_pe,
    barrier_all,
    barrier_all_on_stream,
    quiet,
)
