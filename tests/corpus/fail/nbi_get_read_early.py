"""What a get only issued brings is read before `quiet`."""
# expect: race
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
    tl.store(y + at, tl.load(y + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def once(world):
    x = world.symm(8, "int32", "arange")
    y = world.symm(8, "int32")
    fetch[(1,)](x, y, 8, BLOCK=8)

# says: complete the transfer first: `quiet`
