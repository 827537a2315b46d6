"""The sum over all ranks, each rank having its part of it."""

import shoal
import shoal.language as tl
from sharing import places_of, sum_of_ranks
from sync import meet


@shoal.jit
def reduce_scatter(x, out, pad, first, n, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """Adds up everybody's elements from `first` on. `x` is symmetric and may be overwritten afterwards."""
    meet(pad, FIRST=True)
    mine = x + first
    places = places_of(mine, WORLD)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = sum_of_ranks(mine, places, at, at < n, tl.zeros((BLOCK,), dtype=tl.float32), WORLD)
        tl.store(out + at, total.to(out.dtype.element_ty), mask=at < n)
    meet(pad, READ=True)
