"""Data is put and then a signal, with no fence between them: the signal may come first."""
# expect: race
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
    tl.store(inbox + at, tl.load(inbox + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def once(world):
    inbox = world.symm(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    signals = world.symm(1, "int64")
    send[(1,)](inbox, outbox, signals, 8, BLOCK=8)

# says: for the signal of a put with signal, or for one that comes behind a `fence`
