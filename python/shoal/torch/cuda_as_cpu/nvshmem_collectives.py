"""The collectives of `nvshmem.core`: what all ranks of a team call with symmetric tensors of the same size.

Each rank reads its part from the others. All have come before any reads, and all have read before any writes, so that
the result may take the source's place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.runtime.stream_work import in_stream
from shoal.symm_mem.groups import acting_rank
from shoal.torch.cuda_as_cpu.nvshmem_teams import team_of
from shoal.world.teams import Team


def _sources(team: Team, src: Any) -> list[Any]:
    """The source of every member, flat, in their order; all have come."""
    rank = acting_rank()
    team.barrier()
    return [rank.peer(src, member).reshape(-1) for member in team.members]


def _finish(team: Team, dst: Any, result: Any) -> None:
    if dst.numel() < result.numel():
        raise ValueError(f"{result.numel()} elements do not fit into a destination of {dst.numel()}")
    result = result.clone()
    team.barrier()
    dst.view(-1)[: result.numel()].copy_(result)


def _part(team: Team, source: Any) -> Any:
    """This rank's part of a source that has one for each member."""
    if source.numel() % team.size:
        raise ValueError(f"{source.numel()} elements are not the same number for each of {team.size} ranks")
    return source.view(team.size, -1)[team.rank]


def _combined(parts: list[Any], op: str) -> Any:
    import torch

    combine = {"sum": torch.add, "max": torch.maximum, "min": torch.minimum}.get(op)
    if combine is None:
        raise ValueError(f"the operation is `sum`, `max` or `min`, not {op!r}")
    total = parts[0].clone()
    for part in parts[1:]:
        total = combine(total, part)
    return total


@in_stream
def reduce(team: Any, dst_array: Any, src_array: Any, op: str, stream: Any = None) -> None:
    """Combines everybody's elements, for everybody, in the order of the team."""
    members = team_of(team)
    _finish(members, dst_array, _combined(_sources(members, src_array), op))


@in_stream
def reducescatter(team: Any, dst_array: Any, src_array: Any, op: str, stream: Any = None) -> None:
    """Combines everybody's elements; each rank gets its part of them."""
    members = team_of(team)
    _finish(members, dst_array, _combined([_part(members, source) for source in _sources(members, src_array)], op))


@in_stream
def alltoall(team: Any, dst_array: Any, src_array: Any, stream: Any = None) -> None:
    """Everybody's part for this rank, in the order of the team."""
    import torch

    members = team_of(team)
    _finish(members, dst_array, torch.cat([_part(members, source) for source in _sources(members, src_array)]))


@in_stream
def fcollect(team: Any, dst_array: Any, src_array: Any, stream: Any = None) -> None:
    """Everybody's elements, in the order of the team."""
    import torch

    members = team_of(team)
    _finish(members, dst_array, torch.cat(_sources(members, src_array)))


@in_stream
def broadcast(team: Any, dst_array: Any, src_array: Any, root: int = 0, stream: Any = None) -> None:
    """What one member has, for all."""
    members = team_of(team)
    _finish(members, dst_array, _sources(members, src_array)[root])


OF_CORE: tuple[Callable[..., Any], ...] = (reduce, reducescatter, alltoall, fcollect, broadcast)
"""The functions of `nvshmem.core`."""
