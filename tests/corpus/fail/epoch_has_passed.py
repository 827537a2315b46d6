"""A rank waits until a word *is* the number of its launch; its neighbour may be a launch ahead."""
# expect: deadlock
# ranks: 2 3
# launches: 2

import shoal
import shoal.language as tl


@shoal.jit
def pass_on(x, out, flag, epoch):
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(x, peer) + epoch, epoch)
    tl.atomic_xchg(tl.symm_at(flag, peer), epoch, sem="release", scope="sys")
    while tl.atomic_add(flag, 0, sem="acquire", scope="sys") != epoch:
        pass
    tl.store(out, tl.load(x + epoch))


@shoal.harness
def launches(world):
    x = world.symm_empty(world.launches + 1, "int32")
    flag = world.symm(1, "int32")
    out = world.empty(1, "int32")
    for epoch in range(1, world.launches + 1):
        pass_on[(1,)](x, out, flag, epoch)
    world.expect(out, world.launches)

# says: byte 0 of flag of rank 0 holds 2; rank
# says: wrote it last in line 14
