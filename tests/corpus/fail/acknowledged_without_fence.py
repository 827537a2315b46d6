"""A pipeline of puts through two slots: the slot is given back by a signal that nothing orders after its reads."""
# expect: race
# ranks: 3
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def pipeline(source, stage, box, full, free, out, n, chunks, BLOCK: tl.constexpr):
    me = shmem.my_pe()
    world = shmem.n_pes()
    right = (me + 1) % world
    left = (me + world - 1) % world
    at = tl.arange(0, BLOCK)
    for chunk in range(chunks):
        slot = chunk % 2
        there = slot * n
        if chunk >= 2:
            shmem.signal_wait_until(free + slot, shmem.NVSHMEM_CMP_GE, chunk // 2)
        tl.store(stage + there + at, tl.load(source + chunk * n + at, mask=at < n), mask=at < n)
        shmem.putmem_signal_nbi_block(
            box + there, stage + there, n * 4, full + slot, 1, shmem.NVSHMEM_SIGNAL_ADD, right
        )
        shmem.signal_wait_until(full + slot, shmem.NVSHMEM_CMP_GE, chunk // 2 + 1)
        tl.store(out + chunk * n + at, tl.load(box + there + at, mask=at < n), mask=at < n)
        # no fence
        shmem.signal_op(free + slot, 1, shmem.NVSHMEM_SIGNAL_ADD, left)


@shoal.harness
def ring(world, n=3, chunks=4):
    source = world.buffer(n * chunks, "int32", [world.rank * 100 + i for i in range(n * chunks)])
    stage = world.symm_empty(2 * n, "int32")
    box = world.symm_empty(2 * n, "int32")
    out = world.empty(n * chunks, "int32")
    pipeline[(1,)](source, stage, box, world.symm(2, "int64"), world.symm(2, "int64"), out, n, chunks, BLOCK=4)
    left = (world.rank + world.size - 1) % world.size
    world.expect(out, [left * 100 + i for i in range(n * chunks)])

# says: but the write releases nothing
# says: put a `fence()` or `quiet()` before the signal: by itself it comes after nothing
