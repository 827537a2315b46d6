"""Data packed with a flag in one word (LL), but the flag is the same in every launch: the second takes old data."""
# expect: wrong-output
# ranks: 2 3
# launches: 2

import shoal
import shoal.language as tl


@shoal.jit
def exchange(box, out, epoch, value, n):
    """A word is whole or not there, so nothing but its flag need be looked at; no order is needed."""
    peer = (tl.rank() + 1) % tl.num_ranks()
    flag = tl.full((), 1, tl.int64)
    for i in range(n):
        word = (flag << 32) | (value + i).to(tl.int64)
        tl.atomic_xchg(tl.symm_at(box, peer) + i, word, sem="relaxed", scope="sys")
    for i in range(n):
        word = tl.atomic_add(box + i, 0, sem="relaxed", scope="sys")
        while (word >> 32) != flag:
            word = tl.atomic_add(box + i, 0, sem="relaxed", scope="sys")
        tl.store(out + i, word & 0xFFFFFFFF)


@shoal.harness
def launches(world, n=2):
    box = world.symm(2 * n, "int64")
    out = world.empty(n, "int64")
    left = (world.rank + world.size - 1) % world.size
    for epoch in range(1, world.launches + 1):
        exchange[(1,)](box, out, epoch, 100 * epoch + 10 * world.rank, n)
        world.barrier()
    world.expect(out, [100 * world.launches + 10 * left + i for i in range(n)])

# says: it must be 2
