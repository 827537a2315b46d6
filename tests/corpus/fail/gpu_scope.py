"""Ranks synchronise at `gpu` scope, which holds one rank alone."""
# expect: race
# ranks: 2

import shoal
import shoal.language as tl


@shoal.jit
def send(data, flag, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.rank() == 0:
        tl.store(tl.symm_at(data, 1) + at, at, mask=at < n)
        tl.atomic_xchg(tl.symm_at(flag, 1), 1, sem="release", scope="gpu")
    else:
        while tl.atomic_add(flag, 0, sem="acquire", scope="gpu") != 1:
            pass
        tl.store(data + at, tl.load(data + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def message(world):
    data = world.symm(16, "int32")
    flag = world.symm(1, "int32")
    send[(1,)](data, flag, 16, BLOCK=16)

# says: the scope of the write does not reach the reader
# says: write the flag at scope `sys` instead of `gpu`
