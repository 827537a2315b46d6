"""SHMEM: puts, signals, meetings."""
# expect: clean
# ranks: 2 3
# schedules: 60

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def put_signal(inbox, outbox, signals, n, BLOCK: tl.constexpr):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    shmem.putmem_signal_block(inbox, outbox, n * 4, signals, 1, shmem.NVSHMEM_SIGNAL_ADD, peer)
    shmem.signal_wait_until(signals, shmem.NVSHMEM_CMP_GE, 1)
    at = tl.arange(0, BLOCK)
    tl.store(inbox + at, tl.load(inbox + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def one_sided_put_with_signal(world):
    inbox = world.symm(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    put_signal[(1,)](inbox, outbox, world.symm(1, "int64"), 8, BLOCK=8)


@shoal.jit
def put_barrier(inbox, outbox, out, n, BLOCK: tl.constexpr):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    shmem.putmem_nbi_block(inbox, outbox, n * 4, peer)
    shmem.barrier_all_block()
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(inbox + at, mask=at < n), mask=at < n)
    shmem.barrier_all_block()


@shoal.harness
def puts_before_a_barrier(world):
    inbox = world.symm_empty(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    out = world.empty(8, "int32")
    for launch in range(world.launches):
        put_barrier[(1,)](inbox, outbox, out, 8, BLOCK=8)
    world.output(out)


@shoal.jit
def two_puts_one_signal(inbox, outbox, signals, n, BLOCK: tl.constexpr):
    """Both puts are delivered before the signal, by one fence."""
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    shmem.putmem_nbi_block(inbox, outbox, n * 4, peer)
    shmem.putmem_block(inbox + n, outbox + n, n * 4, peer)
    shmem.fence()
    shmem.signal_op(signals, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(signals, shmem.NVSHMEM_CMP_EQ, 1)
    at = tl.arange(0, BLOCK)
    tl.store(inbox + at, tl.load(inbox + at, mask=at < 2 * n) + 1, mask=at < 2 * n)


@shoal.harness
def fence_between_puts_and_signal(world):
    inbox = world.symm(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    two_puts_one_signal[(1,)](inbox, outbox, world.symm(1, "int64"), 4, BLOCK=8)
