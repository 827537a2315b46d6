"""A flag is a plain store, and is polled with plain loads."""
# expect: race
# ranks: 2

import shoal
import shoal.language as tl


@shoal.jit
def send(data, flag):
    if tl.rank() == 0:
        tl.store(tl.symm_at(data, 1), 42)
        tl.store(tl.symm_at(flag, 1), 1)
    else:
        while tl.load(flag, volatile=True) != 1:
            pass
        tl.store(data, tl.load(data) + 1)


@shoal.harness
def message(world):
    data = world.symm(1, "int32")
    flag = world.symm(1, "int32")
    send[(1,)](data, flag)

# says: make the plain store atomic
