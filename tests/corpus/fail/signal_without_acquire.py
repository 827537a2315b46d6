"""A signal is awaited by a loop that acquires nothing."""
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
    shmem.putmem_signal_block(inbox, outbox, n * 4, signals, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    while tl.atomic_add(signals, 0, sem="relaxed", scope="sys") != 1:
        pass
    tl.store(inbox + at, tl.load(inbox + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def once(world):
    inbox = world.symm(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    signals = world.symm(1, "int64")
    send[(1,)](inbox, outbox, signals, 8, BLOCK=8)

# says: the read acquires nothing
