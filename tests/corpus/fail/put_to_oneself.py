"""A rank puts to all, itself included, and reads its own copy before anything has delivered it."""
# expect: race unwritten-read
# must: race
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def spread(x, all, out, n, BLOCK: tl.constexpr):
    rank = shmem.my_pe()
    at = tl.arange(0, BLOCK)
    for peer in range(shmem.n_pes()):
        shmem.putmem_block(all + rank * n, x, n * 4, peer)
    tl.store(out + at, tl.load(all + rank * n + at, mask=at < n), mask=at < n)


@shoal.harness
def once(world, n=4):
    out = world.empty(n, "int32")
    spread[(1,)](world.symm(n, "int32", "arange"), world.symm_empty(n * world.size, "int32"), out, n, BLOCK=4)
    world.output(out)

# says: the transfer was issued, but nothing has completed it
