"""Teams: who is in them, meetings, collectives."""

from __future__ import annotations

from shoal.language._host import operations
from shoal.language._values import Value, tensor


def my_pe() -> tensor:
    """This rank's number."""


def n_pes() -> tensor:
    """The number of ranks."""


def team_my_pe(team: Value) -> tensor:
    """This rank's place in a team; -1 in the invalid team."""


def team_n_pes(team: Value) -> tensor:
    """The number of a team's members; -1 for the invalid team."""


def team_translate_pe(src_team: Value, pe: Value, dest_team: Value) -> tensor:
    """A member's place in another team; -1 if it has none."""


def remote_mc_ptr(team: Value, ptr: tensor) -> tensor:
    """The address by which `multimem_*` reach that place at all ranks at once."""


def set_rocshmem_ctx(ctx: Value) -> None:
    """Does nothing: there is no context of a device library here."""


def barrier_all() -> None:
    """Waits for all ranks, after all that they issued has arrived. Called by one thread of each rank."""


def barrier_all_block() -> None:
    """Waits for all ranks, after all that they issued has arrived. Called by the program of each rank."""


def barrier_all_warp() -> None:
    """Waits for all ranks, after all that they issued has arrived. Called by a warp of each rank."""


def barrier_all_vec() -> None:
    """Waits for all ranks, after all that they issued has arrived. Called by the program of each rank."""


def barrier_all_wave() -> None:
    """Waits for all ranks, after all that they issued has arrived. Called by a warp of each rank."""


def barrier_all_wg() -> None:
    """Waits for all ranks, after all that they issued has arrived. Called by the program of each rank."""


def sync_all() -> None:
    """Waits for all ranks. Called by one thread of each rank."""


def sync_all_block() -> None:
    """Waits for all ranks. Called by the program of each rank."""


def sync_all_warp() -> None:
    """Waits for all ranks. Called by a warp of each rank."""


def barrier(team: Value) -> None:
    """Waits for a team, after all that it issued has arrived. Called by one thread of each member."""


def barrier_block(team: Value) -> None:
    """Waits for a team, after all that it issued has arrived. Called by the program of each member."""


def barrier_warp(team: Value) -> None:
    """Waits for a team, after all that it issued has arrived. Called by a warp of each member."""


def sync(team: Value) -> None:
    """Waits for a team. Called by one thread of each member."""


def team_sync_block(team: Value) -> None:
    """Waits for a team. Called by the program of each member."""


def team_sync_warp(team: Value) -> None:
    """Waits for a team. Called by a warp of each member."""


def broadcast(team: Value, dest: tensor, source: tensor, nelems: Value, pe_root: Value) -> None:
    """`nelems` elements of the member `pe_root`, to all. Called by one thread of each member."""


def broadcast_block(team: Value, dest: tensor, source: tensor, nelems: Value, pe_root: Value) -> None:
    """`nelems` elements of the member `pe_root`, to all. Called by the program of each member."""


def broadcast_warp(team: Value, dest: tensor, source: tensor, nelems: Value, pe_root: Value) -> None:
    """`nelems` elements of the member `pe_root`, to all. Called by a warp of each member."""


def broadcastmem(team: Value, dest: tensor, source: tensor, nelems: Value, pe_root: Value) -> None:
    """`nelems` bytes of the member `pe_root`, to all. Called by one thread of each member."""


def broadcastmem_block(team: Value, dest: tensor, source: tensor, nelems: Value, pe_root: Value) -> None:
    """`nelems` bytes of the member `pe_root`, to all. Called by the program of each member."""


def broadcastmem_warp(team: Value, dest: tensor, source: tensor, nelems: Value, pe_root: Value) -> None:
    """`nelems` bytes of the member `pe_root`, to all. Called by a warp of each member."""


def fcollect(team: Value, dest: tensor, source: tensor, nelems: Value) -> None:
    """`nelems` elements of each member, one behind the other. Called by one thread of each member."""


def fcollect_block(team: Value, dest: tensor, source: tensor, nelems: Value) -> None:
    """`nelems` elements of each member, one behind the other. Called by the program of each member."""


def fcollect_warp(team: Value, dest: tensor, source: tensor, nelems: Value) -> None:
    """`nelems` elements of each member, one behind the other. Called by a warp of each member."""


def fcollectmem(team: Value, dest: tensor, source: tensor, nelems: Value) -> None:
    """`nelems` bytes of each member, one behind the other. Called by one thread of each member."""


def fcollectmem_block(team: Value, dest: tensor, source: tensor, nelems: Value) -> None:
    """`nelems` bytes of each member, one behind the other. Called by the program of each member."""


def fcollectmem_warp(team: Value, dest: tensor, source: tensor, nelems: Value) -> None:
    """`nelems` bytes of each member, one behind the other. Called by a warp of each member."""


operations(globals(), module="shoal.language.extra.libshmem_device")
