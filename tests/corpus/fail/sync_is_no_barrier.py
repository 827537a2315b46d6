"""Puts that are only issued, and a `sync`, which completes nothing."""
# expect: race unwritten-read
# must: race
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def shift(inbox, outbox, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    shmem.putmem_nbi_block(inbox, outbox, n * 4, peer)
    shmem.sync_all_block()
    tl.store(out + at, tl.load(inbox + at, mask=at < n), mask=at < n)
    shmem.barrier_all_block()


@shoal.harness
def once(world, n=5):
    out = world.empty(n, "int32")
    shift[(1,)](world.symm_empty(n, "int32"), world.symm(n, "int32", "arange"), out, n, BLOCK=8)
    world.output(out)

# says: or for a barrier; `sync` completes nothing
