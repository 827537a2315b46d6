"""The right twin of fail/plain_flag.py."""
# expect: clean
# ranks: 2

import shoal
import shoal.language as tl


@shoal.jit
def send(data, flag):
    if tl.rank() == 0:
        tl.store(tl.symm_at(data, 1), 42)
        tl.atomic_xchg(tl.symm_at(flag, 1), 1, sem="release", scope="sys")
    else:
        while tl.atomic_add(flag, 0, sem="acquire", scope="sys") != 1:
            pass
        tl.store(data, tl.load(data) + 1)


@shoal.harness
def message(world):
    data = world.symm(1, "int32")
    flag = world.symm(1, "int32")
    send[(1,)](data, flag)
