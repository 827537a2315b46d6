"""A stream waits for an event that was recorded before the launch that it needs."""
# expect: race unwritten-read unwritten-output
# must: race
# ranks: 1
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def fill(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, at, mask=at < n)


@shoal.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@shoal.harness
def once(world, n=5):
    x = world.empty(n, "int32")
    side = world.stream()
    early = world.record()
    fill[(1,)](x, n, BLOCK=8)
    late = world.record()
    side.wait(early)
    double[(1,)](x, n, BLOCK=8, stream=side)
    world.synchronize()
    world.output(x)

# says: no flag, barrier or launch orders them
