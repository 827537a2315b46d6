"""A loop counts how often it looked until its flag came."""
# expect: clean
# ranks: 2 3
# launches: 1
# schedules: 40

import shoal
import shoal.language as tl


@shoal.jit
def ring(x, flag, looks, n, BLOCK: tl.constexpr):
    peer = (tl.rank() + 1) % tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(tl.symm_at(x, peer) + at, at, mask=at < n)
    tl.atomic_xchg(tl.symm_at(flag, peer), 1, sem="release", scope="sys")
    looked = 0
    while tl.atomic_add(flag, 0, sem="acquire", scope="sys") != 1:
        looked += 1
    tl.store(looks, looked)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@shoal.harness
def once(world, n=5):
    looks = world.empty(1, "int32")
    ring[(1,)](world.symm(n, "int32"), world.symm(1, "int32"), looks, n, BLOCK=8)
    world.output(looks)
