"""A stream copies what a kernel on another stream writes, and nothing orders the two."""
# expect: race unwritten-read unwritten-output
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
    side.copy(y, x)
    side.synchronize()
    world.output(y)

# says: nothing makes the write wait for the read
