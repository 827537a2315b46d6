"""Progress is told by setting one word again and again; nothing keeps the signals in their order."""
# expect: deadlock
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def progress(word, out, steps):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    for step in range(1, steps + 1):
        shmem.signal_op(word, step, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(word, shmem.NVSHMEM_CMP_EQ, steps)
    tl.store(out, 1)


@shoal.harness
def once(world):
    out = world.empty(1, "int32")
    progress[(1,)](world.symm(1, "int64"), out, 3)
    world.output(out)

# says: put a `fence` between signals to one word
