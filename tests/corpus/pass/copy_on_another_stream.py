"""A stream waits for an event behind the kernel whose output it copies."""
# expect: clean
# ranks: 1 2

import shoal
import shoal.language as tl


@shoal.jit
def fill(x, value, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, value + at, mask=at < n)


@shoal.harness
def copied_beside(world):
    x = world.empty(16, "int32")
    y = world.empty(16, "int32")
    side = world.stream()
    fill[(1,)](x, 1, 16, BLOCK=16)
    side.wait(world.record())
    side.copy(y, x)
    side.synchronize()
    world.output(y)
