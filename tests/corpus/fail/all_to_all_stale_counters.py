"""Arrivals are counted, and the count is never taken back: the second launch finds it high enough at once."""
# expect: race
# ranks: 2 3
# launches: 2

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def all_to_all(inbox, outbox, out, arrived, launch, n, BLOCK: tl.constexpr):
    rank = shmem.my_pe()
    world = shmem.n_pes()
    for step in range(world):
        peer = (rank + step) % world
        shmem.putmem_signal_block(
            inbox + rank * n, outbox + peer * n, n * 4, arrived, 1, shmem.NVSHMEM_SIGNAL_ADD, peer
        )
    shmem.signal_wait_until(arrived, shmem.NVSHMEM_CMP_GE, world)
    at = tl.arange(0, BLOCK)
    for source in range(world):
        tl.store(out + source * n + at, tl.load(inbox + source * n + at, mask=at < n), mask=at < n)
    shmem.barrier_all_block()


@shoal.harness
def launches(world, n=3, BLOCK=4):
    inbox = world.symm_empty(world.size * n, "int32")
    outbox = world.symm(world.size * n, "int32", "arange")
    out = world.empty(world.size * n, "int32")
    arrived = world.symm(1, "uint64")
    for launch in range(world.launches):
        all_to_all[(1,)](inbox, outbox, out, arrived, launch, n, BLOCK=BLOCK)
    world.output(out)

# says: the transfer was issued, but nothing
