"""The source of a put is rewritten too early, and the receiver sees it."""
# expect: race failure
# must: race failure
# ranks: 2
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def send(inbox, outbox, signals, out, n, BLOCK: tl.constexpr):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    at = tl.arange(0, BLOCK)
    shmem.putmem_nbi_block(inbox, outbox, n * 4, peer)
    tl.store(outbox + at, at + 1, mask=at < n)
    shmem.quiet()
    shmem.signal_op(signals, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(signals, shmem.NVSHMEM_CMP_EQ, 1)
    got = tl.load(inbox + at, mask=at < n)
    tl.device_assert(got == at, "what was put before it was rewritten", mask=at < n)
    tl.store(out + at, got, mask=at < n)


@shoal.harness
def once(world):
    inbox = world.symm(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    out = world.empty(8, "int32")
    send[(1,)](inbox, outbox, world.symm(1, "int64"), out, 8, BLOCK=8)
    world.output(out)

# says: complete the transfer first: `quiet`
