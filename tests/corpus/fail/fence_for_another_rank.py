"""A fence orders what goes to one rank; the signal goes to another."""
# expect: race
# ranks: 3
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def send(inbox, outbox, signals, n, BLOCK: tl.constexpr):
    """Rank 0 writes to rank 1 and tells rank 2, which reads there."""
    at = tl.arange(0, BLOCK)
    if shmem.my_pe() == 0:
        shmem.putmem_block(inbox, outbox, n * 4, 1)
        shmem.fence()
        shmem.signal_op(signals, 1, shmem.NVSHMEM_SIGNAL_SET, 2)
    if shmem.my_pe() == 2:
        shmem.signal_wait_until(signals, shmem.NVSHMEM_CMP_EQ, 1)
        tl.store(inbox + at, tl.load(tl.symm_at(inbox, 1) + at, mask=at < n), mask=at < n)


@shoal.harness
def told_by_another(world):
    inbox = world.symm(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    send[(1,)](inbox, outbox, world.symm(1, "int64"), 8, BLOCK=8)

# says: for the signal of a put with signal, or for one that comes behind a `fence`
