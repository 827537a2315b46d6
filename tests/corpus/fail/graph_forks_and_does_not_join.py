"""A recorded stream copies while the next kernel of the graph overwrites."""
# expect: race
# ranks: 1
# launches: 3

import shoal
import shoal.language as tl


@shoal.jit
def step(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def replayed(world):
    x = world.buffer(16, "int32")
    y = world.empty(16, "int32")
    side = world.stream()
    world.begin_graph()
    step[(1,)](x, 16, BLOCK=16)
    side.wait(world.record())
    side.copy(y, x)
    step[(1,)](x, 16, BLOCK=16)
    graph = world.end_graph()
    graph.replay(world.launches)
    world.synchronize()
    world.output(y)

# says: no flag, barrier or launch orders them
# says: stream 1 of rank 0 reads
