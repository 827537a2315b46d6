"""A flag is set without release, and the data behind it is read."""
# expect: race
# ranks: 2

import shoal
import shoal.language as tl


@shoal.jit
def send(data, flag, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.rank() == 0:
        tl.store(tl.symm_at(data, 1) + at, at, mask=at < n)
        tl.atomic_xchg(tl.symm_at(flag, 1), 1, sem="relaxed", scope="sys")
    else:
        while tl.atomic_add(flag, 0, sem="acquire", scope="sys") != 1:
            pass
        value = tl.load(data + at, mask=at < n)
        tl.store(data + at, value + 1, mask=at < n)


@shoal.harness
def message(world):
    data = world.symm(37, "int32")
    flag = world.symm(1, "int32")
    send[(1,)](data, flag, 37, BLOCK=64)

# says: the write releases nothing
# says: `release` instead of `relaxed`
