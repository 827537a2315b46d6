"""Teams: ranks in an order of their own, with exchanges of small host data among them. Meshes: teams on a grid."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.world import arrays

if TYPE_CHECKING:
    from shoal import _native


class Team:
    """Some ranks of the world. Its collectives must be called by all members, in the same order."""

    def __init__(self, native: _native.Team) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._native.name

    @property
    def rank(self) -> int:
        """This rank's place in the team."""
        return self._native.rank

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self._native.members)

    @property
    def members(self) -> list[int]:
        """The members, as ranks of the world."""
        return self._native.members

    @property
    def handle(self) -> int:
        """The number by which kernels know it, to be passed as an argument: `libshmem_device.barrier_block(team)`."""
        return self._native.handle

    def world_rank(self, rank: int) -> int:
        """A member as a rank of the world."""
        members = self.members
        if not 0 <= rank < len(members):
            raise ValueError(f"{self.name} has no member {rank}; it has {len(members)}")
        return members[rank]

    def translate(self, rank: int, other: Team) -> int | None:
        """A member's place in another team, or `None` if it is no member there."""
        return self._native.translate(arrays.number(rank, "rank", self.size), other._native)

    def barrier(self) -> None:
        """Waits for all members."""
        self._native.barrier()

    def broadcast(self, value: Any = None, root: int = 0) -> Any:
        """What one member passes, for all. Any object that can be pickled; meant for small ones."""
        root = arrays.number(root, "root", self.size)
        mine = pickle.dumps(value) if root == self.rank else b""
        return pickle.loads(self._native.broadcast(root, mine))

    def all_gather(self, value: Any) -> list[Any]:
        """What all members pass, in their order. Any objects that can be pickled; meant for small ones."""
        return [pickle.loads(other) for other in self._native.all_gather(pickle.dumps(value))]

    def split(self, colour: int | None, key: int = 0) -> Team | None:
        """Divides the team: members of the same colour make a team, ordered by `key`. `None` for who has no colour."""
        if colour is not None:
            colour = arrays.number(colour, "colour", 1 << 32)
        key = arrays.number(key, "key", 1 << 63, -(1 << 63))
        return _wrapped(self._native.split(colour, key))

    def strided(self, start: int, stride: int, size: int) -> Team | None:
        """The team of `size` members from `start` on in steps of `stride`; `None` for who is not among them."""
        end = self.size + 1
        # How far a step may go depends on how many there are.
        places = (("start", start, end), ("stride", stride, 1 << 63), ("size", size, end))
        return _wrapped(self._native.strided(*(arrays.number(value, name, end) for name, value, end in places)))

    def mesh(self, axes: Mapping[str, int]) -> Mesh:
        """The members on a grid with named axes, the last of which runs fastest."""
        end = self.size + 1
        return Mesh(self._native.mesh([(name, arrays.number(size, name, end)) for name, size in axes.items()]))

    def free(self) -> None:
        """Gives the team back; a rank can be a member of 64 at a time."""
        self._native.free()

    def __repr__(self) -> str:
        return f"Team({self.name}: {self.rank} of {self.members})"


class Mesh:
    """A team's members on a grid with named axes."""

    def __init__(self, native: _native.Mesh) -> None:
        self._native = native

    @property
    def axes(self) -> dict[str, int]:
        """The axes and the number of ranks along each."""
        return {axis: self._native.size(axis) for axis in self._native.axes}

    def size(self, axis: str) -> int:
        """The number of ranks along an axis."""
        return self._native.size(axis)

    def position(self, axis: str) -> int:
        """This rank's position along an axis."""
        return self._native.position(axis)

    def rank_at(self, **position: int) -> int:
        """The member at a position, which names each axis."""
        axes = self._native.axes
        if set(position) != set(axes):
            raise ValueError(f"a position names each axis of the mesh once: {', '.join(axes)}")
        return self._native.rank_at([position[axis] for axis in axes])

    def team(self, axis: str) -> Team:
        """The ranks that differ from this one only along an axis. Collective over the mesh."""
        return Team(self._native.team(axis))

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{axis}={size}' for axis, size in self.axes.items())})"


def _wrapped(native: _native.Team | None) -> Team | None:
    return None if native is None else Team(native)
