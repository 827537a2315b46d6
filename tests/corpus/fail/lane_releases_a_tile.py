"""One lane releases behind a tile that all lanes store."""
# expect: race
# ranks: 2

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import __syncthreads, ld, st, tid


@shoal.jit
def send(data, flag, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(data, peer) + at, at, mask=at < n)
    if tid(0) == 0:
        st(tl.symm_at(flag, peer), 1, scope="sys", semantic="release")
        while ld(flag, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    tl.store(data + at, tl.load(data + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def message(world):
    data = world.symm(32, "int32")
    flag = world.symm(1, "int32")
    send[(1,)](data, flag, 32, BLOCK=32)

# says: let the lanes meet before one of them releases for all: `__syncthreads()`
