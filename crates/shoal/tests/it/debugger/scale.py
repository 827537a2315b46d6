import shoal
import shoal.language as tl


@shoal.jit
def twice_plus(x, y):
    doubled = x * 2.0
    return doubled + y


@shoal.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    value = twice_plus(value, 1.0)
    tl.store(out + at, value, mask=inside)
