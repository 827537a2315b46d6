"""Worlds: ranks that reach each other's memory, from Python.

    import numpy as np, shoal

    def neighbour(rank):
        inbox = rank.symm_zeros(4, np.float32)
        rank.peer(inbox, (rank.rank + 1) % rank.num_ranks)[:] = rank.rank
        rank.barrier()
        return inbox.tolist()

    shoal.World.threads(4).run(neighbour)

Ranks are threads of this process (`World.threads`) or processes of one host (`World.from_env`, under `shoal launch -n
N` or `torchrun`). A kernel that is launched on a rank's thread runs as that rank.
"""

from shoal.world.current import current_rank
from shoal.world.ranks import Rank
from shoal.world.streams import Event, Stream
from shoal.world.teams import Mesh, Team
from shoal.world.worlds import World

__all__ = ["Event", "Mesh", "Rank", "Stream", "Team", "World", "current_rank"]
