"""A relaxed flag behind a fence that reaches no other rank."""
# expect: race
# ranks: 2

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import fence


@shoal.jit
def send(data, flag, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(data, peer) + at, at, mask=at < n)
    fence("acq_rel", "gpu")
    tl.atomic_xchg(tl.symm_at(flag, peer), 1, sem="relaxed", scope="sys")
    while tl.atomic_add(flag, 0, sem="relaxed", scope="sys") != 1:
        pass
    fence("acq_rel", "sys")
    tl.store(data + at, tl.load(data + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def message(world):
    data = world.symm(16, "int32")
    flag = world.symm(1, "int32")
    send[(1,)](data, flag, 16, BLOCK=16)

# says: let the fence before the write of the flag have scope `sys`
