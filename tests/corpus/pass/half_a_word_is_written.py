"""A flag of 64 bits that the sender writes as a whole."""
# expect: clean
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def send(data, flag, out):
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(data, peer), 7)
    there = tl.symm_at(flag, peer).to(tl.pointer_type(tl.int64))
    tl.atomic_xchg(there, 1, sem="release", scope="sys")
    while tl.atomic_add(flag, 0, sem="acquire", scope="sys") != 1:
        pass
    tl.store(out, tl.load(data))


@shoal.harness
def once(world):
    out = world.empty(1, "int32")
    send[(1,)](world.symm_empty(1, "int32"), world.symm(1, "int64"), out)
    world.expect(out, 7)
