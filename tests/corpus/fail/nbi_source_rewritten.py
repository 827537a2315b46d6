"""The source of a put that was only issued is rewritten before `quiet`."""
# expect: race
# ranks: 2
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def send_twice(inbox, outbox, signals, n, BLOCK: tl.constexpr):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    at = tl.arange(0, BLOCK)
    shmem.putmem_nbi_block(inbox, outbox, n * 4, peer)
    tl.store(outbox + at, at + 1, mask=at < n)
    shmem.quiet()
    shmem.signal_op(signals, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(signals, shmem.NVSHMEM_CMP_EQ, 1)


@shoal.harness
def once(world):
    inbox = world.symm(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    signals = world.symm(1, "int64")
    send_twice[(1,)](inbox, outbox, signals, 8, BLOCK=8)

# says: complete the transfer first: `quiet`
