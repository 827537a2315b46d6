"""All end their gets and meet before they overwrite what the others fetch."""
# expect: clean
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def fetch(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    shmem.getmem_nbi_block(out, x, n * 4, peer)
    shmem.quiet()
    shmem.sync_all_block()
    tl.store(x + at, at + 100, mask=at < n)


@shoal.harness
def once(world, n=4):
    x = world.symm(n, "int32", "arange")
    out = world.symm_empty(n, "int32")
    world.barrier()
    fetch[(1,)](x, out, n, BLOCK=4)
    world.output(out)
