"""A signal without a fence overtakes the data before it, and the receiver reads the old data."""
# expect: race failure
# must: race failure
# ranks: 2
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def send(inbox, outbox, signals, n, BLOCK: tl.constexpr):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    at = tl.arange(0, BLOCK)
    shmem.putmem_block(inbox, outbox, n * 4, peer)
    shmem.signal_op(signals, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(signals, shmem.NVSHMEM_CMP_EQ, 1)
    got = tl.load(inbox + at, mask=at < n)
    tl.device_assert(got == at, "the data behind the signal", mask=at < n)


@shoal.harness
def once(world):
    inbox = world.symm(8, "int32", -1)
    outbox = world.symm(8, "int32", "arange")
    send[(1,)](inbox, outbox, world.symm(1, "int64"), 8, BLOCK=8)

# says: for one that comes behind a `fence`
