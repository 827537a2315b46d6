"""One lane fences for what others wrote: its fence orders its own accesses."""
# expect: race
# ranks: 2

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import __syncthreads, fence, ld, st, tid


@shoal.jit
def send(data, flag, n):
    lane = tid(0)
    peer = (tl.rank() + 1) % tl.num_ranks()
    if lane < n:
        st(tl.symm_at(data, peer) + lane, lane, scope="", semantic="weak")
    if lane == 0:
        fence("acq_rel", "sys")
        st(tl.symm_at(flag, peer), 1, scope="sys", semantic="relaxed")
        while ld(flag, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    if lane < n:
        st(data + lane, ld(data + lane, scope="", semantic="weak") + 1, scope="", semantic="weak")


@shoal.harness
def message(world):
    data = world.symm(32, "int32")
    flag = world.symm(1, "int32")
    send[(1,)](data, flag, 32)

# says: let the lanes meet before one of them releases for all: `__syncthreads()`
