"""Softmax over the rows of a matrix. A row is read once, kept in a tile, and written once."""

import shoal
import shoal.language as tl


@shoal.jit
def softmax(x, out, x_stride, out_stride, rows, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < cols
    # Fewer programs than rows: each takes every num_programs-th row.
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        values = tl.load(x + row * x_stride + at, mask=inside, other=-float("inf")).to(tl.float32)
        # The largest value is taken off first, so that exp cannot overflow.
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * out_stride + at, powers / tl.sum(powers, axis=0), mask=inside)
