"""The teams of `nvshmem.core`: numbers that stand for teams of the world."""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any

from shoal.symm_mem.groups import acting_rank
from shoal.world.teams import Team

_teams: dict[int, Team] = {}


class Teams(enum.IntEnum):
    """The teams that are always there."""

    TEAM_INVALID = -1
    TEAM_WORLD = 0
    TEAM_SHARED = 1
    TEAM_NODE = 2
    TEAM_SAME_MYPE_NODE = 3


def team_of(handle: Any) -> Team:
    """The team with a number."""
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


def team_my_pe(team: Any) -> int:
    """This rank's place in a team, or -1."""
    return -1 if int(team) == Teams.TEAM_INVALID else team_of(team).rank


def team_n_pes(team: Any) -> int:
    """The number of a team's members, or -1."""
    return -1 if int(team) == Teams.TEAM_INVALID else team_of(team).size


def team_translate_pe(src_team: Any, src_pe: int, dest_team: Any) -> int:
    """A member's place in another team, or -1."""
    place = team_of(src_team).translate(src_pe, team_of(dest_team))
    return -1 if place is None else place


def team_get_config(team: Any) -> SimpleNamespace:
    """A team's settings: there are none to change."""
    team_of(team)
    return SimpleNamespace(num_contexts=0)


def team_split_strided(
    parent: Any, start: int, stride: int, size: int, config: Any = None, config_mask: int = 0, *_: Any, **__: Any
) -> int:
    """A team of some of a team's members; the invalid team for the others. Collective over the parent."""
    whole = team_of(parent)
    members = [start + i * stride for i in range(size)]
    if any(not 0 <= member < whole.size for member in members):
        raise ValueError(f"members {members} are not all in a team of {whole.size}")
    inside = whole.rank in members
    return _kept(whole.split(0 if inside else None, members.index(whole.rank) if inside else 0))


def team_split_2d(parent: Any, xrange: int, *_: Any, **__: Any) -> tuple[int, int]:
    """The rows and columns of a team laid out in rows of `xrange`. Collective over the parent."""
    whole = team_of(parent)
    if xrange < 1:
        raise ValueError(f"rows have at least one member, not {xrange}")
    row, column = divmod(whole.rank, xrange)
    return _kept(whole.split(row, column)), _kept(whole.split(column, row))


def team_destroy(team: Any) -> None:
    """Gives a team back. Collective over it."""
    kept = _teams.pop(int(team), None)
    if kept is not None:
        kept.free()
