"""The mask is missing where the tile is larger than the array."""
# expect: failure
# ranks: 1

import shoal
import shoal.language as tl


@shoal.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) * 2)


@shoal.harness
def ragged(world, n=100):
    x = world.buffer(n, "fp32", "random")
    double[(4,)](x, n, BLOCK=32)

# says: past the end of `x of rank 0`
