"""The last tile of the output is forgotten."""
# expect: unwritten-output
# ranks: 1

import shoal
import shoal.language as tl


@shoal.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@shoal.harness
def ragged(world, n=100):
    x = world.buffer(n, "fp32", "random")
    out = world.empty(n, "fp32")
    double[(n // 32,)](x, out, n, BLOCK=32)
    world.output(out)

# says: an output is not written
