"""What the programs of a rank share out among themselves: blocks of a row of elements."""

import shoal
import shoal.language as tl


@shoal.jit
def copy(source, target, n, BLOCK: tl.constexpr):
    """Copies `n` elements; each program of the grid takes every so many-th block."""
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(target + at, tl.load(source + at, mask=at < n), mask=at < n)


@shoal.jit
def copy_runs(source, target, n, LENGTH: tl.constexpr, BLOCK: tl.constexpr):
    """The same, where each program takes `LENGTH` blocks in a row."""
    run = LENGTH * BLOCK
    for first in range(tl.program_id(0) * run, n, tl.num_programs(0) * run):
        for start in range(first, tl.minimum(first + run, n), BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(target + at, tl.load(source + at, mask=at < n), mask=at < n)


@shoal.jit
def sum_of_ranks(x, at, inside, total, WORLD: tl.constexpr):
    """`total` plus everybody's elements at these places, in fp32 and in the order of the ranks."""
    if WORLD <= 8:
        # Unrolled, the sum is one loop over the tile, and all loads are under way at once.
        places = ()
        for peer in tl.static_range(WORLD):
            places += (tl.symm_at(x, peer),)
        tiles = ()
        for peer in tl.static_range(WORLD):
            tiles += (tl.load(places[peer] + at, mask=inside, other=0.0),)
        for peer in tl.static_range(WORLD):
            total += tiles[peer].to(tl.float32)
    else:
        for peer in range(WORLD):
            total += tl.load(tl.symm_at(x, peer) + at, mask=inside, other=0.0).to(tl.float32)
    return total
