import shoal
import shoal.language as tl


@shoal.jit
def guarded(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.device_assert(value >= 0, "x is negative")
    tl.store(x + at, value + 1, mask=at < n)


@shoal.jit
def scale(x, bias, out, n, stride, factor, negate, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at * stride, mask=at < n).to(tl.float32) * factor
    if bias is not None:
        value += tl.load(bias + at, mask=at < n)
    if negate:
        value = -value
    tl.store(out + at, value, mask=at < n)
    tl.store(out + n, BLOCK, mask=tl.program_id(0) == 0)


@shoal.jit
def corner(matrix, pair, out):
    tile = matrix.load([1, 2])
    at = tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + at, tile * pair[0] + pair[1][0] * pair[1][1])
