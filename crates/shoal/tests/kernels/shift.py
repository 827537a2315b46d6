import shoal
import shoal.language as tl
from helpers import places


@shoal.jit
def shift(x, out, by, n: tl.int32, BLOCK: tl.constexpr, FACTOR: tl.constexpr = 2):
    """Multiplies and adds."""
    at = places(BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * FACTOR + by, mask=at < n)


@shoal.jit
def fill(out, value: tl.float64, n, BLOCK: tl.constexpr):
    at = places(BLOCK)
    tl.store(out + at, value, mask=at < n)
