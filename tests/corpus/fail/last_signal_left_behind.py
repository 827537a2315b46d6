"""A launch ends while its last signals are under way; one that comes late sets a word back that the next launch has set."""
# expect: deadlock
# ranks: 3 4
# launches: 2
# schedules: 16

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def meet(words, round):
    rank = shmem.my_pe()
    world = shmem.n_pes()
    first = tl.program_id(0) * world
    shmem.quiet()
    for step in range(1, world):
        shmem.signal_op(words + first + rank, round, shmem.NVSHMEM_SIGNAL_SET, (rank + step) % world)
    for step in range(1, world):
        shmem.signal_wait_until(words + first + (rank + step) % world, shmem.NVSHMEM_CMP_GE, round)


@shoal.jit
def phases(words, round, PHASES: tl.constexpr):
    for phase in range(PHASES):
        meet(words, round + phase)


@shoal.harness
def launches(world, programs=2, phases_each=3):
    words = world.symm(programs * world.size, "int64")
    for launch in range(world.launches):
        phases[(programs,)](words, launch * phases_each + 1, PHASES=phases_each)

# says: an overtaken transfer issued by rank
# says: end a launch with `quiet`
