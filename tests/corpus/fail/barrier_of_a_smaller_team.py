"""A put to a rank outside of the team whose barrier is to complete it."""
# expect: race unwritten-read
# must: race
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def shift(x, out, team):
    shmem.int_p(x, shmem.my_pe() + 1, (shmem.my_pe() + 1) % shmem.n_pes())
    shmem.barrier_block(team)
    tl.store(out, tl.load(x))


@shoal.harness
def once(world):
    team = world.team([rank for rank in range(world.size) if rank % 2 == world.rank % 2])
    out = world.empty(1, "int32")
    shift[(1,)](world.symm_empty(1, "int32"), out, team)
    world.output(out)

# says: nothing that the other rank has seen comes after it
