"""A graph is replayed with the epoch that was recorded: the flag of the first replay lets the second one pass."""
# expect: race
# ranks: 2 3
# launches: 2

import shoal
import shoal.language as tl


@shoal.jit
def pass_on(x, box, flag, epochs, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    peer = (tl.rank() + 1) % tl.num_ranks()
    epoch = 1
    tl.store(epochs, epoch)
    place = epoch % 2 * n + at
    tl.store(tl.symm_at(box, peer) + place, tl.load(x + at, mask=at < n), mask=at < n)
    tl.atomic_xchg(tl.symm_at(flag, peer), epoch, sem="release", scope="sys")
    while tl.atomic_add(flag, 0, sem="acquire", scope="sys") < epoch:
        pass
    tl.store(x + at, tl.load(box + place, mask=at < n), mask=at < n)


@shoal.harness
def replayed(world, n=4):
    x = world.buffer(n, "int32", world.rank)
    box = world.symm_empty(2 * n, "int32")
    flag = world.symm(1, "int32")
    epochs = world.buffer(1, "int32")
    world.begin_graph()
    pass_on[(1,)](x, box, flag, epochs, n, BLOCK=4)
    graph = world.end_graph()
    graph.replay(world.launches)
    world.synchronize()
    world.output(x)

# says: of `box of rank
