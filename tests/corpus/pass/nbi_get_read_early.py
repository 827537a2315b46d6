"""The right twin of fail/nbi_get_read_early.py."""
# expect: clean
# ranks: 2
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def fetch(x, y, n, BLOCK: tl.constexpr):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    at = tl.arange(0, BLOCK)
    shmem.getmem_nbi_block(y, x, n * 4, peer)
    shmem.quiet()
    tl.store(y + at, tl.load(y + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def once(world):
    x = world.symm(8, "int32", "arange")
    y = world.symm(8, "int32")
    fetch[(1,)](x, y, 8, BLOCK=8)
