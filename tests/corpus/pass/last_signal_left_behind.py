"""A launch ends when its last signals have arrived, so none sets a word back that the next launch has set."""
# expect: clean
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
    shmem.quiet()


@shoal.harness
def launches(world, programs=2, phases_each=3):
    words = world.symm(programs * world.size, "int64")
    for launch in range(world.launches):
        phases[(programs,)](words, launch * phases_each + 1, PHASES=phases_each)
