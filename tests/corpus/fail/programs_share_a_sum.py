"""Programs of one launch add to one number without atomics."""
# expect: race
# ranks: 1

import shoal
import shoal.language as tl


@shoal.jit
def total(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at, mask=at < n, other=0.0))
    tl.store(out, tl.load(out) + part)


@shoal.harness
def two(world):
    x = world.buffer(100, "fp32", "random")
    out = world.symm(1, "fp32")
    total[(2,)](x, out, 100, BLOCK=64)

# says: no flag, barrier or launch orders them
