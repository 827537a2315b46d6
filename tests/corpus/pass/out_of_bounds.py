"""The right twin of fail/out_of_bounds.py."""
# expect: clean
# ranks: 1

import shoal
import shoal.language as tl


@shoal.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@shoal.harness
def ragged(world, n=100):
    x = world.buffer(n, "fp32", "random")
    double[(4,)](x, n, BLOCK=32)
