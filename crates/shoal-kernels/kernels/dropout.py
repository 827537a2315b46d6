"""Dropout that stores no mask: which elements are kept follows from a seed and an element's place, so the backward
pass draws the same numbers again."""

import shoal
import shoal.language as tl


@shoal.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + at, mask=inside)
    keep = tl.rand(seed, at) > p
    # What is kept grows, so that the sum stays the same on average.
    tl.store(out + at, tl.where(keep, values / (1 - p), 0.0), mask=inside)
