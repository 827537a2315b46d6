"""Part of the input of the second kernel is never written."""
# expect: unwritten-read
# ranks: 1

import shoal
import shoal.language as tl


@shoal.jit
def half(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, at, mask=at < n)


@shoal.jit
def use(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def two_kernels(world):
    x = world.empty(16, "fp32")
    y = world.empty(16, "fp32")
    half[(1,)](x, 8, BLOCK=16)
    use[(1,)](x, y, 16, BLOCK=16)
    world.output(y)

# says: write it first, or let the host initialise it
