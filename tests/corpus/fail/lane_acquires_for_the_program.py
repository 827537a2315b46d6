"""Lanes wait for one peer each, and the program reads what all peers sent without a barrier in between."""
# expect: race
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import __syncthreads, ld, st, tid


@shoal.jit
def gather(x, out, flags, n, BLOCK: tl.constexpr):
    lane = tid(0)
    rank = tl.rank()
    world = tl.num_ranks()
    at = tl.arange(0, BLOCK)
    for peer in range(world):
        tl.store(tl.symm_at(x, peer) + rank * n + at, rank * 100 + at, mask=at < n)
    __syncthreads()
    if lane < world:
        st(tl.symm_at(flags, lane) + rank, 1, scope="sys", semantic="release")
        while ld(flags + lane, scope="sys", semantic="acquire") != 1:
            pass
    # no barrier
    for peer in range(world):
        tl.store(out + peer * n + at, tl.load(x + peer * n + at, mask=at < n), mask=at < n)


@shoal.harness
def all_gather(world, n=4):
    out = world.empty(n * world.size, "int32")
    gather[(1,)](world.symm_empty(n * world.size, "int32"), out, world.symm(world.size, "int32"), n, BLOCK=4)
    world.expect(out, [rank * 100 + i for rank in range(world.size) for i in range(n)])

# says: another lane of the program acquired, and knows it alone
# says: let the lanes meet after one of them acquired for all: `__syncthreads()`
